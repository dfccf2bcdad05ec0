/*
 * spool.h: rows in a temporary file of PostgreSQL's, over which passes are made where there is no room to keep them.
 */
#ifndef GPUREG_SPOOL_H
#define GPUREG_SPOOL_H

#include "postgres.h"

#include "compute/basis.h"
#include "compute/glm.h"

/* Rows lie in it as in blocks, one after the other. All zeros is none. */
typedef struct GrSpool
{
	struct BufFile *file;		/* the server's to remove, whatever happens */
	GrRowShape	shape;
	const GrBasis *basis;		/* by which rows are changed as they are read; or NULL */
} GrSpool;

extern void gr_spool_begin(GrSpool *spool, GrRowShape shape);
extern void gr_spool_write(GrSpool *spool, double *rows, int64 nrows);

/* A pass over the first nrows rows, which are read into block, capacity of them at a time; adds to sums. */
extern void gr_spool_pass(GrSpool *spool, int64 nrows, double *block, int64 capacity, const GrPass *pass, double *sums);

/* Accepts none. */
extern void gr_spool_end(GrSpool *spool);

#endif							/* GPUREG_SPOOL_H */
