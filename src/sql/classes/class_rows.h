/*
 * class_rows.h: opens the rows of a fit of classes, and raises its failures. fn_multinom.c and fn_ordinal.c call it.
 */
#ifndef GPUREG_CLASS_ROWS_H
#define GPUREG_CLASS_ROWS_H

#include "postgres.h"

#include "fmgr.h"

#include "rows/sums/data_set.h"

typedef struct GrClassRows
{
	const char *model;			/* in: name of the model for messages, such as "a multinomial regression" */
	bool		per_class;		/* in: each class but one has coefficients of all terms */
	GrRoles		roles;			/* in; classes is set here */
	GrClasses	classes;
	GrDataSet  *data;			/* out: the open rows */
	GrRowShape	shape;			/* out: their shape */
} GrClassRows;

/* Opens the rows. Raises an ERROR unless the response has two classes, and few enough. */
extern void gr_open_class_rows(FunctionCallInfo fcinfo, const GrFitRows *rows, GrClassRows *c);

/* Raises the failure of a fit; see gr_multinom_advance(). */
extern void gr_raise_classes(const GrClassRows *c, GrError *err) __attribute__((noreturn));

/* Returns the labels of the classes that have rows. */
extern const char **gr_present_classes(const GrClassRows *c, const bool *present, int n);

#endif							/* GPUREG_CLASS_ROWS_H */
