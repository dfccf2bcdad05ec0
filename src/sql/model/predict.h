/*
 * predict.h: from the arguments of a call to a row's features, and from these to the mean; for all functions that take
 * a model and values as gpu_predict does.
 */
#ifndef GPUREG_PREDICT_H
#define GPUREG_PREDICT_H

#include "postgres.h"

#include "fmgr.h"

#include "sql/model/model.h"
#include "sql/model/predict_design.h"
#include "sql/model/predictor.h"

/* What is found out once and kept from call to call: for models without a design, and for those that have one */
typedef struct GrPredictCalls
{
	GrPredictorCache model;
	int			first_argno;	/* of the values; those after it are values, too */
	struct PlainCall *plain;	/* NULL at first */
	GrDesignCall *designed;		/* likewise */
	bool		warned;			/* that a result has too few digits */
} GrPredictCalls;

/* A row's features */
typedef struct GrFeatures
{
	const double *values;
	const double *low;			/* see gr_design_features(); of a model with a design */
	const GrDesign *design;		/* NULL: a model without one */
	double		offset;			/* 0 if the model has none */
	double		buffer[FUNC_MAX_ARGS];	/* for what the values may point to */
} GrFeatures;

/*
 * The features of the arguments from first_argno on, none of which is NULL; false if one of the values is. ERROR if
 * they aren't the model's.
 */
extern bool gr_predict_features(FunctionCallInfo fcinfo, GrPredictCalls *calls, const GrPredictor *model,
								GrFeatures *features);

/*
 * Computes the linear predictor of a row, with the offset, as gr_predict_features() and gr_predict_eta() do together.
 * Features that are 0 are not made, so it takes no longer if factors have many levels. False if a value is NULL.
 */
extern bool gr_predict_row(FunctionCallInfo fcinfo, GrPredictCalls *calls, const GrPredictor *model, double *eta,
						   bool *finite);

/*
 * The linear predictor with the offset; terms without a coefficient count as 0, as in R. *finite: true if everything
 * that is summed up is finite
 */
extern double gr_predict_eta(const GrPredictor *model, const GrFeatures *features, bool *finite);

/* The mean of a linear predictor; ERROR where it is out of range although all was finite. */
extern double gr_predict_mean(const GrPredictor *model, double eta, bool finite);

/* The features with what rounding left of them, one for each of the model's */
extern void gr_predict_pairs(const GrPredictor *model, const GrFeatures *features, GrDD *pairs);

#endif							/* GPUREG_PREDICT_H */
