/*
 * classes.h: the classes of a response: its different values, which become numbers in rows. gr_ingest_prepare() calls
 * gr_find_classes() for fits with classes.
 */
#ifndef GPUREG_CLASSES_H
#define GPUREG_CLASSES_H

#include "postgres.h"

#include "compute/design/design.h"
#include "rows/columns/columns.h"
#include "rows/query/query.h"

/*
 * Returns the position of the response in a query of n columns: the formula's response, if it is a column's name, else
 * the first column without another role. Returns -1 if the formula names no column: reading it raises the ERROR.
 */
extern int	gr_class_column(int n, const char *const *names, const GrRoles *roles);

/*
 * Sets roles->classes from n levels, in the order of their type, and their numbers in rows (NULL: 0, 1, ... in the
 * final order). The base comes first. Raises an ERROR if the base is no level, or there are too many levels.
 */
extern void gr_set_classes(const GrRoles *roles, const char *column, const GrLevels *levels, const double *numbers);

/* Raises an ERROR unless values of the type, which is no domain, can be classes. */
extern void gr_check_class_type(Oid type, const char *column);

/*
 * Finds the classes of the query's response and sets roles->classes. Returns a query whose response is their numbers:
 * the same query if the response is an integer or a boolean.
 */
extern GrQuery *gr_find_classes(GrQuery *query, Oid function, const GrRoles *roles);

#endif							/* GPUREG_CLASSES_H */
