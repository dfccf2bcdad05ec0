/*
 * shifted_gram.c: sends rows to a sink less a shift, and restarts the sink if the shift does not suit later rows.
 */
#include "compute/backend/shifted_gram.h"

#include <stdlib.h>
#include <string.h>

#include "compute/linalg/gram.h"
#include "compute/linalg/gram_shift.h"

/* Bytes of single rows that are widened to float8 at a time */
#define WIDE_NBYTES ((size_t) 128 << 10)

bool
gr_shifted_begin(GrShiftedGram *s, const GrSinkOps *ops, GrSink *sink, const GrSinkOptions *options, GrError *err)
{
	size_t		n = (size_t) gr_nterms(options->shape.nfeatures);
	size_t		wide_nbytes = gr_row_nbytes(gr_wide_shape(options->shape));
	size_t		nbytes = 2 * n * sizeof(double);

	memset(s, 0, sizeof(*s));
	s->ops = ops;
	s->sink = sink;
	s->shape = options->shape;
	s->poll.host = options->host;
	s->wide_nrows = s->shape.single ? (int64_t) (WIDE_NBYTES / wide_nbytes) + 1 : 0;
	nbytes += (size_t) s->wide_nrows * wide_nbytes;
	s->shift = malloc(nbytes);
	if (s->shift == NULL)
	{
		err->bytes_needed = nbytes;
		return gr_fail(err, GR_NO_MEMORY, 0, "the shift of a Gram matrix");
	}
	s->narrowed = s->shift + n;
	s->wide = s->shape.single ? s->narrowed + n : NULL;
	memset(s->shift, 0, 2 * n * sizeof(double));
	return true;
}

void
gr_shifted_end(GrShiftedGram *s)
{
	free(s->shift);
	free(s->earlier);
	memset(s, 0, sizeof(*s));
}

/* Returns *n of the nrows rows as float8, beginning with row done; single rows are in s->wide. */
static const double *
wide_rows(GrShiftedGram *s, const void *rows, int64_t nrows, int64_t done, int64_t *n)
{
	const char *from = (const char *) rows + (size_t) done * gr_row_nbytes(s->shape);

	*n = nrows - done;
	if (!s->shape.single)
		return (const double *) from;
	*n = *n < s->wide_nrows ? *n : s->wide_nrows;
	gr_widen_rows(from, *n, s->shape, s->wide);
	return s->wide;
}

/* Finishes the sink and adds the sums of rows from before its last restart. */
static bool
finish_sink(GrShiftedGram *s, GrGram *gram, GrError *err)
{
	GrDDVector	triangle = {gram->hi, gram->lo};

	if (!s->ops->finish(s->sink, triangle, err))
		return false;
	if (s->earlier != NULL)
	{
		GrGram		earlier = gr_gram_at(s->earlier, s->shape.nfeatures);

		gr_dd_add_vector(triangle, gr_gram_triangle(&earlier), gr_gram_nentries(s->shape.nfeatures));
	}
	memcpy(gram->shift, s->shift, (size_t) gr_nterms(s->shape.nfeatures) * sizeof(double));
	return true;
}

/* Translates the sums so far to the narrowed shift, keeps them in s->earlier, and restarts the sink with that shift. */
static bool
begin_anew(GrShiftedGram *s, GrError *err)
{
	int			p = s->shape.nfeatures;
	size_t		nbytes = gr_gram_ndoubles(p) * sizeof(double);
	double	   *sums = malloc(nbytes);
	GrGram		gram;

	if (sums == NULL)
	{
		err->bytes_needed = nbytes;
		return gr_fail(err, GR_NO_MEMORY, 0, "Gram matrix");
	}
	gram = gr_gram_at(sums, p);
	if (!finish_sink(s, &gram, err))
	{
		free(sums);
		return false;
	}
	free(s->earlier);
	s->earlier = sums;
	if (!gr_gram_translate(&gram, s->narrowed, &s->poll))
		return gr_fail(err, GR_CANCELED, 0, "Gram matrix");
	memcpy(s->shift, s->narrowed, (size_t) gr_nterms(p) * sizeof(double));
	s->shifted = gr_shift_any(s->shift, p);
	return s->ops->restart(s->sink, s->shifted ? s->shift : NULL, err);
}

/* Chooses the shift by the first rows; later sets it to 0 for columns in which a row less shift is not exact. */
static bool
prepare(GrShiftedGram *s, const void *rows, int64_t nrows, GrError *err)
{
	GrRowShape	wide = gr_wide_shape(s->shape);
	int64_t		n = 0;

	if (!s->chosen)
	{
		const double *first = wide_rows(s, rows, nrows, 0, &n);

		s->chosen = true;
		s->shifted = gr_shift_choose(s->shift, first, n, wide);
		if (s->shifted && !s->ops->restart(s->sink, s->shift, err))
			return false;
	}
	/* n > 0: the rows that the shift was chosen by are exact */
	for (int64_t done = n; s->shifted && done < nrows; done += n)
	{
		const double *some = wide_rows(s, rows, nrows, done, &n);

		if (gr_shift_exact(s->shift, some, n, wide))
			continue;
		gr_shift_narrow(s->narrowed, s->shift, some, n, wide);
		if (!begin_anew(s, err))
			return false;
	}
	return true;
}

bool
gr_shifted_send(GrShiftedGram *s, const void *rows, int64_t nrows, GrError *err)
{
	if (nrows <= 0)
		return s->ops->send(s->sink, rows, nrows, err);
	if ((!s->chosen || s->shifted) && !prepare(s, rows, nrows, err))
		return false;
	return s->ops->send(s->sink, rows, nrows, err);
}

bool
gr_shifted_finish(GrShiftedGram *s, GrGram *gram, GrError *err)
{
	return finish_sink(s, gram, err);
}
