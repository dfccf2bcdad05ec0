/*
 * mixed_summary.h: the part of gpu_summary's text that only mixed models have, and their record.
 */
#ifndef GPUREG_MIXED_SUMMARY_H
#define GPUREG_MIXED_SUMMARY_H

#include "postgres.h"

#include "lib/stringinfo.h"

#include "compute/mixed/lmm_record.h"
#include "sql/model/model_summary.h"

/* Reads the random terms of a model. ERROR if it has none, or if they are malformed */
extern void gr_read_mixed(const GrModel *model, GrLmmRecord *record);

/* Appends the variance components, the numbers of rows and groups, and the criterion of a mixed model. */
extern void gr_append_mixed(StringInfo out, const GrModel *model, const GrModelSummary *s);

#endif							/* GPUREG_MIXED_SUMMARY_H */
