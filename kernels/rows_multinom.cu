/*
 * rows_multinom.cu: sums of a multinomial regression over a sink's rows on the device; see multinom_sums.h.
 *
 * Rows are taken in steps. row_kernel makes of each row its class, prior weight, part of the log-likelihood,
 * probabilities and residuals, in columns of the step's rows. sum_kernel adds the products: a thread owns a few
 * entries of the gradient and the triangles in one split of the rows, reads tiles of rows from shared memory, and adds
 * float8 sums of a tile (or each row, if exact) to its double-double sums. head_kernel sums numbers of a row.
 * merge_kernel adds the splits in their order, so that the same rows give the same bits. face_kernel counts with
 * integer atomics, whose order does not matter.
 *
 * Device memory is one block: | arguments | columns of a step | partial sums | sums | counts |.
 */
#include "sends.cuh"

#include "compute/base/dd.h"
#include "compute/request/multinom_request.h"

#include <stdlib.h>
#include <string.h>

#define COLUMNS_NBYTES ((size_t) 64 << 20)	/* columns of a step */
#define PARTIALS_NBYTES ((size_t) 64 << 20)
#define ROW_THREADS 128
#define SUM_THREADS 128
#define ENTRIES 4				/* entries of a thread of sum_kernel */
#define TILE_ROWS 32
#define TILE_NBYTES 40960
#define LAUNCH_PRODUCTS 2e10	/* products per launch: below 100 ms */

/* Arguments of all kernels; pointers are to device memory. */
typedef struct Args
{
	GrMultinomMeasure measure;
	GrRowShape	shape;
	int			k;				/* number of classes */
	int			t;				/* number of terms */
	int			nfaces;
	bool		counts;
	bool		exact;
	const double *values;
	const double *beta;
	const double *shift;
	const double *faces;
	const double *face_absolute;
	const double *rows;			/* rows of the step */
	int64_t		n;				/* their number */
	int64_t		pitch;			/* distance of columns */
	double	   *code;			/* columns: class, or -1 */
	double	   *prior;
	double	   *likelihood;
	double	   *p;				/* k - 1 columns */
	double	   *residual;		/* k - 1 columns */
	GrDD	   *partials;		/* nsplits x nsums */
	size_t		nsums;
	size_t		gradient_at;
	int64_t		nvectors;		/* vectors of t entries at gradient_at */
	int64_t		nentries;		/* entries from gradient_at on that sum_kernel makes */
	int			nsplits;
	int			tile_rows;
	unsigned long long *ncounted;	/* FACE: k x k counts, rows against, bits of the furthest difference */
} Args;

/* Term a of a row: 1, or a feature less its shift */
static __device__ double
term_of(const Args &g, const double *row, int a)
{
	return a == 0 ? 1.0 : row[a - 1] - g.shift[a - 1];
}

/* Returns the products of a row's terms and beta: algorithm Dot2. */
static __device__ double
predictor_of(const Args &g, const double *row, const double *beta)
{
	double		sum = 0.0;
	double		rest = 0.0;

	for (int a = 0; a < g.t; a++)
	{
		const GrDD	product = gr_two_prod(term_of(g, row, a), beta[a]);
		const GrDD	total = gr_two_sum(sum, product.hi);

		sum = total.hi;
		rest += product.lo + total.lo;
	}
	return sum + rest;
}

/* Returns the linear predictor of class k along the (k - 1) x t coefficients. */
static __device__ double
eta_of(const Args &g, const double *row, const double *beta, int k)
{
	return k == 0 ? 0.0 : predictor_of(g, row, beta + (size_t) (k - 1) * g.t);
}

/* True if a face leaves class k no part in a row of class own. */
static __device__ bool
is_left_out(const Args &g, const double *row, int own, int k)
{
	for (int f = 0; f < g.nfaces; f++)
	{
		const double *face = g.faces + (size_t) f * (g.k - 1) * g.t;

		if (eta_of(g, row, face, own) - eta_of(g, row, face, k) > g.face_absolute[f])
			return true;
	}
	return false;
}

/* Makes probabilities, residuals and the log-likelihood of row r. */
static __device__ void
make_row(const Args &g, const double *row, int64_t r, int own, double prior)
{
	double		most = 0.0;
	double		sum = 0.0;
	double		of_own = 0.0;
	double		others = 0.0;

	for (int j = 0; j < g.k - 1; j++)
	{
		const double eta = eta_of(g, row, g.beta, j + 1);

		g.p[j * g.pitch + r] = eta;
		most = eta > most ? eta : most;
	}
	for (int j = 0; j < g.k; j++)
	{
		double		e = exp(-fmin(460.0, most - (j == 0 ? 0.0 : g.p[(j - 1) * g.pitch + r])));

		if (g.nfaces > 0 && is_left_out(g, row, own, j))
			e = 0.0;
		sum += e;
		of_own = j == own ? e : of_own;
		others += j == own ? 0.0 : e;
		if (j > 0)
			g.p[(j - 1) * g.pitch + r] = e;
	}
	for (int j = 1; j < g.k; j++)
	{
		const int64_t at = (j - 1) * g.pitch + r;
		const double p = g.p[at] / sum;

		g.p[at] = p;
		g.residual[at] = prior * (j == own ? others / sum : -p);
	}
	g.likelihood[r] = prior == 0.0 ? 0.0 : -prior * log1p(others / of_own);
}

/* Makes the columns of a step's rows; a thread has a row. */
static __global__ void
row_kernel(Args g)
{
	const int64_t r = (int64_t) blockIdx.x * ROW_THREADS + threadIdx.x;
	const double *row = g.rows + r * gr_row_ncols(g.shape);
	int			own = -1;
	double		prior;

	if (r >= g.n)
		return;
	for (int k = 0; k < g.k && own < 0; k++)
		if (g.values[k] == gr_row_response(row, g.shape))
			own = k;
	prior = own < 0 ? 0.0 : gr_row_weight(row, g.shape);
	g.code[r] = own;
	g.prior[r] = prior;
	g.likelihood[r] = 0.0;
	if (g.measure != GR_MULTINOM_START && g.measure != GR_MULTINOM_FACE)
		make_row(g, row, r, own < 0 ? 0 : own, prior);
}

/* Counts the rows by the side of beta on which they lie; a thread has a row. */
static __global__ void
face_kernel(Args g)
{
	const int64_t r = (int64_t) blockIdx.x * ROW_THREADS + threadIdx.x;
	const double *row = g.rows + r * gr_row_ncols(g.shape);
	const size_t npairs = (size_t) g.k * g.k;
	int			own;
	double		least;

	if (r >= g.n || g.prior[r] == 0.0)
		return;
	own = (int) g.code[r];
	least = g.face_absolute[g.nfaces];
	for (int k = 0; k < g.k; k++)
	{
		double		margin;

		if (is_left_out(g, row, own, k))
			continue;
		margin = eta_of(g, row, g.beta, own) - eta_of(g, row, g.beta, k);
		/* bits of numbers that are not negative are in the order of the numbers */
		atomicMax(&g.ncounted[npairs + 1], (unsigned long long) __double_as_longlong(fabs(margin)));
		if (margin > least)
			atomicAdd(&g.ncounted[(size_t) own * g.k + k], 1ULL);
		else if (!(margin >= -least))
			atomicAdd(&g.ncounted[npairs], 1ULL);
	}
}

/* The sum that a thread of sum_kernel adds up: weight of a row times the product of two terms */
typedef struct Entry
{
	int			i;				/* vector, or the first predictor of a pair; -1: no entry */
	int			j;				/* second predictor; -1: a vector */
	int			a;				/* terms, b <= a */
	int			b;				/* -1: a vector */
} Entry;

/* Returns the row of a packed triangle that has entry e. */
static __device__ int
row_of(int64_t e)
{
	int64_t		i = (int64_t) ((sqrt(8.0 * (double) e + 1.0) - 1.0) / 2.0);

	while (i * (i + 1) / 2 > e)
		i--;
	while ((i + 1) * (i + 2) / 2 <= e)
		i++;
	return (int) i;
}

static __device__ Entry
entry_of(const Args &g, int64_t e)
{
	const int64_t triangle = (int64_t) g.t * (g.t + 1) / 2;
	Entry		entry = {-1, -1, 0, -1};
	int64_t		pair;

	if (e >= g.nentries)
		return entry;
	if (e < g.nvectors * g.t)
	{
		entry.i = (int) (e / g.t);
		entry.a = (int) (e % g.t);
		return entry;
	}
	e -= g.nvectors * g.t;
	pair = e / triangle;
	e %= triangle;
	entry.i = row_of(pair);
	entry.j = (int) (pair - (int64_t) entry.i * (entry.i + 1) / 2);
	entry.a = row_of(e);
	entry.b = (int) (e - (int64_t) entry.a * (entry.a + 1) / 2);
	return entry;
}

/*
 * Returns the weight of a row for an entry. row: of a tile, with t terms, then code, prior, k - 1 probabilities and
 * k - 1 residuals
 */
static __device__ double
weight_of(const Args &g, const double *row, const Entry &entry)
{
	const double *p = row + g.t + 2;
	const double *residual = p + g.k - 1;
	const double prior = row[g.t + 1];

	if (g.measure == GR_MULTINOM_START)
		return entry.j >= 0 ? prior : row[g.t] == (double) entry.i ? prior : 0.0;
	if (entry.j < 0)
		return residual[entry.i];
	if (g.measure == GR_MULTINOM_STEP)
		return prior * (entry.i == entry.j ? p[entry.i] * (1.0 - p[entry.i]) : -p[entry.i] * p[entry.j]);
	if (!g.counts)
		return residual[entry.i] * residual[entry.j];
	return prior == 0.0 ? 0.0 : residual[entry.i] * residual[entry.j] / prior;
}

/* Copies rows first .. first + n - 1 into the tile. */
static __device__ void
load_tile(const Args &g, int64_t first, int n, int width, double *tile)
{
	const int	ncols = gr_row_ncols(g.shape);

	for (int e = threadIdx.x; e < n * width; e += SUM_THREADS)
	{
		const int64_t r = first + e / width;
		const int	c = e % width;
		double		value;

		if (c < g.t)
			value = term_of(g, g.rows + r * ncols, c);
		else if (c == g.t)
			value = g.code[r];
		else if (c == g.t + 1)
			value = g.prior[r];
		else if (c < g.t + 1 + g.k)
			value = g.p[(int64_t) (c - g.t - 2) * g.pitch + r];
		else
			value = g.residual[(int64_t) (c - g.t - 1 - g.k) * g.pitch + r];
		tile[e] = value;
	}
}

/* Adds the products of a step's rows; a block has SUM_THREADS * ENTRIES entries of a split. */
static __global__ void
sum_kernel(Args g)
{
	extern __shared__ double tile[];
	const bool	start = g.measure == GR_MULTINOM_START;
	const int	width = start ? g.t + 2 : g.t + 2 * g.k;
	const int64_t first_entry = (int64_t) blockIdx.x * SUM_THREADS * ENTRIES + threadIdx.x;
	const int64_t share = ((g.n + g.nsplits - 1) / g.nsplits + TILE_ROWS - 1) / TILE_ROWS * TILE_ROWS;
	const int64_t begin = (int64_t) blockIdx.y * share;
	const int64_t end = begin + share < g.n ? begin + share : g.n;
	Entry		entry[ENTRIES];
	GrDD		sum[ENTRIES];

	for (int e = 0; e < ENTRIES; e++)
	{
		entry[e] = entry_of(g, first_entry + (int64_t) e * SUM_THREADS);
		sum[e] = gr_dd(0.0);
	}
	for (int64_t first = begin; first < end; first += g.tile_rows)
	{
		const int	n = (int) (end - first < g.tile_rows ? end - first : g.tile_rows);

		__syncthreads();
		load_tile(g, first, n, width, tile);
		__syncthreads();
		for (int e = 0; e < ENTRIES; e++)
		{
			const bool	exact = entry[e].j < 0 || g.exact || start;
			double		plain = 0.0;

			for (int r = 0; r < n && entry[e].i >= 0; r++)
			{
				const double *row = tile + r * width;
				double		weighted = weight_of(g, row, entry[e]);

				if (entry[e].j >= 0)
					weighted *= row[entry[e].b];
				if (exact)
					sum[e] = gr_dd_add(sum[e], gr_two_prod(weighted, row[entry[e].a]));
				else
					plain = gr_fma(weighted, row[entry[e].a], plain);
			}
			if (!exact)
				sum[e] = gr_dd_add(sum[e], gr_dd(plain));
		}
	}
	for (int e = 0; e < ENTRIES; e++)
		if (entry[e].i >= 0)
		{
			const size_t at = g.gradient_at + (size_t) (first_entry + (int64_t) e * SUM_THREADS);
			GrDD	   *to = &g.partials[blockIdx.y * g.nsums + at];

			*to = gr_dd_add(*to, sum[e]);
		}
}

/* Returns the number of row r that head entry h sums: the members of the head, then a weight per class. */
static __device__ double
head_of(const Args &g, int h, int64_t r)
{
	const bool	known = g.code[r] >= 0.0;

	if (h == GR_MULTINOM_LOG_LIKELIHOOD)
		return g.likelihood[r];
	if (h == GR_MULTINOM_NROWS)
		return !known ? 0.0 : g.counts ? g.prior[r] : 1.0;
	if (h == GR_MULTINOM_UNKNOWN)
		return known ? 0.0 : 1.0;
	return h >= GR_MULTINOM_HEAD && g.code[r] == (double) (h - GR_MULTINOM_HEAD) ? g.prior[r] : 0.0;
}

/* Sums a head entry over a split; a block has one of each. */
static __global__ void
head_kernel(Args g)
{
	__shared__ GrDD sums[SUM_THREADS];
	const int64_t share = (g.n + g.nsplits - 1) / g.nsplits;
	const int64_t begin = (int64_t) blockIdx.y * share;
	const int64_t end = begin + share < g.n ? begin + share : g.n;
	GrDD		sum = gr_dd(0.0);

	for (int64_t r = begin + threadIdx.x; r < end; r += SUM_THREADS)
		sum = gr_dd_add(sum, gr_dd(head_of(g, blockIdx.x, r)));
	sums[threadIdx.x] = sum;
	for (int step = SUM_THREADS / 2; step > 0; step /= 2)
	{
		__syncthreads();
		if (threadIdx.x < step)
			sums[threadIdx.x] = gr_dd_add(sums[threadIdx.x], sums[threadIdx.x + step]);
	}
	if (threadIdx.x == 0)
	{
		GrDD	   *to = &g.partials[blockIdx.y * g.nsums + blockIdx.x];

		*to = gr_dd_add(*to, sums[0]);
	}
}

/* Adds the splits of an entry, in their order; a thread has an entry. */
static __global__ void
merge_kernel(const GrDD *partials, size_t nsums, int nsplits, GrDD *sums)
{
	const size_t e = (size_t) blockIdx.x * ROW_THREADS + threadIdx.x;
	GrDD		sum = gr_dd(0.0);

	if (e >= nsums)
		return;
	for (int s = 0; s < nsplits; s++)
		sum = gr_dd_add(sum, partials[(size_t) s * nsums + e]);
	sums[e] = sum;
}

/* A pass under way */
typedef struct Run
{
	RowsSink   *rows;
	const GrMultinomPass *pass;
	const GrHost *host;
	Args		args;
	int64_t		step;			/* rows per launch */
	double	   *memory;			/* on the device */
	GrDD	   *sums;
	size_t		nzeroed;		/* bytes from partials on, which begin as zeros */
	double	   *arguments;		/* on the host */
	size_t		narguments;
} Run;

/* Appends n float8 to the arguments. Returns their address on the device. */
static const double *
put(Run *run, const double *values, size_t n)
{
	const double *at = run->memory + run->narguments;

	if (run->arguments != NULL && n > 0)
		memcpy(run->arguments + run->narguments, values, sizeof(double) * n);
	run->narguments += n;
	return at;
}

static void
put_arguments(Run *run)
{
	const GrMultinomPass *pass = run->pass;
	Args	   *g = &run->args;
	const size_t m = (size_t) (g->k - 1) * (size_t) g->t;

	run->narguments = 0;
	g->values = put(run, pass->values, (size_t) g->k);
	g->beta = put(run, pass->beta, m);
	g->shift = put(run, pass->shift, (size_t) g->t - 1);
	g->faces = put(run, pass->faces, (size_t) g->nfaces * m);
	g->face_absolute = put(run, pass->face_absolute,
						   (size_t) g->nfaces + (pass->measure == GR_MULTINOM_FACE ? 1 : 0));
}

/* Plans the launches: sizes that depend on the pass alone, and on the device's multiprocessors. */
static void
plan_launches(Run *run, int nsms)
{
	const GrMultinomPass *pass = run->pass;
	Args	   *g = &run->args;
	int64_t		width;
	int64_t		nblocks;
	double		work;

	g->measure = pass->measure;
	g->shape = pass->shape;
	g->k = pass->nclasses;
	g->t = gr_nterms(pass->shape.nfeatures);
	g->nfaces = pass->nfaces;
	g->counts = pass->counts;
	g->exact = pass->exact;
	g->nsums = gr_multinom_nsums(pass);
	g->gradient_at = gr_multinom_gradient_at(g->k);
	g->nvectors = pass->measure == GR_MULTINOM_START ? g->k : g->k - 1;
	g->nentries = pass->measure == GR_MULTINOM_FACE ? 0 : (int64_t) (g->nsums - g->gradient_at);
	nblocks = (g->nentries + SUM_THREADS * ENTRIES - 1) / (SUM_THREADS * ENTRIES);
	g->nsplits = (int) (16 * (int64_t) nsms / (nblocks > 0 ? nblocks : 1));
	if ((size_t) g->nsplits > PARTIALS_NBYTES / sizeof(GrDD) / g->nsums)
		g->nsplits = (int) (PARTIALS_NBYTES / sizeof(GrDD) / g->nsums);
	g->nsplits = g->nsplits < 1 ? 1 : g->nsplits > 1024 ? 1024 : g->nsplits;
	width = pass->measure == GR_MULTINOM_START ? g->t + 2 : g->t + 2 * (int64_t) g->k;
	g->tile_rows = (int) (TILE_NBYTES / (width * (int64_t) sizeof(double)));
	g->tile_rows = g->tile_rows > TILE_ROWS ? TILE_ROWS : g->tile_rows < 1 ? 1 : g->tile_rows;
	run->step = (int64_t) (COLUMNS_NBYTES / (sizeof(double) * (3 + 2 * (size_t) (g->k - 1))));
	work = (double) (g->nentries + (int64_t) g->k * g->t * (1 + 2 * (int64_t) g->nfaces * g->k));
	if ((double) run->step * work > LAUNCH_PRODUCTS)
		run->step = (int64_t) (LAUNCH_PRODUCTS / work);
	run->step = run->step < 1024 ? 1024 : run->step / 1024 * 1024;
	g->pitch = run->step;
}

static bool
allocate(Run *run, GrError *err)
{
	SignalsBlocked blocked;
	GrSession  *session = run->rows->session;
	Args	   *g = &run->args;
	const size_t ncolumns = 3 + 2 * (size_t) (g->k - 1);
	const size_t ncounted = g->measure == GR_MULTINOM_FACE ? (size_t) g->k * (size_t) g->k + 2 : 0;
	const size_t npartials = g->nsums * (size_t) g->nsplits;
	size_t		at;
	size_t		total;
	cudaError_t code;

	put_arguments(run);
	at = (run->narguments + 1) / 2 * 2;
	run->nzeroed = sizeof(double) * (2 * npartials + 2 * g->nsums + ncounted);
	total = sizeof(double) * (at + ncolumns * (size_t) g->pitch) + run->nzeroed;
	run->arguments = (double *) malloc(sizeof(double) * run->narguments);
	if (run->arguments == NULL)
		return gr_fail(err, GR_NO_MEMORY, 0, "the arguments of sums of classes");
	code = gr_memory_get(session->info.id, (void **) &run->memory, total);
	if (code != cudaSuccess)
	{
		run->memory = NULL;
		return session_fail(session, err, code, run->rows->nbytes + total, "allocating the sums of classes");
	}
	put_arguments(run);
	g->code = run->memory + at;
	g->prior = g->code + g->pitch;
	g->likelihood = g->prior + g->pitch;
	g->p = g->likelihood + g->pitch;
	g->residual = g->p + (size_t) (g->k - 1) * (size_t) g->pitch;
	g->partials = (GrDD *) (g->code + ncolumns * (size_t) g->pitch);
	run->sums = g->partials + npartials;
	g->ncounted = (unsigned long long *) (run->sums + g->nsums);
	return true;
}

/* Launches the kernels over a step's rows. */
static cudaError_t
launch_step(const Args *g, cudaStream_t stream)
{
	const unsigned row_blocks = (unsigned) ((g->n + ROW_THREADS - 1) / ROW_THREADS);
	const unsigned sum_blocks = (unsigned) ((g->nentries + SUM_THREADS * ENTRIES - 1) / (SUM_THREADS * ENTRIES));
	const size_t width = g->measure == GR_MULTINOM_START ? (size_t) g->t + 2 : (size_t) g->t + 2 * (size_t) g->k;

	row_kernel<<<row_blocks, ROW_THREADS, 0, stream>>>(*g);
	head_kernel<<<dim3((unsigned) g->gradient_at, (unsigned) g->nsplits), SUM_THREADS, 0, stream>>>(*g);
	if (g->measure == GR_MULTINOM_FACE)
		face_kernel<<<row_blocks, ROW_THREADS, 0, stream>>>(*g);
	if (sum_blocks > 0)
		sum_kernel<<<dim3(sum_blocks, (unsigned) g->nsplits), SUM_THREADS,
			sizeof(double) * width * (size_t) g->tile_rows, stream>>>(*g);
	return cudaGetLastError();
}

static bool
sum_chunk(Run *run, const RowsChunk *chunk, GrError *err)
{
	RowsSink   *rows = run->rows;

	for (int64_t done = 0; done < chunk->nrows; done += run->step)
	{
		run->args.n = chunk->nrows - done < run->step ? chunk->nrows - done : run->step;
		run->args.rows = chunk->rows + done * gr_row_ncols(rows->shape);
		SESSION_CUDA(rows->session, err, launch_step(&run->args, rows->kernel_stream), "launching sums of classes");
		SESSION_CUDA(rows->session, err, cudaStreamSynchronize(rows->kernel_stream), "sums of classes on the device");
		if (gr_canceled(run->host))
			return gr_fail(err, GR_CANCELED, 0, "sums of classes on the device");
	}
	return true;
}

/* Adds the sums on the device to sums. */
static bool
take_sums(Run *run, GrDD *sums, GrError *err)
{
	const Args *g = &run->args;
	GrSession  *session = run->rows->session;
	const size_t npairs = (size_t) g->k * (size_t) g->k;
	const size_t ncounted = g->measure == GR_MULTINOM_FACE ? npairs + 2 : 0;
	const size_t nbytes = sizeof(GrDD) * g->nsums + sizeof(double) * ncounted;
	GrDD	   *got = (GrDD *) malloc(nbytes);
	bool		ok;

	if (got == NULL)
		return gr_fail(err, GR_NO_MEMORY, 0, "the sums of classes");
	ok = cudaMemcpyAsync(got, run->sums, nbytes, cudaMemcpyDeviceToHost, run->rows->kernel_stream) == cudaSuccess;
	if (!ok || cudaStreamSynchronize(run->rows->kernel_stream) != cudaSuccess)
	{
		free(got);
		SESSION_CUDA(session, err, cudaGetLastError(), "copying the sums from the device");
		return gr_fail(err, GR_DEVICE_FAILED, 0, "copying the sums from the device");
	}
	if (g->measure == GR_MULTINOM_FACE)
	{
		unsigned long long counted;
		const char *counts = (const char *) (got + g->nsums);

		for (size_t k = 0; k < npairs; k++)
		{
			memcpy(&counted, counts + sizeof(double) * k, sizeof(counted));
			got[g->gradient_at + k] = gr_dd((double) counted);
		}
		memcpy(&counted, counts + sizeof(double) * npairs, sizeof(counted));
		got[GR_MULTINOM_AGAINST] = gr_dd((double) counted);
		memcpy(&got[GR_MULTINOM_FURTHEST].hi, counts + sizeof(double) * (npairs + 1), sizeof(double));
	}
	gr_multinom_sums_merge(run->pass, sums, got);
	free(got);
	return true;
}

static bool
run_pass(Run *run, GrDD *sums, GrError *err)
{
	RowsSink   *rows = run->rows;
	GrSession  *session = rows->session;
	const Args *g = &run->args;
	float		kernel_ms;

	SESSION_CUDA(session, err, cudaEventRecord(rows->pass_begin, rows->kernel_stream), "recording an event");
	SESSION_CUDA(session, err,
				 cudaMemcpyAsync(run->memory, run->arguments, sizeof(double) * run->narguments,
								 cudaMemcpyHostToDevice, rows->kernel_stream), "copying arguments to the device");
	SESSION_CUDA(session, err, cudaMemsetAsync(g->partials, 0, run->nzeroed, rows->kernel_stream),
				 "clearing the sums");
	for (int c = 0; c < rows->nchunks; c++)
		if (!sum_chunk(run, &rows->chunks[c], err))
			return false;
	merge_kernel<<<(unsigned) ((g->nsums + ROW_THREADS - 1) / ROW_THREADS), ROW_THREADS, 0, rows->kernel_stream>>>(
		g->partials, g->nsums, g->nsplits, run->sums);
	SESSION_CUDA(session, err, cudaGetLastError(), "launching the final sums");
	SESSION_CUDA(session, err, cudaEventRecord(rows->pass_end, rows->kernel_stream), "recording an event");
	if (!take_sums(run, sums, err))
		return false;
	SESSION_CUDA(session, err, cudaEventElapsedTime(&kernel_ms, rows->pass_begin, rows->pass_end),
				 "reading an event");
	rows->kernel_s += kernel_ms * 1e-3;
	return true;
}

/* Sums rows on the host, in blocks that are read back: for the measure that no kernel makes. */
static bool
sum_on_host(RowsSink *rows, const GrRequest *request, double *sums, const GrHost *host, GrError *err)
{
	const int64_t most = 1 << 16;
	double	   *block = (double *) malloc(gr_row_nbytes(rows->shape) * (size_t) most);
	void	   *scratch = malloc(gr_request_scratch_nbytes(request));
	bool		ok = block != NULL && scratch != NULL;

	if (!ok)
		gr_fail(err, GR_NO_MEMORY, 0, "rows of an ordinal regression");
	for (int64_t first = 0; ok && first < rows->nrows; first += most)
	{
		const int64_t n = rows->nrows - first < most ? rows->nrows - first : most;

		ok = gr_cuda_rows_read(rows, first, n, block, err) &&
			(gr_request_add(request, sums, block, n, scratch, host) ||
			 gr_fail(err, GR_CANCELED, 0, "sums of an ordinal regression"));
	}
	free(block);
	free(scratch);
	return ok;
}

bool
gr_cuda_sums_multinom(GrSink *sink, const GrRequest *request, double *sums, const GrHost *host, GrError *err)
{
	RowsSink   *rows = static_cast<RowsSink *>(sink);
	const GrMultinomPass pass = gr_request_multinom(request);
	Run			run = {};
	int			nsms;
	bool		ok;

	if (request->ngroups > 0)
		return gr_cuda_sums_none(sink, request, sums, host, err);
	if (!gr_rows_are_of(&pass.shape, rows->shape, err))
		return false;
	if (rows->nrows == 0)
		return true;
	SESSION_CUDA(rows->session, err, cudaSetDevice(rows->session->info.id), "selecting the device");
	if (pass.measure == GR_MULTINOM_ORDINAL)
		return gr_sends_wait(&rows->sends, err) && sum_on_host(rows, request, sums, host, err);
	SESSION_CUDA(rows->session, err,
				 cudaDeviceGetAttribute(&nsms, cudaDevAttrMultiProcessorCount, rows->session->info.id),
				 "asking for the device's multiprocessors");
	if (!gr_sends_wait(&rows->sends, err))
		return false;
	run.rows = rows;
	run.pass = &pass;
	run.host = host;
	plan_launches(&run, nsms);
	ok = allocate(&run, err) && run_pass(&run, (GrDD *) sums, err);
	/* nothing may be under way when its memory is freed */
	if (!ok)
		(void) cudaStreamSynchronize(rows->kernel_stream);
	gr_memory_give(rows->session->info.id, run.memory);
	free(run.arguments);
	return ok;
}
