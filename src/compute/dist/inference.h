/*
 * inference.h: distribution functions for tests and confidence limits, and R's distribution functions for SQL. Called
 * by the SQL functions of models (src/sql/model) and of distributions (fn_distributions.c).
 *
 * Tails are evaluated directly (never as 1 - p where that would lose digits), right to a relative error of about 1e-13
 * down to the least positive float8. Outside its domain a function returns NaN; none throws or sets a floating-point
 * trap. Source: Boost.Math.
 */
#ifndef GPUREG_INFERENCE_H
#define GPUREG_INFERENCE_H

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Functions for tests and limits. NaN, df <= 0, and probabilities outside (0, 1) are outside their domains. */

/* Returns P(|T| >= |t|), T Student with df degrees of freedom, 0 < df <= infinity; 0 for infinite t. */
extern double gr_t_two_sided(double t, double df);

/* Returns t with P(T > t) = upper, 0 < upper < 1. */
extern double gr_t_upper_quantile(double upper, double df);

/* Returns P(F >= f), F with df1 and df2 degrees of freedom; 1 for f <= 0, 0 for infinite f. */
extern double gr_f_upper(double f, double df1, double df2);

/* Returns P(|Z| >= |z|), Z standard normal. */
extern double gr_normal_two_sided(double z);

/* Returns z with P(Z > z) = upper, 0 < upper < 1. */
extern double gr_normal_upper_quantile(double upper);

/*
 * R's functions. A probability is P(X <= q) if lower, else P(X > q); a quantile is the x of such a probability, which
 * may be 0 or 1. df may be infinite; a normal distribution with sd 0 is a point mass at its mean. NaN, df <= 0, sd < 0,
 * and probabilities outside [0, 1] are outside their domains. A quantile takes up to 100 times as long as its
 * probability.
 */
extern double gr_normal_probability(double q, double mean, double sd, bool lower);
extern double gr_normal_quantile(double p, double mean, double sd, bool lower);
extern double gr_t_probability(double t, double df, bool lower);
extern double gr_t_quantile(double p, double df, bool lower);
extern double gr_chisq_probability(double q, double df, bool lower);
extern double gr_chisq_quantile(double p, double df, bool lower);
extern double gr_f_probability(double f, double df1, double df2, bool lower);
extern double gr_f_quantile(double p, double df1, double df2, bool lower);

#ifdef __cplusplus
}
#endif
#endif							/* GPUREG_INFERENCE_H */
