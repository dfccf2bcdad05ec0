/*
 * spool.c: rows in a temporary file of PostgreSQL; see spool.h.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/buffile.h"

#include "run/compat.h"
#include "run/raise.h"
#include "run/spool.h"

void
gr_file_read(BufFile *file, void *into, Size nbytes)
{
	gr_buffile_read(file, into, nbytes);
}

static void
raise_seek(void)
{
	ereport(ERROR,
			(errcode_for_file_access(),
			 errmsg("could not seek in temporary file: %m")));
}

void
gr_file_rewind(BufFile *file)
{
	if (BufFileSeek(file, 0, 0, SEEK_SET) != 0)
		raise_seek();
}

void
gr_spool_begin(GrSpool *spool, GrRowShape shape)
{
	spool->shape = shape;
	spool->file = BufFileCreateTemp(false);
}

void
gr_spool_write(GrSpool *spool, double *rows, int64 nrows)
{
	if (spool->moved && BufFileSeek(spool->file, spool->end_segment, spool->end_offset, SEEK_SET) != 0)
		raise_seek();
	BufFileWrite(spool->file, rows, nrows * gr_row_nbytes(spool->shape));
	BufFileTell(spool->file, &spool->end_segment, &spool->end_offset);
	spool->moved = false;
}

void
gr_spool_write_list(GrSpool *spool, GrRowList *list)
{
	for (GrRowChunk *chunk = list->first; chunk != NULL; chunk = chunk->next)
	{
		CHECK_FOR_INTERRUPTS();
		if (chunk->nrows > 0)
			gr_spool_write(spool, chunk->rows, chunk->nrows);
		chunk->nrows = 0;
	}
	list->last = list->first;
}

void
gr_spool_rewind(GrSpool *spool)
{
	gr_file_rewind(spool->file);
	spool->moved = true;
}

void
gr_spool_read(GrSpool *spool, void *rows, int64 nrows)
{
	gr_file_read(spool->file, rows, nrows * gr_row_nbytes(spool->shape));
}

GrSpool
gr_spool_lend(GrSpool *spool)
{
	GrSpool		copy = *spool;

	spool->moved = true;
	copy.lent = true;
	return copy;
}

int64
gr_spool_next(GrSpool *spool, int64 left, double *block, int64 capacity)
{
	int64		n = Min(left, capacity);

	CHECK_FOR_INTERRUPTS();
	gr_spool_read(spool, block, n);
	gr_change_rows(spool->basis, spool->shape, block, n);
	return n;
}

void
gr_spool_end(GrSpool *spool)
{
	if (spool->file != NULL && !spool->lent)
		BufFileClose(spool->file);
	spool->file = NULL;
}
