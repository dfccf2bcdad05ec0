/*
 * cv_linear.h: cross-validation of a linear regression from the sums of each fold.
 */
#ifndef GPUREG_CV_LINEAR_H
#define GPUREG_CV_LINEAR_H

#include "postgres.h"

#include "fmgr.h"

#include "sql/resample/cv.h"

/* Fills in what comes out. */
extern void gr_cv_linear(FunctionCallInfo fcinfo, GrCv *cv);

#endif							/* GPUREG_CV_LINEAR_H */
