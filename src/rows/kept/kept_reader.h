/*
 * kept_reader.h: kept rows that are read back into the session.
 */
#ifndef GPUREG_KEPT_READER_H
#define GPUREG_KEPT_READER_H

#include "postgres.h"

#include "compute/remote/remote.h"
#include "rows/kept/kept_set.h"

/* Finds the rows, and the service that has them. ERROR unless there are such rows which the role may use */
extern GrRemoteClient *gr_kept_open(const char *kept, GrKeptSet *set);

/* The service doesn't have them any more. */
extern void gr_raise_kept_gone(const char *kept) __attribute__((noreturn));

/* Kept rows, one after the other as they lie there: those for which a filter is true */
typedef struct GrKeptReader GrKeptReader;

/*
 * In the current memory context: all rows of a set that was opened, or those of a name and for which a filter is true
 * (NULL: all), with gr_kept_open()'s errors
 */
extern GrKeptReader *gr_kept_reader_of(const char *kept, const GrKeptSet *set, GrRemoteClient *client);
extern GrKeptReader *gr_kept_reader(const char *kept, const char *filter);
extern const GrKeptSet *gr_kept_reader_set(const GrKeptReader *reader);

/* The next row, of the set's columns, for a moment; NULL: there is none. ERROR where they have gone meanwhile */
extern const double *gr_kept_next(GrKeptReader *reader);

/* From the first row on again */
extern void gr_kept_rewind(GrKeptReader *reader);

#endif							/* GPUREG_KEPT_READER_H */
