/*
 * shifted_gram.h: rows on their way to a sink, shifted so that their Gram matrix keeps its digits; see gram_shift.h.
 */
#ifndef GPUREG_SHIFTED_GRAM_H
#define GPUREG_SHIFTED_GRAM_H

#include "compute/backend/backend.h"
#include "compute/linalg/gram.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * A sink's rows, shifted before they are summed up: chooses the shift at the first block, checks every other, and
 * begins the sink anew, less a column's shift, where it must; that is at most once a column. All zeros is one that was
 * never begun.
 */
typedef struct GrShiftedGram
{
	const GrSinkOps *ops;
	GrSink	   *sink;			/* the caller's, of kind SUM */
	GrRowShape	shape;			/* of the rows that are sent */
	bool		chosen;			/* the shift */
	bool		shifted;		/* it isn't 0 */
	double	   *shift;			/* of the features and the response, ... */
	double	   *narrowed;		/* likewise */
	double	   *wide;			/* single rows as float8, wide_nrows of them; NULL where they come so */
	int64_t		wide_nrows;
	double	   *earlier;		/* a GrGram about shift, of rows before the sink began anew; NULL: none */
	GrPoll		poll;
} GrShiftedGram;

/*
 * sink: just begun with options, whose host is polled by what computes here, too. Fails with GR_NO_MEMORY;
 * gr_shifted_end() also accepts that.
 */
extern bool gr_shifted_begin(GrShiftedGram *s, const GrSinkOps *ops, GrSink *sink, const GrSinkOptions *options,
							 GrError *err);

/* The sink's send */
extern bool gr_shifted_send(GrShiftedGram *s, const void *rows, int64_t nrows, GrError *err);

/* The sink's finish: writes the numbers of gram, with room for the sink's features, and leaves its counts alone. */
extern bool gr_shifted_finish(GrShiftedGram *s, GrGram *gram, GrError *err);

/* Frees what is s's own. */
extern void gr_shifted_end(GrShiftedGram *s);

#ifdef __cplusplus
}
#endif
#endif							/* GPUREG_SHIFTED_GRAM_H */
