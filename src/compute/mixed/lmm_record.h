/*
 * lmm_record.h: the random terms of a fitted mixed model, as a text. A gpu_model has the text as a record in its field
 * design (extras.h). Readers treat it as untrusted.
 *
 *	 record  := 1 method nterms { group ngroups ncolumns { name } } numbers
 *	 method  := reml | ml
 *	 group, name := nbytes bytes
 *	 numbers := residual variance, variance of X b over rows, mean variance of Z u over rows, and per term the packed
 *	            rows of its covariance matrix; as by gr_extras_put_numbers()
 *
 * Items are separated by one space; counts are decimal.
 */
#ifndef GPUREG_LMM_RECORD_H
#define GPUREG_LMM_RECORD_H

#include "compute/design/extras.h"
#include "compute/mixed/lmm.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A random term of a fitted model */
typedef struct GrLmmRecordTerm
{
	GrString	group;			/* name of the grouping factor, such as school or school:class */
	int64_t		ngroups;		/* number of its levels */
	int			ncolumns;
	GrString	columns[GR_LMM_COLUMNS_MAX];	/* names, such as (intercept) */
	double		covariance[GR_LMM_PARAMETERS_MAX / 2];	/* packed rows */
} GrLmmRecordTerm;

typedef struct GrLmmRecord
{
	bool		reml;
	int			nterms;
	GrLmmRecordTerm terms[GR_LMM_TERMS_MAX];
	double		variance;		/* of the residuals */
	double		fixed_variance;	/* variance of X b over the rows */
	double		random_variance;	/* mean over the rows of the variance of Z u */
} GrLmmRecord;

/* Reads text into record, which points into it. Returns false if text is malformed. */
extern bool gr_lmm_record_read(GrString text, GrLmmRecord *record);

extern void gr_lmm_record_write(GrWriter *writer, const GrLmmRecord *record);

/* Returns the number of variances and covariances of all terms. */
static inline int
gr_lmm_record_nparameters(const GrLmmRecord *record)
{
	int			n = 0;

	for (int k = 0; k < record->nterms; k++)
		n += (int) gr_triangle(record->terms[k].ncolumns);
	return n;
}

/* Returns the rank of a term's covariance matrix: less than its columns if the fit is singular. */
extern int	gr_lmm_record_rank(const GrLmmRecordTerm *term);

#ifdef __cplusplus
}
#endif
#endif							/* GPUREG_LMM_RECORD_H */
