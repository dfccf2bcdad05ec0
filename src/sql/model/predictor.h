/*
 * predictor.h: reads the model of a call once for all rows that pass the same model.
 *
 * gpu_predict, gpu_predict_interval and gpu_leverage get the model as an argument of each row. Most statements pass one
 * model for millions of rows, and reading a gpu_model (a record of 22 fields, maybe compressed or out of line) takes
 * longer than the prediction.
 */
#ifndef GPUREG_PREDICTOR_H
#define GPUREG_PREDICTOR_H

#include "postgres.h"

#include "fmgr.h"
#include "utils/typcache.h"

#include "sql/model/combination.h"
#include "sql/model/model.h"

/* The model that a call site read last. All 0 at first; lives as long as the call's FmgrInfo. */
typedef struct GrPredictorCache
{
	MemoryContext context;		/* holds the copy of the model and what was made from it */
	bool		classes;		/* set before the first call: models have classes, see gr_open_class_predictor() */
	uint64		nread;			/* number of models read so far */
	bool		constant;		/* the argument is a constant of the call's expression, so it never changes */
	bool		filled;			/* the members below belong to a model */
	char	   *argument;		/* bytes of the argument as it came; NULL: it was too large to compare */
	Size		nbytes;			/* size of the argument */
	HeapTupleHeader model;		/* copy, neither compressed nor out of line */
	uint64		row_type;		/* assign_record_type_identifier() of the model's type */
	TypeCacheEntry *type;		/* entry of the model's type; NULL: the type is record */
	GrPredictor predictor;
	bool		has_errors;		/* errors was read, too */
	GrPredictorError errors;	/* valid if has_errors */
	bool		for_leverages;	/* set by the caller: errors are those of leverages, see gr_errors_of_leverages() */
	bool		repeated;		/* a second call passed this model */
	bool		prepared;		/* ready is set */
	GrReadyVcov *ready;			/* prepared covariances of the errors; NULL: they cannot be prepared */
} GrPredictorCache;

/*
 * Returns the predictor of argument 0, which must not be NULL. It is valid until the next call. The argument is read
 * only if it differs from the last one. with_errors: also fills cache->errors. Raises an ERROR if the argument is not a
 * model.
 */
extern const GrPredictor *gr_cached_predictor(FunctionCallInfo fcinfo, GrPredictorCache *cache, bool with_errors);

/*
 * Returns the prepared covariances of the cached errors, which have vcov; or NULL if they cannot be prepared. A model
 * that only one call passed is not worth preparing.
 */
extern GrReadyVcov *gr_cached_vcov(GrPredictorCache *cache);

#endif							/* GPUREG_PREDICTOR_H */
