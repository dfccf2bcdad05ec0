/*
 * ingest.h: a query's rows -> blocks of float8.
 */
#ifndef GPUREG_INGEST_H
#define GPUREG_INGEST_H

#include "postgres.h"

#include "bridge.h"

/* What reading a query gave. */
typedef struct GrIngest
{
	GrJob	   *job;			/* NULL if no complete row was seen */
	int			nfeatures;
	const char **names;			/* nfeatures + 1: the terms, then the response */
	int64		nrows;
	int64		nskipped;
} GrIngest;

/*
 * Runs a query whose first column is the response and the others features, and hands its rows to a job. Memory doesn't grow
 * with their number. The caller is connected to SPI and keeps the result's memory, which is the context current at the
 * call. ERRORs for whatever the query may not be.
 */
extern void gr_ingest_query(const char *query, GrIngest *result);

#endif							/* GPUREG_INGEST_H */
