/*
 * method.h: the field method of a gpu_model: what the model is called, and its penalty, for which the type has no other
 * field.
 */
#ifndef GPUREG_METHOD_H
#define GPUREG_METHOD_H

#include "postgres.h"

#include "sql/model.h"

/* "logistic regression", "logistic regression (l2 = 0.1)", "logistic regression (firth)" */
extern text *gr_method_of(const GrModel *model);

/* Sets the penalty of a model whose distribution is known; false if no such model is called that. */
extern bool gr_read_method(const text *method, GrModel *model);

#endif							/* GPUREG_METHOD_H */
