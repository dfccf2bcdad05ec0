/* select.c: forward and backward selection, and helpers shared with the search for the best subset; see select.h. */
#include "compute/linear/select.h"

#include <math.h>
#include <string.h>

#include "compute/linalg/normal.h"
#include "compute/linear/select_best.h"

/* Returns the index of entry (i, j) of a packed triangle; i may be less than j. */
static inline int64_t
entry_of(int64_t i, int64_t j)
{
	return i > j ? gr_packed(i, j) : gr_packed(j, i);
}

/* Working memory of gr_select() besides GrSelect. */
typedef struct SelectWork
{
	GrLdl		ldl;
	GrDDVector	swept;			/* packed triangle: a swept copy of c */
	GrGram		about_0;
} SelectWork;

/* Carves the memory of any selection among select->nfeatures features. */
static void
carve_select(GrSelect *select, SelectWork *work, bool intercept, GrArena *arena)
{
	int			p = select->nfeatures;
	int64_t		all = gr_gram_nentries(p);
	GrDDVector	about_0;

	gr_ldl_carve(&work->ldl, p + (intercept ? 2 : 1), arena);
	select->c = gr_carve_dd(arena, all);
	work->swept = gr_carve_dd(arena, all);
	about_0 = gr_carve_dd(arena, all);
	work->about_0 = (GrGram) {.hi = about_0.hi,.lo = about_0.lo};
	select->subset = gr_gram_carve(arena, p);
	select->coef = gr_carve_doubles(arena, p + 1);
	select->least_pivot = gr_carve_doubles(arena, p + 1);
	select->columns = gr_carve_ints(arena, p + 1);
	select->sorted = gr_carve_ints(arena, p + 1);
	select->known = gr_carve_bools(arena, p + 1);
	select->ols_workspace = gr_carve(arena, gr_normal_workspace_nbytes(p));
}

size_t
gr_select_workspace_nbytes(int nfeatures, GrSelectMethod method)
{
	GrSelect	select = {.nfeatures = nfeatures};
	SelectWork	work;
	GrArena		arena = {.base = NULL};

	carve_select(&select, &work, true, &arena);
	if (method == GR_SELECT_BEST)
		gr_select_best_count(nfeatures, &arena);
	return arena.used;
}

/*
 * Loads the scaled triangle of the features and the response, minus what the ones explain. Scales and least pivots are
 * those of a fit of all features. Returns false on an error.
 */
static bool
load(GrSelect *select, GrLdl *ldl)
{
	int			first = select->selection->intercept ? 1 : 0;
	GrDDVector	c = select->c;

	if (!gr_ldl_load(ldl, &select->gram, 1 - first, select->err))
		return false;
	ldl->npivots = first;
	if (!gr_ldl_factorise(ldl, select->host, select->err))
		return false;
	for (int64_t i = 0; i <= select->nfeatures; i++)
	{
		GrDD		u = first == 0 ? gr_dd(0.0) :
			gr_dd_mul(gr_dd_get(ldl->l, gr_packed(i + first, 0)), gr_dd_get(ldl->d, 0));
		GrDDConstVector row = {&u.hi, &u.lo};

		for (int64_t j = 0; j <= i; j++)
			gr_dd_set(c, gr_packed(i, j), gr_dd_residual(gr_dd_get(ldl->l, gr_packed(i + first, j + first)), row,
														   gr_dd_from(ldl->l, gr_packed(j + first, 0)), first));
		if (i < select->nfeatures)
			select->least_pivot[i] = ldl->least_pivot[i + first];
	}
	return true;
}

/* Replaces sums about a shift by sums about 0 if there is no intercept. Returns false if canceled. */
static bool
translate_back(GrSelect *select, GrGram about_0)
{
	GrPoll		poll = {.host = select->host};

	if (select->selection->intercept || !gr_gram_is_shifted(&select->gram))
		return true;
	if (!gr_gram_copy_about(&about_0, &select->gram, NULL, &poll))
		return gr_fail(select->err, GR_CANCELED, 0, "selection");
	select->gram = about_0;
	return true;
}

/*
 * Sweeping
 */

/*
 * Sweeps feature k of a packed triangle of m rows into the model, or out of it. For features in the model, the diagonal
 * is minus that of the inverse and the response's row has the coefficients; the rest of the triangle is what they
 * leave. See Goodnight (1979), A tutorial on the SWEEP operator. Returns false if canceled.
 */
static bool
sweep(GrDDVector a, int64_t m, int64_t k, bool out, GrPoll *poll)
{
	GrDD		d = gr_dd_get(a, gr_packed(k, k));

	for (int64_t i = 0; i < m; i++)
	{
		GrDD		share = gr_dd_div(gr_dd_get(a, entry_of(i, k)), d);

		if (gr_poll(poll, 10 * (i + 1)))
			return false;
		for (int64_t j = 0; i != k && j <= i; j++)
		{
			GrDD		entry = gr_dd_get(a, gr_packed(i, j));
			GrDD		p = gr_dd_mul(share, gr_dd_get(a, entry_of(j, k)));
			GrDD		sum = gr_dd_sub(entry, p);

			if (j != k)
				gr_dd_set(a, gr_packed(i, j), fabs(sum.hi) <= GR_DD_NOISE * (fabs(entry.hi) + fabs(p.hi)) ?
						  gr_dd(0.0) : sum);
		}
	}
	for (int64_t i = 0; i < m; i++)
		if (i != k)
		{
			GrDD		share = gr_dd_div(gr_dd_get(a, entry_of(i, k)), d);

			gr_dd_set(a, entry_of(i, k), out ? gr_dd_neg(share) : share);
		}
	gr_dd_set(a, gr_packed(k, k), gr_dd_neg(gr_dd_div(gr_dd(1.0), d)));
	return true;
}

/* Returns the reduction of the RSS by adding feature k, or its increase by removing k if k is in the model. */
static GrDD
change_of(GrDDVector a, int64_t p, int64_t k)
{
	GrDD		entry = gr_dd_get(a, gr_packed(p, k));
	GrDD		d = gr_dd_get(a, gr_packed(k, k));

	if (d.hi == 0)
		return gr_dd(0.0);
	if (d.hi < 0)
		d = gr_dd_neg(d);
	return gr_dd_div(gr_dd_mul(entry, entry), d);
}

static inline bool
is_less(GrDD a, GrDD b)
{
	return a.hi < b.hi || (a.hi == b.hi && a.lo < b.lo);
}

/* Tries the n features that are in as a subset of that size. */
static bool
note(GrSelect *select, const bool *in, int n)
{
	int		   *subset = select->sorted;
	int			at = 0;
	bool		better;

	if (n > select->selection->max_size)
		return true;
	for (int k = 0; k < select->nfeatures; k++)
		if (in[k])
			subset[at++] = k;
	return gr_select_try(select, subset, n, &better);
}

/* Adds features one by one, from none, up to the rank and max_size. */
static bool
step_forward(GrSelect *select, GrDDVector a, bool *in, int max_rank)
{
	int			p = select->nfeatures;
	GrPoll		poll = {.host = select->host};

	memcpy(a.hi, select->c.hi, (size_t) gr_triangle(p + 1) * sizeof(double));
	memcpy(a.lo, select->c.lo, (size_t) gr_triangle(p + 1) * sizeof(double));
	memset(in, 0, (size_t) p * sizeof(bool));
	for (int n = 1; n <= select->selection->max_size && n <= max_rank; n++)
	{
		int			next = -1;

		for (int k = 0; k < p; k++)
			if (!in[k] && gr_dd_get(a, gr_packed(k, k)).hi > select->least_pivot[k] &&
				(next < 0 || is_less(change_of(a, p, next), change_of(a, p, k))))
				next = k;
		if (next < 0)
			break;
		if (!sweep(a, p + 1, next, false, &poll))
			return gr_fail(select->err, GR_CANCELED, 0, "selection");
		in[next] = true;
		if (!note(select, in, n))
			return false;
	}
	return true;
}

/* Sweeps in all features that are not aliased in a fit of all. *rank: their number. */
static bool
sweep_all(GrSelect *select, GrDDVector a, bool *in, int max_rank, int *rank)
{
	int			p = select->nfeatures;
	GrPoll		poll = {.host = select->host};

	memcpy(a.hi, select->c.hi, (size_t) gr_triangle(p + 1) * sizeof(double));
	memcpy(a.lo, select->c.lo, (size_t) gr_triangle(p + 1) * sizeof(double));
	memset(in, 0, (size_t) p * sizeof(bool));
	*rank = 0;
	for (int k = 0; k < p && *rank < max_rank; k++)
	{
		if (!(gr_dd_get(a, gr_packed(k, k)).hi > select->least_pivot[k]))
			continue;
		if (!sweep(a, p + 1, k, false, &poll))
			return gr_fail(select->err, GR_CANCELED, 0, "selection");
		in[k] = true;
		(*rank)++;
	}
	return true;
}

static bool
step_backward(GrSelect *select, GrDDVector a, bool *in, int rank)
{
	int			p = select->nfeatures;
	GrPoll		poll = {.host = select->host};

	for (int n = rank; n > 0; n--)
	{
		int			next = -1;

		if (!note(select, in, n))
			return false;
		/* for features in the model the diagonal is negative; if rounding made it 0, the cost is unknown */
		for (int k = 0; k < p; k++)
			if (in[k] && (next < 0 || is_less(change_of(a, p, k), change_of(a, p, next))))
				next = k;
		if (n > 1 && gr_dd_get(a, gr_packed(next, next)).hi != 0 && !sweep(a, p + 1, next, true, &poll))
			return gr_fail(select->err, GR_CANCELED, 0, "selection");
		in[next] = false;
	}
	return true;
}

/* Computes the total sum of squares and the fit of all features, and runs the steps or the search. */
static bool
run(GrSelect *select, GrDDVector a, bool *in)
{
	GrSelection *selection = select->selection;
	int			first = selection->intercept ? 1 : 0;
	int			max_rank = select->nrows - first < select->nfeatures ? (int) (select->nrows - first) :
		select->nfeatures;
	GrOlsFit	fit = {0};

	for (int k = 0; k < select->nfeatures; k++)
		select->sorted[k] = k;
	if (!gr_select_solve(select, select->sorted, select->nfeatures, &fit))
		return false;
	selection->full_rss = fit.rss;
	/* the sum of squares of a model without terms cannot come from a fit if there is no intercept */
	selection->rss[0] = fit.tss;
	select->known[0] = true;
	if (!sweep_all(select, a, in, max_rank, &selection->rank))
		return false;
	if (selection->method != GR_SELECT_FORWARD && !step_backward(select, a, in, selection->rank))
		return false;
	if (selection->method != GR_SELECT_BACKWARD && !step_forward(select, a, in, max_rank))
		return false;
	if (selection->method == GR_SELECT_BEST && !gr_select_best(select))
		return false;
	selection->nsizes = 1;
	while (selection->nsizes <= selection->max_size && select->known[selection->nsizes])
		selection->nsizes++;
	return true;
}

bool
gr_select(const GrGram *gram, void *workspace, GrSelection *selection, const GrHost *host, GrError *err)
{
	GrSelect	select = {
		.gram = *gram,.nfeatures = gram->nfeatures,.nrows = gram->nobs,.selection = selection,.host = host,.err = err
	};
	SelectWork	work;

	selection->nnodes = selection->nsolved = 0;
	select.arena.base = workspace;
	carve_select(&select, &work, selection->intercept, &select.arena);
	gr_ldl_clear(&work.ldl);
	memset(select.known, 0, ((size_t) gram->nfeatures + 1) * sizeof(bool));
	return translate_back(&select, work.about_0) && load(&select, &work.ldl) &&
		run(&select, work.swept, work.ldl.aliased);
}
