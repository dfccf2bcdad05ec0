/*
 * cv_logistic.h: cross-validates a logistic regression over rows that are stored by fold, for gpu_logreg_cv.
 */
#ifndef GPUREG_CV_LOGISTIC_H
#define GPUREG_CV_LOGISTIC_H

#include "postgres.h"

#include "fmgr.h"

#include "sql/resample/cv.h"

/* Fills the output members of cv. */
extern void gr_cv_logistic(FunctionCallInfo fcinfo, GrCv *cv);

#endif							/* GPUREG_CV_LOGISTIC_H */
