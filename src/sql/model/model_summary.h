/*
 * model_summary.h: measures of a whole model, such as R2, F and AIC. gpu_glance, gpu_summary and gpu_ols_select show
 * them.
 */
#ifndef GPUREG_MODEL_SUMMARY_H
#define GPUREG_MODEL_SUMMARY_H

#include "postgres.h"

#include "sql/model/model.h"

/* Measures of a fit besides its own fields; NaN where a fit has none. */
typedef struct GrModelSummary
{
	double		r_squared;
	double		within_r_squared;	/* share of the variance that absorbed effects leave */
	double		adj_r_squared;
	double		sigma;			/* residual standard error */
	/*
	 * F of all slopes: from sums of squares or, if robust, Wald's by robust covariances. f_df: degrees of freedom of
	 * the denominator, INFINITY if tests use the normal distribution.
	 */
	double		f_statistic;
	double		f_p_value;
	double		f_df;
	bool		robust;
	double		aic;
	double		bic;
	double		pseudo_r_squared;	/* McFadden's */
} GrModelSummary;

/* Computes the measures. Raises an ERROR if F is out of range. */
extern void gr_model_summarise(const GrModel *model, GrModelSummary *summary);

#endif							/* GPUREG_MODEL_SUMMARY_H */
