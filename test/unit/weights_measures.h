/*
 * weights_measures.h: the part of weights_gpu_test.cu that checks passes over scores, leverages, Firth's steps and
 * theta on the device against the CPU's.
 */

/* Makes a packed lower triangle by which leverages of the rows are well below 1, and some above it. */
static double *
random_factor(const Data *data)
{
	const int	t = gr_nterms(data->shape.nfeatures);
	double	   *factor = (double *) malloc(sizeof(double) * (size_t) gr_triangle(t));

	for (int64_t k = 0; k < gr_triangle(t); k++)
		factor[k] = 0.4 * random_double() / t;
	return factor;
}

/* Returns 1 - h for the largest leverage h that isn't taken for 1. */
static double
least_left(const Data *data, const double *factor, bool counts)
{
	const GrRowShape shape = data->shape;
	const int	t = gr_nterms(shape.nfeatures);
	double		least = 1.0;

	for (int64_t r = 0; r < data->nrows; r++)
	{
		const double *row = data->rows + r * gr_row_ncols(shape);
		const double weight = gr_row_weight(row, shape);
		double		eta = data->beta[0] + gr_row_offset(row, shape);
		double		length = 0.0;
		double		left;
		GrGlmRow	of_step;

		for (int j = 1; j < t; j++)
			eta += (row[j - 1] - data->shift[j - 1]) * data->beta[j];
		for (int k = 0; k < t; k++)
		{
			const double *c = factor + gr_triangle(k);
			double		part = c[0];

			for (int j = 1; j <= k; j++)
				part += c[j] * (row[j - 1] - data->shift[j - 1]);
			length += part * part;
		}
		of_step = gr_glm_row(distribution, eta, gr_row_response(row, shape), weight);
		left = 1.0 - of_step.u * of_step.u * length / (counts ? weight : 1.0);
		if (left >= GR_LEVERAGE_ROUNDING && left < least)
			least = left;
	}
	return least;
}

/*
 * Returns the worst error of a measure over its tolerance; division by 1 - h multiplies the error of h by 1 / (1 - h).
 */
static double
measures_error(const Data *data, bool counts)
{
	double	   *factor = random_factor(data);
	const double tolerance = EXACT_TOLERANCE * (100.0 + 10.0 / least_left(data, factor, counts));
	double		worst = 0.0;

	for (int measure = GR_MEASURE_THETA; measure < GR_NMEASURES; measure++)
	{
		GrPass		pass = make_pass(data, GR_PASS_EXACT, false);
		double	   *sums;

		if (measure == GR_MEASURE_FIRTH && !gr_is_logistic(distribution))
			continue;
		if (measure == GR_MEASURE_OBSERVED && !gr_has_observed(distribution))
			continue;
		/* no link of these distributions has rows at the edge; test/sql/edge.sql tests one that has */
		if (gr_measure_is_of_edge((GrMeasure) measure))
			continue;
		if (measure == GR_MEASURE_THETA && distribution.family != GR_NEGATIVE_BINOMIAL)
			continue;
		pass.measure = (GrMeasure) measure;
		pass.counts = counts;
		pass.factor = gr_measure_has_factor(pass.measure) ? factor : NULL;
		sums = device_pass(data, &pass, AS_PLANNED);
		worst = fmax(worst, pass_error(data, &pass, sums) / tolerance);
		free(sums);
	}
	free(factor);
	return worst;
}

/* Checks every measure's sums against the CPU's. */
static void
check_measures(bool quick)
{
	static const GrDistribution distributions[] = {GR_LOGISTIC, {GR_POISSON, GR_LOG, 0, 0},
	{GR_GAUSSIAN, GR_IDENTITY, 0, 0},
	{GR_NEGATIVE_BINOMIAL, GR_LOG, 2.5, 0}};
	const int	features[] = {3, 8, 33, 300};

	for (int d = 0; d < COUNT(distributions); d++)
		for (int f = 0; f < (quick ? 2 : COUNT(features)); f++)
			for (int k = 0; k < 4; k++)
			{
				GrRowShape	shape = {features[f], false, (k & 1) != 0, (k & 2) != 0, false, false};
				const int64_t nrows = quick ? 77 : features[f] > 100 ? 700 : 5003;
				Data		data;
				double		worst;

				distribution = distributions[d];
				data = data_of(shape, nrows);
				worst = measures_error(&data, shape.weight);
				if (!check(worst <= 1.0 && first_code == cudaSuccess, "scores, %s%s, %d features, %lld rows",
						   gr_family_name(distribution.family, false), shape_names(shape), shape.nfeatures,
						   (long long) nrows))
					printf("# error over the tolerance %.3g\n", worst);
				data_free(&data);
			}
	distribution = GrDistribution GR_LOGISTIC;
}
