/*
 * boot_interval.c: standard error, bias and confidence limits from replicates; see boot_interval.h.
 */
#include "compute/resample/boot_interval.h"

#include <math.h>

#include "compute/base/dd.h"
#include "compute/dist/inference.h"

/* Returns the quantile of p. Sets *extreme if it is the least or the greatest replicate, or would lie beyond. */
static double
quantile_of(const double *replicates, int n, double p, bool *extreme)
{
	double		rank = ((double) n + 1) * p;
	double		k = floor(rank);
	double		from;
	double		to;

	*extreme |= !(rank > 1 && rank < n);
	if (!(k >= 1))
		return replicates[0];
	if (k >= n)
		return replicates[n - 1];
	if (k == rank)
		return replicates[(int) k - 1];
	from = gr_normal_quantile(k / ((double) n + 1), 0, 1, true);
	to = gr_normal_quantile((k + 1) / ((double) n + 1), 0, 1, true);
	return replicates[(int) k - 1] + (gr_normal_quantile(p, 0, 1, true) - from) / (to - from) *
		(replicates[(int) k] - replicates[(int) k - 1]);
}

/* Computes bias and standard deviation from differences to the estimate, as replicates share most digits with it. */
static void
summarise_spread(GrBootSummary *summary, const double *replicates, int n, double estimate)
{
	GrDD		sum = {0, 0};
	double		squares = 0;

	for (int r = 0; r < n; r++)
		sum = gr_dd_add(sum, gr_two_sum(replicates[r], -estimate));
	summary->bias = gr_dd_to_double(sum) / n;
	for (int r = 0; r < n; r++)
	{
		double		d = replicates[r] - estimate - summary->bias;

		squares += d * d;
	}
	summary->std_error = n < 2 ? NAN : sqrt(squares / (n - 1));
}

/* Returns the probability whose quantile is BCa's limit, for the normal quantile z. */
static double
bca_probability(double z, double correction, double acceleration)
{
	double		moved = correction + z;

	return gr_normal_probability(correction + moved / (1 - acceleration * moved), 0, 1, true);
}

void
gr_boot_summarise(GrBootSummary *summary, const double *replicates, int n, double estimate, GrBootKind kind,
				  double conf_level, double acceleration)
{
	double		tail = (1 - conf_level) / 2;
	double		z = gr_normal_upper_quantile(tail);
	double		low = tail;
	double		high = 1 - tail;
	int			nbelow = 0;

	*summary = (GrBootSummary) {NAN, NAN, NAN, NAN, false};
	if (n == 0)
		return;
	summarise_spread(summary, replicates, n, estimate);
	if (kind == GR_BOOT_NORMAL)
	{
		summary->low = estimate - summary->bias - z * summary->std_error;
		summary->high = estimate - summary->bias + z * summary->std_error;
		return;
	}
	while (nbelow < n && replicates[nbelow] < estimate)
		nbelow++;
	if (kind == GR_BOOT_BCA)
	{
		double		correction = gr_normal_quantile((double) nbelow / n, 0, 1, true);

		if (!isfinite(correction) || !isfinite(acceleration))
			return;
		low = bca_probability(-z, correction, acceleration);
		high = bca_probability(z, correction, acceleration);
	}
	summary->low = quantile_of(replicates, n, low, &summary->extreme);
	summary->high = quantile_of(replicates, n, high, &summary->extreme);
	if (kind == GR_BOOT_BASIC)
	{
		double		mirrored = 2 * estimate - summary->high;

		summary->high = 2 * estimate - summary->low;
		summary->low = mirrored;
	}
}
