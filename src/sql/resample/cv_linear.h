/*
 * cv_linear.h: cross-validates a linear regression from the sums of each fold, for gpu_ols_cv.
 */
#ifndef GPUREG_CV_LINEAR_H
#define GPUREG_CV_LINEAR_H

#include "postgres.h"

#include "fmgr.h"

#include "sql/resample/cv.h"

/* Fills the output members of cv. */
extern void gr_cv_linear(FunctionCallInfo fcinfo, GrCv *cv);

#endif							/* GPUREG_CV_LINEAR_H */
