/*
 * path_active.c: the minimum of an elastic net at one lambda, from that at another; see path.h.
 */
#include <math.h>
#include <string.h>

#include "compute/path.h"
#include "compute/path_dd.h"

/* Rounds at a lambda: a multiple of the features, and some. A matrix of products needs far fewer. */
#define ROUNDS_PER_FEATURE 20
#define LEAST_ROUNDS 1000

/* An entry in double-double's share of the time between two polls; see GrPoll */
#define ENTRY_WORK 1

/* Must the coefficient keep its sign? */
static inline bool
is_constrained(const GrPath *path, int j)
{
	return path->penalty1.hi[j] > 0 || path->positive[j];
}

/* The signed penalty of an active feature */
static inline GrDD
signed_penalty(const GrPath *path, int j)
{
	GrDD		penalty = gr_dd_get(path->penalty1, j);

	return path->sign[j] < 0 ? gr_dd_neg(penalty) : penalty;
}

/* Feature j's products with all, centred and scaled, computed when they are wanted for the first time */
static GrDDVector
row_of(GrPath *path, int j)
{
	int64_t		p = path->p;
	int64_t		start = gr_triangle(j + 1);
	GrDDVector	row;

	if (path->slot[j] >= 0)
		return (GrDDVector) {path->rows.hi + path->slot[j] * p, path->rows.lo + path->slot[j] * p};
	path->slot[j] = path->nrows;
	path->row_feature[path->nrows] = j;
	row = (GrDDVector) {path->rows.hi + path->nrows * p, path->rows.lo + path->nrows * p};
	path->nrows++;
	memcpy(row.hi, path->hi + start + 1, (size_t) (j + 1) * sizeof(double));
	memcpy(row.lo, path->lo + start + 1, (size_t) (j + 1) * sizeof(double));
	for (int64_t i = j + 1; i < p; i++)
	{
		row.hi[i] = path->hi[gr_triangle(i + 1) + j + 1];
		row.lo[i] = path->lo[gr_triangle(i + 1) + j + 1];
	}
	gr_path_centre(row, (GrDDConstVector) {path->sums.hi, path->sums.lo},
				   gr_dd_div(gr_dd_get(path->sums, j), path->total),
				   path->scale, path->scale[j], p);
	return row;
}

/* Takes feature j into the factor; false: it is collinear, and work has its regression on the others but for L' */
static bool
enter(GrPath *path, int j)
{
	GrDDVector	row = row_of(path, j);
	int			n = path->factor.n;

	for (int i = 0; i < n; i++)
		gr_dd_set(path->step, i, gr_dd_get(row, path->active[i]));
	if (!gr_factor_append(&path->factor, path->step,
						  gr_dd_add(gr_dd_get(path->diagonal, j), gr_dd_get(path->penalty2, j)),
						  path->alias_tolerance, path->work))
		return false;
	path->active[n] = j;
	path->place[j] = n;
	return true;
}

/* Takes the feature at place k out, whose coefficient becomes 0 */
static void
leave(GrPath *path, int k)
{
	int			j = path->active[k];
	int			n = path->factor.n;

	gr_factor_drop(&path->factor, k, path->work, path->step);
	for (int i = k + 1; i < n; i++)
	{
		path->active[i - 1] = path->active[i];
		path->place[path->active[i - 1]] = i - 1;
		gr_dd_set(path->residual, i - 1, gr_dd_get(path->residual, i));
	}
	path->place[j] = -1;
	gr_dd_set(path->moved, j, gr_dd_sub(gr_dd_get(path->moved, j), gr_dd_get(path->b, j)));
	gr_dd_set(path->b, j, gr_dd(0));
}

/* Brings the gradient to the present coefficients. */
static bool
update_gradient(GrPath *path)
{
	int			n = 0;

	for (int s = 0; s < path->nrows; s++)
	{
		int			j = path->row_feature[s];

		if (path->moved.hi[j] == 0)
			continue;
		path->terms[n] = (GrDDConstVector) {path->rows.hi + (int64_t) s * path->p,
			path->rows.lo + (int64_t) s * path->p};
		path->factors[n++] = gr_dd_get(path->moved, j);
		gr_dd_set(path->moved, j, gr_dd(0));
	}
	gr_path_subtract(path->gradient, path->terms, path->factors, n, path->p);
	return !gr_poll(&path->poll, ENTRY_WORK * (int64_t) n * path->p);
}

/* How far each active coefficient's condition is from being met */
static void
compute_residual(GrPath *path)
{
	for (int i = 0; i < path->factor.n; i++)
	{
		int			j = path->active[i];
		GrDD		r = gr_dd_sub(gr_dd_get(path->gradient, j), signed_penalty(path, j));

		if (path->penalty2.hi[j] > 0)
			r = gr_dd_sub(r, gr_dd_mul(gr_dd_get(path->penalty2, j), gr_dd_get(path->b, j)));
		gr_dd_set(path->residual, i, r);
	}
}

/* How much of the step can be gone until a coefficient changes its sign: *blocking's; -1: all of it */
static GrDD
step_length(const GrPath *path, int *blocking)
{
	GrDD		length = gr_dd(1);

	*blocking = -1;
	for (int i = 0; i < path->factor.n; i++)
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

/* Goes along the step, of which the active features' coefficients are changed. */
static void
advance(GrPath *path, GrDD length)
{
	for (int i = 0; i < path->factor.n; i++)
	{
		int			j = path->active[i];
		GrDD		way = gr_dd_mul(length, gr_dd_get(path->step, i));

		gr_dd_set(path->b, j, gr_dd_add(gr_dd_get(path->b, j), way));
		gr_dd_set(path->moved, j, gr_dd_add(gr_dd_get(path->moved, j), way));
		/* what is left to go grows shorter, and its gradient with it */
		gr_dd_set(path->residual, i, gr_dd_mul(gr_dd_sub(gr_dd(1), length), gr_dd_get(path->residual, i)));
	}
}

/* Those just entered whose coefficients would get the other sign leave again: true if there is one. */
static bool
leave_newcomers(GrPath *path)
{
	bool		any = false;
	int			nleaving = 0;

	for (int i = 0; i < path->factor.n; i++)
	{
		int			j = path->active[i];

		/* the step is overwritten when one leaves: they are noted first */
		if (is_constrained(path, j) && path->b.hi[j] == 0 && !(path->step.hi[i] * path->sign[j] > 0))
			path->sign[j] = 0, nleaving++;
	}
	for (int i = path->factor.n - 1; i >= 0 && nleaving > 0; i--)
		if (path->sign[path->active[i]] == 0)
		{
			leave(path, i);
			nleaving--;
			any = true;
		}
	return any;
}

/*
 * Solves for the active set, and for what of it is left as coefficients reach 0; *moved: any has changed. False if the
 * host asked to stop
 */
static bool
descend(GrPath *path, bool *moved)
{
	int			blocking;

	compute_residual(path);
	while (path->factor.n > 0)
	{
		GrDD		length;

		if (gr_poll(&path->poll, 2 * ENTRY_WORK * (int64_t) path->factor.n * path->factor.n))
			return false;
		gr_factor_solve(&path->factor, (GrDDConstVector) {path->residual.hi, path->residual.lo}, path->step);
		length = step_length(path, &blocking);
		if (blocking >= 0 && length.hi <= 0)
		{
			if (!leave_newcomers(path))
				leave(path, blocking);
			continue;
		}
		advance(path, length);
		*moved = true;
		if (blocking < 0)
			break;
		leave(path, blocking);
	}
	return true;
}

/* What of a gradient may be rounding, for a feature of length 1 */
static double
gradient_error(const GrPath *path)
{
	double		size = path->norm[path->p];

	for (int i = 0; i < path->factor.n; i++)
		size += fabs(path->b.hi[path->active[i]]) * path->norm[path->active[i]];
	return path->gradient_rounding * size;
}

/* By how much an inactive feature's gradient is above its penalty; 0 where it isn't */
static double
excess(const GrPath *path, int j, double error)
{
	GrDD		g = gr_dd_get(path->gradient, j);
	GrDD		over;

	if (path->place[j] >= 0 || !path->usable[j] || path->skipped[j] || (g.hi < 0 && path->positive[j]))
		return 0;
	over = gr_dd_sub(g.hi < 0 ? gr_dd_neg(g) : g, gr_dd_get(path->penalty1, j));
	return over.hi > error * path->norm[j] ? over.hi : 0;
}

/*
 * The feature is collinear with the active ones, on which work has its regression, times L': the same fit is had with
 * more of it and other coefficients of theirs, at a lower penalty until one of these is 0, which leaves. False if none
 * is.
 */
static bool
exchange(GrPath *path, int j)
{
	int			n = path->factor.n;
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
		gr_dd_set(path->moved, path->active[i], gr_dd_add(gr_dd_get(path->moved, path->active[i]), way));
	}
	if (path->sign[j] < 0)
		length = gr_dd_neg(length);
	gr_dd_set(path->b, j, gr_dd_add(gr_dd_get(path->b, j), length));
	gr_dd_set(path->moved, j, gr_dd_add(gr_dd_get(path->moved, j), length));
	leave(path, blocking);
	return true;
}

/* A feature enters that is collinear with those there, for which others leave, or is left out at this lambda. */
static void
enter_collinear(GrPath *path, int j)
{
	int			nleft = path->factor.n;

	while (!enter(path, j))
		if (nleft-- <= 0 || !exchange(path, j))
		{
			path->skipped[j] = true;
			/* what it has got of the others' coefficients is theirs again at the next step */
			gr_dd_set(path->moved, j, gr_dd_sub(gr_dd_get(path->moved, j), gr_dd_get(path->b, j)));
			gr_dd_set(path->b, j, gr_dd(0));
			break;
		}
}

/* The features whose gradients are above their penalties enter: true if there were any. */
static bool
enter_violators(GrPath *path)
{
	double		error = gradient_error(path);
	double		most = 0;
	int			collinear = -1;
	bool		any = false;

	for (int j = 0; j < path->p; j++)
	{
		double		over = excess(path, j, error);

		if (over == 0)
			continue;
		path->sign[j] = path->gradient.hi[j] < 0 ? -1 : 1;
		if (path->factor.n < path->p && enter(path, j))
			any = true;
		else if (over > most)
		{
			most = over;
			collinear = j;
		}
	}
	/* an exchange is made between minima of active sets alone */
	if (any || collinear < 0)
		return any;
	enter_collinear(path, collinear);
	return true;
}

bool
gr_path_minimise(GrPath *path, GrError *err)
{
	int64_t		rounds = LEAST_ROUNDS + ROUNDS_PER_FEATURE * (int64_t) path->p;

	memset(path->skipped, 0, (size_t) path->p * sizeof(bool));
	while (rounds-- > 0)
	{
		bool		moved = false;

		if (!descend(path, &moved) || !update_gradient(path))
			return gr_fail(err, GR_CANCELED, 0, "elastic net");
		if (!enter_violators(path))
			return true;
	}
	return gr_fail(err, GR_OUT_OF_RANGE, path->p, "%s", "");
}

bool
gr_path_begin_at(GrPath *path, const double *b, GrError *err)
{
	for (int j = 0; j < path->p; j++)
	{
		double		start = b[j];

		if (start == 0 || !path->usable[j] || (isinf(path->penalty1.hi[j]) && path->penalty1.hi[j] > 0))
			continue;
		path->sign[j] = start < 0 ? -1 : 1;
		if (!enter(path, j))
			continue;
		gr_dd_set(path->b, j, gr_dd(start));
		gr_dd_set(path->moved, j, gr_dd(start));
	}
	return update_gradient(path) || gr_fail(err, GR_CANCELED, 0, "elastic net");
}
