/*
 * predict_design.h: the features of a model with a design, from values of the columns that it was fitted to: one by one
 * in the order of the query's columns, or as one row or jsonb object by their names, which may have others, too.
 */
#ifndef GPUREG_PREDICT_DESIGN_H
#define GPUREG_PREDICT_DESIGN_H

#include "postgres.h"

#include "fmgr.h"

#include "compute/base/dd.h"
#include "compute/design/design.h"
#include "sql/model/model.h"

/* A model's design, in the context's memory, and does it go with so many features? ERROR otherwise */
extern GrDesign *gr_open_model_design(MemoryContext context, GrString design);
extern void gr_check_design_size(const GrDesign *design, int nfeatures);

/* What is found out once and kept from call to call, as long as the models' designs are the same */
typedef struct GrDesignCall GrDesignCall;

/*
 * The features of the arguments from first_argno on, none of which is NULL; NULL if one of the values is. *low: see
 * gr_design_expand_pairs(). *offset: set if the model has offsets. *call: NULL at first; it lies in the memory of the
 * call's FmgrInfo.
 */
extern const double *gr_design_features(FunctionCallInfo fcinfo, int first_argno, GrDesignCall **call,
										const GrPredictor *model, const double **low, double *offset);

/*
 * Takes the values of the arguments from first_argno on for gr_design_dot(), as gr_design_features() does. False if one
 * is NULL.
 */
extern bool gr_design_take(FunctionCallInfo fcinfo, int first_argno, GrDesignCall **call, const GrPredictor *model,
						   double *offset);

/*
 * Computes the linear predictor of the values that gr_design_take() took last, without the offset. model->dense must
 * not be NULL. The result is not finite if a value is not.
 */
extern double gr_design_dot(const GrDesignCall *call, const GrPredictor *model);

/* The design of the model that the call was last for */
extern const GrDesign *gr_design_of_call(const GrDesignCall *call);

/* What the linear predictor has of them, with the coefficients; *finite: is everything that is summed up finite? */
extern double gr_design_predictor(const GrDesign *design, const GrPredictor *model, const double *features,
								  const double *low, bool *finite);

/* The features with what rounding left of them, as pairs[k] = features[k] + low[...] */
extern void gr_design_pairs(const GrDesign *design, const double *features, const double *low, GrDD *pairs);

#endif							/* GPUREG_PREDICT_DESIGN_H */
