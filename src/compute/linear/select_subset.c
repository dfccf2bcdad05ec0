/*
 * select_subset.c: the fits of subsets; see select_subset.h.
 */
#include "compute/linear/select_subset.h"

#include <string.h>

#include "compute/linalg/gram_subset.h"

static void
sort_places(int *places, int n)
{
	for (int i = 1; i < n; i++)
		for (int k = i; k > 0 && places[k - 1] > places[k]; k--)
		{
			int			swapped = places[k];

			places[k] = places[k - 1];
			places[k - 1] = swapped;
		}
}

bool
gr_select_solve(GrSelect *select, const int *features, int n, GrOlsFit *fit)
{
	int			p = select->nfeatures;

	select->entries[0] = 0;
	for (int k = 0; k < n; k++)
	{
		select->entries[k + 1] = features[k] + 1;
		select->subset_shift[k] = select->shift == NULL ? 0 : select->shift[features[k]];
	}
	select->entries[n + 1] = p + 1;
	select->subset_shift[n] = select->shift == NULL ? 0 : select->shift[p];
	if (!gr_gram_subset(select->hi, select->lo, (int) gr_norder(p), select->entries, n + 2, select->subset_hi,
						select->subset_lo))
		return gr_fail(select->err, GR_INVALID, 0, "subset");
	fit->coef = select->coef;
	fit->vcov = NULL;
	select->selection->nsolved++;
	if (gr_ols_solve(select->subset_hi, select->subset_lo, select->subset_shift, n, select->nrows,
					 select->selection->intercept, select->ols_workspace, NULL, fit, select->host, select->err))
		return true;
	/* a column of the subset as one of all */
	if (select->err->where >= 0)
		select->err->where = select->err->where < n ? features[select->err->where] : p;
	return false;
}

bool
gr_select_try(GrSelect *select, const int *subset, int n, bool *better)
{
	GrSelection *selection = select->selection;
	GrOlsFit	fit = {0};

	*better = false;
	memmove(select->sorted, subset, (size_t) n * sizeof(int));
	sort_places(select->sorted, n);
	if (!gr_select_solve(select, select->sorted, n, &fit))
		return false;
	if (fit.rank < n + (selection->intercept ? 1 : 0) || (select->known[n] && !(fit.rss < selection->rss[n])))
		return true;
	*better = true;
	select->known[n] = true;
	selection->rss[n] = fit.rss;
	memcpy(selection->features + (size_t) n * (n - 1) / 2, select->sorted, (size_t) n * sizeof(int));
	return true;
}
