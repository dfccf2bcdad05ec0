/*
 * cholesky_gpu_bench.h: the part of cholesky_gpu_test.cu that times the solve: its phases, the whole of it, the CPU's
 * solve, and, where their libraries are given, cuSOLVER's and cuBLAS's float8 factorisation and triangular solve of the
 * same matrix. Prints one JSON line per size; times are medians in ms.
 */
#include <dlfcn.h>

#define NREPEATS 7

/* The functions used of cuSOLVER and cuBLAS, whose headers may be missing. */
typedef struct Peers
{
	int			(*solver_create) (void **handle);
	int			(*potrf_nbytes) (void *handle, int uplo, int n, double *a, int lda, int *lwork);
	int			(*potrf) (void *handle, int uplo, int n, double *a, int lda, double *work, int lwork, int *info);
	int			(*blas_create) (void **handle);
	int			(*trsm) (void *handle, int side, int uplo, int trans, int diag, int m, int n, const double *alpha,
						 const double *a, int lda,
						 double *b, int ldb);
	void	   *solver;
	void	   *blas;
	bool		there;
} Peers;

/* Returns the median wall time of work after one untimed run. before: runs before each work, untimed. */
template <typename Before, typename Work>
static double
wall_ms(int nrepeats, Before before, Work work)
{
	double		times_ms[NREPEATS];

	for (int i = -1; i < nrepeats; i++)
	{
		double		begin_ms;

		before();
		cuda_ok(cudaDeviceSynchronize());
		begin_ms = now_ms();
		work();
		cuda_ok(cudaDeviceSynchronize());
		if (i >= 0)
			times_ms[i] = now_ms() - begin_ms;
	}
	return median(times_ms, nrepeats);
}

/* Opens the first library that loads, trying all names in each folder; ':' separates both lists. */
static void *
open_library(const char *folders, const char *names)
{
	char		path[1024];

	for (const char *folder = folders; *folder != '\0'; folder += strcspn(folder, ":"), folder += *folder == ':')
		for (const char *name = names; *name != '\0'; name += strcspn(name, ":"), name += *name == ':')
		{
			void	   *library;

			snprintf(path, sizeof(path), "%.*s/%.*s", (int) strcspn(folder, ":"), folder, (int) strcspn(name, ":"),
					 name);
			library = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
			if (library != NULL)
				return library;
		}
	printf("# none of %s: %s\n", names, dlerror());
	return NULL;
}

static Peers
open_peers(const char *folders)
{
	Peers		peers = {};
	void	   *blas;
	void	   *solver;

	if (*folders == '\0')
		return peers;
	blas = open_library(folders, "libcublas.so.13:libcublas.so.12");
	solver = open_library(folders, "libcusolver.so.12:libcusolver.so.11");
	if (blas == NULL || solver == NULL)
		return peers;
	peers.solver_create = (decltype(peers.solver_create)) dlsym(solver, "cusolverDnCreate");
	peers.potrf_nbytes = (decltype(peers.potrf_nbytes)) dlsym(solver, "cusolverDnDpotrf_bufferSize");
	peers.potrf = (decltype(peers.potrf)) dlsym(solver, "cusolverDnDpotrf");
	peers.blas_create = (decltype(peers.blas_create)) dlsym(blas, "cublasCreate_v2");
	peers.trsm = (decltype(peers.trsm)) dlsym(blas, "cublasDtrsm_v2");
	peers.there = peers.solver_create != NULL && peers.potrf_nbytes != NULL && peers.potrf != NULL &&
		peers.blas_create != NULL &&
		peers.trsm != NULL && peers.solver_create(&peers.solver) == 0 && peers.blas_create(&peers.blas) == 0;
	return peers;
}

/*
 * Makes a well-conditioned positive definite triangle of m + 2 rows without zeros, like that of (1, x, y) with m
 * features.
 */
static Gram
bench_gram(int m)
{
	Gram		gram = {m - 1, 10 * m, doubles(at(m + 1, 0)), doubles(at(m + 1, 0)), NULL};

	for (int i = 0; i <= m; i++)
		for (int j = 0; j <= i; j++)
		{
			GrDD		v = gr_two_sum(i == j ? 2.0 : random_double() / (2 * sqrt(m)), 0x1p-60 * random_double());

			gram.hi[at(i, j)] = v.hi;
			gram.lo[at(i, j)] = v.lo;
		}
	return gram;
}

/* Prints cuSOLVER's and cuBLAS's times: the factorisation, and inv(L) by a triangular solve for the identity. */
static void
bench_peers(const Peers *peers, const Gram *gram)
{
	const int	m = gram->p + 1;
	const double one = 1.0;
	size_t		nbytes = sizeof(double) * (size_t) m * (size_t) m;
	double	   *full = doubles((int64_t) m * m);
	double	   *kept = NULL;
	double	   *a = NULL;
	double	   *b = NULL;
	double	   *work = NULL;
	int		   *info = NULL;
	int			lwork = 0;
	double		potrf_ms = NAN;
	double		trsm_ms = NAN;

	for (int i = 0; i < m; i++)
		for (int j = 0; j < m; j++)
			full[(int64_t) i * m + j] = gram->hi[i >= j ? at(i, j) : at(j, i)];
	if (cuda_ok(cudaMalloc((void **) &kept, nbytes)) && cuda_ok(cudaMalloc((void **) &a, nbytes)) &&
		cuda_ok(cudaMalloc((void **) &b, nbytes)) && cuda_ok(cudaMalloc((void **) &info, sizeof(int))) &&
		cuda_ok(cudaMemcpy(kept, full, nbytes, cudaMemcpyHostToDevice)) &&
		peers->potrf_nbytes(peers->solver, 0, m, a, m, &lwork) == 0 &&
		cuda_ok(cudaMalloc((void **) &work, sizeof(double) * (size_t) lwork)))
	{
		int			failed = 0;

		potrf_ms = wall_ms(NREPEATS, [&]() { cuda_ok(cudaMemcpy(a, kept, nbytes, cudaMemcpyDeviceToDevice)); },
						   [&]() { failed |= peers->potrf(peers->solver, 0, m, a, m, work, lwork, info); });
		/* the identity in b, column-major like all matrices here */
		memset(full, 0, nbytes);
		for (int i = 0; i < m; i++)
			full[(int64_t) i * m + i] = 1.0;
		cuda_ok(cudaMemcpy(kept, full, nbytes, cudaMemcpyHostToDevice));
		trsm_ms = wall_ms(NREPEATS, [&]() { cuda_ok(cudaMemcpy(b, kept, nbytes, cudaMemcpyDeviceToDevice)); },
						  [&]() { failed |= peers->trsm(peers->blas, 0, 0, 0, 0, m, m, &one, a, m, b, m); });
		if (failed != 0)
			potrf_ms = trsm_ms = NAN;
	}
	printf(", \"cusolver_potrf_ms\": %.3f, \"cublas_trsm_ms\": %.3f", potrf_ms, trsm_ms);
	device_free(kept, a, b, work, info);
	free(full);
}

/* Prints the times of the launches, without those of copying the matrix to the device. */
static void
bench_phases(const Gram *gram)
{
	const int	m = gram->p + 1;
	const int64_t nentries = at(m + 1, 0);
	Cholesky	c = {};
	size_t		nbytes = gr_cholesky_place(&c, m, nentries, true, NULL);
	size_t		padded = (size_t) c.ntiles * CHOLESKY_TILE;
	double	   *ones = doubles((int64_t) (2 * padded));
	bool	   *aliased = (bool *) calloc(padded, sizeof(bool));
	void	   *memory = NULL;
	auto		load = [&]()
	{
		cuda_ok(cudaMemcpy(c.hi, gram->hi, sizeof(double) * (size_t) nentries, cudaMemcpyHostToDevice));
		cuda_ok(cudaMemcpy(c.lo, gram->lo, sizeof(double) * (size_t) nentries, cudaMemcpyHostToDevice));
		cuda_ok(cudaMemcpy(c.aliased, aliased, padded * sizeof(bool), cudaMemcpyHostToDevice));
		cuda_ok(gr_cholesky_load_launch(&c, 0, false, 0));
	};
	auto		factor = [&]()
	{
		for (int k = -1; k < c.ntiles - 1; k++)
			cuda_ok(gr_cholesky_factor_launch(&c, k, 0));
	};
	auto		back = [&]()
	{
		cuda_ok(gr_cholesky_back_prepare_launch(&c, 0));
		for (int k = c.ntiles; k > 0; k--)
			cuda_ok(gr_cholesky_back_launch(&c, k, 0));
	};
	auto		invert = [&]()
	{
		for (int k = -1; k < c.nterm_tiles - 1; k++)
			cuda_ok(gr_cholesky_inverse_launch(&c, k, 0));
	};
	auto		nothing = []() {};

	for (size_t k = 0; k < 2 * padded; k++)
		ones[k] = k % 2 == 0 || k < padded ? 1.0 : 0.0;
	for (size_t k = (size_t) m; k < padded; k++)
		aliased[k] = true;
	if (cuda_ok(cudaMalloc(&memory, nbytes)) && gr_cholesky_place(&c, m, nentries, true, memory) == nbytes &&
		cuda_ok(cudaMemset(memory, 0, nbytes)) &&
		cuda_ok(cudaMemcpy(c.scale, ones, padded * sizeof(double), cudaMemcpyHostToDevice)) &&
		cuda_ok(cudaMemcpy(c.weights, ones, padded * sizeof(double2), cudaMemcpyHostToDevice)))
	{
		c.noise = NOISE;
		printf(", \"load_ms\": %.3f", wall_ms(NREPEATS, load,
											  [&]() { cuda_ok(gr_cholesky_load_launch(&c, 0, false, 0)); }));
		printf(", \"factor_ms\": %.3f", wall_ms(NREPEATS, load, factor));
		printf(", \"back_ms\": %.3f", wall_ms(NREPEATS, nothing, back));
		printf(", \"inverse_ms\": %.3f", wall_ms(NREPEATS, nothing, invert));
		printf(", \"covariance_ms\": %.3f",
			   wall_ms(NREPEATS, nothing,
					   [&]() { cuda_ok(gr_cholesky_covariance_launch(&c, 0, c.nterm_tiles, 1.0, 0)); }));
	}
	device_free(memory);
	free(ones);
	free(aliased);
}

/*
 * Prints wall times of whole fits with memory and copies: on the device, of Newton's steps there, and on the CPU.
 */
static void
bench_fits(GrSession *session, const Gram *gram)
{
	const GrSolver solver = {gpu->solver, session, 0, 1};
	const int	m = gram->p + 1;
	const int	cpu_repeats = m < 400 ? NREPEATS : 1;
	Fit			fit = fit_new(m);
	void	   *workspace = malloc(gr_normal_workspace_nbytes(gram->p));
	const GrGram sums = view_of(gram);
	auto		solve = [&](const GrSolver *where, bool covariance)
	{
		fit.ols.coef = fit.coef;
		fit.ols.vcov = covariance ? fit.vcov : NULL;
		fit.ols.intercept = true;
		fit.ols.solver = where;
		if (!gr_ols_solve(&sums, workspace, &fit.ols, NULL, &fit.err))
			printf("# %s\n", fit.err.detail);
	};
	auto		nothing = []() {};

	printf(", \"ms\": %.3f", wall_ms(NREPEATS, nothing, [&]() { solve(&solver, true); }));
	printf(", \"coefficients_ms\": %.3f", wall_ms(NREPEATS, nothing, [&]() { solve(&solver, false); }));
	if (m <= 2001)
	{
		printf(", \"cpu_ms\": %.3f", wall_ms(cpu_repeats, nothing, [&]() { solve(NULL, true); }));
		printf(", \"cpu_coefficients_ms\": %.3f", wall_ms(cpu_repeats, nothing, [&]() { solve(NULL, false); }));
	}
	free(workspace);
	fit_free(&fit);
}

static bool
run_bench(const GpuRun *run)
{
	GrSession  *session = run->session;
	const char *usual = getenv("GPUREG_CUBLAS_DIR");
	const char *folders = run->bench_what != NULL ? run->bench_what : usual != NULL ? usual : "";
	const char *terms = option_value(run->argc, run->argv, "--terms=");
	const int	only_terms = terms != NULL ? atoi(terms) : 0;
	const int	sizes[] = {16, 32, 48, 64, 96, 128, 200, 300, 500, 1000, 2000, 5000, 10001};
	Peers		peers;

	/* the first fits of the process, which load the kernels */
	for (int s = 0; s < 2; s++)
	{
		const GrSolver solver = {gpu->solver, session, 0, 1};
		Gram		gram = bench_gram(128);
		double		begin_ms = now_ms();
		Fit			fit = fit_ols(&gram, true, &solver, NULL);

		printf("# 128 terms, call %d of the process: %.3f ms\n", s + 1, now_ms() - begin_ms);
		fit_free(&fit);
		gram_free(&gram);
	}
	peers = open_peers(folders);
	for (int s = 0; s < COUNT(sizes); s++)
	{
		Gram		gram;

		if (only_terms > 0 && sizes[s] != only_terms)
			continue;
		gram = bench_gram(sizes[s]);
		printf("{\"bench\": \"solve\", \"p\": %d", sizes[s]);
		if (sizes[s] == 1000 || sizes[s] == 2000)
			printf(", \"ms_at_most\": %d", sizes[s] == 1000 ? 50 : 250);
		bench_phases(&gram);
		bench_fits(session, &gram);
		if (peers.there)
			bench_peers(&peers, &gram);
		printf("}\n");
		fflush(stdout);
		gram_free(&gram);
	}
	return first_code == cudaSuccess;
}
