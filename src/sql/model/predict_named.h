/*
 * predict_named.h: finds the features of a model without a design in a row or a jsonb object, by their names. Further
 * columns and keys are ignored. predict.c is the first caller.
 */
#ifndef GPUREG_PREDICT_NAMED_H
#define GPUREG_PREDICT_NAMED_H

#include "postgres.h"

#include "fmgr.h"

#include "sql/model/model.h"

/* Data that a call site keeps between rows. */
typedef struct GrNamedCall GrNamedCall;

/* Returns the data of a call site, in the call's fn_mcxt. is_row: values come as a row; false: as a jsonb object. */
extern GrNamedCall *gr_open_named_call(FunctionCallInfo fcinfo, bool is_row);

/*
 * Returns the values of the model's features and then, if it has one, of its offset, from argument argno, which is not
 * NULL. Returns NULL if one of these values is NULL. Raises an ERROR that names the features that are missing.
 */
extern const double *gr_named_values(FunctionCallInfo fcinfo, int argno, GrNamedCall *call, const GrPredictor *model);

#endif							/* GPUREG_PREDICT_NAMED_H */
