/*
 * finish.h: the end of a fit, for the phases before it.
 */
#ifndef GPUREG_FINISH_H
#define GPUREG_FINISH_H

#include "compute/fit.h"

/* The covariances in fit->vcov, if there are any, are final but for the terms that they are of: goes on from there. */
extern bool gr_finish(GrLogregFit *fit, const GrHost *host, GrError *err);

#endif							/* GPUREG_FINISH_H */
