/*
 * predict_design.h: computes the features of a model with a design from values of the columns that it was fitted to.
 * Values come by position, in the order of the query's columns; or by name, as one row or jsonb object, which may have
 * further columns. predict.c is the first caller.
 */
#ifndef GPUREG_PREDICT_DESIGN_H
#define GPUREG_PREDICT_DESIGN_H

#include "postgres.h"

#include "fmgr.h"

#include "compute/base/dd.h"
#include "compute/design/design.h"
#include "sql/model/model.h"

/* Raises an ERROR if an expression of the design is not defined for a row's values. */
extern void gr_check_design_values(const GrDesign *design, const double *values);

/*
 * gr_open_model_design() parses a model's design into memory of context. gr_check_design_size() checks that it makes
 * nfeatures features. Both raise an ERROR if the model is malformed.
 */
extern GrDesign *gr_open_model_design(MemoryContext context, GrString design);
extern void gr_check_design_size(const GrDesign *design, int nfeatures);

/* Which arguments of a function are a row's values. */
typedef struct GrRowArguments
{
	int			first_argno;	/* number of the first argument that is a value; all later ones are values */
	bool		null_levels;	/* a level that the model does not have counts as NULL; false: it is an ERROR */
} GrRowArguments;

/* Data that a call site keeps between rows, for as long as the models have the same design. */
typedef struct GrDesignCall GrDesignCall;

/*
 * Returns the features from these arguments, none of which is NULL; or NULL if a value is NULL. *low:
 * low halves, see gr_design_expand_pairs(). *offset: set if the model has offsets. *call: NULL at first; it is
 * allocated in fn_mcxt.
 */
extern const double *gr_design_features(FunctionCallInfo fcinfo, GrRowArguments arguments, GrDesignCall **call,
										const GrPredictor *model, const double **low, double *offset);

/*
 * Reads the values of these arguments for gr_design_dot(), as gr_design_features() does. Returns
 * false if one is NULL.
 */
extern bool gr_design_take(FunctionCallInfo fcinfo, GrRowArguments arguments, GrDesignCall **call,
						   const GrPredictor *model, double *offset);

/*
 * Returns the linear predictor, without the offset, of the values that gr_design_take() read last. model->dense must
 * not be NULL. The result is not finite if a value is not.
 */
extern double gr_design_dot(const GrDesignCall *call, const GrPredictor *model);

/* Returns the design of the model of the last call. */
extern const GrDesign *gr_design_of_call(const GrDesignCall *call);

/* Returns the linear predictor of features, without the offset. *finite: true if every addend is finite. */
extern double gr_design_predictor(const GrDesign *design, const GrPredictor *model, const double *features,
								  const double *low, bool *finite);

/* Sets pairs to the features in double-double, with low halves for the terms that have them. */
extern void gr_design_pairs(const GrDesign *design, const double *features, const double *low, GrDD *pairs);

#endif							/* GPUREG_PREDICT_DESIGN_H */
