/*
 * measure.h: the sums that a pass over rows makes: a Newton step, scores, or the derivatives for theta. A fit sets the
 * measure in GrPass (glm.h).
 */
#ifndef GPUREG_MEASURE_H
#define GPUREG_MEASURE_H

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Kinds of u and v that an EXACT pass computes for its rows. Other passes are always STEP. */
typedef enum GrMeasure
{
	GR_MEASURE_STEP,			/* a Newton step */
	/*
	 * A Newton step for which the CPU sums the products of z in float8. With many terms these take most of the time.
	 * Not for columns that are nearly collinear.
	 */
	GR_MEASURE_COARSE_STEP,
	/*
	 * The derivatives of the negative binomial log-likelihood by theta, see gr_theta_row(): the sums of u and v with
	 * the ones. The deviance is -2 times the log-likelihood.
	 */
	GR_MEASURE_THETA,
	/*
	 * Scores, the rows' parts of the gradient: u is the factor of z, v is 0, and the matrix sums the products of
	 * scores: the middle of a sandwich estimate (White 1980). A row of frequency f counts as f scores. HC2 and HC3
	 * divide scores by sqrt(1 - h) and by 1 - h, where h is the leverage (MacKinnon and White 1985). Rows with a
	 * leverage of 1 have no such score and are counted in GR_SUM_NWRONG.
	 */
	GR_MEASURE_SCORES,
	GR_MEASURE_SCORES_HC2,
	GR_MEASURE_SCORES_HC3,
	/* a step of a logistic regression with Firth's (1993) penalty: r has h (1/2 - mu) besides y - mu */
	GR_MEASURE_FIRTH,
	/*
	 * A step of the negative binomial or the gamma family with log link and observed weights, those of Newton's method;
	 * see gr_observed_row(). Also of FAST passes on the CPU.
	 */
	GR_MEASURE_OBSERVED,
	/*
	 * Counts with a link whose predictors may leave its domain, see edge.h and edge_row.h. BARRIER: a Newton step with
	 * counts of 0 replaced by GrPass.edge. ON_EDGE: u = 1 and v = predictor for counts of 0 whose predictors are at
	 * most edge; otherwise both are 0. EDGE_STEP: a Newton step without the rows at the edge, whose mean is 0. EDGE:
	 * like EDGE_STEP, with expected weights.
	 */
	GR_MEASURE_BARRIER,
	GR_MEASURE_ON_EDGE,
	GR_MEASURE_EDGE_STEP,
	GR_MEASURE_EDGE
} GrMeasure;

#define GR_NMEASURES 12

/* True for the measures of edge.h. */
static inline bool
gr_measure_is_of_edge(GrMeasure measure)
{
	return measure >= GR_MEASURE_BARRIER;
}

/* True for an ordinary Newton step, coarse or not. */
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
