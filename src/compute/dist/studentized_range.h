/*
 * studentized_range.h: the distribution of the studentized range, for Tukey's comparisons of all pairs of means. Boost
 * has no such distribution. gpu_means (fn_means.c) calls it.
 *
 * The range of k independent standard normal variables is divided by s, where df s^2 is chi-squared with df degrees of
 * freedom and independent of them. Source: Copenhaver and Holland (1988), "Computation of the distribution of the
 * maximum studentized range statistic with application to multiple significance testing of simple effects".
 */
#ifndef GPUREG_STUDENTIZED_RANGE_H
#define GPUREG_STUDENTIZED_RANGE_H

#ifdef __cplusplus
extern "C" {
#endif

/* Returns P(Q > q) for k >= 2 means and 0 < df <= infinity; NaN outside this domain. About 12 digits, also in tails. */
extern double gr_range_upper(double q, double k, double df);

/* Returns q with P(Q > q) = upper, 0 < upper < 1. */
extern double gr_range_upper_quantile(double upper, double k, double df);

#ifdef __cplusplus
}
#endif
#endif							/* GPUREG_STUDENTIZED_RANGE_H */
