/*
 * phases.h: the functions in the table of phases. A further phase has a name in fit.h, its functions here, and a row of
 * the table in phases.c; the phase before it goes there by gr_fit_enter().
 */
#ifndef GPUREG_PHASES_H
#define GPUREG_PHASES_H

#include "compute/glm/fit.h"

extern GrPhaseFunction gr_zero_take, gr_change_take, gr_iterate_enter, gr_iterate_take, gr_last_take;	/* newton.c */
extern GrPhaseFunction gr_start_enter, gr_start_take;	/* start.c */
extern GrPhaseFunction gr_classify_enter, gr_classify_take, gr_verify_enter, gr_verify_take;	/* separation.c */
extern GrPhaseFunction gr_descent_enter, gr_descent_take, gr_shifted_take, gr_ascend_take;	/* descent.c */
extern GrPhaseFunction gr_place_enter, gr_place_take;	/* finish.c */
extern GrPhaseFunction gr_sandwich_enter, gr_scores_take, gr_clusters_take;	/* sandwich.c */
extern GrPhaseFunction gr_theta_enter, gr_theta_take, gr_likelihood_enter, gr_likelihood_take;	/* negbin.c */
extern GrPhaseFunction gr_edge_enter, gr_edge_take;	/* edge.c */
extern GrPhaseFunction gr_null_enter, gr_null_take;	/* null.c */
extern GrPhaseFunction gr_done_enter;	/* response_unit.c */

/* negbin.c: what a fit begins with */
extern void gr_negbin_begin(GrGlmFit *fit);

/* start.c: asks for the pass at a start that is to be the first one, if there is such a start. */
extern bool gr_start_begin(GrGlmFit *fit);

/*
 * start.c: may a fit without a pass at 0 go on from the sums that it has, of which a step has been solved? If not, it
 * is to begin anew: forgets the start, and asks for the pass at 0.
 */
extern bool gr_start_holds(const GrGlmFit *fit);
extern bool gr_start_drop(GrGlmFit *fit);

/* edge.c: float8 of state->edge_null; 0 where no fit with such options comes to an edge */
extern size_t gr_edge_ndoubles(const GrGlmOptions *options);

/* descent.c: bytes of state->memory */
extern size_t gr_descent_nbytes(const GrGlmOptions *options);

#endif							/* GPUREG_PHASES_H */
