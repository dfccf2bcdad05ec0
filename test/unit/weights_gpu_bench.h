/*
 * weights_gpu_bench.h: weights_gpu_test.cu's timings: the time that weights, offsets and distributions add to the
 * kernels.
 */
#ifndef GPUREG_WEIGHTS_GPU_BENCH_H
#define GPUREG_WEIGHTS_GPU_BENCH_H

#define NREPEATS 7

static double
gram_ms(GrRowShape shape, const double *rows, int64_t nrows)
{
	GramPlan	plan;
	double2    *partials = NULL;
	double		ms;

	if (!cuda_ok(gr_gram_plan(&plan, shape, (size_t) 256 << 20)) ||
		!cuda_ok(cudaMalloc((void **) &partials, plan.partials_nbytes)) ||
		!cuda_ok(cudaMemset(partials, 0, plan.partials_nbytes)))
		return NAN;
	ms = median_ms(NREPEATS, [&]() { cuda_ok(gr_gram_launch(&plan, partials, rows, nrows, 0)); });
	device_free(partials);
	return ms;
}

static double
fast_ms(GrRowShape shape, const double *rows, int64_t nrows)
{
	const size_t nterms = (size_t) gr_nterms(shape.nfeatures);
	double	   *beta = zeros(2 * nterms);
	GlmTerms	terms = {beta, beta + nterms, 0, NULL, NULL, 0.0, false, distribution, GR_MEASURE_STEP, false,
	NULL, 0.0};
	GlmChunks	chunks = {};
	GlmPlan		plan;
	double	   *records;
	double		ms;

	if (!cuda_ok(gr_glm_plan(&plan, shape, BUDGET_NBYTES)))
		return NAN;
	records = zeros(plan.fused_ndoubles);
	chunks.n = 1;
	chunks.nrows = nrows;
	chunks.rows[0] = rows;
	chunks.end[0] = padded(nrows) / GLM_TILE;
	ms = median_ms(NREPEATS, [&]() { cuda_ok(gr_glm_fused_launch(&plan, GR_PASS_FAST, &chunks, &terms, records, 0)); });
	device_free(beta, records);
	return ms;
}

/* Times plain rows and rows with roles, over one block of memory that repeats. ones: weights of 1. */
static void
bench_shape(const char *name, int p, int64_t nrows, double *memory, bool fast, bool ones)
{
	double		ms[4];

	for (int k = 0; k < 4; k++)
	{
		GrRowShape	shape = {p, false, (k & 1) != 0, (k & 2) != 0, false, false};
		Data		data = random_data(shape, 65536);
		Data		plain = with_ones(&data, shape);
		size_t		nbytes = sizeof(double) * (size_t) (65536 * gr_row_ncols(shape));

		for (int64_t done = 0; done < nrows; done += 65536)
			cuda_ok(cudaMemcpy((char *) memory + (size_t) (done / 65536) * nbytes,
							   ones ? plain.device_rows : data.device_rows, nbytes, cudaMemcpyDeviceToDevice));
		ms[k] = fast ? fast_ms(shape, memory, nrows) : gram_ms(shape, memory, nrows);
		data_free(&data);
		data_free(&plain);
	}
	printf("{\"bench\": \"%s%s\", \"rows\": %lld, \"p\": %d, \"plain_ms\": %.3f, \"weight_ms\": %.3f, "
		   "\"offset_ms\": %.3f, \"both_ms\": %.3f, \"weight_ratio\": %.2f, \"offset_ratio\": %.2f}\n", name,
		   ones ? ", weights of 1" : "", (long long) nrows, p, ms[0], ms[1], ms[2], ms[3], ms[1] / ms[0],
		   ms[2] / ms[0]);
	fflush(stdout);
}

/* Times FAST over plain rows of some families and of the logistic one. */
static void
bench_distributions(int p, int64_t nrows, double *memory)
{
	const GrRowShape shape = gr_plain_shape(p);
	const size_t nbytes = sizeof(double) * (size_t) (65536 * gr_row_ncols(shape));
	const GrDistribution distributions[] = {
		GR_LOGISTIC, {GR_POISSON, GR_LOG, 0.0, 0}, {GR_GAMMA, GR_LOG, 0.0, 0}, {GR_NEGATIVE_BINOMIAL, GR_LOG, 2.5, 0},
		{GR_BINOMIAL, GR_PROBIT, 0.0, 0}, {GR_BINOMIAL, GR_CLOGLOG, 0.0, 0}
	};
	double		logistic = 0.0;

	for (int k = 0; k < COUNT(distributions); k++)
	{
		Data		data;
		double		ms;

		distribution = distributions[k];
		data = data_of(shape, 65536);
		for (int64_t done = 0; done < nrows; done += 65536)
			cuda_ok(cudaMemcpy((char *) memory + (size_t) (done / 65536) * nbytes, data.device_rows, nbytes,
							   cudaMemcpyDeviceToDevice));
		ms = fast_ms(shape, memory, nrows);
		logistic = k == 0 ? ms : logistic;
		printf("{\"bench\": \"FAST, %s, %s\", \"rows\": %lld, \"p\": %d, \"ms\": %.3f, \"ratio\": %.2f}\n",
			   gr_family_name(distribution.family, false), gr_link_name(distribution.link), (long long) nrows, p, ms,
			   ms / logistic);
		data_free(&data);
	}
	distribution = GrDistribution GR_LOGISTIC;
	fflush(stdout);
}

static bool
run_bench(const GpuRun *run)
{
	double	   *memory = device_alloc<double>((size_t) 20100000 * 13);

	(void) run;
	if (first_code != cudaSuccess)
		return false;
	bench_shape("Gram matrix", 8, 20000000, memory, false, false);
	bench_shape("Gram matrix", 32, 5000000, memory, false, false);
	bench_shape("Gram matrix", 100, 1000000, memory, false, false);
	bench_shape("logistic pass: FAST", 8, 20000000, memory, true, false);
	bench_shape("logistic pass: FAST", 32, 5000000, memory, true, false);
	bench_shape("logistic pass: FAST", 8, 20000000, memory, true, true);
	bench_shape("logistic pass: FAST", 32, 5000000, memory, true, true);
	bench_distributions(8, 20000000, memory);
	bench_distributions(32, 5000000, memory);
	device_free(memory);
	return first_code == cudaSuccess;
}

#endif							/* GPUREG_WEIGHTS_GPU_BENCH_H */
