/*
 * weights_measures.h: part of weights_gpu_test.cu: passes over scores, leverages, Firth's steps and theta, on the
 * device and on the CPU.
 */

/* A lower triangle, packed, by which leverages of such rows are well below 1, and some above it */
static double *
random_factor(const Data *data)
{
	const int	t = gr_nterms(data->shape.nfeatures);
	double	   *factor = (double *) malloc(sizeof(double) * (size_t) gr_triangle(t));

	for (int64_t k = 0; k < gr_triangle(t); k++)
		factor[k] = 0.4 * random_double() / t;
	return factor;
}

/* The worst error of any measure over its tolerance */
static double
measures_error(const Data *data, bool counts)
{
	double	   *factor = random_factor(data);
	double		worst = 0.0;

	for (int measure = GR_MEASURE_THETA; measure < GR_NMEASURES; measure++)
	{
		GrPass		pass = make_pass(data, GR_PASS_EXACT, false);
		double	   *sums;

		if (measure == GR_MEASURE_FIRTH && !gr_is_logistic(distribution))
			continue;
		if (measure == GR_MEASURE_THETA && distribution.family != GR_NEGATIVE_BINOMIAL)
			continue;
		pass.measure = (GrMeasure) measure;
		pass.counts = counts;
		pass.factor = gr_measure_has_factor(pass.measure) ? factor : NULL;
		sums = device_pass(data, &pass, AS_PLANNED);
		worst = fmax(worst, pass_error(data, &pass, sums) / EXACT_TOLERANCE);
		free(sums);
	}
	free(factor);
	return worst;
}

/* Every measure: the device's sums against the CPU's */
static void
check_measures(bool quick)
{
	static const GrDistribution distributions[] = {GR_LOGISTIC, {GR_POISSON, GR_LOG, 0}, {GR_GAUSSIAN, GR_IDENTITY, 0},
	{GR_NEGATIVE_BINOMIAL, GR_LOG, 2.5}};
	const int	features[] = {3, 8, 33, 300};

	for (int d = 0; d < COUNT(distributions); d++)
		for (int f = 0; f < (quick ? 2 : COUNT(features)); f++)
			for (int k = 0; k < 4; k++)
			{
				GrRowShape	shape = {features[f], false, (k & 1) != 0, (k & 2) != 0};
				const int64_t nrows = quick ? 77 : features[f] > 100 ? 700 : 5003;
				Data		data;
				double		worst;

				distribution = distributions[d];
				data = data_of(shape, nrows);
				worst = measures_error(&data, shape.weight);
				/* what divides by 1 - h has the more error the nearer h is to 1 */
				if (!check(worst <= 100.0 && first_code == cudaSuccess, "scores, %s%s, %d features, %lld rows",
						   gr_family_name(distribution.family, false), shape_names(shape), shape.nfeatures,
						   (long long) nrows))
					printf("# error over the tolerance %.3g\n", worst);
				data_free(&data);
			}
	distribution = GrDistribution GR_LOGISTIC;
}
