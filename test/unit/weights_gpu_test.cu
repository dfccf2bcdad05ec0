/*
 * weights_gpu_test.cu: tests the kernels' sums over rows with weights and offsets against the CPU's: Gram matrices and
 * the passes of logistic regression, by their launchers.
 *
 * weights_gpu_test [--quick] [--bench] [--seed=N]: see gpu_harness.h. --bench compares rows with weights to plain ones.
 */
#include "../../kernels/glm_step.cuh"
#include "../../kernels/gram.cuh"
#include "compute/glm/glm_row.h"
#include "compute/linalg/gram.h"
#include "gpu_harness.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define GRAM_TOLERANCE 0x1p-96	/* relative to sums of magnitudes; the CPU's bound is 2^-98 */
#define EXACT_TOLERANCE 5e-15
#define FAST_TOLERANCE 1e-13
#define BUDGET_NBYTES ((size_t) 64 << 20)
#define NCHUNKS 3

/*
 * Rows
 */

typedef struct Data
{
	GrRowShape	shape;
	int64_t		nrows;
	double	   *rows;			/* with finite rows behind that fill the last tile */
	double	   *shift;			/* shift of features and response; passes use the features' part */
	double	   *beta;
	double	   *faces;			/* one face */
	double	   *device_rows;
	double	   *device_shift;
	double	   *device_beta;
	double	   *device_faces;	/* the face, with its tolerance behind it */
} Data;

static int64_t
padded(int64_t nrows)
{
	return (nrows + GLM_TILE - 1) / GLM_TILE * GLM_TILE;
}

static void
to_devices(Data *data)
{
	const size_t nterms = (size_t) gr_nterms(data->shape.nfeatures);

	data->device_rows = to_device(data->rows, (size_t) (padded(data->nrows) * gr_row_ncols(data->shape)));
	data->device_shift = to_device(data->shift, nterms);
	data->device_beta = to_device(data->beta, nterms);
	data->device_faces = to_device(data->faces, 2 * nterms + 1);
}

static void
data_free(Data *data)
{
	free(data->rows);
	free(data->shift);
	free(data->beta);
	free(data->faces);
	device_free(data->device_rows, data->device_shift, data->device_beta, data->device_faces);
}

static Data
data_new(GrRowShape shape, int64_t nrows)
{
	const size_t nterms = (size_t) gr_nterms(shape.nfeatures);
	Data		data = {};

	data.shape = shape;
	data.nrows = nrows;
	data.rows = (double *) malloc(sizeof(double) * (size_t) (padded(nrows) * gr_row_ncols(shape)));
	data.shift = (double *) malloc(sizeof(double) * nterms);
	data.beta = (double *) malloc(sizeof(double) * nterms);
	data.faces = (double *) calloc(2 * nterms + 1, sizeof(double));
	return data;
}

/*
 * Makes random rows, also those that fill the last tile. Weights are of magnitudes from 10^-3 to 10^3; of weighted rows
 * every third response is a share.
 */
static Data
random_data(GrRowShape shape, int64_t nrows)
{
	const int	ncols = gr_row_ncols(shape);
	const int	p = shape.nfeatures;
	Data		data = data_new(shape, nrows);

	for (int j = 0; j <= p; j++)
	{
		data.shift[j] = j % 4 == 1 ? 0.0 : random_double();
		data.beta[j] = 2.0 * random_double() / sqrt((double) p);
	}
	for (int64_t r = 0; r < padded(nrows); r++)
	{
		double	   *row = data.rows + r * ncols;
		double		y = 0.5 + 0.5 * random_double();

		for (int j = 0; j < p; j++)
			row[j] = random_double();
		if (r % 4 == 1)
			row[0] = 0.5;
		row[gr_response_at(shape)] = shape.weight && r % 3 == 0 ? y : y < 0.5 ? 0.0 : 1.0;
		if (shape.weight)
			row[gr_weight_at(shape)] = pow(10.0, 3.0 * random_double());
		if (shape.offset)
			row[gr_offset_at(shape)] = 3.0 * random_double();
	}
	/* x_1 = 1/2 */
	data.faces[0] = gr_two_sum(-0.5, data.shift[0]).hi;
	data.faces[p + 1] = gr_two_sum(-0.5, data.shift[0]).lo;
	data.faces[1] = 1.0;
	to_devices(&data);
	return data;
}

/* Copies the rows in another shape, with responses of 0 or 1, weights of 1 and offsets of 0. */
static Data
with_ones(const Data *from, GrRowShape shape)
{
	const size_t nterms = (size_t) gr_nterms(shape.nfeatures);
	Data		data = data_new(shape, from->nrows);

	memcpy(data.shift, from->shift, sizeof(double) * nterms);
	memcpy(data.beta, from->beta, sizeof(double) * nterms);
	memcpy(data.faces, from->faces, sizeof(double) * (2 * nterms + 1));
	for (int64_t r = 0; r < padded(from->nrows); r++)
	{
		double	   *row = data.rows + r * gr_row_ncols(shape);

		memcpy(row, from->rows + r * gr_row_ncols(from->shape), sizeof(double) * nterms);
		row[gr_response_at(shape)] = row[gr_response_at(shape)] >= 0.5 ? 1.0 : 0.0;
		if (shape.weight)
			row[gr_weight_at(shape)] = 1.0;
		if (shape.offset)
			row[gr_offset_at(shape)] = 0.0;
	}
	to_devices(&data);
	return data;
}

static const char *
shape_names(GrRowShape shape)
{
	return shape.weight ? shape.offset ? ", weight, offset" : ", weight" : shape.offset ? ", offset" : "";
}

/*
 * Gram matrices
 */

/* Sums a Gram matrix in launches of uneven sizes; the result, hi and then lo, starts as NaN. */
static double *
device_gram(const Data *data, bool shifted)
{
	const int64_t nentries = gr_triangle(gr_norder(data->shape.nfeatures));
	const size_t nbytes = 2 * sizeof(double) * (size_t) nentries;
	double	   *result = (double *) malloc(nbytes);
	double	   *sums = device_alloc<double>(2 * (size_t) nentries);
	double2    *partials = NULL;
	GramPlan	plan;

	memset(result, 0xff, nbytes);
	if (cuda_ok(gr_gram_plan(&plan, data->shape, BUDGET_NBYTES)) &&
		cuda_ok(cudaMalloc((void **) &partials, plan.partials_nbytes)))
	{
		cuda_ok(cudaMemset(partials, 0, plan.partials_nbytes));
		for (int64_t done = 0, n; done < data->nrows; done += n)
		{
			n = (data->nrows - done + 2) / 3;
			cuda_ok(gr_gram_launch(&plan, partials, data->device_rows + done * gr_row_ncols(data->shape), n, 0,
								   shifted ? data->device_shift : NULL));
		}
		cuda_ok(gr_gram_reduce_launch(&plan, partials, 0, nentries, GrDDVector {sums, sums + nentries}, 0));
		cuda_ok(cudaMemcpy(result, sums, nbytes, cudaMemcpyDeviceToHost));
	}
	device_free(partials, sums);
	return result;
}

/* Sums a Gram matrix on the CPU, and the sums of magnitudes from the rows' absolute values less the shift. */
static double *
host_gram(const Data *data, bool shifted, bool magnitudes)
{
	const GrRowShape shape = data->shape;
	const int	ncols = gr_row_ncols(shape);
	const int64_t nentries = gr_triangle(gr_norder(shape.nfeatures));
	double	   *sums = (double *) calloc(2 * (size_t) nentries, sizeof(double));
	double	   *scratch = (double *) malloc(gr_gram_scratch_nbytes(shape));
	double	   *row = (double *) malloc(gr_row_nbytes(shape));
	GrGram		gram = {};

	gram.hi = sums;
	gram.lo = sums + nentries;
	gram.shift = shifted && !magnitudes ? data->shift : NULL;
	gram.nfeatures = shape.nfeatures;
	if (!magnitudes)
		gr_gram_add(&gram, data->rows, data->nrows, shape, scratch);
	for (int64_t r = 0; magnitudes && r < data->nrows; r++)
	{
		for (int j = 0; j < ncols; j++)
			row[j] = fabs(data->rows[r * ncols + j] - (shifted && j <= shape.nfeatures ? data->shift[j] : 0.0));
		gr_gram_add(&gram, row, 1, shape, scratch);
	}
	free(scratch);
	free(row);
	return sums;
}

static double
gram_error(const Data *data, bool shifted, const double *got)
{
	const int64_t nentries = gr_triangle(gr_norder(data->shape.nfeatures));
	double	   *want = host_gram(data, shifted, false);
	double	   *size = host_gram(data, shifted, true);
	double		worst = 0.0;

	for (int64_t k = 0; k < nentries; k++)
	{
		/* the difference of the hi parts is exact if they are as close as they should be */
		double		difference = (got[k] - want[k]) + (got[nentries + k] - want[nentries + k]);

		worst = fmax(worst, difference == 0.0 ? 0.0 : difference == difference ? fabs(difference) / size[k] : INFINITY);
	}
	free(want);
	free(size);
	return worst;
}

/* True if the sums of these shapes are planned alike. */
static bool
same_gram_plan(GrRowShape a, GrRowShape b)
{
	GramPlan	one;
	GramPlan	other;

	return cuda_ok(gr_gram_plan(&one, a, BUDGET_NBYTES)) && cuda_ok(gr_gram_plan(&other, b, BUDGET_NBYTES)) &&
		one.nsplits == other.nsplits && one.shape.stage_nrows == other.shape.stage_nrows &&
		one.shape.nslices == other.shape.nslices && one.max_rows_per_launch == other.max_rows_per_launch;
}

static void
check_gram(GrRowShape shape, int64_t nrows, bool shifted)
{
	const GrRowShape bare = gr_plain_shape(shape.nfeatures);
	const size_t nbytes = 2 * sizeof(double) * (size_t) gr_triangle(gr_norder(shape.nfeatures));
	Data		data = random_data(shape, nrows);
	Data		ones = with_ones(&data, shape);
	Data		plain = with_ones(&data, bare);
	double	   *first = device_gram(&data, shifted);
	double	   *second = device_gram(&data, shifted);
	double	   *of_ones = device_gram(&ones, shifted);
	double	   *of_plain = device_gram(&plain, shifted);
	double		error = gram_error(&data, shifted, first);
	bool		repeatable = memcmp(first, second, nbytes) == 0;
	bool		alike = same_gram_plan(shape, bare);
	bool		same = alike ? memcmp(of_ones, of_plain, nbytes) == 0 :
		gram_error(&ones, shifted, of_ones) <= GRAM_TOLERANCE;

	if (!check(error <= GRAM_TOLERANCE && repeatable && same && first_code == cudaSuccess,
			   "Gram matrix, %d features%s, %lld rows%s", shape.nfeatures, shape_names(shape), (long long) nrows,
			   shifted ? ", shifted" : ""))
		printf("# error 2^%.1f, repeatable %d, weights of 1 %d\n", log2(error), repeatable, same);
	if (!alike)
		printf("# %d features%s: planned otherwise than plain rows\n", shape.nfeatures, shape_names(shape));
	free(first);
	free(second);
	free(of_ones);
	free(of_plain);
	data_free(&data);
	data_free(&ones);
	data_free(&plain);
}

static void
check_grams(bool quick)
{
	const int	features[] = {1, 8, 31, 62, 63, 64, 100, 200, 520};
	const int	quick_features[] = {8, 64, 520};
	const int64_t rows[] = {1, 31, 1000, 30001};

	for (int f = 0; f < (quick ? COUNT(quick_features) : COUNT(features)); f++)
		for (int r = 0; r < (quick ? 2 : COUNT(rows)); r++)
			for (int k = 0; k < 4; k++)
			{
				int			p = quick ? quick_features[f] : features[f];
				GrRowShape	shape = {p, false, k != 1, k != 0, false, false};

				/* limits the CPU's time */
				if (p < 100 || rows[r] <= 1000)
					check_gram(shape, rows[r], k == 3);
				else if (k == 3)
					check_gram(shape, p > 200 ? 2001 : 5003, r % 2 == 0);
			}
}

/*
 * Passes
 */

typedef enum Way
{
	AS_PLANNED,					/* chosen like in rows_cuda.cu */
	WEIGHED						/* FAST and GRADIENT by weighing rows and summing columns, as for thousands of features
								 */
} Way;

/* Allocates zeroed memory on the device. */
static double *
zeros(size_t n)
{
	double	   *memory = device_alloc<double>(n);

	if (memory != NULL)
		cuda_ok(cudaMemset(memory, 0, sizeof(double) * (n > 0 ? n : 1)));
	return memory;
}

static void
fetch(double *to, const double *from, int64_t n)
{
	cuda_ok(cudaMemcpy(to, from, sizeof(double) * (size_t) n, cudaMemcpyDeviceToHost));
}

/* Splits the rows into chunks of whole tiles, except for the last chunk. */
static GlmChunks
make_chunks(const Data *data)
{
	const int64_t ntiles = padded(data->nrows) / GLM_TILE;
	GlmChunks	chunks = {};

	chunks.nrows = data->nrows;
	for (int c = 0; c < NCHUNKS; c++)
	{
		int64_t		before = chunks.n > 0 ? chunks.end[chunks.n - 1] : 0;
		int64_t		end = ntiles * (c + 1) / NCHUNKS;

		if (end == before)
			continue;
		chunks.rows[chunks.n] = data->device_rows + before * GLM_TILE * gr_row_ncols(data->shape);
		chunks.end[chunks.n++] = end;
	}
	return chunks;
}

static void
sum_fused(const GlmPlan *plan, const Data *data, GrPassKind kind, const GlmTerms *terms, double *sums)
{
	const int64_t nsums = (int64_t) gr_pass_nsums(kind, data->shape.nfeatures);
	const GlmChunks chunks = make_chunks(data);
	double	   *records = zeros(plan->fused_ndoubles);
	double	   *result = device_alloc<double>((size_t) nsums);

	cuda_ok(gr_glm_fused_launch(plan, kind, &chunks, terms, records, 0));
	cuda_ok(gr_glm_reduce_launch(plan, kind == GR_PASS_FAST ? GLM_FUSED : GLM_FUSED_GRADIENT, records, result, 0));
	fetch(sums, result, nsums);
	device_free(records, result);
}

/* Makes a pass by two launches of each kernel. The Hessian has a kernel of its own where FAST isn't fused. */
static void
sum_steps(const GlmPlan *plan, const Data *data, GrPassKind kind, const GlmTerms *terms, Way way, double *sums)
{
	const int64_t t = gr_nterms(data->shape.nfeatures);
	const bool	once = way == AS_PLANNED && plan->wide_ncolumns > 0;
	const int64_t first_nrows = padded(data->nrows / 3);
	double	   *records = zeros(once ? plan->fused_ndoubles : plan->heads_ndoubles);
	double	   *columns = zeros(plan->columns_ndoubles);
	double	   *matrix = zeros(plan->matrix_ndoubles);
	double	   *result = zeros((size_t) (GR_SUM_HEAD + 4 * t + gr_triangle(t)));
	double2    *weights = (double2 *) device_alloc<double2>((size_t) data->nrows + 1);

	for (int k = 0; k < 2; k++)
	{
		const double *rows = data->device_rows + k * first_nrows * gr_row_ncols(data->shape);
		int64_t		n = k == 0 ? first_nrows : data->nrows - first_nrows;

		if (first_nrows > data->nrows)
			n = k == 0 ? data->nrows : 0;
		if (once)
			cuda_ok(gr_glm_step_launch(plan, rows, n, terms, weights, records, 0));
		else
		{
			cuda_ok(gr_glm_weigh_launch(plan, rows, n, terms, weights, records, 0));
			cuda_ok(gr_glm_columns_launch(plan, rows, n, terms, weights, columns, 0));
		}
		if (kind == GR_PASS_FAST)
			cuda_ok(gr_glm_matrix_launch(plan, rows, n, terms, weights, matrix, 0));
	}
	cuda_ok(gr_glm_reduce_launch(plan, once ? GLM_FUSED_GRADIENT : GLM_HEADS, records, result, 0));
	if (!once)
		cuda_ok(gr_glm_reduce_launch(plan, GLM_COLUMNS, columns, result + GR_SUM_HEAD, 0));
	fetch(sums, result, GR_SUM_HEAD + (kind == GR_PASS_FAST ? 2 : 4) * t);
	if (kind == GR_PASS_FAST)
	{
		sums[GR_SUM_NONES] = 0.0;
		cuda_ok(gr_glm_matrix_reduce_launch(plan, matrix, result + GR_SUM_HEAD + 2 * t, 0, gr_triangle(t),
											result + GR_SUM_HEAD + 4 * t, 0));
		fetch(sums + GR_SUM_HEAD + 2 * t, result + GR_SUM_HEAD + 4 * t, gr_triangle(t));
	}
	device_free(records, columns, matrix, result, weights);
}

/* Makes an EXACT or FACE pass: rows are transformed, and their Gram matrix is summed. */
static void
sum_exact(const GlmPlan *plan, const Data *data, GrPassKind kind, const GlmTerms *terms, double *sums)
{
	const int	p = data->shape.nfeatures;
	const int64_t nentries = gr_triangle(gr_norder(p) + 1);
	double	   *heads = zeros(plan->heads_ndoubles);
	double	   *out = device_alloc<double>((size_t) data->nrows * (size_t) gr_norder(p));
	double	   *result = device_alloc<double>(GR_SUM_HEAD + 2 * (size_t) nentries);
	double2    *partials = NULL;
	GramPlan	gram;

	cuda_ok(gr_gram_plan(&gram, gr_plain_shape(gr_nterms(p)), BUDGET_NBYTES));
	cuda_ok(cudaMalloc((void **) &partials, gram.partials_nbytes));
	cuda_ok(cudaMemset(partials, 0, gram.partials_nbytes));
	cuda_ok(gr_glm_transform_launch(plan, kind, data->device_rows, data->nrows, terms, out, heads, 0));
	cuda_ok(gr_gram_launch(&gram, partials, out, data->nrows, 0));
	cuda_ok(gr_glm_reduce_launch(plan, GLM_HEADS, heads, result, 0));
	cuda_ok(gr_gram_reduce_launch(&gram, partials, 0, nentries,
								  GrDDVector {result + GR_SUM_HEAD, result + GR_SUM_HEAD + nentries}, 0));
	fetch(sums, result, GR_SUM_HEAD + 2 * nentries);
	sums[GR_SUM_HEAD] = kind == GR_PASS_FACE ? sums[GR_SUM_HEAD + 2] : sums[GR_SUM_NROWS];
	sums[GR_SUM_HEAD + nentries] = 0.0;
	device_free(heads, out, result, partials);
}

/* Returns a pass's triangle, row after row, or NULL if it has none. */
static double *
device_factor(const GrPass *pass)
{
	const int	t = gr_nterms(pass->shape.nfeatures);
	const double *row = pass->factor;
	double	   *factor = row != NULL ? zeros((size_t) t * (size_t) t) : NULL;

	for (int k = 0; k < t && factor != NULL; row += ++k)
		cuda_ok(cudaMemcpy(factor + (size_t) k * (size_t) t, row, sizeof(double) * (size_t) (k + 1),
						   cudaMemcpyHostToDevice));
	return factor;
}

/* Makes a pass. The sums start as NaN; the caller frees them. */
static double *
device_pass(const Data *data, const GrPass *pass, Way way)
{
	const size_t nterms = (size_t) gr_nterms(data->shape.nfeatures);
	const size_t nbytes = sizeof(double) * gr_pass_nsums(pass->kind, data->shape.nfeatures);
	double	   *sums = (double *) malloc(nbytes);
	double	   *factor = device_factor(pass);
	GlmTerms	terms = {data->device_beta, data->device_shift, pass->nfaces, data->device_faces,
	data->device_faces + 2 * nterms, pass->face_relative, pass->linear, pass->distribution,
	pass->measure, pass->counts, factor, pass->edge};
	GlmPlan		plan;

	memset(sums, 0xff, nbytes);
	if (!cuda_ok(gr_glm_plan(&plan, data->shape, BUDGET_NBYTES)))
		return sums;
	if (pass->kind == GR_PASS_EXACT || pass->kind == GR_PASS_FACE)
		sum_exact(&plan, data, pass->kind, &terms, sums);
	else if (way == AS_PLANNED && gr_glm_is_fused(&plan, pass->kind))
		sum_fused(&plan, data, pass->kind, &terms, sums);
	else
		sum_steps(&plan, data, pass->kind, &terms, way, sums);
	device_free(factor);
	return sums;
}

static double *
host_pass(const Data *data, const GrPass *pass)
{
	double	   *sums = (double *) malloc(sizeof(double) * gr_pass_nsums(pass->kind, pass->shape.nfeatures));
	double	   *scratch = (double *) malloc(gr_pass_scratch_nbytes(pass->kind, pass->shape));

	gr_pass_clear(pass->kind, pass->shape.nfeatures, sums);
	gr_pass_add(pass, sums, data->rows, data->nrows, scratch);
	free(scratch);
	return sums;
}

/* Distribution of the passes */
static GrDistribution distribution = GR_LOGISTIC;

static GrPass
make_pass(const Data *data, GrPassKind kind, bool linear)
{
	GrPass		pass = {};

	pass.kind = kind;
	pass.shape = data->shape;
	pass.distribution = distribution;
	pass.beta = data->beta;
	pass.shift = data->shift;
	pass.nfaces = kind == GR_PASS_FACE ? 1 : 0;
	pass.faces = data->faces;
	pass.face_absolute = data->faces + gr_face_size(data->shape.nfeatures);
	pass.linear = linear;
	return pass;
}

/* Returns the sums of magnitudes of the gradient's terms; a share's residual is only as exact as mu. */
static double *
gradient_sizes(const Data *data)
{
	const int	t = gr_nterms(data->shape.nfeatures);
	double	   *sizes = (double *) calloc((size_t) t, sizeof(double));

	for (int64_t r = 0; r < data->nrows; r++)
	{
		const double *row = data->rows + r * gr_row_ncols(data->shape);
		double		y = gr_row_response(row, data->shape);
		double		eta = data->beta[0] + gr_row_offset(row, data->shape);
		double		size;

		for (int j = 1; j < t; j++)
			eta += (row[j - 1] - data->shift[j - 1]) * data->beta[j];
		if (gr_is_logistic(distribution))
		{
			size = fabs(y - 1.0 / (1.0 + exp(-eta)));
			if (y != 0.0 && y != 1.0)
				size += 1.0 / (1.0 + exp(y < 0.5 ? -eta : eta));
			size *= gr_row_weight(row, data->shape);
		}
		else
		{
			GrGlmRow	own = gr_glm_row(distribution, eta, y, gr_row_weight(row, data->shape));

			/* the mean is as exact as eta */
			size = fabs(own.u * own.v) + own.u * own.u * (1.0 + fabs(eta));
		}
		sizes[0] += size;
		for (int j = 1; j < t; j++)
			sizes[j] += size * fabs(row[j - 1] - data->shift[j - 1]);
	}
	return sizes;
}

/* Returns the head's error, infinite if a count differs. A linear pass has neither deviance nor margin. */
static double
head_error(const GrPass *pass, const double *got, const double *want)
{
	const bool	exact = pass->kind == GR_PASS_EXACT || pass->kind == GR_PASS_FACE;
	double		error;

	if (got[GR_SUM_NROWS] != want[GR_SUM_NROWS] || got[GR_SUM_NRIGHT] != want[GR_SUM_NRIGHT] ||
		got[GR_SUM_NWRONG] != want[GR_SUM_NWRONG])
		return INFINITY;
	error = scaled_error(got[GR_SUM_DEVIANCE_HI] + got[GR_SUM_DEVIANCE_LO],
						 want[GR_SUM_DEVIANCE_HI] + want[GR_SUM_DEVIANCE_LO], fabs(want[GR_SUM_DEVIANCE_HI]));
	error = fmax(error, 0.1 * scaled_error(got[GR_SUM_NONES], want[GR_SUM_NONES], want[GR_SUM_NONES]));
	/* float8 predictors differ by some units of their largest terms */
	if (!pass->linear)
		error = fmax(error, (exact ? 1.0 : 1e-2) * scaled_error(got[GR_SUM_MIN_MARGIN], want[GR_SUM_MIN_MARGIN],
																1e-2 + fabs(want[GR_SUM_MIN_MARGIN])));
	return fmax(error, scaled_error(got[GR_SUM_MIN_RIGHT], want[GR_SUM_MIN_RIGHT], want[GR_SUM_MIN_RIGHT]));
}

static double
pass_error(const Data *data, const GrPass *pass, const double *got)
{
	const int	t = gr_nterms(data->shape.nfeatures);
	double	   *want = host_pass(data, pass);
	double	   *sizes = gradient_sizes(data);
	const double *a = got + GR_SUM_HEAD;
	const double *b = want + GR_SUM_HEAD;
	double		error = head_error(pass, got, want);

	if (pass->kind == GR_PASS_EXACT || pass->kind == GR_PASS_FACE)
		error = fmax(error, matrix_error(a, b, t + 2));
	else
		for (int j = 0; j < t; j++)
			error = fmax(error, scaled_error(a[j] + a[t + j], b[j] + b[t + j], sizes[j]));
	if (pass->kind == GR_PASS_FAST)
		error = fmax(error, matrix_error(a + 2 * t, b + 2 * t, t));
	for (int j = 0; pass->kind == GR_PASS_GRADIENT && j < t; j++)
	{
		error = fmax(error, scaled_error(a[2 * t + j], b[2 * t + j], sqrt(b[3 * t]) * sqrt(b[3 * t + j])));
		error = fmax(error, scaled_error(a[3 * t + j], b[3 * t + j], b[3 * t + j]));
	}
	free(want);
	free(sizes);
	return error;
}

/* True if passes over rows of these shapes sum in the same order. */
static bool
same_plan(GrRowShape a, GrRowShape b, GrPassKind kind, Way way)
{
	GlmPlan		one;
	GlmPlan		other;

	if (kind == GR_PASS_EXACT || kind == GR_PASS_FACE || way == WEIGHED)
		return true;
	return cuda_ok(gr_glm_plan(&one, a, BUDGET_NBYTES)) && cuda_ok(gr_glm_plan(&other, b, BUDGET_NBYTES)) &&
		one.fused_nwarps == other.fused_nwarps && one.wide_nblocks == other.wide_nblocks &&
		memcmp(one.fused.row_step, other.fused.row_step, sizeof(one.fused.row_step)) == 0;
}

/*
 * Checks that weights of 1 and offsets of 0 give the bits of plain rows if both are summed in the same order, and their
 * sums otherwise.
 */
static bool
check_ones(const Data *data, GrPassKind kind, Way way, bool *alike)
{
	const GrRowShape bare = gr_plain_shape(data->shape.nfeatures);
	const size_t nbytes = sizeof(double) * gr_pass_nsums(kind, bare.nfeatures);
	Data		ones = with_ones(data, data->shape);
	Data		plain = with_ones(data, bare);
	GrPass		pass = make_pass(&ones, kind, false);
	GrPass		plain_pass = make_pass(&plain, kind, false);
	double	   *got = device_pass(&ones, &pass, way);
	double	   *want = device_pass(&plain, &plain_pass, way);
	bool		same;

	*alike = same_plan(data->shape, bare, kind, way);
	same = *alike ? memcmp(got, want, nbytes) == 0 : pass_error(&plain, &plain_pass, got) <= FAST_TOLERANCE;
	free(got);
	free(want);
	data_free(&ones);
	data_free(&plain);
	return same;
}

/* Checks that sums don't depend on the rows that fill the last tile. */
static bool
check_padding(const Data *data, const GrPass *pass, Way way, const double *sums)
{
	const size_t nbytes = sizeof(double) * gr_pass_nsums(pass->kind, data->shape.nfeatures);
	const int	ncols = gr_row_ncols(data->shape);
	const size_t n = (size_t) ((padded(data->nrows) - data->nrows) * ncols);
	double	   *other;
	bool		same;

	cuda_ok(cudaMemset(data->device_rows + data->nrows * ncols, 0, sizeof(double) * n));
	other = device_pass(data, pass, way);
	same = memcmp(sums, other, nbytes) == 0;
	free(other);
	cuda_ok(cudaMemcpy(data->device_rows + data->nrows * ncols, data->rows + data->nrows * ncols, sizeof(double) * n,
					   cudaMemcpyHostToDevice));
	return same;
}

static void
check_pass(const Data *data, GrPassKind kind, Way way, bool linear)
{
	static const char *const names[] = {"exact", "fast", "gradient", "face"};
	const GrPass pass = make_pass(data, kind, linear);
	/* a single row's share may lie so near its mean that their difference has few digits */
	const double alone = data->nrows == 1 && data->shape.weight ? 1e4 : 1.0;
	const double tolerance = alone * (kind == GR_PASS_EXACT || kind == GR_PASS_FACE ? EXACT_TOLERANCE : FAST_TOLERANCE);
	double	   *sums = device_pass(data, &pass, way);
	double		error = pass_error(data, &pass, sums);
	bool		padding = check_padding(data, &pass, way, sums);	/* makes the pass a second time, too */
	bool		alike = true;
	bool		ones = linear || check_ones(data, kind, way, &alike);

	if (!check(error <= tolerance && padding && ones && first_code == cudaSuccess, "%s%s%s, %d features%s, %lld rows%s",
			   names[kind], linear ? ", linear" : "", way == WEIGHED ? ", by columns" : "", data->shape.nfeatures,
			   shape_names(data->shape), (long long) data->nrows, linear || !alike ? "" : ", bits of plain rows"))
		printf("# error %.3g, padding or repetition %d, weights of 1 %d\n", error, padding, ones);
	free(sums);
}

static void
check_shape(GrRowShape shape, int64_t nrows)
{
	const bool	wide = shape.nfeatures > GLM_FUSED_FEATURES;
	Data		data = random_data(shape, nrows);

	check_pass(&data, GR_PASS_EXACT, AS_PLANNED, false);
	check_pass(&data, GR_PASS_EXACT, AS_PLANNED, true);
	check_pass(&data, GR_PASS_FACE, AS_PLANNED, false);
	check_pass(&data, GR_PASS_FAST, AS_PLANNED, false);
	check_pass(&data, GR_PASS_GRADIENT, AS_PLANNED, false);
	check_pass(&data, GR_PASS_GRADIENT, WEIGHED, false);
	if (wide)
		check_pass(&data, GR_PASS_FAST, WEIGHED, false);
	data_free(&data);
}

static void
check_passes(bool quick)
{
	const int	features[] = {1, 7, 8, 9, 16, 24, 31, 32, 33, 64, 100, 600};
	const int	quick_features[] = {1, 8, 16, 32, 33, 600};
	const int64_t rows[] = {1, 31, 1000, 30001};

	for (int f = 0; f < (quick ? COUNT(quick_features) : COUNT(features)); f++)
		for (int r = 0; r < (quick ? 3 : COUNT(rows)); r++)
			for (int k = 1; k < 4; k++)
			{
				int			p = quick ? quick_features[f] : features[f];
				GrRowShape	shape = {p, false, (k & 1) != 0, (k & 2) != 0, false, false};
				int64_t		most = quick ? (p > 100 ? 70 : 300) : p > 100 ? 1500 : p > 32 ? 10007 : 30001;

				check_shape(shape, rows[r] < most ? rows[r] : most);
			}
	if (!quick)
		/* with 2,100 features, planned passes go by columns */
		check_shape(GrRowShape {2100, false, true, true, false, false}, 77);
}

/* Checks predictors far out, by offsets, and weights of all magnitudes that sums can hold. */
static void
check_extremes(void)
{
	for (int p = 9; p <= 40; p += 31)
		for (int k = 0; k < 3; k++)
		{
			GrRowShape	shape = {p, false, k != 1, k != 2, false, false};
			Data		data = random_data(shape, 3000);

			for (int64_t r = 0; r < padded(data.nrows); r++)
			{
				double	   *row = data.rows + r * gr_row_ncols(shape);

				if (shape.offset)
					row[gr_offset_at(shape)] *= 130.0;
				if (shape.weight)
					row[gr_weight_at(shape)] = pow(10.0, 30.0 * random_double());
			}
			cuda_ok(cudaMemcpy(data.device_rows, data.rows,
							   sizeof(double) * (size_t) (padded(data.nrows) * gr_row_ncols(shape)),
							   cudaMemcpyHostToDevice));
			check_pass(&data, GR_PASS_EXACT, AS_PLANNED, false);
			check_pass(&data, GR_PASS_FAST, AS_PLANNED, false);
			check_pass(&data, GR_PASS_GRADIENT, AS_PLANNED, false);
			check_pass(&data, GR_PASS_GRADIENT, WEIGHED, false);
			data_free(&data);
		}
}

/* Makes responses that the distribution can have, and predictors that have a mean. */
static Data
data_of(GrRowShape shape, int64_t nrows)
{
	Data		data = random_data(shape, nrows);
	const int	p = shape.nfeatures;

	for (int64_t r = 0; r < padded(nrows); r++)
	{
		double	   *row = data.rows + r * gr_row_ncols(shape);
		double	   *y = row + gr_response_at(shape);

		if (distribution.family == GR_GAMMA)
			*y = exp(2.0 * random_double());
		else if (distribution.family != GR_BINOMIAL)
			*y = floor(20.0 * (0.5 + 0.5 * random_double()) * (r % 3 == 0 ? 0.0 : 1.0));
		*y = ldexp(*y, -distribution.exponent);
		if (shape.offset && !gr_link_is_total(distribution.link))
			row[gr_offset_at(shape)] = 0.5 + 0.1 * row[gr_offset_at(shape)];
	}
	if (!gr_link_is_total(distribution.link))
	{
		data.beta[0] = 3.0;
		for (int j = 1; j <= p; j++)
			data.beta[j] /= 2.0 * sqrt((double) p);
	}
	cuda_ok(cudaMemcpy(data.device_rows, data.rows, sizeof(double) * (size_t) (padded(nrows) * gr_row_ncols(shape)),
					   cudaMemcpyHostToDevice));
	cuda_ok(cudaMemcpy(data.device_beta, data.beta, sizeof(double) * (size_t) gr_nterms(p), cudaMemcpyHostToDevice));
	return data;
}

static void
check_distribution(GrRowShape shape, int64_t nrows)
{
	static const GrPassKind kinds[] = {GR_PASS_EXACT, GR_PASS_EXACT, GR_PASS_FACE, GR_PASS_FAST, GR_PASS_GRADIENT,
	GR_PASS_GRADIENT};
	/* exp(-exp(eta)) has exp(eta) times the error of its argument: 400 times at GR_CLOGLOG_MAX */
	const double tolerance = distribution.link == GR_CLOGLOG ? 400.0 : 1.0;
	Data		data = data_of(shape, nrows);
	double		worst = 0.0;
	bool		padding = true;

	for (int k = 0; k < COUNT(kinds); k++)
	{
		const Way	way = k == 5 ? WEIGHED : AS_PLANNED;
		const GrPass pass = make_pass(&data, kinds[k], k == 1);
		double	   *sums = device_pass(&data, &pass, way);

		worst = fmax(worst, pass_error(&data, &pass, sums) / (k < 3 ? EXACT_TOLERANCE : FAST_TOLERANCE));
		padding = padding && check_padding(&data, &pass, way, sums);
		free(sums);
	}
	if (!check(worst <= tolerance && padding && first_code == cudaSuccess, "%s, %s%s, %d features, %lld rows",
			   gr_family_name(distribution.family, false), gr_link_name(distribution.link), shape_names(shape),
			   shape.nfeatures, (long long) nrows))
		printf("# error over the tolerance %.3g, padding or repetition %d\n", worst, padding);
	data_free(&data);
}

/* Checks the distribution over rows of all roles and of several widths. */
static void
check_widths(bool quick)
{
	const int	features[] = {3, 8, 20, 40, 600};

	for (int f = 0; f < (quick ? 1 : COUNT(features)); f++)
		for (int k = 0; k < 4; k += quick ? 3 : 1)
		{
			GrRowShape	shape = {features[f], false, (k & 1) != 0, (k & 2) != 0, false, false};

			if (gr_is_logistic(distribution) && k == 0)
				continue;
			check_distribution(shape, quick ? 77 : features[f] > 100 ? 700 : 5003);
		}
}

/* Checks every family and link, and responses in another unit, against the CPU's sums. */
static void
check_distributions(bool quick)
{
	for (int family = GR_BINOMIAL; family < GR_NFAMILIES; family++)
		for (int link = 0; link < GR_NLINKS; link++)
		{
			if (!gr_family_has_link((GrFamily) family, (GrLink) link))
				continue;
			distribution.family = (GrFamily) family;
			distribution.link = (GrLink) link;
			distribution.theta = family == GR_NEGATIVE_BINOMIAL ? 2.5 : 0.0;
			check_widths(quick);
			if (!gr_family((GrFamily) family)->has_exponent)
				continue;
			distribution.exponent = 300;
			check_widths(true);
			distribution.exponent = 0;
		}
	distribution = GrDistribution GR_LOGISTIC;
}

#include "weights_measures.h"
#include "weights_gpu_bench.h"

static void
run_tests(const GpuRun *run)
{
	check_grams(run->quick);
	check_passes(run->quick);
	check_distributions(run->quick);
	check_measures(run->quick);
	if (!run->quick)
		check_extremes();
}

int
main(int argc, char **argv)
{
	return kernels_main(argc, argv, run_tests, run_bench);
}
