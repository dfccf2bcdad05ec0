/*
 * predictor.h: the model of a call, read once for all rows that pass the same model.
 *
 * gpu_predict, gpu_predict_interval and gpu_leverage get the model as an argument of each row. Most statements pass one
 * model for millions of rows, and reading a gpu_model (a record of 22 fields, maybe compressed or out of line) takes
 * longer than the prediction.
 */
#ifndef GPUREG_PREDICTOR_H
#define GPUREG_PREDICTOR_H

#include "postgres.h"

#include "fmgr.h"

#include "sql/model/model.h"

/* The model that a call read last. All 0 at first; lies in memory that lives as long as the call's FmgrInfo. */
typedef struct GrPredictorCache
{
	MemoryContext context;		/* holds the copy of the model and what was made of it */
	uint64		nread;			/* models read so far */
	bool		filled;			/* the members below are of a model */
	char	   *argument;		/* bytes of the argument as it came; NULL: it was larger than is worth comparing */
	Size		nbytes;			/* of argument */
	HeapTupleHeader model;		/* copy, neither compressed nor out of line */
	uint64		row_type;		/* assign_record_type_identifier() of the model's type */
	GrPredictor predictor;
	bool		has_errors;
	GrPredictorError errors;	/* if has_errors */
} GrPredictorCache;

/*
 * Returns the predictor of argument 0, which must not be NULL; it stays valid until the next call. The argument is read
 * only if it differs from the one before. with_errors: cache->errors is wanted, too. ERROR if the argument is not a
 * model.
 */
extern const GrPredictor *gr_cached_predictor(FunctionCallInfo fcinfo, GrPredictorCache *cache, bool with_errors);

#endif							/* GPUREG_PREDICTOR_H */
