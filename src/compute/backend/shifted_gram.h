/*
 * shifted_gram.h: sends rows to a SUM sink less a shift, so that the Gram matrix keeps its digits; see gram_shift.h.
 */
#ifndef GPUREG_SHIFTED_GRAM_H
#define GPUREG_SHIFTED_GRAM_H

#include "compute/backend/backend.h"
#include "compute/linalg/gram.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * State of a SUM sink with a shift. The shift is chosen from the first block, and each later block is checked. If a
 * column of a block does not bear its shift, the sink is restarted without that column's shift: at most once per
 * column. All zeros: never begun; gr_shifted_end() accepts it.
 */
typedef struct GrShiftedGram
{
	const GrSinkOps *ops;
	GrSink	   *sink;			/* kind SUM; the caller's */
	GrRowShape	shape;			/* shape of the rows sent */
	bool		chosen;			/* true if the shift is chosen */
	bool		shifted;		/* true if the shift is not 0 */
	double	   *shift;			/* shift of the features and the response */
	double	   *narrowed;		/* next shift, as long */
	double	   *wide;			/* wide_nrows single rows as float8; NULL if rows are not single */
	int64_t		wide_nrows;
	double	   *earlier;		/* GrGram about shift of the rows before the last restart; NULL: none */
	GrPoll		poll;
} GrShiftedGram;

/*
 * Begins s for sink, which was just begun with options. options->host is polled here, too. Fails with GR_NO_MEMORY;
 * gr_shifted_end() also accepts s then.
 */
extern bool gr_shifted_begin(GrShiftedGram *s, const GrSinkOps *ops, GrSink *sink, const GrSinkOptions *options,
							 GrError *err);

/* Sends rows to the sink, after the shift has been chosen or checked. Fails as the sink's restart and send do. */
extern bool gr_shifted_send(GrShiftedGram *s, const void *rows, int64_t nrows, GrError *err);

/* Finishes the sink and writes sums and shift of gram, which has memory for the features. Leaves its counts alone. */
extern bool gr_shifted_finish(GrShiftedGram *s, GrGram *gram, GrError *err);

/* Frees the memory of s, not the sink. */
extern void gr_shifted_end(GrShiftedGram *s);

#ifdef __cplusplus
}
#endif
#endif							/* GPUREG_SHIFTED_GRAM_H */
