/*
 * path_active.c: the active set of an elastic net: moves from the minimum at one lambda to that at another; see path.h.
 */
#include <math.h>
#include <string.h>

#include "compute/enet/path.h"

/* Most rounds at a lambda: LEAST_ROUNDS plus this many per feature. A matrix of cross products needs far fewer. */
#define ROUNDS_PER_FEATURE 20
#define LEAST_ROUNDS 1000

/* Work units of an entry in double-double; see GrPoll. */
#define ENTRY_WORK 1

/* The factor is in double-double if a feature's pivot in float8 is less than this share of its square. */
#define LEAST_QUICK 1e-7

/* The factor is in double-double if conditions are not met after this many refinements at a lambda. */
#define MOST_EVALUATIONS 12

/* Relative rounding of a term in float8 and in double-double, and the number of other roundings in a sum. */
#define QUICK_ROUNDING 0x1p-53
#define EXACT_ROUNDING 0x1p-101
#define SOME_ROUNDINGS 8

/* Relative error of coefficients and least error of gradients in double-double; see goal_of(). */
#define COEFFICIENT_ROUNDING 0x1p-66
#define LEAST_GOAL 0x1p-94

/* While active conditions are not met, a gradient must exceed its penalty by this multiple of slack to enter. */
#define CERTAIN 1024.0

/* Relative change of coefficients after which gradients of inactive features are computed again. */
#define MOST_DRIFT 0x1p-40

/* True if the coefficient of active feature j must keep its sign. */
static inline bool
is_constrained(const GrPath *path, int j)
{
	return path->penalty1.hi[j] > 0 || path->positive[j];
}

/* Returns the penalty of active feature j, with the sign of its coefficient. */
static inline GrDD
signed_penalty(const GrPath *path, int j)
{
	GrDD		penalty = gr_dd_get(path->penalty1, j);

	return path->sign[j] < 0 ? gr_dd_neg(penalty) : penalty;
}

/* Returns the size of the terms of a gradient, for a feature of length 1. */
static double
size_of(const GrPath *path)
{
	double		size = path->norm[path->p];

	for (int i = 0; i < path->nactive; i++)
		size += fabs(path->b.hi[path->active[i]]) * path->norm[path->active[i]];
	return size;
}

/*
 * Returns the residual up to which an active feature's condition counts as met, for a feature of length 1. With a
 * factor in float8 it may be smaller than the gradients' rounding, so that the coefficients are right.
 */
static double
goal_of(const GrPath *path, double size)
{
	double		goal = path->gradient_rounding;

	if (!path->exact && !path->rounded && path->gain > 0)
		goal = fmin(goal, fmax(COEFFICIENT_ROUNDING / path->gain, LEAST_GOAL));
	return goal * size;
}

/* Computes residual: how far each active feature's condition is from being met, by the gradients as they are known. */
static void
compute_residual(GrPath *path)
{
	for (int i = 0; i < path->nactive; i++)
	{
		int			j = path->active[i];
		GrDD		r = gr_dd_sub(gr_dd_get(path->gradient, j), signed_penalty(path, j));

		if (path->penalty2.hi[j] > 0)
			r = gr_dd_sub(r, gr_dd_mul(gr_dd_get(path->penalty2, j), gr_dd_get(path->b, j)));
		gr_dd_set(path->residual, i, r);
	}
}

/* Sets the gradients of active features from their residuals. */
static void
settle(GrPath *path)
{
	for (int i = 0; i < path->nactive; i++)
	{
		int			j = path->active[i];
		GrDD		g = gr_dd_add(signed_penalty(path, j), gr_dd_get(path->residual, i));

		if (path->penalty2.hi[j] > 0)
			g = gr_dd_add(g, gr_dd_mul(gr_dd_get(path->penalty2, j), gr_dd_get(path->b, j)));
		gr_dd_set(path->gradient, j, g);
	}
}

/* Computes the gradients and residuals of active features again. Returns false if canceled. */
static bool
refresh(GrPath *path)
{
	if (!gr_path_evaluate(path))
		return false;
	compute_residual(path);
	path->slack = 0;
	path->nevaluated++;
	return true;
}

/*
 * Entering and leaving
 */

/* Appends feature j to the active set, with its residual. */
static void
make_active(GrPath *path, int j)
{
	int			n = path->nactive++;

	path->active[n] = j;
	path->place[j] = n;
	gr_dd_set(path->residual, n, gr_dd_sub(gr_dd_get(path->gradient, j), signed_penalty(path, j)));
}

/*
 * Appends feature j to the factor in double-double and the active set. Returns false if the feature is collinear; work
 * is then its regression on the active features, before multiplication with L'^-1.
 */
static bool
enter(GrPath *path, int j)
{
	gr_path_make_rows(path, &j, 1);
	for (int i = 0; i < path->nactive; i++)
		gr_dd_set(path->step, i, gr_path_product(path, path->active[i], j));
	if (!gr_factor_append(&path->factor, path->step,
						  gr_dd_add(gr_dd_get(path->diagonal, j), gr_dd_get(path->penalty2, j)),
						  path->alias_tolerance, path->work))
		return false;
	make_active(path, j);
	return true;
}

/*
 * Appends n features, at most GR_QUICK_MOST, to the factor in float8 and the active set. Returns how many were appended
 * before one had too small a pivot.
 */
static int
enter_quickly(GrPath *path, const int *features, int n)
{
	int			before = path->nactive;
	double	   *solved[GR_QUICK_MOST];

	gr_path_make_rows(path, features, n);
	for (int q = 0; q < n; q++)
	{
		solved[q] = path->batch + q * gr_path_padded(path->p + 2);
		for (int i = 0; i < before; i++)
			solved[q][i] = gr_path_product(path, path->active[i], features[q]).hi;
	}
	gr_quick_forward(&path->quick, solved, n, 0, before);
	for (int q = 0; q < n; q++)
	{
		int			j = features[q];

		for (int i = before; i < path->nactive; i++)
			solved[q][i] = gr_path_product(path, path->active[i], j).hi;
		gr_quick_forward(&path->quick, solved + q, 1, before, path->nactive);
		if (!gr_quick_append(&path->quick, solved[q], path->diagonal.hi[j] + path->penalty2.hi[j], LEAST_QUICK))
			return q;
		make_active(path, j);
	}
	return n;
}

/* Factors the active set in double-double. Collinear features leave the set. Returns false if canceled. */
static bool
factor_exactly(GrPath *path)
{
	int			n = path->nactive;

	path->exact = true;
	path->factor.n = path->nactive = 0;
	for (int k = 0; k < n; k++)
	{
		int			j = path->active[k];

		if (!enter(path, j))
		{
			path->place[j] = -1;
			gr_dd_set(path->b, j, gr_dd(0));
			path->drift = INFINITY;
		}
		if (gr_poll(&path->poll, ENTRY_WORK * (int64_t) k * k / 2))
			return false;
	}
	return refresh(path);
}

bool
gr_path_factor_again(GrPath *path)
{
	int			n = path->nactive;

	if (path->exact)
		return factor_exactly(path);
	path->quick.n = path->nactive = 0;
	for (int k = 0; k < n; k += GR_QUICK_MOST)
	{
		int			m = n - k < GR_QUICK_MOST ? n - k : GR_QUICK_MOST;

		if (enter_quickly(path, path->active + k, m) < m)
		{
			path->nactive = n;
			return factor_exactly(path);
		}
		if (gr_poll(&path->poll, (int64_t) m * k * k / 8))
			return false;
	}
	return true;
}

/* Removes the feature at position k of active; its coefficient becomes 0. */
static void
leave(GrPath *path, int k)
{
	int			j = path->active[k];
	int			n = path->nactive;
	double		left = fabs(path->b.hi[j]) * path->norm[j];

	if (path->exact)
		gr_factor_drop(&path->factor, k, path->work, path->step);
	else
		gr_quick_drop(&path->quick, k, path->batch);
	if (path->sign[j] != 0)
		gr_dd_set(path->gradient, j, gr_dd_add(signed_penalty(path, j), gr_dd_get(path->residual, k)));
	for (int i = k + 1; i < n; i++)
	{
		path->active[i - 1] = path->active[i];
		path->place[path->active[i - 1]] = i - 1;
		gr_dd_set(path->residual, i - 1, gr_dd_get(path->residual, i));
	}
	path->place[j] = -1;
	path->nactive--;
	gr_dd_set(path->b, j, gr_dd(0));
	path->slack += left;
	path->drift += left;
}

/* Steps */

/* Solves for the step that meets the conditions of the active set. Returns false if canceled. */
static bool
solve(GrPath *path)
{
	int64_t		n = path->nactive;

	if (path->exact)
		gr_factor_solve(&path->factor, (GrDDConstVector) {path->residual.hi, path->residual.lo}, path->step);
	else
	{
		memcpy(path->step.hi, path->residual.hi, (size_t) n * sizeof(double));
		memset(path->step.lo, 0, (size_t) n * sizeof(double));
		gr_quick_solve(&path->quick, path->step.hi);
	}
	return !gr_poll(&path->poll, path->exact ? 2 * ENTRY_WORK * n * n : n * n / 4);
}

/* Returns the share of the step up to the first change of sign, at position *blocking; -1: the whole step. */
static GrDD
step_length(const GrPath *path, int *blocking)
{
	GrDD		length = gr_dd(1);

	*blocking = -1;
	for (int i = 0; i < path->nactive; i++)
	{
		int			j = path->active[i];
		GrDD		b = gr_dd_get(path->b, j);
		GrDD		step = gr_dd_get(path->step, i);
		GrDD		end = gr_dd_add(b, step);
		GrDD		t = gr_dd(0);

		if (!is_constrained(path, j) || end.hi * path->sign[j] > 0)
			continue;
		if (b.hi * path->sign[j] > 0 && step.hi != 0)
			t = gr_dd_div(gr_dd_neg(b), step);
		if (*blocking < 0 || t.hi < length.hi || (t.hi == length.hi && t.lo < length.lo))
		{
			length = t;
			*blocking = i;
		}
	}
	return length;
}

/*
 * Moves the active coefficients along length times the step. An LDL' solution leaves at most about n roundings of its
 * right-hand side, times the sum over features of their lengths, as the lengths of the factor's rows are the matrix's.
 */
static void
advance(GrPath *path, GrDD length)
{
	double		size = 0;
	double		longest = 1;
	double		worst = 0;
	double		rounding = (path->exact ? EXACT_ROUNDING : QUICK_ROUNDING) * (path->nactive + SOME_ROUNDINGS);

	for (int i = 0; i < path->nactive; i++)
	{
		int			j = path->active[i];
		GrDD		way = gr_dd_mul(length, gr_dd_get(path->step, i));
		double		stretch = path->penalty2.hi[j] > 0 ? sqrt(1 + path->penalty2.hi[j] / path->diagonal.hi[j]) : 1;

		gr_dd_set(path->b, j, gr_dd_add(gr_dd_get(path->b, j), way));
		path->drift += fabs(way.hi) * path->norm[j];
		size += fabs(way.hi) * path->norm[j] * stretch;
		longest = fmax(longest, stretch);
		worst = fmax(worst, fabs(path->residual.hi[i]) / path->norm[j]);
		/* the rest of the step, and its residual, shrink alike */
		gr_dd_set(path->residual, i, gr_dd_mul(gr_dd_sub(gr_dd(1), length), gr_dd_get(path->residual, i)));
	}
	path->slack += rounding * size * longest;
	if (worst > 0)
		path->gain = fmax(path->gain, size / (length.hi * worst));
}

/* Removes features that have just entered and would get the opposite sign. True if there were any. */
static bool
leave_newcomers(GrPath *path)
{
	bool		any = false;
	int			nleaving = 0;

	for (int i = 0; i < path->nactive; i++)
	{
		int			j = path->active[i];

		/* mark first: removing a feature overwrites the step */
		if (is_constrained(path, j) && path->b.hi[j] == 0 && !(path->step.hi[i] * path->sign[j] > 0))
			path->sign[j] = 0, nleaving++;
	}
	for (int i = path->nactive - 1; i >= 0 && nleaving > 0; i--)
		if (path->sign[path->active[i]] == 0)
		{
			leave(path, i);
			nleaving--;
			any = true;
		}
	return any;
}

/* True if the condition of an active feature is not met. */
static bool
has_residual(const GrPath *path)
{
	double		goal = goal_of(path, size_of(path));

	for (int i = 0; i < path->nactive; i++)
		if (fabs(path->residual.hi[i]) > goal * path->norm[path->active[i]])
			return true;
	return false;
}

/* Solves for the active set, removing coefficients that reach 0. Returns false if canceled. */
static bool
descend(GrPath *path)
{
	int			blocking;

	while (path->nactive > 0)
	{
		GrDD		length;

		if (!solve(path))
			return false;
		length = step_length(path, &blocking);
		if (blocking >= 0 && length.hi <= 0)
		{
			if (!leave_newcomers(path))
				leave(path, blocking);
			continue;
		}
		advance(path, length);
		if (blocking < 0)
			break;
		leave(path, blocking);
	}
	return true;
}

/* Returns how much feature j's gradient exceeds its penalty; 0 if within error (for a length of 1). */
static double
excess(const GrPath *path, int j, double error)
{
	GrDD		g = gr_dd_get(path->gradient, j);
	GrDD		over;

	if (g.hi < 0 && path->positive[j])
		return 0;
	over = gr_dd_sub(g.hi < 0 ? gr_dd_neg(g) : g, gr_dd_get(path->penalty1, j));
	return over.hi > error * path->norm[j] ? over.hi : 0;
}

/* Returns the approximate excess of j's gradient over its penalty, for a length of 1; -INFINITY: cannot enter. */
static double
about_excess(const GrPath *path, int j)
{
	double		g = path->gradient.hi[j];

	if (path->place[j] >= 0 || !path->usable[j] || path->skipped[j])
		return -INFINITY;
	return ((path->positive[j] ? g : fabs(g)) - path->penalty1.hi[j]) / path->norm[j];
}

/*
 * Exchanges collinear feature j for an active one. work is the regression of j on the active features, times L'. Moving
 * weight from these to j keeps the fit and lowers the penalty, until one of their coefficients is 0 and leaves. Returns
 * false if none reaches 0.
 */
static bool
exchange(GrPath *path, int j)
{
	int			n = path->nactive;
	GrDD		length = gr_dd(INFINITY);
	int			blocking = -1;

	memcpy(path->step.hi, path->work.hi, (size_t) n * sizeof(double));
	memcpy(path->step.lo, path->work.lo, (size_t) n * sizeof(double));
	gr_factor_solve_back(&path->factor, path->step);
	for (int i = 0; i < n; i++)
	{
		GrDD		b = gr_dd_get(path->b, path->active[i]);
		GrDD		step = gr_dd_get(path->step, i);

		step = path->sign[j] < 0 ? step : gr_dd_neg(step);
		gr_dd_set(path->step, i, step);
		if (is_constrained(path, path->active[i]) && step.hi * b.hi < 0)
		{
			GrDD		t = gr_dd_div(gr_dd_neg(b), step);

			if (t.hi < length.hi)
			{
				length = t;
				blocking = i;
			}
		}
	}
	if (blocking < 0)
		return false;
	for (int i = 0; i < n; i++)
	{
		GrDD		way = gr_dd_mul(length, gr_dd_get(path->step, i));

		gr_dd_set(path->b, path->active[i], gr_dd_add(gr_dd_get(path->b, path->active[i]), way));
	}
	if (path->sign[j] < 0)
		length = gr_dd_neg(length);
	gr_dd_set(path->b, j, gr_dd_add(gr_dd_get(path->b, j), length));
	leave(path, blocking);
	return true;
}

/* Lets collinear feature j enter in exchange for others, or skips it at this lambda. Returns false if canceled. */
static bool
enter_collinear(GrPath *path, int j)
{
	int			nleft = path->nactive;

	path->drift = INFINITY;
	while (!enter(path, j))
		if (nleft-- <= 0 || !exchange(path, j))
		{
			path->skipped[j] = true;
			/* the weight that j has taken goes back to the others at the next step */
			gr_dd_set(path->b, j, gr_dd(0));
			break;
		}
	return refresh(path);
}

/* Gives features (at most GR_QUICK_MOST) slots, and computes their gradients in double-double. */
static void
make_exact(GrPath *path, const int *features, int n)
{
	gr_path_make_rows(path, features, n);
	for (int k = 0; k < n; k++)
		gr_path_make_exact(path, features[k]);
}

/* Lets the first n features of entering enter. *any: one entered, maybe by exchange. Returns false if canceled. */
static bool
enter_listed(GrPath *path, int n, bool *any)
{
	double		most = 0;
	int			collinear = -1;
	int			k = 0;

	while (k < n && !path->exact)
	{
		int			m = n - k < GR_QUICK_MOST ? n - k : GR_QUICK_MOST;
		int			entered;

		make_exact(path, path->entering + k, m);
		entered = enter_quickly(path, path->entering + k, m);
		k += entered;
		*any |= entered > 0;
		if (entered < m && !factor_exactly(path))
			return false;
		if (gr_poll(&path->poll, (int64_t) m * path->nactive * path->nactive / 8))
			return false;
	}
	for (; k < n; k++)
	{
		double		over;

		make_exact(path, path->entering + k, 1);
		over = excess(path, path->entering[k], 0);
		if (enter(path, path->entering[k]))
			*any = true;
		else if (over > most)
		{
			most = over;
			collinear = path->entering[k];
		}
		if (gr_poll(&path->poll, ENTRY_WORK * (int64_t) path->nactive * path->nactive / 2))
			return false;
	}
	/* exchanges are valid only between minima of active sets */
	if (*any || collinear < 0)
		return true;
	*any = true;
	return enter_collinear(path, collinear);
}

/*
 * Reduces list, of n features, to those whose exact gradients exceed their penalties by more than error. Returns their
 * number, or -1 if the host asked to stop.
 */
static int
choose_exactly(GrPath *path, int n, double error)
{
	int			nchosen = 0;

	/* the gradients of all features need one row per active feature */
	if (n > path->nactive)
	{
		if (!gr_path_make_all_exact(path))
			return -1;
		path->drift = 0;
	}
	for (int k = 0; k < n; k++)
	{
		int			j = path->list[k];

		if (n <= path->nactive)
		{
			gr_path_make_exact(path, j);
			if (gr_poll(&path->poll, path->p))
				return -1;
		}
		if (excess(path, j, error) > 0)
			path->list[nchosen++] = j;
	}
	return nchosen;
}

/*
 * Lets the features enter whose gradients exceed their penalties. *any: true if there were some. While the conditions
 * of active features are not met to rounding, only features with a much larger excess enter. Returns false if canceled.
 */
static bool
enter_violators(GrPath *path, bool *any)
{
	double		size = size_of(path);
	bool		met = path->slack <= path->gradient_rounding * size;
	double		error = path->gradient_rounding * size + (met ? 0 : CERTAIN * path->slack);
	double		doubt;
	int			ndoubtful = 0;
	int			n = 0;

	*any = false;
	if (path->drift > MOST_DRIFT * size)
	{
		if (!gr_path_approximate(path))
			return false;
		path->drift = 0;
	}
	doubt = QUICK_ROUNDING * (path->nslots + SOME_ROUNDINGS) * size + path->drift;
	for (int j = 0; j < path->p; j++)
	{
		double		over = about_excess(path, j);

		if (over > error + doubt)
			path->entering[n++] = j;
		else if (over > error - doubt || (met && over > -doubt))
			path->list[ndoubtful++] = j;
	}
	ndoubtful = choose_exactly(path, ndoubtful, error);
	if (ndoubtful < 0)
		return false;
	memcpy(path->entering + n, path->list, (size_t) ndoubtful * sizeof(int));
	n += ndoubtful;
	for (int k = 0; k < n; k++)
		path->sign[path->entering[k]] = path->gradient.hi[path->entering[k]] < 0 ? -1 : 1;
	return enter_listed(path, n, any);
}

bool
gr_path_minimise(GrPath *path, GrError *err)
{
	int64_t		rounds = LEAST_ROUNDS + ROUNDS_PER_FEATURE * (int64_t) path->p;

	memset(path->skipped, 0, (size_t) path->p * sizeof(bool));
	path->nevaluated = 0;
	path->gain = 0;
	compute_residual(path);
	while (rounds-- > 0)
	{
		bool		any;

		if ((has_residual(path) && !descend(path)) || !enter_violators(path, &any))
			return gr_fail(err, GR_CANCELED, 0, "elastic net");
		if (any)
			continue;
		if (path->slack <= goal_of(path, size_of(path)))
		{
			settle(path);
			return true;
		}
		/* each refinement reduces the residual by about the factor's condition */
		if (!path->exact && path->nevaluated >= MOST_EVALUATIONS ? !factor_exactly(path) : !refresh(path))
			return gr_fail(err, GR_CANCELED, 0, "elastic net");
	}
	return gr_fail(err, GR_OUT_OF_RANGE, path->p, "%s", "");
}

/* Appends n features of entering to an empty set; collinear ones stay out. Returns false if canceled. */
static bool
begin_with(GrPath *path, int n)
{
	int			k = 0;

	while (k < n && !path->exact)
	{
		int			m = n - k < GR_QUICK_MOST ? n - k : GR_QUICK_MOST;
		int			entered = enter_quickly(path, path->entering + k, m);

		k += entered;
		if (entered < m && !factor_exactly(path))
			return false;
		if (gr_poll(&path->poll, (int64_t) m * path->nactive * path->nactive / 8))
			return false;
	}
	for (; k < n; k++)
	{
		(void) enter(path, path->entering[k]);
		if (gr_poll(&path->poll, ENTRY_WORK * (int64_t) path->nactive * path->nactive / 2))
			return false;
	}
	return true;
}

bool
gr_path_begin_at(GrPath *path, const double *b, GrError *err)
{
	int			n = 0;

	for (int j = 0; j < path->p; j++)
	{
		if (b[j] == 0 || !path->usable[j] || (isinf(path->penalty1.hi[j]) && path->penalty1.hi[j] > 0))
			continue;
		path->sign[j] = b[j] < 0 ? -1 : 1;
		path->entering[n++] = j;
	}
	if (!begin_with(path, n))
		return gr_fail(err, GR_CANCELED, 0, "elastic net");
	for (int i = 0; i < path->nactive; i++)
		gr_dd_set(path->b, path->active[i], gr_dd(b[path->active[i]]));
	path->drift = INFINITY;
	return refresh(path) || gr_fail(err, GR_CANCELED, 0, "elastic net");
}
