/*
 * model_summary.h: measures of a whole model, for gpu_glance, gpu_summary and gpu_ols_select.
 */
#ifndef GPUREG_MODEL_SUMMARY_H
#define GPUREG_MODEL_SUMMARY_H

#include "postgres.h"

#include "sql/model/model.h"

/* Measures of a fit beside its own fields; NaN where it has none */
typedef struct GrModelSummary
{
	double		r_squared;
	double		adj_r_squared;
	double		sigma;
	/*
	 * F of all slopes: from the sums of squares or, where the covariances are robust, Wald's, by which robust says so.
	 * The degrees of freedom of the denominator are f_df, INFINITY if tests go by the normal distribution
	 */
	double		f_statistic;
	double		f_p_value;
	double		f_df;
	bool		robust;
	double		aic;
	double		bic;
	double		pseudo_r_squared;
} GrModelSummary;

/* ERROR where F is out of range */
extern void gr_model_summarise(const GrModel *model, GrModelSummary *summary);

#endif							/* GPUREG_MODEL_SUMMARY_H */
