/*
 * predict.h: turns the arguments of a call into a row's features, and features into a linear predictor and a mean. For
 * gpu_predict and all functions that take a model and values as it does: gpu_predict_interval, gpu_leverage,
 * gpu_predict_rows.
 */
#ifndef GPUREG_PREDICT_H
#define GPUREG_PREDICT_H

#include "postgres.h"

#include "fmgr.h"

#include "sql/model/model.h"
#include "sql/model/predict_design.h"
#include "sql/model/predictor.h"

/* Data that a call site keeps from row to row: plain for models without a design, designed for models with one. */
typedef struct GrPredictCalls
{
	GrPredictorCache model;
	GrRowArguments arguments;	/* set before the first row */
	struct PlainCall *plain;	/* NULL at first */
	GrDesignCall *designed;		/* NULL at first */
	bool		warned;			/* gr_warn_imprecise() has warned */
} GrPredictCalls;

/* Features of a row */
typedef struct GrFeatures
{
	const double *values;		/* nfeatures values */
	const double *low;			/* low halves of a design's features; see gr_design_features() */
	const GrDesign *design;		/* NULL: the model has no design */
	double		offset;			/* 0 if the model has none */
	double		buffer[FUNC_MAX_ARGS];	/* room that values may point to */
} GrFeatures;

/*
 * Reads the features from the arguments that calls->arguments names, none of which is NULL. Returns false if one of
 * the values is NULL. Raises an ERROR if the values do not match the model's features.
 */
extern bool gr_predict_features(FunctionCallInfo fcinfo, GrPredictCalls *calls, const GrPredictor *model,
								GrFeatures *features);

/*
 * Computes the linear predictor of a row, with the offset, as gr_predict_features() and gr_predict_eta() do together,
 * but skips features that are 0. So levels of factors cost no time. Returns false if a value is NULL.
 */
extern bool gr_predict_row(FunctionCallInfo fcinfo, GrPredictCalls *calls, const GrPredictor *model, double *eta,
						   bool *finite);

/*
 * Returns the linear predictor with the offset. Terms without a coefficient count as 0, as in R. *finite: true if every
 * addend is finite.
 */
extern double gr_predict_eta(const GrPredictor *model, const GrFeatures *features, bool *finite);

/* Returns the mean for a linear predictor. Raises an ERROR if the mean is out of range although finite is true. */
extern double gr_predict_mean(const GrPredictor *model, double eta, bool finite);

/* Returns the linear predictor eta. Raises an ERROR if eta is not finite although finite is true. */
extern double gr_predict_link(double eta, bool finite);

/* Sets pairs to the model's nfeatures features, in double-double. */
extern void gr_predict_pairs(const GrPredictor *model, const GrFeatures *features, GrDD *pairs);

#endif							/* GPUREG_PREDICT_H */
