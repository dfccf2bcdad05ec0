/*
 * gram_fold.c: Gram matrices of columns that come in two parts.
 */
#include <stdlib.h>
#include <string.h>

#include "compute/base/dd.h"
#include "compute/linalg/gram_fold.h"
#include "compute/linalg/gram_shift.h"

#define ENTRY_WORK 8

/* Where the product of entries i and j is */
static inline int64_t
at(int64_t i, int64_t j)
{
	return i >= j ? gr_triangle(i) + j : gr_triangle(j) + i;
}

/* The sums about a shift that is 0 for the rest that rounding left; *shift becomes that. */
static bool
unshift_rests(double *hi, double *lo, double *shift, int nfeatures, int nlow, GrPoll *poll)
{
	double	   *to;
	bool		shifted = false;
	bool		done;

	for (int k = 0; k < nlow; k++)
		shifted |= shift[nfeatures + k] != 0;
	if (!shifted)
		return true;
	to = malloc((size_t) gr_nterms(nfeatures + nlow) * sizeof(double));
	if (to == NULL)
		return false;
	memcpy(to, shift, (size_t) gr_nterms(nfeatures + nlow) * sizeof(double));
	memset(to + nfeatures, 0, (size_t) nlow * sizeof(double));
	done = gr_gram_translate(hi, lo, nfeatures + nlow, shift, to, poll);
	memcpy(shift, to, (size_t) gr_nterms(nfeatures + nlow) * sizeof(double));
	free(to);
	return done;
}

/*
 * The entries before the rests are where they were, so that each can be added to in place; the rests' own rows are only
 * read until the response's, the last, is brought forward.
 */
bool
gr_gram_fold(double *hi, double *lo, double *shift, int nfeatures, const int *rest_of, int nlow, GrPoll *poll)
{
	int64_t		y = nfeatures + nlow + 1;

	if (!unshift_rests(hi, lo, shift, nfeatures, nlow, poll))
		return false;
	for (int64_t i = 1; i <= nfeatures + 1; i++)
	{
		int64_t		row = i <= nfeatures ? i : y;
		int64_t		rest = i <= nfeatures && rest_of[i - 1] >= 0 ? nfeatures + 1 + rest_of[i - 1] : 0;

		for (int64_t j = 0; j <= i; j++)
		{
			int64_t		column = j <= nfeatures ? j : y;
			int64_t		other = j > 0 && j <= nfeatures && rest_of[j - 1] >= 0 ? nfeatures + 1 + rest_of[j - 1] : 0;
			GrDD		sum = {hi[at(row, column)], lo[at(row, column)]};

			if (rest > 0)
				sum = gr_dd_add(sum, (GrDD) {hi[at(rest, column)], lo[at(rest, column)]});
			if (other > 0)
				sum = gr_dd_add(sum, (GrDD) {hi[at(row, other)], lo[at(row, other)]});
			if (rest > 0 && other > 0)
				sum = gr_dd_add(sum, (GrDD) {hi[at(rest, other)], lo[at(rest, other)]});
			hi[at(i, j)] = sum.hi;
			lo[at(i, j)] = sum.lo;
		}
		if (gr_poll(poll, ENTRY_WORK * (i + 1)))
			return false;
	}
	shift[nfeatures] = shift[nfeatures + nlow];
	return true;
}
