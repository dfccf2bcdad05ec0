/*
 * logreg_driver.h: shared by the unit tests of logistic regression: rows, fits over them, and the conditions that a fit
 * must satisfy, computed independently in long double.
 */
#ifndef GPUREG_LOGREG_DRIVER_H
#define GPUREG_LOGREG_DRIVER_H

#include <stdlib.h>
#include <string.h>

#include "compute/glm/glm_fit.h"
#include "compute/linalg/basis.h"
#include "unit.h"

#define TERMS_MAX 41			/* most terms of the independent inverse */
#define PASSES_MAX 400			/* most passes in a trace */

#define LENGTH(a) (sizeof(a) / sizeof((a)[0]))

/*
 * Rows
 */

typedef struct Data
{
	int			p;
	int64_t		nrows;
	double	   *rows;			/* nrows x (p + 1), the response last */
} Data;

static inline Data
data_new(int p, int64_t nrows)
{
	Data		data = {p, nrows, calloc((size_t) (nrows > 0 ? nrows : 1) * (p + 1), sizeof(double))};

	return data;
}

/* Makes data of values laid out as Data's rows. */
static inline Data
data_of(int p, int64_t nrows, const double *values)
{
	Data		data = data_new(p, nrows);

	memcpy(data.rows, values, (size_t) nrows * (p + 1) * sizeof(double));
	return data;
}

static inline void
data_free(Data *data)
{
	free(data->rows);
}

static inline double *
row_of(const Data *data, int64_t r)
{
	return data->rows + r * (data->p + 1);
}

/* Returns a number in (-1, 1) with all 53 bits. */
static inline double
uniform(void)
{
	double		low = ((double) random() + 0.5) / 2147483648.0;

	return 2.0 * ((double) random() + low) / 2147483648.0 - 1.0;
}

static inline int
whole(int from, int to)
{
	return from + (int) (random() % (to - from + 1));
}

/* Makes features in (-1, 1), or multiples of 1/1024 there, and a response that depends on them loosely. */
static inline Data
random_data(int p, int64_t nrows, bool dyadic)
{
	Data		data = data_new(p, nrows);

	for (int64_t r = 0; r < nrows; r++)
	{
		double	   *row = row_of(&data, r);
		double		eta = 0.3;

		for (int j = 0; j < p; j++)
		{
			row[j] = dyadic ? whole(-1023, 1023) / 1024.0 : uniform();
			eta += row[j] * (j % 3 - 1) * 2 / sqrt(p);
		}
		row[p] = uniform() < 2 * gr_link_mean(GR_LOGIT, eta) - 1 ? 1 : 0;
	}
	return data;
}

/* Copies the data with feature j as x scale + offset. */
static inline Data
data_moved(const Data *from, double scale, double offset)
{
	Data		data = data_of(from->p, from->nrows, from->rows);

	for (int64_t r = 0; r < data.nrows; r++)
		for (int j = 0; j < data.p; j++)
			row_of(&data, r)[j] = row_of(&data, r)[j] * scale + offset;
	return data;
}

/*
 * Fits
 */

static inline GrGlmOptions
defaults(const Data *data)
{
	GrGlmOptions options = {
		.shape = gr_plain_shape(data->p),.distribution = GR_LOGISTIC,.intercept = true,.max_iter = 25,.tol = 1e-10,
		.solver = GR_SOLVER_NEWTON,.learning_rate = NAN,
		.can_change = true
	};

	return options;
}

/* A fit and its trace; fit lies in memory of exactly the size asked for. */
typedef struct Run
{
	void	   *memory;
	GrGlmFit *fit;
	bool		ok;
	bool		changed;		/* the rows' basis was changed */
	GrError		err;
	int			npasses;
	int			nfaces;			/* passes of FACE */
	int			nkept;
	int			iteration[PASSES_MAX];	/* the first PASSES_MAX passes other than FACE */
	double		deviance[PASSES_MAX];
} Run;

static inline void
run_free(Run *run)
{
	free(run->memory);
}

/* Makes the pass over rows from .. to - 1. */
static inline void
pass_over(const Data *data, const GrPass *pass, double *sums, int64_t from, int64_t to)
{
	double	   *scratch = malloc(gr_pass_scratch_nbytes(pass->kind, pass->shape));

	gr_pass_add(pass, sums, data->rows + from * (data->p + 1), to - from, scratch);
	free(scratch);
}

/* Makes the pass in nparts parts, one of them empty, each summed by itself, and merges the sums. */
static inline void
pass_in_parts(const Data *data, const GrPass *pass, double *sums, int nparts)
{
	double	   *part = malloc(gr_pass_nsums(pass->kind, pass->shape.nfeatures) * sizeof(double));
	int64_t		from = 0;

	for (int k = 0; k < nparts; k++)
	{
		int64_t		to = k == nparts - 1 ? data->nrows : k == 1 ? from : data->nrows * (k + 1) / nparts;

		gr_pass_clear(pass->kind, pass->shape.nfeatures, part);
		pass_over(data, pass, part, from, to);
		gr_pass_merge(pass->kind, pass->shape.nfeatures, sums, part);
		from = to;
	}
	free(part);
}

/* Updates beta by the batch formula in compute.h. */
static inline void
ascend(const Data *data, GrGlmFit *fit)
{
	const GrAscent *ascent = &fit->ascent;
	double	   *gradient = malloc((data->p + 1) * sizeof(double));

	for (fit->ascended = 0; fit->ascended < ascent->max_iter && !fit->ascent_converged;)
	{
		bool		small = true;

		for (int j = 0; j <= data->p; j++)
			gradient[j] = j > 0 ? -ascent->l2 * fit->beta[j] : 0;
		for (int64_t r = 0; r < data->nrows; r++)
		{
			const double *row = row_of(data, r);
			double		eta = fit->beta[0];

			for (int j = 0; j < data->p; j++)
				eta += row[j] * fit->beta[j + 1];
			for (int j = 0; j <= data->p; j++)
				gradient[j] += (j == 0 ? 1 : row[j - 1]) * (row[data->p] - gr_link_mean(GR_LOGIT, eta));
		}
		for (int j = ascent->intercept ? 0 : 1; j <= data->p; j++)
		{
			small &= fabs(gradient[j]) <= ascent->scale[j];
			fit->beta[j] += ascent->rate * gradient[j];
		}
		fit->ascended++;
		fit->ascent_converged = small && fit->ascended % ascent->check_every == 0;
	}
	free(gradient);
}

static inline void
note_pass(Run *run)
{
	run->npasses++;
	if (run->fit->pass.kind == GR_PASS_FACE)
		run->nfaces++;
	else if (run->nkept < PASSES_MAX)
	{
		run->iteration[run->nkept] = run->fit->iterations;
		run->deviance[run->nkept++] = run->fit->sums[GR_SUM_DEVIANCE_HI];
	}
}

static inline Run
run_in_parts(const Data *data, const GrGlmOptions *options, int nparts, const GrHost *host)
{
	Run			run = {.memory = malloc(gr_glm_nbytes(options)),.ok = true};
	Data		changed = {0};
	GrGlmWant want;

	run.fit = gr_glm_begin(run.memory, options);
	while (run.ok && (want = gr_glm_next(run.fit)) != GR_GLM_DONE)
	{
		if (want == GR_GLM_ASCEND)
			ascend(data, run.fit);
		else if (want == GR_GLM_CHANGE)
		{
			changed = data_of(data->p, data->nrows, data->rows);
			(void) gr_basis_change_rows(run.fit->basis, gr_plain_shape(data->p), changed.rows, changed.nrows,
										 &(GrPoll) {.host = host});
			data = &changed;
			run.changed = true;
		}
		else
		{
			if (nparts == 1)
				pass_over(data, &run.fit->pass, run.fit->sums, 0, data->nrows);
			else
				pass_in_parts(data, &run.fit->pass, run.fit->sums, nparts);
			note_pass(&run);
		}
		run.ok = gr_glm_advance(run.fit, host, &run.err);
	}
	data_free(&changed);
	return run;
}

static inline Run
run_fit(const Data *data, const GrGlmOptions *options)
{
	return run_in_parts(data, options, 1, NULL);
}

static inline double
std_error(const GrGlmFit *fit, int k)
{
	return sqrt(fit->vcov[k * fit->nterms + k]);
}

/* True if the fit converged on a finite estimate of every term. */
static inline bool
regular(const Run *run)
{
	return run->ok && run->fit->converged && run->fit->rank == run->fit->nterms && run->fit->nseparated == 0;
}

/* Returns the largest relative difference of coefficients and of standard errors. */
static inline double
difference(const GrGlmFit *a, const GrGlmFit *b)
{
	double		worst = a->nterms == b->nterms ? 0 : INFINITY;

	for (int k = 0; k < a->nterms && a->nterms == b->nterms; k++)
		worst = fmax(worst, fmax(relative_error(a->coef[k], b->coef[k]),
								 relative_error(std_error(a, k), std_error(b, k))));
	return worst;
}

/*
 * Conditions that a fit must satisfy, in long double, by code that shares nothing with the fit
 */

static inline long double
term(const double *row, int k, bool intercept)
{
	return intercept ? k == 0 ? 1 : row[k - 1] : row[k];
}

/* Returns a row's mu at coef; NaNs in coef count as 0. */
static inline long double
mean_at(const Data *data, const double *row, const double *coef, bool intercept)
{
	int			nterms = data->p + (intercept ? 1 : 0);
	long double eta = 0;

	for (int k = 0; k < nterms; k++)
		if (!isnan(coef[k]))
			eta += coef[k] * term(row, k, intercept);
	return 1 / (1 + expl(-eta));
}

/* Returns the largest component of the penalised gradient at coef, relative to the magnitudes of its terms. */
static inline double
score_error(const Data *data, const double *coef, bool intercept, double l2)
{
	int			nterms = data->p + (intercept ? 1 : 0);
	long double *residual = malloc(data->nrows * sizeof(long double));
	double		worst = 0;

	for (int64_t r = 0; r < data->nrows; r++)
		residual[r] = row_of(data, r)[data->p] - mean_at(data, row_of(data, r), coef, intercept);
	for (int k = 0; k < nterms; k++)
	{
		long double penalty = intercept && k == 0 ? 0 : l2 * (isnan(coef[k]) ? 0 : coef[k]);
		long double sum = -penalty;
		long double magnitude = fabsl(penalty);

		for (int64_t r = 0; r < data->nrows; r++)
		{
			long double part = term(row_of(data, r), k, intercept) * residual[r];

			sum += part;
			magnitude += fabsl(part);
		}
		worst = fmax(worst, magnitude > 0 ? (double) (fabsl(sum) / magnitude) : 0);
	}
	free(residual);
	return worst;
}

/* Inverts the n x n matrix a in place, n <= TERMS_MAX, by Gauss and Jordan with pivots from the diagonal. */
static inline void
invert(long double *a, int n)
{
	bool		done[TERMS_MAX] = {false};

	for (int step = 0; step < n; step++)
	{
		int			k = -1;
		long double pivot;

		for (int i = 0; i < n; i++)
			if (!done[i] && (k < 0 || fabsl(a[i * n + i]) > fabsl(a[k * n + k])))
				k = i;
		done[k] = true;
		pivot = a[k * n + k];
		a[k * n + k] = 1;
		for (int j = 0; j < n; j++)
			a[k * n + j] /= pivot;
		for (int i = 0; i < n; i++)
		{
			long double factor = a[i * n + k];

			if (i == k)
				continue;
			a[i * n + k] = 0;
			for (int j = 0; j < n; j++)
				a[i * n + j] -= factor * a[k * n + j];
		}
	}
}

/* Computes the inverse of the Hessian at coef, and, unless step is NULL, the Newton step from there. */
static inline void
reference_step(const Data *data, const double *coef, bool intercept, double l2, long double *inverse, long double *step)
{
	int			n = data->p + (intercept ? 1 : 0);
	long double gradient[TERMS_MAX] = {0};

	memset(inverse, 0, (size_t) n * n * sizeof(long double));
	for (int64_t r = 0; r < data->nrows; r++)
	{
		const double *row = row_of(data, r);
		long double mu = mean_at(data, row, coef, intercept);

		for (int i = 0; i < n; i++)
		{
			gradient[i] += term(row, i, intercept) * (row[data->p] - mu);
			for (int j = 0; j < n; j++)
				inverse[i * n + j] += mu * (1 - mu) * term(row, i, intercept) * term(row, j, intercept);
		}
	}
	for (int i = intercept ? 1 : 0; i < n; i++)
	{
		inverse[i * n + i] += l2;
		gradient[i] -= l2 * coef[i];
	}
	invert(inverse, n);
	for (int i = 0; i < n && step != NULL; i++)
	{
		step[i] = 0;
		for (int j = 0; j < n; j++)
			step[i] += inverse[i * n + j] * gradient[j];
	}
}

/* Returns the largest error of vcov, in units of the two standard errors. */
static inline double
vcov_error(const Data *data, const GrGlmFit *fit, bool intercept, double l2)
{
	int			n = fit->nterms;
	long double inverse[TERMS_MAX * TERMS_MAX];
	double		worst = 0;

	reference_step(data, fit->coef, intercept, l2, inverse, NULL);
	for (int i = 0; i < n; i++)
	{
		for (int j = 0; j < n; j++)
		{
			long double scale = sqrtl(inverse[i * n + i] * inverse[j * n + j]);
			double		e = (double) (fabsl(fit->vcov[i * n + j] - inverse[i * n + j]) / scale);

			worst = e >= 0 ? fmax(worst, e) : INFINITY;
		}
	}
	return worst;
}

#endif							/* GPUREG_LOGREG_DRIVER_H */
