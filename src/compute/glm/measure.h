/*
 * measure.h: what a pass over rows is to tell: the sums of a step, or of scores.
 */
#ifndef GPUREG_MEASURE_H
#define GPUREG_MEASURE_H

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What an EXACT pass makes of its rows' u and v; others are of steps alone */
typedef enum GrMeasure
{
	GR_MEASURE_STEP,			/* a Newton step's */
	/*
	 * The same. On the CPU the products of z are summed in float8, all else as ever: where terms are many, most of the
	 * time goes into these, which no column that is nearly collinear with others bears
	 */
	GR_MEASURE_COARSE_STEP,
	/*
	 * Of the negative binomial family: what its likelihood says of theta, see gr_theta_row(). The sums of u and of v
	 * are those with the ones. The deviance is the log-likelihood, times -2.
	 */
	GR_MEASURE_THETA,
	/*
	 * Scores, the rows' parts of the gradient: u is the score's factor of z, v is 0, and the matrix that of their
	 * products, the middle of a sandwich estimate (White 1980). A row that stands f times has f of them. HC2 and HC3
	 * divide them by the root of 1 - h, and by 1 - h, h being the row's leverage (MacKinnon and White 1985). Rows with
	 * a leverage of 1 have no such score: they are counted as GR_SUM_NWRONG.
	 */
	GR_MEASURE_SCORES,
	GR_MEASURE_SCORES_HC2,
	GR_MEASURE_SCORES_HC3,
	/* A step of Firth's (1993), of a logistic regression: r has h (1/2 - mu) beside y - mu */
	GR_MEASURE_FIRTH,
	/*
	 * A step of the negative binomial family with the link log whose weights are the observed ones, those of Newton's
	 * method, and not their expectations; see gr_observed_row()
	 */
	GR_MEASURE_OBSERVED,
	/*
	 * Of counts with a link that lets predictors leave its domain, see edge.h and edge_row.h. BARRIER: a Newton step's,
	 * where counts of 0 are taken for the edge; ON_EDGE: u is 1 and v the predictor of counts of 0 whose predictors
	 * are no more than that, and both are 0 elsewhere; EDGE_STEP: a Newton step's without these rows, whose mean is 0;
	 * EDGE: the same with expected weights
	 */
	GR_MEASURE_BARRIER,
	GR_MEASURE_ON_EDGE,
	GR_MEASURE_EDGE_STEP,
	GR_MEASURE_EDGE
} GrMeasure;

#define GR_NMEASURES 12

/* True of the measures of edge.h. */
static inline bool
gr_measure_is_of_edge(GrMeasure measure)
{
	return measure >= GR_MEASURE_BARRIER;
}

/* Is it that of a step, of one kind or the other? */
static inline bool
gr_measure_is_step(GrMeasure measure)
{
	return measure <= GR_MEASURE_COARSE_STEP;
}

/* True if a pass with the measure needs a factor for leverages. */
static inline bool
gr_measure_has_factor(GrMeasure measure)
{
	return measure >= GR_MEASURE_SCORES_HC2 && measure <= GR_MEASURE_FIRTH;
}

#ifdef __cplusplus
}
#endif
#endif							/* GPUREG_MEASURE_H */
