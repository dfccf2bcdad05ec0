/*
 * raise.h: turns errors of the compute layer into errors of PostgreSQL, and lets the compute layer poll for cancel.
 */
#ifndef GPUREG_RAISE_H
#define GPUREG_RAISE_H

#include "postgres.h"

#include "compute/base/compute.h"
#include "compute/dist/family.h"
#include "compute/linalg/basis.h"

/* Polls for cancel, for the compute layer's loops. */
extern const GrHost gr_host;

/*
 * Raises err as an ERROR. names: gr_row_ncols() names of the columns of rows of this shape, or NULL for x1 .. xp, y,
 * weight, offset and key. If err says that the work was cancelled, raises the error of the interrupt.
 */
extern void gr_raise_row(const GrError *err, GrRowShape shape, const char *const *names)
			__attribute__((noreturn));

/* Raises err as gr_raise_row() does, for work that meets features and the response alone: names has nfeatures + 1. */
extern void gr_raise_columns(const GrError *err, int nfeatures, const char *const *names)
			__attribute__((noreturn));

/* Raises err as gr_raise_row() does, for work without columns. Remembers a lost device. */
extern void gr_raise(const GrError *err)
			__attribute__((noreturn));

/*
 * True if err is a lack of memory, the service's or that of the role's quota. gr_raise_kept_shortage() raises it where
 * the rows are to be kept, or derived from kept ones: no other place can take them.
 */
extern bool gr_is_kept_shortage(const GrError *err);
extern void gr_raise_kept_shortage(const GrError *err)
			__attribute__((noreturn));

/* ERROR unless all rows are valid; see gr_rows_valid(). names: as in gr_raise_row(). */
extern void gr_check_rows(const double *rows, int64 nrows, GrRowShape shape, GrRowRules rules,
						  const char *const *names);

/* gr_basis_change_rows() with interrupts; basis may be NULL. */
extern void gr_change_rows(const GrBasis *basis, GrRowShape shape, double *rows, int64 nrows);

/*
 * Returns the name of a row's column: names[column] or, where names is NULL, one of x1 .. xp, y, weight, offset and
 * key. NULL if rows of this shape have no such column, or the column has no name.
 */
extern const char *gr_column_name(int64 column, GrRowShape shape, const char *const *names);

#endif							/* GPUREG_RAISE_H */
