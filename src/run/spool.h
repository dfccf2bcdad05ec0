/*
 * spool.h: rows in a temporary file of PostgreSQL's, over which passes are made where there is no room to keep them.
 */
#ifndef GPUREG_SPOOL_H
#define GPUREG_SPOOL_H

#include "postgres.h"

#include "compute/glm/glm.h"
#include "compute/linalg/basis.h"
#include "compute/resample/boot.h"

/* Rows lie in it as in blocks, one after the other. All zeros is none. */
typedef struct GrSpool
{
	struct BufFile *file;		/* the server's to remove, whatever happens */
	GrRowShape	shape;
	const GrBasis *basis;		/* by which rows are changed as they are read; or NULL */
	bool		lent;			/* the file is another spool's, and stays open */
	bool		moved;			/* it was read since it was written to, whose end was there */
	int			end_segment;
	off_t		end_offset;
} GrSpool;

/* Of any temporary file: reads so many bytes, or an ERROR; goes to its beginning. */
extern void gr_file_read(struct BufFile *file, void *into, Size nbytes);
extern void gr_file_rewind(struct BufFile *file);

extern void gr_spool_begin(GrSpool *spool, GrRowShape shape);

/* Behind those that are there */
extern void gr_spool_write(GrSpool *spool, double *rows, int64 nrows);

/* The next rows are the first ones, and the next ones after that; rows: anywhere in memory */
extern void gr_spool_rewind(GrSpool *spool);
extern void gr_spool_read(GrSpool *spool, void *rows, int64 nrows);

/* The same rows for somebody else to read; they may be read and written here again when that is done. */
extern GrSpool gr_spool_lend(GrSpool *spool);

/* A pass over the first nrows rows, which are read into block, capacity of them at a time; adds to sums. */
extern void gr_spool_pass(GrSpool *spool, int64 nrows, double *block, int64 capacity, const GrPass *pass, double *sums);

/* The same of a bootstrap */
extern void gr_spool_boot(GrSpool *spool, int64 nrows, double *block, int64 capacity, const GrBootPass *pass,
						  double *sums);

/* Accepts none. */
extern void gr_spool_end(GrSpool *spool);

#endif							/* GPUREG_SPOOL_H */
