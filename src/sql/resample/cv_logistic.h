/*
 * cv_logistic.h: cross-validation of a logistic regression, over rows in parts.
 */
#ifndef GPUREG_CV_LOGISTIC_H
#define GPUREG_CV_LOGISTIC_H

#include "postgres.h"

#include "fmgr.h"

#include "sql/resample/cv.h"

/* Fills in what comes out. */
extern void gr_cv_logistic(FunctionCallInfo fcinfo, GrCv *cv);

#endif							/* GPUREG_CV_LOGISTIC_H */
