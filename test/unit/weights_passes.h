/*
 * weights_passes.h: rows with weights and offsets, and passes of logistic regression over them, for weights_test.c:
 * compared with long double, and with plain rows.
 */
#ifndef GPUREG_WEIGHTS_PASSES_H
#define GPUREG_WEIGHTS_PASSES_H

#include "compute/glm/glm.h"
#include "logreg_driver.h"

static const int all_lanes[] = {1, 4, 8};

/*
 * Rows
 */

typedef struct Rows
{
	GrRowShape	shape;			/* never single */
	int64_t		nrows;
	double	   *rows;
} Rows;

static inline double *
weighted_row(const Rows *data, int64_t r)
{
	return data->rows + r * gr_row_ncols(data->shape);
}

static inline void
rows_free(Rows *data)
{
	free(data->rows);
}

static inline Rows
rows_new(GrRowShape shape, int64_t nrows)
{
	Rows		data = {shape, nrows, calloc((size_t) (nrows > 0 ? nrows : 1), gr_row_nbytes(shape))};

	return data;
}

static inline const char *
shape_names(GrRowShape shape)
{
	return shape.weight ? shape.offset ? ", weight, offset" : ", weight" : shape.offset ? ", offset" : "";
}

/*
 * Makes features in (-1, 1) and a response that depends on them: 0 or 1 or, for every third weighted row, a share.
 * Weights are of magnitudes from 10^-magnitude to 10^magnitude.
 */
static inline Rows
random_rows_of(GrRowShape shape, int64_t nrows, double magnitude)
{
	Rows		data = rows_new(shape, nrows);

	for (int64_t r = 0; r < nrows; r++)
	{
		double	   *row = weighted_row(&data, r);
		double		eta = 0.3;

		for (int j = 0; j < shape.nfeatures; j++)
		{
			row[j] = uniform();
			eta += row[j] * (j % 3 - 1) * 2 / sqrt(shape.nfeatures);
		}
		if (shape.weight)
			row[gr_weight_at(shape)] = (1.5 + 0.5 * uniform()) * pow(10, magnitude * uniform());
		if (shape.offset)
			row[gr_offset_at(shape)] = 2 * uniform();
		if (shape.weight && r % 3 == 0)
			row[gr_response_at(shape)] = gr_link_mean(GR_LOGIT, eta + 2 * uniform());
		else
			row[gr_response_at(shape)] = uniform() <
				2 * gr_link_mean(GR_LOGIT, eta + gr_row_offset(row, shape)) - 1 ? 1 : 0;
	}
	return data;
}

/* Copies the rows into another shape, with weights of 1 and offsets of 0 if they have none. */
static inline Rows
rows_as(const Rows *from, GrRowShape shape)
{
	Rows		data = rows_new(shape, from->nrows);

	for (int64_t r = 0; r < from->nrows; r++)
	{
		const double *row = weighted_row(from, r);

		memcpy(weighted_row(&data, r), row, ((size_t) shape.nfeatures + 1) * sizeof(double));
		if (shape.weight)
			weighted_row(&data, r)[gr_weight_at(shape)] = gr_row_weight(row, from->shape);
		if (shape.offset)
			weighted_row(&data, r)[gr_offset_at(shape)] = gr_row_offset(row, from->shape);
	}
	return data;
}

/* Copies the rows with weights of 1 and offsets of 0. */
static inline Rows
rows_with_ones(const Rows *from)
{
	Rows		plain = rows_as(from, gr_plain_shape(from->shape.nfeatures));
	Rows		data = rows_as(&plain, from->shape);

	rows_free(&plain);
	return data;
}

/* Makes every response 0 or 1. */
static inline void
make_binary(Rows *data)
{
	for (int64_t r = 0; r < data->nrows; r++)
		weighted_row(data, r)[gr_response_at(data->shape)] = weighted_row(data, r)[gr_response_at(data->shape)] >= 0.5;
}

/*
 * Passes
 */

static const char *const pass_names[] = {"exact", "fast", "gradient", "face"};

/*
 * A row's terms: 1, u, u z, v, each with the size of the quantities whose rounding it has. The size of eta is its
 * magnitude in float8, in which FAST and GRADIENT sum it, or its own; a share's residual also has that of the lesser of
 * mu and 1 - mu.
 */
typedef struct RowTerms
{
	long double value[128];
	long double size[128];
	long double half_deviance;
	long double deviance_size;
	double		margin;
} RowTerms;

static inline void
work_out(RowTerms *terms, const GrPass *pass, const double *row)
{
	int			p = pass->shape.nfeatures;
	long double y = gr_row_response(row, pass->shape);
	long double weight = gr_row_weight(row, pass->shape);
	long double offset = gr_row_offset(row, pass->shape);
	long double eta = pass->beta[0] + offset;
	long double magnitude = fabsl(pass->beta[0]) + fabsl(offset);
	long double mu[2];
	long double near;
	long double u;

	for (int j = 0; j < p; j++)
	{
		long double term = pass->beta[j + 1] * ((long double) row[j] - pass->shift[j]);

		eta += term;
		magnitude += fabsl(term);
	}
	magnitude = 1 + (pass->kind == GR_PASS_EXACT ? fabsl(eta) : magnitude) / 4;
	mu[1] = 1 / (1 + expl(-eta));
	mu[0] = 1 / (1 + expl(eta));
	near = y == 0 || y == 1 ? 0 : y < 0.5 ? mu[1] : mu[0];
	u = pass->linear ? sqrtl(weight) / 2 : sqrtl(weight * mu[0] * mu[1]);
	terms->value[0] = terms->size[0] = 1;
	terms->value[1] = u;
	terms->size[1] = u * magnitude;
	for (int j = 0; j < p; j++)
	{
		terms->value[j + 2] = u * ((long double) row[j] - pass->shift[j]);
		terms->size[j + 2] = fabsl(terms->value[j + 2]) * magnitude;
	}
	terms->value[p + 2] = weight * (y >= 0.5 ? mu[0] - (1 - y) : y - mu[1]) / u;
	terms->size[p + 2] = weight * (fabsl(y - mu[1]) + near) * magnitude / u;
	if (pass->linear)
	{
		terms->value[p + 2] = weight * (y - 0.5L - offset / 4) / u;
		terms->size[p + 2] = weight * (0.5L + fabsl(offset) / 4) / u;
	}
	/* log1pl() keeps all digits also if a probability is near 1 */
	terms->half_deviance = weight * (y == 0 ? log1pl(expl(eta)) : y == 1 ? log1pl(expl(-eta)) :
									 y * logl(y / mu[1]) + (1 - y) * logl((1 - y) / mu[0]));
	terms->deviance_size = (terms->half_deviance + weight * (near > 0 ? fabsl(y - mu[1]) : 0)) * magnitude;
	terms->margin = (double) (y == 1 ? eta : y == 0 ? -eta : -fabsl(eta));
}

/* Expected sums of a pass, and of the sizes of their terms; products of all terms are packed. */
typedef struct PassSums
{
	long double *value;
	long double *size;
	long double deviance;
	long double deviance_size;
	double		min_margin;
	double		nones;
} PassSums;

static inline PassSums
sum_up(const GrPass *pass, const Rows *data, int64_t nrows)
{
	int			q = pass->shape.nfeatures + 3;
	size_t		n = (size_t) gr_triangle(q);
	PassSums	sums = {calloc(n, sizeof(long double)), calloc(n, sizeof(long double)),.min_margin = INFINITY};
	RowTerms	terms;

	for (int64_t r = 0; r < nrows; r++)
	{
		work_out(&terms, pass, weighted_row(data, r));
		for (int i = 0; i < q; i++)
			for (int j = 0; j <= i; j++)
			{
				int64_t		at = gr_triangle(i) + j;

				sums.value[at] += terms.value[i] * terms.value[j];
				sums.size[at] += fabsl(terms.value[i]) * terms.size[j] + terms.size[i] * fabsl(terms.value[j]);
			}
		sums.deviance += 2 * terms.half_deviance;
		sums.deviance_size += 2 * terms.deviance_size;
		sums.min_margin = fmin(sums.min_margin, terms.margin);
		sums.nones += gr_row_response(weighted_row(data, r), data->shape);
	}
	return sums;
}

/* Updates the largest error by that of got as the sum of products of terms i and j. */
static inline double
worse_of(double worst, const PassSums *want, int i, int j, long double got)
{
	int64_t		at = i >= j ? gr_triangle(i) + j : gr_triangle(j) + i;
	long double error = fabsl(got - want->value[at]) / (want->size[at] > 0 ? want->size[at] : 1);

	return error <= worst ? worst : error == error ? (double) error : INFINITY;
}

/* True if a pass's head has the right counts, margins and deviance. */
static inline bool
head_good(const GrPass *pass, const PassSums *want, int64_t nrows, const double *sums)
{
	double		deviance = sums[GR_SUM_DEVIANCE_HI] + sums[GR_SUM_DEVIANCE_LO];

	return sums[GR_SUM_NROWS] == nrows && sums[GR_SUM_NRIGHT] == 0 && sums[GR_SUM_NWRONG] == 0 &&
		fabs(sums[GR_SUM_NONES] - (pass->kind == GR_PASS_FAST ? 0 : want->nones)) <= 1e-13 * want->nones &&
		(pass->linear ? deviance == 0 : fabsl(deviance - want->deviance) <= 1e-15 * want->deviance_size &&
		 fabs(sums[GR_SUM_MIN_MARGIN] - want->min_margin) <= 1e-13 * (1 + fabs(want->min_margin)));
}

static inline double
matrix_error(const GrPass *pass, const PassSums *want, const double *sums)
{
	int			t = pass->shape.nfeatures + 1;
	bool		exact = pass->kind == GR_PASS_EXACT;
	const double *hi = sums + GR_SUM_HEAD;
	const double *lo = hi + (exact ? gr_triangle(t + 2) : t);
	const double *rest = lo + t;
	double		worst = 0;

	for (int i = 0; exact && i < t + 2; i++)
		for (int j = 0; j <= i; j++)
			worst = worse_of(worst, want, i, j, (long double) hi[gr_triangle(i) + j] + lo[gr_triangle(i) + j]);
	for (int i = 0; !exact && i < t; i++)
	{
		worst = worse_of(worst, want, t + 1, i + 1, (long double) hi[i] + lo[i]);
		if (pass->kind == GR_PASS_GRADIENT)
		{
			worst = worse_of(worst, want, 1, i + 1, rest[i]);
			worst = worse_of(worst, want, i + 1, i + 1, rest[t + i]);
		}
		for (int j = 0; pass->kind == GR_PASS_FAST && j <= i; j++)
			worst = worse_of(worst, want, i + 1, j + 1, rest[gr_triangle(i) + j]);
	}
	return worst;
}

/* Makes the pass over the first nrows rows in blocks; the scratch memory starts as NaNs. The caller frees the sums. */
static inline double *
run_weighted(const GrPass *pass, const Rows *data, int64_t nrows, int64_t block_nrows, int lanes)
{
	double	   *sums = malloc(gr_pass_nsums(pass->kind, pass->shape.nfeatures) * sizeof(double));
	size_t		nbytes = gr_pass_scratch_nbytes(pass->kind, data->shape);
	double	   *scratch = malloc(nbytes);
	GrPass		of_shape = *pass;

	of_shape.shape = data->shape;
	memset(scratch, 0xff, nbytes);
	gr_pass_clear(pass->kind, pass->shape.nfeatures, sums);
	for (int64_t at = 0; at < nrows; at += block_nrows)
		gr_pass_add_lanes(&of_shape, sums, weighted_row(data, at),
						  nrows - at < block_nrows ? nrows - at : block_nrows, scratch, lanes);
	free(scratch);
	return sums;
}

/* Checks a pass over several numbers of rows, on all lanes. */
static inline void
check_weighted_pass(const GrPass *pass, const Rows *data, const char *name)
{
	static const int64_t counts[] = {1, 7, 64, 65, 257, 600};
	size_t		nbytes = gr_pass_nsums(pass->kind, pass->shape.nfeatures) * sizeof(double);
	double		worst = 0;
	bool		heads = true;
	bool		same = true;

	for (size_t c = 0; c < LENGTH(counts) && counts[c] <= data->nrows; c++)
	{
		PassSums	want = sum_up(pass, data, counts[c]);
		double	   *sums[3];

		for (int v = 0; v < 3; v++)
		{
			sums[v] = run_weighted(pass, data, counts[c], 300, all_lanes[v]);
			heads = heads && head_good(pass, &want, counts[c], sums[v]);
			worst = fmax(worst, matrix_error(pass, &want, sums[v]));
			same = same && (pass->kind != GR_PASS_EXACT || memcmp(sums[0], sums[v], nbytes) == 0);
		}
		for (int v = 0; v < 3; v++)
			free(sums[v]);
		free(want.value);
		free(want.size);
	}
	check(worst < (pass->kind == GR_PASS_EXACT ? 1e-15 : 1e-14), "%s%s, %d features%s, %s: sums, error %.2g",
		  pass_names[pass->kind], pass->linear ? ", linear" : "", pass->shape.nfeatures, shape_names(pass->shape), name,
		  worst);
	check(heads && same, "%s%s, %d features%s, %s: head, and lanes", pass_names[pass->kind],
		  pass->linear ? ", linear" : "", pass->shape.nfeatures, shape_names(pass->shape), name);
}

/*
 * Checks that weights of 1 and offsets of 0 change no bit of a pass over rows of 0 and 1, except the sign of a margin
 * of 0.
 */
static inline void
check_ones(GrPass pass, const Rows *data, const char *name)
{
	size_t		nbytes = gr_pass_nsums(pass.kind, pass.shape.nfeatures) * sizeof(double);
	Rows		ones = rows_with_ones(data);
	Rows		plain;
	bool		same = true;

	make_binary(&ones);
	plain = rows_as(&ones, gr_plain_shape(pass.shape.nfeatures));
	for (int v = 0; v < 3; v++)
	{
		double	   *a = run_weighted(&pass, &ones, data->nrows, 300, all_lanes[v]);
		double	   *b = run_weighted(&pass, &plain, data->nrows, 300, all_lanes[v]);

		a[GR_SUM_MIN_MARGIN] += 0.0;
		b[GR_SUM_MIN_MARGIN] += 0.0;
		same = same && memcmp(a, b, nbytes) == 0;
		free(a);
		free(b);
	}
	check(same, "%s, %d features%s, %s: weights of 1 and offsets of 0", pass_names[pass.kind], pass.shape.nfeatures,
		  shape_names(pass.shape), name);
	rows_free(&ones);
	rows_free(&plain);
}

/*
 * Checks rows on a face and off it; a share is off it on the wrong side. Weights and offsets are ignored; the sums are
 * over rows that aren't on the right side.
 */
static inline void
check_weighted_face(GrRowShape shape)
{
	const int	p = shape.nfeatures;
	double		beta[128] = {0};
	double		shift[128] = {0};
	double		face[256] = {0.25, 1.0};
	double		absolute = 1e-12;
	GrPass		pass = {.kind = GR_PASS_FACE,.distribution = GR_LOGISTIC,.shape = shape,.beta = beta,
		.shift = shift,.nfaces = 1,.faces = face,
	.face_absolute = &absolute};
	Rows		data = random_rows_of(shape, 500, 3);
	Rows		on = rows_new(gr_plain_shape(p), 500);
	double		non = 0;
	double		nright = 0;
	double		nwrong = 0;
	bool		same = true;

	on.nrows = 0;
	for (int64_t r = 0; r < data.nrows; r++)
	{
		double	   *row = weighted_row(&data, r);
		double		y = gr_row_response(row, shape);

		row[0] = r % 4 == 0 ? -0.25 : row[0];
		if (r % 4 == 0)
			non++;
		else if ((y == 1 && row[0] > -0.25) || (y == 0 && row[0] < -0.25))
			nright++;
		else
			nwrong++;
		if (non + nwrong > (double) on.nrows)
			memcpy(weighted_row(&on, on.nrows++), row, ((size_t) p + 1) * sizeof(double));
	}
	for (int v = 0; v < 3; v++)
	{
		double	   *got = run_weighted(&pass, &data, data.nrows, 300, all_lanes[v]);
		double	   *want = run_weighted(&pass, &on, on.nrows, 75, all_lanes[v]);
		size_t		nsums = gr_pass_nsums(GR_PASS_FACE, p) - GR_SUM_HEAD;

		same = same && got[GR_SUM_NROWS] == 500 && got[GR_SUM_NRIGHT] == nright && got[GR_SUM_NWRONG] == nwrong;
		for (size_t k = 0; k < nsums / 2; k++)
			same = same && relative_error(got[GR_SUM_HEAD + k], want[GR_SUM_HEAD + k]) < 1e-15;
		free(got);
		free(want);
	}
	check(same, "face, %d features%s: %lld rows on it", p, shape_names(shape), (long long) on.nrows);
	rows_free(&data);
	rows_free(&on);
}

/* Checks all passes over rows. scale: of the coefficients; spread: of the offsets. */
static inline void
check_passes(GrRowShape shape, double scale, double spread, const char *name)
{
	double		beta[128] = {0};
	double		shift[128] = {0};
	GrPass		pass = {.distribution = GR_LOGISTIC,.shape = shape,.beta = beta,.shift = shift};
	Rows		data = random_rows_of(shape, 600, 3);

	for (int64_t r = 0; r < data.nrows && shape.offset; r++)
		weighted_row(&data, r)[gr_offset_at(shape)] *= spread / 2;
	for (int j = 0; j <= shape.nfeatures; j++)
	{
		beta[j] = scale * uniform() / sqrt(shape.nfeatures);
		shift[j] = j % 3 == 1 ? 0.0 : 0.1 * uniform();
	}
	for (int kind = GR_PASS_EXACT; kind <= GR_PASS_GRADIENT; kind++)
	{
		pass.kind = (GrPassKind) kind;
		check_weighted_pass(&pass, &data, name);
		check_ones(pass, &data, name);
	}
	memset(beta, 0, sizeof(beta));
	pass.kind = GR_PASS_EXACT;
	check_ones(pass, &data, "at zero");
	if (shape.offset)
	{
		pass.linear = true;
		check_weighted_pass(&pass, &data, name);
	}
	rows_free(&data);
}

static inline void
test_weighted_passes(void)
{
	static const int features[] = {1, 2, 7, 8, 9, 33, 100};

	for (size_t f = 0; f < LENGTH(features); f++)
		for (int k = 1; k < 4; k++)
		{
			GrRowShape	shape = {features[f], false, (k & 1) != 0, (k & 2) != 0, false, false};

			check_passes(shape, 2, 2, "near 0");
			check_weighted_face(shape);
			if (features[f] == 7)
			{
				check_passes(shape, 100, 2, "large coefficients");
				check_passes(shape, 2, 400, "large offsets");
			}
		}
}

#endif							/* GPUREG_WEIGHTS_PASSES_H */
