/* lmm_criterion.c: the criterion of a mixed model, with its gradient and Hessian by Psi; see lmm.h. */
#include <math.h>
#include <string.h>

#include "compute/mixed/lmm.h"

/* Scratch of a component of neffects effects, and of the fixed terms. Matrices are stored by rows. */
typedef struct Work
{
	int			nparameters;
	int			first[GR_LMM_TERMS_MAX];	/* first parameter of each random term */
	double	   *m;				/* neffects x rank: Lambda'G */
	double	   *k;				/* rank x rank: K, then its Cholesky factor */
	double	   *u;				/* neffects x rank: rows L^-1 G_j, so that G K^-1 G' = U U' */
	double	   *t;				/* (nfixed + 1) x rank: rows L^-1 F_j */
	double	   *h;				/* neffects x (nfixed + 1): G K^-1 F */
	double	   *n;				/* neffects x neffects: G K^-1 G' */
	double	   *x;				/* neffects x neffects: matrix of the Hessian's local part */
	double	   *p;				/* neffects x nfixed */
	int		   *start;			/* first effect of each block */
	double	   *s;				/* packed triangle of nfixed + 1: S */
	double	   *factor;			/* nfixed x nfixed: Cholesky factor of S_xx, then its inverse */
	double	   *direction;		/* nparameters x (nfixed + 1): products of changes of S with (-b, 1) */
	double	   *product;		/* nparameters x nfixed x nfixed: inverse times changes of S_xx */
	const double *lambda;
} Work;

/* Carves the scratch for the largest component. */
static void
carve_work(Work *work, const GrLmmSums *sums, GrArena *arena)
{
	int64_t		m = sums->model->nfixed + 1;
	int64_t		n = 1;
	int64_t		r = 1;
	int64_t		blocks = 1;

	for (int64_t c = 0; c < sums->ncomponents; c++)
	{
		n = sums->components[c].neffects > n ? sums->components[c].neffects : n;
		r = sums->components[c].rank > r ? sums->components[c].rank : r;
		blocks = sums->components[c].nblocks > blocks ? sums->components[c].nblocks : blocks;
	}
	work->nparameters = gr_lmm_nparameters(sums->model);
	for (int k = 0, at = 0; k < sums->model->nterms; k++)
	{
		work->first[k] = at;
		at += (int) gr_triangle(sums->model->terms[k].ncolumns);
	}
	work->m = gr_carve_doubles(arena, n * r);
	work->k = gr_carve_doubles(arena, r * r);
	work->u = gr_carve_doubles(arena, n * r);
	work->t = gr_carve_doubles(arena, m * r);
	work->h = gr_carve_doubles(arena, n * m);
	work->n = gr_carve_doubles(arena, n * n);
	work->x = gr_carve_doubles(arena, n * n);
	work->p = gr_carve_doubles(arena, n * m);
	work->start = gr_carve_ints(arena, blocks);
	work->s = gr_carve_doubles(arena, gr_triangle(m));
	work->factor = gr_carve_doubles(arena, m * m);
	work->direction = gr_carve_doubles(arena, work->nparameters * m);
	work->product = gr_carve_doubles(arena, work->nparameters * m * m);
}

void
gr_lmm_sums_carve(GrLmmSums *sums, GrArena *arena)
{
	int64_t		p = sums->model->nfixed;
	int64_t		n = gr_lmm_nparameters(sums->model);
	Work		counted;

	sums->work = gr_carve(arena, sizeof(Work));
	sums->coef = gr_carve_doubles(arena, p);
	sums->inverse = gr_carve_doubles(arena, p * p);
	sums->slope = gr_carve_doubles(arena, n);
	sums->hessian = gr_carve_doubles(arena, n * n);
	sums->change = gr_carve_doubles(arena, n * gr_triangle(p + 1));
	sums->slope_squares = gr_carve_doubles(arena, n);
	carve_work(sums->work == NULL ? &counted : sums->work, sums, arena);
}

static inline double
dot(const double *a, const double *b, int64_t n)
{
	double		sum = 0;

	for (int64_t i = 0; i < n; i++)
		sum += a[i] * b[i];
	return sum;
}

/* Sets work->start to the first effects of a component's blocks. */
static void
find_blocks(const GrLmmModel *model, const GrLmmComponent *component, Work *work)
{
	int			at = 0;

	for (int l = 0; l < component->nblocks; l++)
	{
		work->start[l] = at;
		at += model->terms[component->term[l]].ncolumns;
	}
}

/* Computes Lambda'G of a component in work->m. */
static void
multiply_lambda(const GrLmmModel *model, const GrLmmComponent *component, Work *work)
{
	int64_t		r = component->rank;

	for (int l = 0; l < component->nblocks; l++)
	{
		int			q = model->terms[component->term[l]].ncolumns;
		const double *lambda = work->lambda + work->first[component->term[l]];
		const double *g = component->g + work->start[l] * r;
		double	   *m = work->m + work->start[l] * r;

		for (int64_t j = 0; j < q; j++)
			for (int64_t t = 0; t < r; t++)
			{
				double		sum = 0;

				for (int64_t i = j; i < q; i++)
					sum += lambda[gr_packed(i, j)] * g[i * r + t];
				m[j * r + t] = sum;
			}
	}
}

/* Factorises K = 1 + M'M = L L' in work->k. Returns its log determinant. */
static double
factorise_k(const GrLmmComponent *component, Work *work)
{
	int64_t		r = component->rank;
	double	   *k = work->k;
	double		log_det = 0;

	for (int64_t i = 0; i < r; i++)
		for (int64_t j = 0; j <= i; j++)
			k[i * r + j] = i == j ? 1 : 0;
	for (int64_t e = 0; e < component->neffects; e++)
		for (int64_t i = 0; i < r; i++)
			for (int64_t j = 0; j <= i; j++)
				k[i * r + j] += work->m[e * r + i] * work->m[e * r + j];
	for (int64_t i = 0; i < r; i++)
		for (int64_t j = 0; j <= i; j++)
		{
			double		left = k[i * r + j] - dot(k + i * r, k + j * r, j);

			if (i == j)
			{
				k[i * r + i] = sqrt(left);
				log_det += log(left);
			}
			else
				k[i * r + j] = left / k[j * r + j];
		}
	return log_det;
}

/* Solves L x = b for each of nrows rows b of length r. */
static void
solve_rows(const double *k, const double *b, double *x, int64_t nrows, int64_t r)
{
	for (int64_t c = 0; c < nrows; c++)
		for (int64_t i = 0; i < r; i++)
			x[c * r + i] = (b[c * r + i] - dot(k + i * r, x + c * r, i)) / k[i * r + i];
}

/* Computes K, U, T and H of a component in work. Returns log det K. */
static double
open_component(const GrLmmSums *sums, const GrLmmComponent *component, Work *work)
{
	int64_t		m = sums->model->nfixed + 1;
	int64_t		r = component->rank;
	double		log_det;

	find_blocks(sums->model, component, work);
	multiply_lambda(sums->model, component, work);
	log_det = factorise_k(component, work);
	solve_rows(work->k, component->g, work->u, component->neffects, r);
	solve_rows(work->k, component->f, work->t, m, r);
	for (int64_t i = 0; i < component->neffects; i++)
		for (int64_t j = 0; j < m; j++)
			work->h[i * m + j] = dot(work->u + i * r, work->t + j * r, r);
	return log_det;
}

/* Adds the derivatives of S (negated) and of log det K by one entry of Psi, effects a and b of a component. */
static void
add_change(GrLmmSums *sums, const Work *work, int64_t a, int64_t b, int64_t rank, int parameter)
{
	int64_t		m = sums->model->nfixed + 1;
	double	   *change = sums->change + parameter * gr_triangle(m);
	const double *ha = work->h + a * m;
	const double *hb = work->h + b * m;

	sums->slope[parameter] += (a == b ? 1 : 2) * dot(work->u + a * rank, work->u + b * rank, rank);
	if (a == b)
	{
		for (int64_t i = 0; i < m; i++)
			for (int64_t j = 0; j <= i; j++)
				*change++ += ha[i] * ha[j];
		return;
	}
	for (int64_t i = 0; i < m; i++)
		for (int64_t j = 0; j <= i; j++)
			*change++ += ha[i] * hb[j] + hb[i] * ha[j];
}

/* Adds a component to S, log det V and their derivatives. */
static void
add_component(GrLmmSums *sums, const GrLmmComponent *component, Work *work)
{
	int64_t		m = sums->model->nfixed + 1;
	int64_t		r = component->rank;

	sums->log_det += open_component(sums, component, work);
	for (int64_t i = 0; i < m; i++)
		for (int64_t j = 0; j <= i; j++)
			work->s[gr_packed(i, j)] += dot(work->t + i * r, work->t + j * r, r);
	for (int l = 0; l < component->nblocks; l++)
	{
		int			parameter = work->first[component->term[l]];

		for (int a = 0; a < sums->model->terms[component->term[l]].ncolumns; a++)
			for (int b = 0; b <= a; b++)
				add_change(sums, work, work->start[l] + a, work->start[l] + b, r, parameter++);
	}
}

/* Solves S for b, S_xx^-1, r^2 and log det S_xx. Values are NaN if S_xx is not positive definite. */
static void
solve_fixed(GrLmmSums *sums, Work *work)
{
	int64_t		p = sums->model->nfixed;
	double	   *factor = work->factor;

	sums->log_det_fixed = 0;
	sums->squares = work->s[gr_packed(p, p)];
	for (int64_t i = 0; i < p; i++)
		for (int64_t j = 0; j <= i; j++)
		{
			double		left = work->s[gr_packed(i, j)] - dot(factor + i * p, factor + j * p, j);

			factor[i * p + j] = i == j ? sqrt(left) : left / factor[j * p + j];
			sums->log_det_fixed += i == j ? log(left) : 0;
		}
	/* the last row of the factor of S */
	for (int64_t i = 0; i < p; i++)
	{
		sums->coef[i] = (work->s[gr_packed(p, i)] - dot(factor + i * p, sums->coef, i)) / factor[i * p + i];
		sums->squares -= sums->coef[i] * sums->coef[i];
	}
	for (int64_t i = p - 1; i >= 0; i--)
	{
		double		sum = sums->coef[i];

		for (int64_t j = i + 1; j < p; j++)
			sum -= factor[j * p + i] * sums->coef[j];
		sums->coef[i] = sum / factor[i * p + i];
	}
	/* the factor's inverse, row by row, then the product of its transpose with itself */
	for (int64_t i = 0; i < p; i++)
	{
		factor[i * p + i] = 1 / factor[i * p + i];
		for (int64_t j = 0; j < i; j++)
		{
			double		sum = 0;

			for (int64_t k = j; k < i; k++)
				sum += factor[i * p + k] * factor[k * p + j];
			factor[i * p + j] = -sum * factor[i * p + i];
		}
	}
	for (int64_t i = 0; i < p; i++)
		for (int64_t j = 0; j <= i; j++)
		{
			double		sum = 0;

			for (int64_t k = i; k < p; k++)
				sum += factor[k * p + i] * factor[k * p + j];
			sums->inverse[i * p + j] = sums->inverse[j * p + i] = sum;
		}
}

bool
gr_lmm_evaluate(GrLmmSums *sums, const double *lambda, GrPoll *poll)
{
	Work	   *work = sums->work;
	int64_t		m = sums->model->nfixed + 1;
	double		nu = sums->model->nobs - (sums->model->reml ? (double) sums->model->nfixed : 0);

	work->lambda = lambda;
	memcpy(work->s, sums->within, (size_t) gr_triangle(m) * sizeof(double));
	memset(sums->change, 0, (size_t) (work->nparameters * gr_triangle(m)) * sizeof(double));
	memset(sums->slope, 0, (size_t) work->nparameters * sizeof(double));
	sums->log_det = 0;
	for (int64_t c = 0; c < sums->ncomponents; c++)
	{
		const GrLmmComponent *component = &sums->components[c];
		int64_t		size = component->neffects + m;

		add_component(sums, component, work);
		if (gr_poll(poll, size * size * (component->rank + 2)))
			return false;
	}
	solve_fixed(sums, work);
	sums->value = sums->log_det + (sums->model->reml ? sums->log_det_fixed : 0) + nu * log(sums->squares);
	return true;
}

/*
 * Derivatives
 */

/* Sets the products of a parameter's change of S with (-b, 1) and, in S_xx, with the inverse. Returns -d r^2. */
static double
prepare_parameter(const GrLmmSums *sums, Work *work, int parameter)
{
	int64_t		p = sums->model->nfixed;
	int64_t		m = p + 1;
	const double *change = sums->change + parameter * gr_triangle(m);
	double	   *direction = work->direction + parameter * m;
	double	   *product = work->product + parameter * p * p;
	double		squares;

	for (int64_t i = 0; i < m; i++)
	{
		direction[i] = change[gr_packed(p, i)];
		for (int64_t j = 0; j < p; j++)
			direction[i] -= change[i >= j ? gr_packed(i, j) : gr_packed(j, i)] * sums->coef[j];
	}
	squares = direction[p];
	for (int64_t j = 0; j < p; j++)
		squares -= sums->coef[j] * direction[j];
	for (int64_t i = 0; i < p; i++)
		for (int64_t j = 0; j < p; j++)
		{
			double		sum = 0;

			for (int64_t k = 0; k < p; k++)
				sum += sums->inverse[i * p + k] * change[k >= j ? gr_packed(k, j) : gr_packed(j, k)];
			product[i * p + j] = sum;
		}
	return squares;
}

/* Returns the trace of the product of two p x p matrices. */
static double
trace_of(const double *a, const double *b, int64_t p)
{
	double		sum = 0;

	for (int64_t i = 0; i < p; i++)
		for (int64_t j = 0; j < p; j++)
			sum += a[i * p + j] * b[j * p + i];
	return sum;
}

/* Adds the parts of the Hessian that are products of derivatives of S. */
static void
add_products(GrLmmSums *sums, const Work *work, double nu)
{
	int64_t		p = sums->model->nfixed;
	int			n = work->nparameters;

	for (int a = 0; a < n; a++)
		for (int b = 0; b < n; b++)
		{
			const double *u = work->direction + a * (p + 1);
			const double *v = work->direction + b * (p + 1);
			double		inner = 0;

			for (int64_t i = 0; i < p; i++)
				inner += u[i] * dot(sums->inverse + i * p, v, p);
			sums->hessian[a * n + b] -= nu * (2 * inner / sums->squares +
											  sums->slope_squares[a] * sums->slope_squares[b] /
											  (sums->squares * sums->squares));
			if (sums->model->reml)
				sums->hessian[a * n + b] -= trace_of(work->product + a * p * p, work->product + b * p * p, p);
		}
}

/*
 * Computes N = G K^-1 G' of an open component and X = -N + 2 (H_x S_xx^-1 H_x' + nu / r^2 h h'), where h = H (-b, 1)
 * and the middle part is REML's.
 */
static void
fill_local(const GrLmmSums *sums, const GrLmmComponent *component, Work *work, double nu)
{
	int64_t		p = sums->model->nfixed;
	int64_t		m = p + 1;
	int64_t		n = component->neffects;
	int64_t		r = component->rank;

	for (int64_t i = 0; i < n; i++)
	{
		double	   *h = work->h + i * m;

		h[p] -= dot(h, sums->coef, p);
		for (int64_t j = 0; j < p && sums->model->reml; j++)
			work->p[i * p + j] = dot(h, sums->inverse + j * p, p);
	}
	for (int64_t i = 0; i < n; i++)
		for (int64_t j = 0; j <= i; j++)
		{
			double		own = dot(work->u + i * r, work->u + j * r, r);
			double		x = nu / sums->squares * work->h[i * m + p] * work->h[j * m + p];

			if (sums->model->reml)
				x += dot(work->p + i * p, work->h + j * m, p);
			work->n[i * n + j] = work->n[j * n + i] = own;
			work->x[i * n + j] = work->x[j * n + i] = 2 * x - own;
		}
}

/* Returns tr(E N E' X) for the symmetric changes E of effects a and b, and E' of effects c and d. */
static double
local_entry(const Work *work, int64_t n, const int64_t *e)
{
	double		sum = 0;

	for (int s = 0; s < (e[0] == e[1] ? 1 : 2); s++)
		for (int t = 0; t < (e[2] == e[3] ? 1 : 2); t++)
			sum += work->n[e[1 - s] * n + e[2 + t]] * work->x[e[3 - t] * n + e[s]];
	return sum;
}

/* Adds the local part of two blocks of an open component to the Hessian. */
static void
add_local(GrLmmSums *sums, const GrLmmComponent *component, const Work *work, int first, int second)
{
	int			na = work->nparameters;
	int			qa = sums->model->terms[component->term[first]].ncolumns;
	int			qb = sums->model->terms[component->term[second]].ncolumns;
	int			row = work->first[component->term[first]];

	for (int a = 0; a < qa; a++)
		for (int b = 0; b <= a; b++, row++)
		{
			int			column = work->first[component->term[second]];

			for (int c = 0; c < qb; c++)
				for (int d = 0; d <= c; d++, column++)
				{
					int64_t		e[4] = {
						work->start[first] + a, work->start[first] + b, work->start[second] + c,
						work->start[second] + d
					};

					sums->hessian[row * na + column] += local_entry(work, component->neffects, e);
				}
		}
}

bool
gr_lmm_derive(GrLmmSums *sums, GrPoll *poll)
{
	Work	   *work = sums->work;
	int			n = work->nparameters;
	int64_t		p = sums->model->nfixed;
	double		nu = sums->model->nobs - (sums->model->reml ? (double) p : 0);

	for (int k = 0; k < n; k++)
	{
		sums->slope_squares[k] = -prepare_parameter(sums, work, k);
		sums->slope[k] += nu * sums->slope_squares[k] / sums->squares;
		for (int64_t i = 0; i < p && sums->model->reml; i++)
			sums->slope[k] -= work->product[k * p * p + i * p + i];
	}
	memset(sums->hessian, 0, (size_t) n * n * sizeof(double));
	add_products(sums, work, nu);
	for (int64_t c = 0; c < sums->ncomponents; c++)
	{
		const GrLmmComponent *component = &sums->components[c];
		int64_t		size = component->neffects + p + 1;

		(void) open_component(sums, component, work);
		fill_local(sums, component, work, nu);
		for (int l = 0; l < component->nblocks; l++)
			for (int other = 0; other < component->nblocks; other++)
				add_local(sums, component, work, l, other);
		if (gr_poll(poll, size * size * (component->rank + 8)))
			return false;
	}
	return true;
}

/*
 * Effects
 */

/*
 * Sets root to the rows of a random term's Lambda in units of its columns' effects about a shift of 0, but for the
 * response's scale.
 */
static void
unscaled_root(const GrLmmTerm *term, const GrGram *all, const double *lambda,
			  double root[GR_LMM_COLUMNS_MAX][GR_LMM_COLUMNS_MAX])
{
	int			q = term->ncolumns;

	for (int i = 0; i < q; i++)
		for (int j = 0; j < q; j++)
			root[i][j] = j <= i ? lambda[gr_packed(i, j)] * term->scale[i] : 0;
	/* effects of columns about a shift: the intercept's becomes that at 0 */
	for (int i = 1; i < q && term->entries[0] == 0; i++)
		for (int j = 0; j < q; j++)
			root[0][j] -= (gr_gram_shift_of(all, term->entries[i]) - term->origin[i]) * root[i][j];
}

/* Sets the effects of block l of an open component, whose residual products G K^-1 F (-b, 1) are in work->p. */
static void
set_block(const GrLmmSums *sums, const GrLmmComponent *component, const GrGram *all, int l, double *effects,
		  double *errors)
{
	const Work *work = sums->work;
	const GrLmmTerm *term = &sums->model->terms[component->term[l]];
	const double *lambda = work->lambda + work->first[component->term[l]];
	const double *u = work->u + work->start[l] * component->rank;
	double		root[GR_LMM_COLUMNS_MAX][GR_LMM_COLUMNS_MAX];
	double		unit = 1 / sums->model->scale[sums->model->nfixed];
	double		nu = sums->model->nobs - (sums->model->reml ? (double) sums->model->nfixed : 0);
	int			q = term->ncolumns;

	unscaled_root(term, all, lambda, root);
	for (int i = 0; i < q; i++)
	{
		double		variance = 0;

		/* row i of root times Lambda' */
		double		psi[GR_LMM_COLUMNS_MAX] = {0};

		for (int a = 0; a < q; a++)
		{
			variance += root[i][a] * root[i][a];
			for (int j = a; j < q; j++)
				psi[j] += root[i][a] * lambda[gr_packed(j, a)];
		}
		effects[i] = 0;
		for (int j = 0; j < q; j++)
		{
			effects[i] += psi[j] * work->p[work->start[l] + j] * unit;
			for (int k = 0; k < q; k++)
				variance -= psi[j] * psi[k] * dot(u + j * component->rank, u + k * component->rank, component->rank);
		}
		errors[i] = sqrt(fmax(variance, 0) * sums->squares / nu) * unit;
	}
}

void
gr_lmm_effects(GrLmmSums *sums, const GrLmmComponent *component, const GrGram *all, double *effects, double *errors)
{
	Work	   *work = sums->work;
	int64_t		p = sums->model->nfixed;

	(void) open_component(sums, component, work);
	for (int64_t i = 0; i < component->neffects; i++)
		work->p[i] = work->h[i * (p + 1) + p] - dot(work->h + i * (p + 1), sums->coef, p);
	for (int l = 0; l < component->nblocks; l++)
		set_block(sums, component, all, l, effects + work->start[l], errors + work->start[l]);
}
