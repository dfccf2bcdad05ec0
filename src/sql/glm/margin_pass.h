/*
 * margin_pass.h: sums the marginal effects of columns of numbers where a query's rows are, many rows at a time: in
 * parallel workers, by a scan or an aggregate. fn_margins.c calls gr_margin_pass() first, then reads rows one by one.
 */
#ifndef GPUREG_MARGIN_PASS_H
#define GPUREG_MARGIN_PASS_H

#include "postgres.h"

#include "compute/glm/margins.h"
#include "sql/glm/margin_rows.h"

/*
 * Sets the sums of margins, which gr_margins_begin() has prepared, and the counts of rows. function: the SQL function
 * that is being called. Returns false, and does nothing, if the rows must be read one by one: if an effect is a step or
 * of a column in several terms, a column is an array, rows have weights, a coefficient is infinite, there are too many
 * columns, or the query is remote. Raises an ERROR if no row is complete.
 */
extern bool gr_margin_pass(GrMarginRows *rows, GrMargins *margins, Oid function);

#endif							/* GPUREG_MARGIN_PASS_H */
