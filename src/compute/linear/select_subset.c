/* select_subset.c: fits of subsets; see select_subset.h. */
#include "compute/linear/select_subset.h"

#include <string.h>

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

	memcpy(select->columns, features, (size_t) n * sizeof(int));
	select->columns[n] = p;
	select->subset.nfeatures = n;
	if (!gr_gram_subset(&select->gram, select->columns, &select->subset))
		return gr_fail(select->err, GR_INVALID, 0, "subset");
	fit->intercept = select->selection->intercept;
	fit->coef = select->coef;
	fit->vcov = NULL;
	select->selection->nsolved++;
	if (gr_ols_solve(&select->subset, select->ols_workspace, fit, select->host, select->err))
		return true;
	/* translate a column of the subset to one of all */
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
