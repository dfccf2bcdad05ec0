/*
 * glm_reference.c: see glm_reference.h.
 */
#include "glm_reference.h"

#include <math.h>
#include <stdlib.h>

#include "gram_reference.h"

struct GlmReference
{
	int			nterms;
	long double *terms;			/* per row nterms + 2: 1, u, u z_1 .., v */
	Quad	   *half_deviance;
	double	   *margin;
	double	   *exact_weight;	/* 1 + |eta| / 4 */
	double	   *fast_weight;	/* 1 + sum |beta z| / 4 */
	double	   *response;
};

static Quad
quad_abs(Quad a)
{
	return a < 0 ? -a : a;
}

/* Returns exp(-a), 0 <= a <= 460: -a = k log 2 + f, with the series of exp(f) until a term adds nothing. */
static Quad
quad_exp_minus(Quad a)
{
	/* log 2 in pieces of 53 bits */
	const Quad	log_2 = (Quad) 0x1.62e42fefa39efp-1 + (Quad) 0x35793c7673007p-105 + (Quad) 0xe5ed5e81e6864p-157;
	int			k = (int) ((double) a / (double) log_2 + 0.5);
	Quad		f = (Quad) k * log_2 - a;
	Quad		term = 1;
	Quad		sum = 1;

	for (int n = 1; n < 40; n++)
	{
		term *= f / n;
		sum += term;
	}
	return sum * ldexp(1.0, -k);
}

/* Returns log(1 + t) = 2 artanh(t / (2 + t)), 0 <= t <= 1. */
static Quad
quad_log1p(Quad t)
{
	Quad		w = t / (2 + t);
	Quad		power = w;
	Quad		sum = w;

	for (int n = 3; n < 90 && power > sum * 0x1p-116; n += 2)
	{
		power *= w * w;
		sum += power / n;
	}
	return 2 * sum;
}

static Quad
quad_sqrt(Quad a)
{
	Quad		s = sqrt((double) a);

	for (int n = 0; n < 2; n++)
		s = (s + a / s) / 2;
	return s;
}

static void
work_out_row(GlmReference *reference, const GrPass *pass, const double *row, int64_t r)
{
	int			p = pass->shape.nfeatures;
	bool		one = row[p] > 0.5;
	long double *terms = reference->terms + r * (p + 3);
	Quad		eta = pass->beta[0];
	double		size = fabs(pass->beta[0]);
	Quad		a;
	Quad		t;
	Quad		unlikely;
	Quad		residual;
	Quad		u;

	for (int j = 0; j < p; j++)
	{
		Quad		term = pass->beta[j + 1] * ((Quad) row[j] - pass->shift[j]);

		eta += term;
		size += fabs((double) term);
	}
	a = quad_abs(eta);
	t = quad_exp_minus(a < 460 ? a : 460);
	unlikely = t / (1 + t);
	residual = (eta >= 0) == one ? unlikely : 1 / (1 + t);
	u = quad_sqrt(unlikely / (1 + t));
	terms[0] = 1;
	terms[1] = u;
	for (int j = 0; j < p; j++)
		terms[j + 2] = u * ((Quad) row[j] - pass->shift[j]);
	terms[p + 2] = (one ? residual : -residual) / u;
	reference->half_deviance[r] = quad_log1p(t) + ((eta >= 0) == one ? (Quad) 0 : a);
	reference->margin[r] = (double) (one ? eta : -eta);
	reference->exact_weight[r] = 1.0 + (double) a / 4;
	reference->fast_weight[r] = 1.0 + size / 4;
	reference->response[r] = row[p];
}

GlmReference *
glm_reference_new(const GrPass *pass, const double *rows, int64_t nrows)
{
	GlmReference *reference = malloc(sizeof(GlmReference));
	size_t		n = nrows > 0 ? nrows : 1;

	reference->nterms = pass->shape.nfeatures + 1;
	reference->terms = malloc(n * (reference->nterms + 2) * sizeof(long double));
	reference->half_deviance = malloc(n * sizeof(Quad));
	reference->margin = malloc(n * sizeof(double));
	reference->exact_weight = malloc(n * sizeof(double));
	reference->fast_weight = malloc(n * sizeof(double));
	reference->response = malloc(n * sizeof(double));
	for (int64_t r = 0; r < nrows; r++)
		work_out_row(reference, pass, rows + r * (pass->shape.nfeatures + 1), r);
	return reference;
}

void
glm_reference_free(GlmReference *reference)
{
	free(reference->terms);
	free(reference->half_deviance);
	free(reference->margin);
	free(reference->exact_weight);
	free(reference->fast_weight);
	free(reference->response);
	free(reference);
}

static double
error_of(long double got, long double want, double size)
{
	if (!isfinite((double) got))
		return INFINITY;
	return got == want ? 0.0 : size > 0.0 ? fabs((double) (got - want)) / size : INFINITY;
}

/* Returns the error of got as the sum of the products of terms i and j. */
static double
product_error(const GlmReference *reference, int64_t nrows, const double *weight, int i, int j, long double got)
{
	long double sum = 0;
	double		size = 0;

	for (int64_t r = 0; r < nrows; r++)
	{
		const long double *terms = reference->terms + r * (reference->nterms + 2);
		long double product = terms[i] * terms[j];

		sum += product;
		size += fabs((double) product) * weight[r];
	}
	return error_of(got, sum, size);
}

static void
compare_head(const GlmReference *reference, int64_t nrows, GrPassKind kind, const double *weight, const double *sums,
			 GlmErrors *errors)
{
	Quad		deviance = 0;
	double		size = 0;
	double		nones = 0;
	double		min_margin = INFINITY;
	double		scale = 1;

	for (int64_t r = 0; r < nrows; r++)
	{
		deviance += 2 * reference->half_deviance[r];
		size += 2 * (double) reference->half_deviance[r] * weight[r];
		nones += reference->response[r];
		if (reference->margin[r] < min_margin)
		{
			min_margin = reference->margin[r];
			scale = weight[r];
		}
	}
	errors->head = nrows == 0 && sums[GR_SUM_MIN_MARGIN] == INFINITY ? 0 :
		error_of(sums[GR_SUM_MIN_MARGIN], min_margin, scale);
	if (sums[GR_SUM_NROWS] != nrows || sums[GR_SUM_NRIGHT] != 0 || sums[GR_SUM_NWRONG] != 0 ||
		sums[GR_SUM_MIN_RIGHT] != INFINITY || sums[GR_SUM_NONES] != (kind == GR_PASS_FAST ? 0 : nones))
		errors->head = INFINITY;
	errors->deviance = isfinite(sums[GR_SUM_DEVIANCE_LO]) ?
		error_of((long double) sums[GR_SUM_DEVIANCE_HI] + sums[GR_SUM_DEVIANCE_LO], deviance, size) : INFINITY;
}

GlmErrors
glm_reference_errors(const GlmReference *reference, int64_t nrows, GrPassKind kind, const double *sums)
{
	GlmErrors	errors = {0};
	int			t = reference->nterms;
	bool		exact = kind == GR_PASS_EXACT;
	const double *weight = exact ? reference->exact_weight : reference->fast_weight;
	const double *hi = sums + GR_SUM_HEAD;
	const double *lo = hi + (exact ? gr_triangle(t + 2) : t);
	const double *rest = lo + t;

	compare_head(reference, nrows, kind, weight, sums, &errors);
	for (int i = 0; i < t; i++)
	{
		int64_t		at = exact ? gr_triangle(t + 1) + 1 + i : i;

		errors.gradient = fmax(errors.gradient,
							   product_error(reference, nrows, weight, t + 1, i + 1, (long double) hi[at] + lo[at]));
		if (kind == GR_PASS_GRADIENT)
		{
			errors.hessian = fmax(errors.hessian, product_error(reference, nrows, weight, 1, i + 1, rest[i]));
			errors.hessian = fmax(errors.hessian, product_error(reference, nrows, weight, i + 1, i + 1, rest[t + i]));
		}
		for (int j = 0; kind == GR_PASS_FAST && j <= i; j++)
			errors.hessian = fmax(errors.hessian,
								  product_error(reference, nrows, weight, i + 1, j + 1, rest[gr_triangle(i) + j]));
	}
	for (int i = 0; exact && i < t + 2; i++)
		for (int j = 0; j <= i; j++)
			if (i <= t || j == 0 || j == i)
				errors.hessian = fmax(errors.hessian, product_error(reference, nrows, weight, i, j,
																   (long double) hi[gr_triangle(i) + j] +
																   lo[gr_triangle(i) + j]));
	return errors;
}
