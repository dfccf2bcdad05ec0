/*
 * boot_fit.h: connects a finished GLM fit with a bootstrap: sets up its passes, and converts their results to the
 * model's coefficients. boot_begin.c calls it first.
 */
#ifndef GPUREG_BOOT_FIT_H
#define GPUREG_BOOT_FIT_H

#include "compute/glm/glm_fit.h"
#include "compute/resample/boot.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Sets up a pass about a fit made with options.want_factor; the caller adds what is drawn. Returns false if the fit has
 * no triangle, because it ended without the sums of an EXACT pass or is separated. factor: room for t x t; factor and
 * fit must outlive the pass.
 */
extern bool gr_boot_begin(GrBootPass *pass, GrGlmFit *fit, double *factor);

/*
 * Converts delta, a difference of z's coefficients (t numbers), in place to one of the model's coefficients, its first
 * fit->nterms numbers. lo: t doubles of workspace.
 */
extern void gr_boot_to_model(const GrGlmFit *fit, double *delta, double *lo);

/*
 * Fills influence (fit->nterms x pass->nactive): its product with a row's q v is the row's influence on each
 * coefficient. work: 2 t doubles.
 */
extern void gr_boot_influence(const GrGlmFit *fit, const GrBootPass *pass, double *influence, double *work);

#ifdef __cplusplus
}
#endif
#endif							/* GPUREG_BOOT_FIT_H */
