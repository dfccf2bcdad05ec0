/*
 * names.h: what a query's columns are called.
 */
#ifndef GPUREG_NAMES_H
#define GPUREG_NAMES_H

#include "postgres.h"

#include "nodes/parsenodes.h"

/*
 * The names of the columns of an analysed query, in the current memory context. A column without a name of its own,
 * which the server calls "?column?" or after a type that it is cast to, and columns that share one which was not given
 * them by AS, are called by their expressions: as they stand in the text, but without comments and with single spaces.
 */
extern const char **gr_name_columns(const char *text, const RawStmt *statement, const Query *tree);

#endif							/* GPUREG_NAMES_H */
