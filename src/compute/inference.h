/*
 * inference.h: the distribution functions that tests and confidence limits need.
 *
 * All are upper or two-sided tail functions, evaluated directly in the tail (never as 1 - p), good to about 1e-13
 * relative down to the least positive float8. Outside its domain (NaN argument, df <= 0, probability outside (0, 1)) a
 * function returns NaN; none throws or sets a floating-point trap. Source: Boost.Math.
 */
#ifndef GPUREG_INFERENCE_H
#define GPUREG_INFERENCE_H

#ifdef __cplusplus
extern "C" {
#endif

/* P(|T| >= |t|), T Student with df degrees of freedom, 0 < df <= infinity; 0 for infinite t */
extern double gr_t_two_sided(double t, double df);

/* t with P(T > t) = upper, 0 < upper < 1 */
extern double gr_t_upper_quantile(double upper, double df);

/* P(F >= f), F with df1 and df2 degrees of freedom; 1 for f <= 0, 0 for infinite f */
extern double gr_f_upper(double f, double df1, double df2);

/* P(|Z| >= |z|), Z standard normal */
extern double gr_normal_two_sided(double z);

/* z with P(Z > z) = upper, 0 < upper < 1 */
extern double gr_normal_upper_quantile(double upper);

#ifdef __cplusplus
}
#endif
#endif							/* GPUREG_INFERENCE_H */
