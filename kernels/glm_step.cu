/*
 * glm_step.cu: passes of generalised linear models. For each row eta = z' beta, z = (1, x - shift), w = mu (1 - mu), r
 * = y - mu, mu = 1 / (1 + exp(-eta)); sums of r z, of w z z', and of the deviance. See glm_step.cuh.
 *
 * Who owns what.
 *
 *    fused               glm_fused.cuh: FAST and GRADIENT with few features; glm_wide.cuh: GRADIENT with more
 *    matrix              weighted_gram.cu: the Hessian of many features
 *    transform           glm_transform.cuh: EXACT and FACE
 *    weigh               a warp takes tiles of 32 rows in the layout of SpreadRows (glm_transform.cuh)
 *    columns             threadIdx.x: a term of 32; threadIdx.y: one of eight slices of the rows
 *
 * A record belongs to one warp or thread block of each launch: no atomics, a fixed order. Requires -fmad=false, like
 * dd.h.
 */
#include "glm_transform.cuh"
#include "glm_wide.cuh"
#include "device.cuh"

#define COLUMN_NSLICES 8		/* slices of the rows in a thread block */
#define REDUCE_NSLICES 32
#define REDUCE_NSUMS 8

/* Weights, row by row */

/* Computes rows' weights and residuals, and the heads. A warp takes every nwarps-th tile. */
template <bool ROLES>
static __global__ void
__launch_bounds__(ROW_NTHREADS)
weigh_kernel(const double *__restrict__ rows, int64_t nrows, GrRowShape shape, GlmTerms terms,
			 double2 *__restrict__ weights,
			 double *heads)
{
	const int	lane = threadIdx.x % 32;
	const int	nwarps = gridDim.x * (ROW_NTHREADS / 32);
	const int	warp = (int) (blockIdx.x * ROW_NTHREADS + threadIdx.x) / 32;
	Head		head = head_empty();

	for (int64_t first = (int64_t) warp * GLM_TILE; first < nrows; first += (int64_t) nwarps * GLM_TILE)
	{
		const double *tile = rows + first * columns_of<ROLES>(shape);
		const int	count = (int) min((int64_t) GLM_TILE, nrows - first);
		const int	at = tile_row(lane);
		double		eta = tile_dot<ROLES, double>(tile, count, shape, shape.nfeatures, terms.beta, terms.shift,
												   lane);

		if (at < count)
		{
			const double *response = tile + (int64_t) at * columns_of<ROLES>(shape) + gr_response_at(shape);
			Weight		row = weigh_row<ROLES>(eta, response, shape, terms.distribution);

			weights[first + at] = make_double2(row.w, row.r);
			head.nrows += 1.0;
			head.half_deviance = gr_dd_add(head.half_deviance, gr_two_sum(row.miss, log1p(row.t)));
			head.min_margin = fmin(head.min_margin, row.margin);
			head.nones += response[0];
		}
	}
	head_record(heads + (int64_t) warp * GR_SUM_HEAD, head, lane);
}

/* Sums of one term */
typedef struct ColumnSums
{
	double		gradient_hi;
	double		gradient_lo;
	double		first;
	double		diagonal;
} ColumnSums;

/* Sums of columns: gradient, first row, diagonal. threadIdx.x is a term of 32, threadIdx.y a slice of the rows. */
static __global__ void
__launch_bounds__(32 * COLUMN_NSLICES)
columns_kernel(const double *__restrict__ rows, int64_t nrows, int64_t nrows_per_split, GrRowShape shape,
			   const double *__restrict__ shifts, const double2 *__restrict__ weights, double *columns)
{
	__shared__ ColumnSums slices[COLUMN_NSLICES][32];
	const int	nterms = gr_nterms(shape.nfeatures);
	const int	ncols = gr_row_ncols(shape);
	const int	term = blockIdx.x * 32 + threadIdx.x;
	const int	column = max(0, min(term, shape.nfeatures) - 1);
	const double shift = shifts[column];
	const int64_t begin = (int64_t) blockIdx.y * nrows_per_split;
	const int64_t end = min(begin + nrows_per_split, nrows);
	ColumnSums	sum = {};

	for (int64_t row = begin + 8 * threadIdx.y; row < end; row += 8 * COLUMN_NSLICES)
	{
		double		z[8];
		double		gradient = 0.0;

#pragma unroll
		for (int k = 0; k < 8; k++)
			z[k] = rows[min(row + k, end - 1) * ncols + column];
#pragma unroll
		for (int k = 0; k < 8; k++)
		{
			double2		weight = row + k < end ? weights[row + k] : make_double2(0.0, 0.0);

			z[k] = term == 0 ? 1.0 : z[k] - shift;
			gradient = fma(weight.y, z[k], gradient);
			weight.x *= z[k];
			sum.first += weight.x;
			sum.diagonal = fma(weight.x, z[k], sum.diagonal);
		}
		add_compensated(sum.gradient_hi, sum.gradient_lo, gradient);
	}
	slices[threadIdx.y][threadIdx.x] = sum;
	__syncthreads();
	if (threadIdx.y == 0 && term < nterms)
	{
		double	   *record = columns + (int64_t) blockIdx.y * 4 * nterms;

		for (int s = 0; s < COLUMN_NSLICES; s++)
		{
			ColumnSums	slice = slices[s][threadIdx.x];

			record_add(record, term, nterms + term, gr_two_sum(slice.gradient_hi, slice.gradient_lo));
			record[2 * nterms + term] += slice.first;
			record[3 * nterms + term] += slice.diagonal;
		}
	}
}

/*
 * sums[k] = sum over records of record[k]. A record has nhead (GR_SUM_HEAD or 0) numbers of the head, then nterms pairs
 * whose second halves follow nterms numbers later, then plain numbers. A slice adds every REDUCE_NSLICES-th record, and
 * slices join one after another.
 */
static __global__ void
__launch_bounds__(REDUCE_NSUMS * REDUCE_NSLICES)
reduce_kernel(const double *__restrict__ records, int nrecords, int64_t record_ndoubles, int nhead, int nterms,
			  double *__restrict__ sums)
{
	__shared__ GrDD slices[REDUCE_NSLICES][REDUCE_NSUMS];
	const int64_t k = (int64_t) blockIdx.x * REDUCE_NSUMS + threadIdx.x;
	const bool	head = k < nhead;
	const bool	least = head && (k == GR_SUM_MIN_MARGIN || k == GR_SUM_MIN_RIGHT);
	const int	counted = k == GR_SUM_MIN_MARGIN ? GR_SUM_NROWS : GR_SUM_NRIGHT;
	const bool	second = head ? k == GR_SUM_DEVIANCE_LO : k >= nhead + nterms && k < nhead + 2 * nterms;
	const bool	active = k < record_ndoubles && !second;
	int64_t		lo = -1;
	GrDD		sum = gr_dd(least ? INFINITY : 0.0);

	if (head ? k == GR_SUM_DEVIANCE_HI : k < nhead + nterms)
		lo = head ? (int64_t) GR_SUM_DEVIANCE_LO : k + nterms;
#pragma unroll 4
	for (int r = threadIdx.y; r < (active ? nrecords : 0); r += REDUCE_NSLICES)
	{
		const double *record = records + r * record_ndoubles;
		GrDD		value = {record[k], lo >= 0 ? record[lo] : 0.0};

		if (!least)
			sum = gr_dd_add(sum, value);
		else if (record[counted] > 0.0)
			sum.hi = fmin(sum.hi, value.hi);
	}
	slices[threadIdx.y][threadIdx.x] = sum;
	__syncthreads();
	if (threadIdx.y > 0 || !active)
		return;
	for (int s = 1; s < REDUCE_NSLICES; s++)
		if (least)
			sum.hi = fmin(sum.hi, slices[s][threadIdx.x].hi);
		else
			sum = gr_dd_add(sum, slices[s][threadIdx.x]);
	sums[k] = sum.hi;
	if (lo >= 0)
		sums[lo] = sum.lo;
}

/* Planning and launching */

template <bool ROLES>
static const void *
fused_function(int nfeatures, bool hessian)
{
	static const void *const functions[4][2] = {
		{(const void *) fused_kernel<1, false, ROLES>, (const void *) fused_kernel<1, true, ROLES>},
		{(const void *) fused_kernel<2, false, ROLES>, (const void *) fused_kernel<2, true, ROLES>},
		{(const void *) fused_kernel<3, false, ROLES>, (const void *) fused_kernel<3, true, ROLES>},
		{(const void *) fused_kernel<4, false, ROLES>, (const void *) fused_kernel<4, true, ROLES>}
	};

	return functions[(nfeatures + 7) / 8 - 1][hessian];
}

static const void *
fused_function(GrRowShape rows, bool roles, bool hessian)
{
	return roles ? fused_function<true>(rows.nfeatures, hessian) : fused_function<false>(rows.nfeatures, hessian);
}

/* nrows: rows at a time, 8 or 4. */
template <bool ROLES>
static const void *
wide_function(int ncolumns, int nrows)
{
	static const void *const functions[WIDE_COLUMNS] = {
		NULL, (const void *) wide_kernel<2, 8, ROLES>, (const void *) wide_kernel<3, 8, ROLES>,
		(const void *) wide_kernel<4, 8, ROLES>, (const void *) wide_kernel<5, 4, ROLES>,
		(const void *) wide_kernel<6, 4, ROLES>, (const void *) wide_kernel<7, 4, ROLES>,
		(const void *) wide_kernel<8, 4, ROLES>
	};

	return ncolumns == 4 && nrows == 4 ? (const void *) wide_kernel<4, 4, ROLES> : functions[ncolumns - 1];
}

static const void *
wide_function(bool roles, int ncolumns, int nrows)
{
	return roles ? wide_function<true>(ncolumns, nrows) : wide_function<false>(ncolumns, nrows);
}

/*
 * Chooses steps between rows such that four neighbouring columns of the rows of t = 0 .. 3 use different banks, if
 * possible. Rows with weights have the same steps, though others might suit them better: the steps fix the order of
 * sums, and weights of 1 must not change any bit.
 */
static cudaError_t
plan_fused(GlmPlan *plan, int shared_nbytes)
{
	static const int steps[3][4] = {{1, 2, 16, 4}, {1, 8, 16, 2}, {4, 8, 16, 1}};
	const int	ncols = gr_row_ncols(plan->rows);
	const int	nterms = gr_nterms(plan->rows.nfeatures);
	const int  *step = steps[nterms % 2 == 1 ? 0 : nterms % 4 == 2 ? 1 : 2];
	int			nwarps = FUSED_NTHREADS((plan->rows.nfeatures + 7) / 8) / 32;

	plan->fused.rows = plan->rows;
	for (int k = 0; k < 4; k++)
		plan->fused.row_step[k] = step[k];
	plan->fused.tile_ndoubles = GLM_TILE * ncols;
	plan->fused.warp_ndoubles = FUSED_NSTAGES * plan->fused.tile_ndoubles + 2 * GLM_TILE;
	if (nwarps > shared_nbytes / (plan->fused.warp_ndoubles * (int) sizeof(double)))
		nwarps = shared_nbytes / (plan->fused.warp_ndoubles * (int) sizeof(double));
	plan->fused_nwarps = nwarps;
	plan->fused_nbytes = sizeof(double) * (size_t) (nwarps * plan->fused.warp_ndoubles);
	for (int k = 0; k < 4; k++)
	{
		bool		hessian = k % 2 == 1;
		size_t		ndoubles = (size_t) (plan->nsms * nwarps) * (size_t) fused_record_ndoubles(nterms, hessian);
		cudaError_t code = gr_allow_shared(fused_function(plan->rows, k >= 2, hessian), plan->fused_nbytes);

		if (code != cudaSuccess)
			return code;
		plan->fused_ndoubles = ndoubles > plan->fused_ndoubles ? ndoubles : plan->fused_ndoubles;
	}
	return cudaSuccess;
}

/* Plans thread blocks of few warps, so that several run side by side if rows are short. */
static cudaError_t
plan_wide(GlmPlan *plan, int shared_nbytes)
{
	const int	p = plan->rows.nfeatures;
	int			nwarps = (p + 127) / 128 < WIDE_NTHREADS / 32 ? (p + 127) / 128 : WIDE_NTHREADS / 32;
	int			ncolumns = (p + 32 * nwarps - 1) / (32 * nwarps);
	int			nrows = p <= WIDE_FEATURES_8 ? 8 : 4;
	int			resident[2];
	cudaError_t code;

	plan->wide_nthreads = 32 * nwarps;
	plan->wide_nbytes = (size_t) nwarps * sizeof(WideWarp) +
		sizeof(double) * (size_t) (WIDE_NSTAGES * ncolumns * nrows * plan->wide_nthreads);
	if (ncolumns > WIDE_COLUMNS || plan->wide_nbytes > (size_t) shared_nbytes)
		return cudaSuccess;
	for (int roles = 0; roles < 2; roles++)
	{
		const void *function = wide_function(roles != 0, ncolumns, nrows);

		if ((code = gr_allow_shared(function, plan->wide_nbytes)) != cudaSuccess ||
			(code = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident[roles], function, plan->wide_nthreads,
																  plan->wide_nbytes)) != cudaSuccess)
			return code;
	}
	if (resident[0] < 1 || resident[1] < 1)
		return cudaSuccess;
	plan->wide_ncolumns = ncolumns;
	plan->wide_nrows = nrows;
	plan->wide_nblocks = plan->nsms * resident[plan->rows.weight || plan->rows.offset || plan->rows.key ? 1 : 0];
	plan->fused_ndoubles = (size_t) plan->wide_nblocks * (size_t) fused_record_ndoubles(gr_nterms(plan->rows.nfeatures),
																						false);
	return cudaSuccess;
}

typedef void (*TransformKernel) (const double *, int64_t, GrRowShape, GlmTerms, int, double *, double *);

enum
{
	TRANSFORM_PLAIN, TRANSFORM_FACE, TRANSFORM_ROLES, TRANSFORM_ROLES_FACE, TRANSFORM_MEASURED, NTRANSFORMS
};

/* own: OwnRows instead of SpreadRows. */
static TransformKernel
transform_function(bool own, int kind)
{
	static const TransformKernel functions[2][NTRANSFORMS] = {
		{transform_kernel<SpreadRows, false, false, false>, transform_kernel<SpreadRows, true, false, false>,
		transform_kernel<SpreadRows, false, true, false>, transform_kernel<SpreadRows, true, true, false>,
		transform_kernel<SpreadRows, false, true, true>},
		{transform_kernel<OwnRows, false, false, false>, transform_kernel<OwnRows, true, false, false>,
		transform_kernel<OwnRows, false, true, false>, transform_kernel<OwnRows, true, true, false>,
		transform_kernel<OwnRows, false, true, true>}
	};

	return functions[own][kind];
}

/* Plans one row per lane if rows are short and shared memory suffices. */
static cudaError_t
plan_transform(GlmPlan *plan, int shared_nbytes)
{
	const int	ndoubles = GLM_TILE * own_step(plan->rows);
	const size_t nbytes = sizeof(double) * (size_t) (ROW_NTHREADS / 32 * ndoubles);
	cudaError_t code = cudaSuccess;

	if (plan->rows.nfeatures > GLM_FUSED_FEATURES || nbytes > (size_t) shared_nbytes)
		return cudaSuccess;
	plan->own_ndoubles = ndoubles;
	plan->own_nbytes = nbytes;
	for (int kind = 0; kind < NTRANSFORMS && code == cudaSuccess; kind++)
		code = gr_allow_shared((const void *) transform_function(true, kind), nbytes);
	return code;
}

cudaError_t
gr_glm_plan(GlmPlan *plan, GrRowShape rows, size_t budget_nbytes)
{
	const double nterms = gr_nterms(rows.nfeatures);
	int			ncolumn_blocks = (gr_nterms(rows.nfeatures) + 31) / 32;
	GrDeviceFacts device;
	double		operations_per_s;
	cudaError_t code = gr_device_facts(&device);

	*plan = GlmPlan();
	plan->rows = rows;
	if (code != cudaSuccess)
		return code;
	plan->nsms = device.nsms;
	/* no multiprocessor has more than 128 single-precision lanes */
	operations_per_s = plan->nsms * (device.clock_khz > 0 ? device.clock_khz : 1e6) * 1e3 *
		(128.0 / (device.fp64_ratio > 0 ? device.fp64_ratio : 1));
	plan->row_nblocks = 8 * plan->nsms;
	plan->heads_ndoubles = (size_t) plan->row_nblocks * (ROW_NTHREADS / 32) * GR_SUM_HEAD;
	plan->column_nsplits = 8 * plan->nsms / ncolumn_blocks > 1 ? 8 * plan->nsms / ncolumn_blocks : 1;
	plan->columns_ndoubles = (size_t) plan->column_nsplits * 4 * (size_t) gr_nterms(rows.nfeatures);
	plan->fused_row_s = (0.5 * nterms * nterms + 12.0 * nterms + 100.0) / operations_per_s;
	plan->weigh_row_s = (8.0 * nterms + 200.0) / operations_per_s;
	plan->transform_row_s = (25.0 * nterms + 400.0) / operations_per_s;
	if ((code = plan_transform(plan, device.shared_nbytes)) != cudaSuccess)
		return code;
	if (rows.nfeatures <= GLM_FUSED_FEATURES)
		return plan_fused(plan, device.shared_nbytes);
	if ((code = plan_wide(plan, device.shared_nbytes)) != cudaSuccess)
		return code;
	code = gr_weighted_gram_plan(&plan->gram, rows.nfeatures, budget_nbytes);
	plan->matrix_ndoubles = plan->gram.partials_ndoubles;
	plan->matrix_row_s = plan->gram.row_s;
	return code;
}

bool
gr_glm_is_fused(const GlmPlan *plan, GrPassKind kind)
{
	return (kind == GR_PASS_FAST && plan->fused_nwarps > 0) ||
		(kind == GR_PASS_GRADIENT && (plan->fused_nwarps > 0 || plan->wide_ncolumns > 0));
}

/*
 * Launches wide_kernel(), a GRADIENT pass over all chunks. Writes the sums to records and, unless weights is NULL, the
 * weight and residual of each row to weights.
 */
static cudaError_t
wide_launch(const GlmPlan *plan, const GlmChunks *chunks, const GlmTerms *terms, double2 *weights, double *records,
			cudaStream_t stream)
{
	GlmChunks	argument = *chunks;
	GrRowShape	rows = plan->rows;
	const double *beta = terms->beta;
	const double *shift = terms->shift;
	GrDistribution distribution = terms->distribution;
	void	   *arguments[] = {&argument, &rows, &beta, &shift, &distribution, &weights, &records};

	return cudaLaunchKernel(wide_function(has_roles(rows, distribution), plan->wide_ncolumns, plan->wide_nrows),
							dim3((unsigned) plan->wide_nblocks),
							dim3((unsigned) plan->wide_nthreads), arguments, plan->wide_nbytes, stream);
}

cudaError_t
gr_glm_fused_launch(const GlmPlan *plan, GrPassKind kind, const GlmChunks *chunks, const GlmTerms *terms,
					double *records,
					cudaStream_t stream)
{
	GlmChunks	argument = *chunks;
	GlmFusedShape shape = plan->fused;
	const double *beta = terms->beta;
	const double *shift = terms->shift;
	GrDistribution distribution = terms->distribution;
	void	   *arguments[] = {&argument, &shape, &beta, &shift, &distribution, &records};

	if (chunks->n == 0)
		return cudaSuccess;
	if (plan->fused_nwarps == 0)
		return wide_launch(plan, chunks, terms, NULL, records, stream);
	return cudaLaunchKernel(fused_function(plan->rows, has_roles(plan->rows, distribution), kind == GR_PASS_FAST),
							dim3((unsigned) plan->nsms),
							dim3((unsigned) plan->fused_nwarps * 32), arguments, plan->fused_nbytes, stream);
}

cudaError_t
gr_glm_step_launch(const GlmPlan *plan, const double *rows, int64_t nrows, const GlmTerms *terms, double2 *weights,
				   double *records, cudaStream_t stream)
{
	GlmChunks	chunks = {};

	if (nrows == 0)
		return cudaSuccess;
	chunks.n = 1;
	chunks.nrows = nrows;
	chunks.rows[0] = rows;
	chunks.end[0] = (nrows + GLM_TILE - 1) / GLM_TILE;
	return wide_launch(plan, &chunks, terms, weights, records, stream);
}

/* Returns the thread blocks for nrows rows, with GLM_TILE rows per warp. */
static unsigned
count_row_blocks(const GlmPlan *plan, int64_t nrows)
{
	int64_t		most = (nrows + GLM_TILE * (ROW_NTHREADS / 32) - 1) / (GLM_TILE * (ROW_NTHREADS / 32));

	return (unsigned) (most < plan->row_nblocks ? most : plan->row_nblocks);
}

cudaError_t
gr_glm_weigh_launch(const GlmPlan *plan, const double *rows, int64_t nrows, const GlmTerms *terms, double2 *weights,
					double *heads, cudaStream_t stream)
{
	if (nrows == 0)
		return cudaSuccess;
	if (has_roles(plan->rows, terms->distribution))
		weigh_kernel<true><<<count_row_blocks(plan, nrows), ROW_NTHREADS, 0, stream>>>
			(rows, nrows, plan->rows, *terms, weights, heads);
	else
		weigh_kernel<false><<<count_row_blocks(plan, nrows), ROW_NTHREADS, 0, stream>>>
			(rows, nrows, plan->rows, *terms, weights, heads);
	return cudaGetLastError();
}

cudaError_t
gr_glm_transform_launch(const GlmPlan *plan, GrPassKind kind, const double *rows, int64_t nrows, const GlmTerms *terms,
						double *out, double *heads, cudaStream_t stream)
{
	const bool	face = kind == GR_PASS_FACE;
	int			transform = face ? TRANSFORM_FACE : TRANSFORM_PLAIN;

	if (nrows == 0)
		return cudaSuccess;
	if (terms->measure != GR_MEASURE_STEP)
		transform = TRANSFORM_MEASURED;
	else if (has_roles(plan->rows, terms->distribution))
		transform = face ? TRANSFORM_ROLES_FACE : TRANSFORM_ROLES;
	transform_function(plan->own_ndoubles > 0, transform)<<<count_row_blocks(plan, nrows), ROW_NTHREADS,
		plan->own_nbytes, stream>>>(rows, nrows, plan->rows, *terms, plan->own_ndoubles, out, heads);
	return cudaGetLastError();
}

/* Returns the rows of a split, for at most nsplits splits of at least `least` rows each, except the last. */
static int64_t
count_split_rows(int64_t nrows, int nsplits, int64_t least)
{
	int64_t		n = (nrows + nsplits - 1) / nsplits;

	n = n < least ? least : n;
	return (n + 15) / 16 * 16;
}

cudaError_t
gr_glm_columns_launch(const GlmPlan *plan, const double *rows, int64_t nrows, const GlmTerms *terms,
					  const double2 *weights, double *columns, cudaStream_t stream)
{
	int64_t		nrows_per_split = count_split_rows(nrows, plan->column_nsplits, 8 * COLUMN_NSLICES);
	dim3		grid((unsigned) (gr_nterms(plan->rows.nfeatures) + 31) / 32,
					 (unsigned) ((nrows + nrows_per_split - 1) / nrows_per_split));

	if (nrows == 0)
		return cudaSuccess;
	columns_kernel<<<grid, dim3(32, COLUMN_NSLICES), 0, stream>>>
		(rows, nrows, nrows_per_split, plan->rows, terms->shift, weights, columns);
	return cudaGetLastError();
}

cudaError_t
gr_glm_matrix_launch(const GlmPlan *plan, const double *rows, int64_t nrows, const GlmTerms *terms,
					 const double2 *weights,
					 double *matrix, cudaStream_t stream)
{
	WeightedGramRows from = {rows, nrows, gr_row_ncols(plan->rows), terms->shift, &weights->x, 2};

	return gr_weighted_gram_launch(&plan->gram, &from, matrix, stream);
}

cudaError_t
gr_glm_reduce_launch(const GlmPlan *plan, GlmRecords kind, const double *records, double *sums, cudaStream_t stream)
{
	int			nterms = kind == GLM_HEADS ? 0 : gr_nterms(plan->rows.nfeatures);
	int			nhead = kind == GLM_COLUMNS ? 0 : GR_SUM_HEAD;
	int			nrecords;
	int64_t		ndoubles;
	unsigned	nblocks;

	if (kind == GLM_FUSED || kind == GLM_FUSED_GRADIENT)
	{
		ndoubles = fused_record_ndoubles(gr_nterms(plan->rows.nfeatures), kind == GLM_FUSED);
		nrecords = plan->fused_nwarps > 0 ? plan->nsms * plan->fused_nwarps : plan->wide_nblocks;
	}
	else
	{
		ndoubles = kind == GLM_HEADS ? (int64_t) GR_SUM_HEAD : 4 * (int64_t) nterms;
		nrecords = kind == GLM_HEADS ? plan->row_nblocks * (ROW_NTHREADS / 32) : plan->column_nsplits;
	}
	nblocks = (unsigned) ((ndoubles + REDUCE_NSUMS - 1) / REDUCE_NSUMS);
	reduce_kernel<<<nblocks, dim3(REDUCE_NSUMS, REDUCE_NSLICES), 0, stream>>>
		(records, nrecords, ndoubles, nhead, nterms, sums);
	return cudaGetLastError();
}

cudaError_t
gr_glm_matrix_reduce_launch(const GlmPlan *plan, const double *matrix, const double *first_column, int64_t first,
							int64_t nentries, double *hessian, cudaStream_t stream)
{
	return gr_weighted_gram_reduce_launch(&plan->gram, matrix, first_column, first, nentries, hessian, stream);
}
