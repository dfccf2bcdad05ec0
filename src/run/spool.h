/*
 * spool.h: rows in a temporary file of PostgreSQL, for passes over rows that do not fit into memory.
 */
#ifndef GPUREG_SPOOL_H
#define GPUREG_SPOOL_H

#include "postgres.h"

#include "compute/base/row_list.h"
#include "compute/linalg/basis.h"
#include "compute/request/request.h"

/* A temporary file of rows, which lie one after the other as in blocks. All zeros: no spool. */
typedef struct GrSpool
{
	struct BufFile *file;		/* the server removes it, whatever happens */
	GrRowShape	shape;
	const GrBasis *basis;		/* changes rows as they are read; or NULL */
	bool		lent;			/* the file belongs to another spool, and stays open */
	bool		moved;			/* the file was read since the last write, which ended at end_segment, end_offset */
	int			end_segment;
	off_t		end_offset;
} GrSpool;

/* gr_file_read() reads nbytes of a temporary file, and gr_file_rewind() goes to its beginning. Failures are ERRORs. */
extern void gr_file_read(struct BufFile *file, void *into, Size nbytes);
extern void gr_file_rewind(struct BufFile *file);

/* Creates the temporary file of a spool that is all zeros, for rows of this shape. */
extern void gr_spool_begin(GrSpool *spool, GrRowShape shape);

/* Appends rows. */
extern void gr_spool_write(GrSpool *spool, double *rows, int64 nrows);

/* Appends the rows of a list and empties its chunks, which keep their memory. */
extern void gr_spool_write_list(GrSpool *spool, GrRowList *list);

/* gr_spool_rewind() goes to the first row; gr_spool_read() reads the next nrows rows. */
extern void gr_spool_rewind(GrSpool *spool);
extern void gr_spool_read(GrSpool *spool, void *rows, int64 nrows);

/* Returns a spool of the same rows for another reader. spool may be used again when that reader has ended. */
extern GrSpool gr_spool_lend(GrSpool *spool);

/* Reads the next rows into block as passes see them: left or capacity of them, as returned. */
extern int64 gr_spool_next(GrSpool *spool, int64 left, double *block, int64 capacity);

/* Closes the file, unless it is lent. A spool of zeros is accepted. */
extern void gr_spool_end(GrSpool *spool);

#endif							/* GPUREG_SPOOL_H */
