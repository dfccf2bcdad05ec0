/*
 * memory_gpu_bench.h: memory_gpu_test --bench: small fits per second, of threads at once, with and without memory that
 * is kept between fits.
 *
 * A fit is what a logistic regression of 200,000 x 8 needs of a device: a sink, rows from pinned memory in pieces of 1
 * MB, six FAST passes and an EXACT one. The sums are not used.
 */
#define FIT_NROWS 200000
#define FIT_NFEATURES 8
#define FIT_NPASSES 6
#define BENCH_S 3.0
#define NFITS_MAX 20000

typedef struct Fitter
{
	const Problem *problem;
	bool		keeps;
	double		until_ms;
	int			nfits;
	double	   *times_ms;		/* NFITS_MAX */
	GrError		err;
} Fitter;

static bool
send_pieces(GrSink *sink, const Problem *p, GrError *err)
{
	const int64_t most = ((int64_t) 1 << 20) / (int64_t) gr_row_nbytes(gr_plain_shape(p->nfeatures));
	bool		ok = true;

	for (int64_t done = 0; ok && done < p->nrows; done += most)
		ok = gpu->sink->send(sink, p->rows + done * (p->nfeatures + 1), p->nrows - done < most ? p->nrows - done : most,
							 err);
	return ok;
}

static bool
fit_once(GrSession *session, const Problem *p, double *sums, GrError *err)
{
	GrSinkOptions options = {};
	GrSink	   *sink = NULL;
	bool		ok;

	options.shape = gr_plain_shape(p->nfeatures);
	options.kind = GR_SINK_KEEP;
	options.expected_nbytes = (size_t) p->nrows * gr_row_nbytes(options.shape);
	ok = gpu->sink->begin(session, &options, &sink, err) && send_pieces(sink, p, err);
	for (int k = 0; ok && k <= FIT_NPASSES; k++)
	{
		GrPass		pass = {};

		pass.kind = k < FIT_NPASSES ? GR_PASS_FAST : GR_PASS_EXACT;
		pass.shape = options.shape;
		pass.distribution = GR_LOGISTIC;
		pass.beta = p->beta;
		pass.shift = p->shift;
		gr_pass_clear(pass.kind, p->nfeatures, sums);
		ok = sum_pass(gpu->sink, sink, &pass, sums, NULL, err);
	}
	gpu->sink->end(sink);
	return ok;
}

static void *
run_fitter(void *arg)
{
	Fitter	   *fitter = (Fitter *) arg;
	double	   *sums = (double *) malloc(sizeof(double) * fitter->problem->nsums);
	GrOpenOptions options = {};
	GrSession  *session = NULL;
	bool		ok;

	options.serves_many = fitter->keeps;
	ok = gpu->device->open(&session, &options, &fitter->err);
	if (ok && !fitter->keeps)
		gr_memory_forget(gpu->device->describe(session)->id);
	while (ok && fitter->nfits < NFITS_MAX && now_ms() < fitter->until_ms)
	{
		double		begin_ms = now_ms();

		ok = fit_once(session, fitter->problem, sums, &fitter->err);
		fitter->times_ms[fitter->nfits++] = now_ms() - begin_ms;
	}
	gpu->device->close(session);
	free(sums);
	return NULL;
}

static bool
bench_threads(const Problem *problem, int nthreads, bool keeps)
{
	Fitter	   *fitters = (Fitter *) calloc((size_t) nthreads, sizeof(Fitter));
	pthread_t  *threads = (pthread_t *) calloc((size_t) nthreads, sizeof(pthread_t));
	double	   *times_ms = (double *) malloc(sizeof(double) * (size_t) nthreads * NFITS_MAX);
	const double begin_ms = now_ms();
	double		elapsed_ms;
	int			nfits = 0;
	bool		ok = true;

	for (int i = 0; i < nthreads; i++)
	{
		fitters[i] = {problem, keeps, begin_ms + BENCH_S * 1e3, 0, (double *) malloc(sizeof(double) * NFITS_MAX), {}};
		pthread_create(&threads[i], NULL, run_fitter, &fitters[i]);
	}
	for (int i = 0; i < nthreads; i++)
	{
		pthread_join(threads[i], NULL);
		if (fitters[i].err.status != GR_OK)
			printf("# %s\n", fitters[i].err.detail);
		ok = ok && fitters[i].err.status == GR_OK;
		memcpy(times_ms + nfits, fitters[i].times_ms, sizeof(double) * (size_t) fitters[i].nfits);
		nfits += fitters[i].nfits;
		free(fitters[i].times_ms);
	}
	elapsed_ms = now_ms() - begin_ms;
	if (nfits > 0)
	{
		double		p50_ms = median(times_ms, nfits);

		printf("%2d threads, %-9s %7.1f fits/s, median %7.2f ms, p99 %7.2f ms\n", nthreads,
			   keeps ? "kept:" : "not kept:", nfits * 1e3 / elapsed_ms, p50_ms, times_ms[(size_t) nfits * 99 / 100]);
	}
	free(times_ms);
	free(threads);
	free(fitters);
	return ok;
}

static bool
bench(const GpuRun *run)
{
	const int	nthreads[] = {1, 8, 32};
	Problem		problem = problem_make(FIT_NFEATURES, FIT_NROWS, true);
	const size_t nbytes = sizeof(double) * FIT_NROWS * (FIT_NFEATURES + 1);
	GrSession  *session = NULL;
	GrError		err = {};
	bool		ok = open_session(&session, &err);

	(void) run;
	ok = ok && cuda_ok(cudaHostRegister(problem.rows, nbytes, cudaHostRegisterDefault));
	for (int n : nthreads)
		for (bool keeps : {false, true})
		{
			/* a session that stays open has the driver load kernels once; later sessions set how much may be kept */
			gr_memory_forget(ok ? gpu->device->describe(session)->id : 0);
			ok = ok && bench_threads(&problem, n, keeps);
		}
	if (ok)
		cuda_ok(cudaHostUnregister(problem.rows));
	gpu->device->close(session);
	problem_free(&problem);
	return ok;
}
