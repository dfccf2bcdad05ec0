/*
 * boot_fit.h: a bootstrap of a fit that has ended: its passes, and from what they give to the coefficients.
 */
#ifndef GPUREG_BOOT_FIT_H
#define GPUREG_BOOT_FIT_H

#include "compute/glm/glm_fit.h"
#include "compute/resample/boot.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Sets up a pass about a fit with options.want_factor, whose rows have this shape; what is drawn is left to the caller.
 * False if the fit has no triangle, as it ended without sums of an EXACT pass or is separated. factor: room for t x t,
 * which must stay as long as the pass is used, as must the fit.
 */
extern bool gr_boot_begin(GrBootPass *pass, GrGlmFit *fit, double *factor);

/*
 * A difference of the coefficients of z, t of them, as one of the model's, in place: the first fit->nterms of them. lo:
 * t doubles to work in
 */
extern void gr_boot_to_model(const GrGlmFit *fit, double *delta, double *lo);

/*
 * What a row's q v is to be multiplied with for its influence on each coefficient: fit->nterms x pass->nactive. work: 2
 * t
 */
extern void gr_boot_influence(const GrGlmFit *fit, const GrBootPass *pass, double *influence, double *work);

#ifdef __cplusplus
}
#endif
#endif							/* GPUREG_BOOT_FIT_H */
