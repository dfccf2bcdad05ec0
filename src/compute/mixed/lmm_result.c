/* lmm_result.c: the result of a mixed model's fit in units of the rows; see lmm.h. */
#include <math.h>
#include <string.h>

#include "compute/mixed/lmm.h"

#define LOG_2PI 1.8378770664093454836

void
gr_lmm_result_carve(GrLmmResult *result, const GrLmmModel *model, GrArena *arena)
{
	int64_t		p = model->nfixed;

	result->coef = gr_carve_doubles(arena, p);
	result->vcov = gr_carve_doubles(arena, p * p);
	result->covariance = gr_carve_doubles(arena, gr_lmm_nparameters(model));
}

/* Returns the criterion with its constant, in units of the rows. */
static double
criterion_of(const GrLmmSums *sums, const GrGram *all)
{
	const GrLmmModel *model = sums->model;
	int			p = model->nfixed;
	double		nu = model->nobs - (model->reml ? (double) p : 0);
	double		scales = nu * log(model->scale[p]);

	for (int k = 0; k < p && model->reml; k++)
		scales += log(model->scale[k]);
	return sums->value + nu * (1 + LOG_2PI - log(nu)) - 2 * scales - 2 * all->log_constant;
}

/*
 * Sets coefficients and their covariances. Slopes do not depend on the shift; the intercept is that at 0 of all
 * columns.
 */
static void
set_fixed(const GrLmmSums *sums, const GrGram *all, double variance, GrLmmResult *result)
{
	const GrLmmModel *model = sums->model;
	int64_t		p = model->nfixed;
	double		unit = 1 / model->scale[p];
	double	   *vcov = result->vcov;

	for (int64_t i = 0; i < p; i++)
	{
		result->coef[i] = sums->coef[i] * model->scale[i] * unit;
		for (int64_t j = 0; j < p; j++)
			vcov[i * p + j] = variance * sums->inverse[i * p + j] * model->scale[i] * model->scale[j];
	}
	if (p == 0 || model->entries[0] != 0)
		return;
	result->coef[0] += gr_gram_shift_of(all, model->entries[p]);
	for (int64_t i = 1; i < p; i++)
	{
		double		shift = gr_gram_shift_of(all, model->entries[i]);

		result->coef[0] -= shift * result->coef[i];
		for (int64_t j = 0; j < p; j++)
			vcov[j] -= shift * vcov[i * p + j];
	}
	for (int64_t i = 1; i < p; i++)
	{
		vcov[0] -= gr_gram_shift_of(all, model->entries[i]) * vcov[i];
		vcov[i * p] = vcov[i];
	}
}

/* Sets the covariances of a random term's effects from the packed rows of its Lambda. */
static void
set_random(const GrLmmTerm *term, const GrGram *all, const double *lambda, double variance, double *covariance)
{
	int			q = term->ncolumns;
	double		root[GR_LMM_COLUMNS_MAX][GR_LMM_COLUMNS_MAX] = {{0}};

	for (int i = 0; i < q; i++)
		for (int j = 0; j <= i; j++)
			root[i][j] = lambda[gr_packed(i, j)] * term->scale[i];
	/* effects of columns about a shift: the intercept's becomes that at 0 */
	for (int i = 1; i < q && term->entries[0] == 0; i++)
		for (int j = 0; j < q; j++)
			root[0][j] -= (gr_gram_shift_of(all, term->entries[i]) - term->origin[i]) * root[i][j];
	for (int i = 0; i < q; i++)
		for (int j = 0; j <= i; j++)
		{
			double		sum = 0;

			for (int k = 0; k < q; k++)
				sum += root[i][k] * root[j][k];
			covariance[gr_packed(i, j)] = variance * sum;
		}
}

/* Returns the variance of X b over the rows, from products about the mean. */
static double
fixed_variance_of(const GrLmmModel *model, const GrGram *all, const double *coef)
{
	GrDD		n = gr_gram_entry(all, 0, 0);
	double		sum = 0;

	for (int i = 0; i < model->nfixed; i++)
		for (int j = 0; j < model->nfixed; j++)
		{
			int			a = model->entries[i] > model->entries[j] ? model->entries[i] : model->entries[j];
			int			b = model->entries[i] > model->entries[j] ? model->entries[j] : model->entries[i];
			GrDD		means = gr_dd_mul(gr_gram_entry(all, a, 0), gr_dd_div(gr_gram_entry(all, b, 0), n));

			if (b > 0)
				sum += coef[i] * coef[j] * gr_dd_to_double(gr_dd_sub(gr_gram_entry(all, a, b), means));
		}
	return n.hi > 1 ? sum / (n.hi - 1) : NAN;
}

/* Returns the sum of products of columns i and j of a random term, of which the term's own scales are no part. */
static double
product_of(const GrLmmTerm *term, const GrGram *all, int i, int j)
{
	int			a = term->entries[i] > term->entries[j] ? term->entries[i] : term->entries[j];
	int			b = term->entries[i] > term->entries[j] ? term->entries[j] : term->entries[i];
	GrDD		sum = gr_gram_entry(all, a, b);

	sum = gr_dd_add(sum, gr_dd_mul_d(gr_gram_entry(all, term->entries[i], 0), term->origin[j]));
	sum = gr_dd_add(sum, gr_dd_mul_d(gr_gram_entry(all, term->entries[j], 0), term->origin[i]));
	sum = gr_dd_add(sum, gr_dd_mul_d(gr_dd_mul_d(gr_gram_entry(all, 0, 0), term->origin[i]), term->origin[j]));
	return gr_dd_to_double(sum);
}

/* Returns the mean over the rows of the variance of a term's part of Z u. */
static double
random_variance_of(const GrLmmTerm *term, const GrGram *all, const double *lambda, double variance)
{
	double		sum = 0;

	for (int i = 0; i < term->ncolumns; i++)
		for (int j = 0; j < term->ncolumns; j++)
		{
			double		psi = 0;

			for (int k = 0; k <= (i < j ? i : j); k++)
				psi += lambda[gr_packed(i, k)] * lambda[gr_packed(j, k)];
			sum += psi * term->scale[i] * term->scale[j] * product_of(term, all, i, j);
		}
	return variance * sum / gr_gram_entry(all, 0, 0).hi;
}

void
gr_lmm_result(const GrLmmFit *fit, const GrGram *all, GrLmmResult *result)
{
	const GrLmmSums *sums = &fit->sums;
	const GrLmmModel *model = sums->model;
	double		nu = model->nobs - (model->reml ? (double) model->nfixed : 0);
	double		unit = 1 / model->scale[model->nfixed];
	int64_t		first = 0;

	result->variance = sums->squares / nu * unit * unit;
	result->criterion = criterion_of(sums, all);
	set_fixed(sums, all, result->variance, result);
	result->fixed_variance = fixed_variance_of(model, all, result->coef);
	result->random_variance = 0;
	for (int k = 0; k < model->nterms; k++)
	{
		const GrLmmTerm *term = &model->terms[k];

		set_random(term, all, fit->lambda + first, result->variance, result->covariance + first);
		result->random_variance += random_variance_of(term, all, fit->lambda + first, result->variance);
		first += gr_triangle(term->ncolumns);
	}
}
