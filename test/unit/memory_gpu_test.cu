/*
 * memory_gpu_test.cu: tests the memory of a device that a process keeps between computations: it is used again, is
 * given back when memory is short and at the end, and concurrent computations share it, and the device, without a
 * change of a bit.
 *
 * memory_gpu_test [--quick] [--bench] [--seed=N]: see gpu_harness.h.
 */
#include "../../kernels/memory.cuh"
#include "compute/glm/glm.h"
#include "gpu_harness.h"
#include "sums.h"

#include <pthread.h>

#define NTHREADS 8
#define NSHAPES 8
#define SLACK_NBYTES ((size_t) 32 << 20)	/* the driver may take this for more threads and streams */

/* Numbers of features; some share kernels and need different amounts of shared memory for them. */
static const int shapes[NSHAPES] = {1, 8, 3, 20, 24, 40, 60, 70};
static const GrPassKind kinds[] = {GR_PASS_FAST, GR_PASS_GRADIENT, GR_PASS_EXACT};

/* Rows, and the device's results while nothing else runs and nothing was kept */
typedef struct Problem
{
	int			nfeatures;
	int64_t		nrows;
	bool		urgent;			/* says how many rows will come, which are few */
	double	   *rows;
	double	   *beta;
	double	   *shift;
	size_t		nsums;
	double	   *sums;			/* the Gram matrix, then a pass of each kind */
} Problem;

static size_t
count_sums(int nfeatures)
{
	size_t		n = 2 * (size_t) gr_triangle(gr_norder(nfeatures));

	for (GrPassKind kind : kinds)
		n += gr_pass_nsums(kind, nfeatures);
	return n;
}

static Problem
problem_make(int nfeatures, int64_t nrows, bool urgent)
{
	const size_t ncols = (size_t) nfeatures + 1;
	Problem		p = {nfeatures, nrows, urgent, NULL, NULL, NULL, count_sums(nfeatures), NULL};

	p.rows = (double *) malloc(sizeof(double) * ncols * (size_t) nrows);
	p.beta = (double *) malloc(sizeof(double) * ncols);
	p.shift = (double *) malloc(sizeof(double) * ncols);
	p.sums = (double *) calloc(p.nsums, sizeof(double));
	for (size_t j = 0; j < ncols; j++)
	{
		p.beta[j] = random_double() / (double) ncols;
		p.shift[j] = random_double();
	}
	for (size_t k = 0; k < ncols * (size_t) nrows; k++)
		p.rows[k] = k % ncols == (size_t) nfeatures ? (double) (random_word() >> 63) : random_double();
	return p;
}

static void
problem_free(Problem *p)
{
	free(p->rows);
	free(p->beta);
	free(p->shift);
	free(p->sums);
}

static bool
sum_rows(GrSession *session, const Problem *p, double *sums, GrError *err)
{
	const size_t nentries = (size_t) gr_triangle(gr_norder(p->nfeatures));
	GrSinkOptions options = {};
	GrSink	   *sink = NULL;
	bool		ok;

	options.shape = gr_plain_shape(p->nfeatures);
	options.kind = GR_SINK_SUM;
	options.block_nbytes = (size_t) 1 << 20;
	ok = gpu->sink->begin(session, &options, &sink, err) && gpu->sink->send(sink, p->rows, p->nrows, err) &&
		gpu->sink->finish(sink, GrDDVector {sums, sums + nentries}, err);
	gpu->sink->end(sink);
	return ok;
}

static bool
pass_over_rows(GrSession *session, const Problem *p, double *sums, GrError *err)
{
	GrSinkOptions options = {};
	GrSink	   *sink = NULL;
	bool		ok;

	options.shape = gr_plain_shape(p->nfeatures);
	options.kind = GR_SINK_KEEP;
	options.expected_nbytes = p->urgent ? (size_t) p->nrows * gr_row_nbytes(options.shape) : 0;
	ok = gpu->sink->begin(session, &options, &sink, err) && gpu->sink->send(sink, p->rows, p->nrows, err);
	for (GrPassKind kind : kinds)
	{
		GrPass		pass = {};

		pass.kind = kind;
		pass.shape = options.shape;
		pass.distribution = GR_LOGISTIC;
		pass.beta = p->beta;
		pass.shift = p->shift;
		pass.measure = GR_MEASURE_STEP;
		gr_pass_clear(kind, p->nfeatures, sums);
		ok = ok && sum_pass(gpu->sink, sink, &pass, sums, NULL, err);
		sums += gr_pass_nsums(kind, p->nfeatures);
	}
	gpu->sink->end(sink);
	return ok;
}

/* Computes a problem. sums: p->nsums of them. */
static bool
compute(GrSession *session, const Problem *p, double *sums, GrError *err)
{
	return sum_rows(session, p, sums, err) &&
		pass_over_rows(session, p, sums + 2 * gr_triangle(gr_norder(p->nfeatures)), err);
}

/* True if the device computes the first results again; err says what failed. */
static bool
same_again(GrSession *session, const Problem *p, GrError *err)
{
	double	   *sums = (double *) malloc(sizeof(double) * p->nsums);
	bool		ok = compute(session, p, sums, err) &&
		(memcmp(sums, p->sums, sizeof(double) * p->nsums) == 0 ||
		 gr_fail(err, GR_INVALID, 0, "%d features: other bits than at first", p->nfeatures));

	free(sums);
	return ok;
}

static bool
all_same_again(GrSession *session, const Problem *problems, GrError *err)
{
	bool		ok = true;

	for (int i = 0; i < NSHAPES; i++)
		ok = ok && same_again(session, &problems[i], err);
	return ok;
}

static bool
open_session(GrSession **session, GrError *err)
{
	GrOpenOptions options = {};

	options.serves_many = true;
	return gpu->device->open(session, &options, err);
}

/*
 * Threads that have a session each
 */

typedef struct Client
{
	const Problem *problems;
	int			first;			/* the first problem; the others follow in turn */
	int			nrounds;
	bool		reopens;		/* opens a new session for each round */
	GrError		err;
} Client;

static void *
run_client(void *arg)
{
	Client	   *client = (Client *) arg;
	GrSession  *session = NULL;
	bool		ok = true;

	for (int i = 0; ok && i < client->nrounds * NSHAPES; i++)
	{
		if (session == NULL)
			ok = open_session(&session, &client->err);
		ok = ok && same_again(session, &client->problems[(client->first + i) % NSHAPES], &client->err);
		if (client->reopens)
		{
			gpu->device->close(session);
			session = NULL;
		}
	}
	gpu->device->close(session);
	return NULL;
}

static void
check_threads(const Problem *problems, int nrounds, bool reopens, const char *what)
{
	Client		clients[NTHREADS];
	pthread_t	threads[NTHREADS];
	const char *detail = "";

	for (int i = 0; i < NTHREADS; i++)
	{
		clients[i] = {problems, i, nrounds, reopens, {}};
		pthread_create(&threads[i], NULL, run_client, &clients[i]);
	}
	for (int i = 0; i < NTHREADS; i++)
	{
		pthread_join(threads[i], NULL);
		if (clients[i].err.status != GR_OK)
			detail = clients[i].err.detail;
	}
	check(detail[0] == '\0', "%s %s", what, detail);
}

/*
 * One session
 */

static size_t
free_nbytes(void)
{
	size_t		nbytes_free = 0;
	size_t		nbytes_total = 0;

	cuda_ok(cudaMemGetInfo(&nbytes_free, &nbytes_total));
	return nbytes_free;
}

static void
check_reuse(GrSession *session, const Problem *problems, bool quick)
{
	const int	device = gpu->device->describe(session)->id;
	GrDeviceInfo devices[GR_DEVICES_MAX];
	int			ndevices = 0;
	GrError		err = {};
	bool		ok = all_same_again(session, problems, &err) && all_same_again(session, problems, &err);
	GrMemoryUse before = gr_memory_use(device);
	GrMemoryUse after;

	for (int round = 0; round < 3; round++)
		ok = ok && all_same_again(session, problems, &err);
	after = gr_memory_use(device);
	check(ok && before.used_nbytes == 0 && before.pinned_used_nbytes == 0 && before.kept_nbytes > 0 &&
		  before.pinned_kept_nbytes > 0, "all that was in use is kept %s", err.detail);
	check(ok && after.ncalls == before.ncalls && after.kept_nbytes == before.kept_nbytes,
		  "the same computations again: no memory comes or goes");
	ok = cuda_ok(gr_memory_fill(device, 0xff)) && all_same_again(session, problems, &err);
	check(ok, "nothing is taken to be zeros, or whatever it was %s", err.detail);
	/* list() makes each device of the machine the current one in turn */
	ok = gpu->device->list(devices, COUNT(devices), &ndevices, &err) && device < ndevices &&
		cuda_ok(cudaSetDevice(device));
	/* programs beside this one take memory: with --quick several tests run at the same time */
	check(ok && (quick || devices[device].memory_free == free_nbytes() + gr_memory_use(device).kept_nbytes),
		  "what is kept counts as free");
	check(gr_memory_release(device) && gr_memory_use(device).kept_nbytes == 0 && !gr_memory_release(device),
		  "what is kept is released");
	ok = all_same_again(session, problems, &err);
	check(ok, "and the bits are the same without it %s", err.detail);
}

static void
check_sizes(GrSession *session)
{
	const int	device = gpu->device->describe(session)->id;
	const size_t mb = (size_t) 1 << 20;
	void	   *first = NULL;
	void	   *second = NULL;
	void	   *third = NULL;
	bool		ok;

	(void) gr_memory_release(device);
	ok = cuda_ok(gr_memory_get(device, &first, 40 * mb));
	gr_memory_give(device, first);
	ok = ok && cuda_ok(gr_memory_get(device, &second, 36 * mb)) && cuda_ok(gr_memory_get(device, &third, 36 * mb));
	check(ok && second == first && third != first, "memory is used again where less is wanted, once");
	gr_memory_give(device, second);
	gr_memory_give(device, third);
	ok = cuda_ok(gr_memory_get(device, &first, 36 * mb)) && cuda_ok(gr_memory_get(device, &second, 30 * mb));
	check(ok && first == third && gr_memory_use(device).used_nbytes == 66 * mb,
		  "the smallest that will do is, and none that is much too large");
	gr_memory_give(device, first);
	gr_memory_give(device, second);
	ok = cuda_ok(gr_memory_get(device, &first, 700)) && cuda_ok(gr_memory_get(device, &second, 0));
	check(ok && second == NULL && gr_memory_use(device).used_nbytes == 1024, "small sizes are powers of two");
	gr_memory_give(device, first);
	gr_memory_give(device, second);
	check(gr_memory_use(device).used_nbytes == 0 && gr_memory_use(device).kept_nbytes == 106 * mb + 1024,
		  "all is given back");
}

/* Checks computations that together use more memory than may be kept. */
static void
check_bound(GrSession *session)
{
	const GrDeviceInfo *info = gpu->device->describe(session);
	const size_t bound = info->memory_total / 8;
	const size_t nbytes = bound / 5 / 4096 * 4096;
	void	   *blocks[7] = {};
	void	   *large = NULL;
	size_t		kept;
	bool		ok = true;

	for (void *&block : blocks)
		ok = ok && cuda_ok(gr_memory_get(info->id, &block, nbytes));
	for (void *block : blocks)
		gr_memory_give(info->id, block);
	kept = gr_memory_use(info->id).kept_nbytes;
	check(ok && kept <= bound && kept > bound / 2, "%zu MB are kept of %zu, %zu may be", kept >> 20, 7 * nbytes >> 20,
		  bound >> 20);
	ok = cuda_ok(gr_memory_get(info->id, &large, bound / 8 * 7));
	gr_memory_give(info->id, large);
	check(ok && gr_memory_use(info->id).kept_nbytes == kept, "what takes most of that isn't");
}

/* Allocates device memory until none is left; returns the number of pieces. */
static int
take_memory(void **pieces, int max)
{
	int			n = 0;

	for (size_t nbytes = free_nbytes(); nbytes >= (1 << 16) && n < max;)
		if (cudaMalloc(&pieces[n], nbytes) == cudaSuccess)
			n++;
		else
			nbytes /= 2;
	(void) cudaGetLastError();
	return n;
}

static void
check_shortage(GrSession *session, const Problem *problems)
{
	static void *pieces[4096];
	const GrDeviceInfo *info = gpu->device->describe(session);
	void	   *memory = NULL;
	void	   *pinned = NULL;
	GrError		err = {};
	int			n;
	bool		ok;

	(void) gr_memory_release(info->id);
	ok = cuda_ok(gr_memory_get(info->id, &memory, info->memory_total / 32));
	gr_memory_give(info->id, memory);
	n = take_memory(pieces, COUNT(pieces));
	ok = ok && gr_memory_use(info->id).kept_nbytes > 0 &&
		cuda_ok(gr_memory_get(info->id, &memory, info->memory_total / 64));
	check(ok && gr_memory_use(info->id).kept_nbytes == 0, "a full device (%d pieces): what is kept makes room", n);
	gr_memory_give(info->id, memory);
	ok = gr_memory_get(info->id, &memory, info->memory_total / 2) == cudaErrorMemoryAllocation && memory == NULL;
	(void) cudaGetLastError();
	check(ok && gr_memory_use(info->id).kept_nbytes == 0, "and where it doesn't, that is said");
	while (n > 0)
		(void) cudaFree(pieces[--n]);
	ok = gr_pinned_get(info->id, &pinned, (size_t) 1 << 50) != cudaSuccess && pinned == NULL;
	(void) cudaGetLastError();
	check(ok, "more pinned memory than there is");
	ok = all_same_again(session, problems, &err);
	check(ok, "and then all is as before %s", err.detail);
}

static void
check_kept(const Problem *problems, bool quick)
{
	GrSession  *session = NULL;
	GrError		err = {};
	bool		ok = open_session(&session, &err);

	check(ok, "a session %s", err.detail);
	if (ok)
	{
		check_reuse(session, problems, quick);
		check_sizes(session);
		if (!quick)
		{
			check_bound(session);
			check_shortage(session, problems);
		}
	}
	gpu->device->close(session);
}

static bool
is_nothing(const GrMemoryUse *use)
{
	return use->used_nbytes == 0 && use->kept_nbytes == 0 && use->pinned_used_nbytes == 0 &&
		use->pinned_kept_nbytes == 0;
}

/* Checks the state that sessions leave in a context that isn't theirs. */
static void
check_end(const Problem *problems, bool quick)
{
	GrMemoryUse use;
	size_t		before;
	size_t		after;
	int			device = 0;

	cuda_ok(cudaGetDevice(&device));
	check_threads(problems, 1, false, "threads at once, in a context that was there");
	before = free_nbytes();
	check_threads(problems, 1, false, "and once more");
	after = free_nbytes();
	use = gr_memory_use(device);
	check(is_nothing(&use) && (quick || after + SLACK_NBYTES >= before),
		  "nothing is left when the last session is closed: %zu and %zu MB free", before >> 20, after >> 20);
}

static void
tests(const GpuRun *run)
{
	Problem		problems[NSHAPES];
	GrSession  *session = NULL;
	GrError		err = {};
	bool		ok = open_session(&session, &err);

	for (int i = 0; i < NSHAPES; i++)
	{
		problems[i] = problem_make(shapes[i], (run->quick ? 500 : 20000) + 37 * i, i % 2 == 0);
		ok = ok && compute(session, &problems[i], problems[i].sums, &err);
	}
	gpu->device->close(session);
	check(ok, "each by itself %s", err.detail);
	/* the context comes with the first session and goes with the last one, over and over */
	check_threads(problems, run->quick ? 1 : 4, true, "threads whose sessions come and go");
	check_threads(problems, run->quick ? 1 : 8, false, "threads at once");
	check_kept(problems, run->quick);
	check_end(problems, run->quick);
	for (Problem &problem : problems)
		problem_free(&problem);
}

#include "memory_gpu_bench.h"

int
main(int argc, char **argv)
{
	return kernels_main(argc, argv, tests, bench);
}
