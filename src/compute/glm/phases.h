/*
 * phases.h: the functions in the table of phases. To add a phase, name it in fit.h, declare its functions here, and add
 * a row to the table in phases.c. The phase before it enters it with gr_fit_enter().
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

/* negbin.c: sets the initial theta of a fit. */
extern void gr_negbin_begin(GrGlmFit *fit);

/* start.c: requests the pass at options.start if the fit can begin with it. Returns false if it cannot. */
extern bool gr_start_begin(GrGlmFit *fit);

/*
 * start.c: for a fit without a pass at 0. gr_start_holds() is true if the fit may go on from its sums and solved step.
 * gr_start_drop() forgets the start and requests the pass at 0.
 */
extern bool gr_start_holds(const GrGlmFit *fit);
extern bool gr_start_drop(GrGlmFit *fit);

/* edge.c: returns the float8 of state->edge_null; 0 if a fit with these options has no edge. */
extern size_t gr_edge_ndoubles(const GrGlmOptions *options);

/* descent.c: returns the bytes of state->memory. */
extern size_t gr_descent_nbytes(const GrGlmOptions *options);

#endif							/* GPUREG_PHASES_H */
