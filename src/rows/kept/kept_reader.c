/*
 * kept_reader.c: kept rows that are read back into the session; see kept_reader.h.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "compute/design/derive_row.h"
#include "rows/kept/kept_filter.h"
#include "rows/kept/kept_reader.h"
#include "run/args.h"
#include "run/device.h"
#include "run/job.h"
#include "run/raise.h"

/* Rows that are read back at a time */
#define PIECE_NBYTES ((Size) 1 << 20)

struct GrKeptReader
{
	const char *kept;
	GrKeptSet	set;
	GrRemoteClient *client;
	GrFilterStep *steps;
	int			nsteps;
	int64		npiece;			/* rows of a piece, but for the last one */
	int64		first;			/* that wasn't read yet */
	double	   *piece;
	int64		n;				/* rows in it, */
	int64		at;				/* and those that were given */
};

GrRemoteClient *
gr_kept_open(const char *kept, GrKeptSet *set)
{
	StringInfoData description;
	const char *reason = NULL;
	GrRemoteClient *client;

	gr_check_not_lent();
	initStringInfo(&description);
	/* one that is replaced before it is held is looked for again, as what replaces it is there by then */
	do
	{
		CHECK_FOR_INTERRUPTS();
		resetStringInfo(&description);
		gr_kept_find(kept, &set->entry, &description);
		client = gr_service_connect_to(set->entry.service, set->entry.generation, gr_service_is_used(), &reason);
		if (client == NULL)
			gr_raise_no_service(reason);
	} while (!gr_service_hold(client, set->entry.id));
	gr_read_description(&description, set);
	return client;
}

void
gr_raise_kept_gone(const char *kept)
{
	ereport(ERROR,
			(errcode(ERRCODE_UNDEFINED_OBJECT),
			 errmsg("kept rows \"%s\" have gone", kept),
			 errhint("Keep them again, with gpu_keep.")));
}

GrKeptReader *
gr_kept_reader_of(const char *kept, const GrKeptSet *set, GrRemoteClient *client)
{
	GrKeptReader *reader = palloc0(sizeof(GrKeptReader));
	Size		row_nbytes = set->ncolumns * sizeof(double);

	reader->kept = kept;
	reader->set = *set;
	reader->client = client;
	reader->npiece = Max(PIECE_NBYTES / row_nbytes, 1);
	reader->piece = palloc(reader->npiece * row_nbytes);
	return reader;
}

GrKeptReader *
gr_kept_reader(const char *kept, const char *filter)
{
	GrKeptSet	set;
	GrRemoteClient *client = gr_kept_open(kept, &set);
	GrKeptReader *reader = gr_kept_reader_of(kept, &set, client);

	if (filter == NULL)
		return reader;
	reader->steps = palloc(GR_FILTER_STEPS_MAX * sizeof(GrFilterStep));
	reader->nsteps = gr_kept_filter(&reader->set, filter, reader->steps);
	return reader;
}

const GrKeptSet *
gr_kept_reader_set(const GrKeptReader *reader)
{
	return &reader->set;
}

/* False: there are no more rows. What came is copied, as others may ask the service meanwhile. */
static bool
read_piece(GrKeptReader *reader)
{
	int64		n = Min(reader->npiece, reader->set.entry.nrows - reader->first);
	const double *rows = NULL;
	GrError		err = {0};

	CHECK_FOR_INTERRUPTS();
	if (n <= 0)
		return false;
	if (!gr_remote_read(reader->client, reader->set.entry.id, reader->set.ncolumns, reader->first, n, &rows, &gr_host,
						&err))
	{
		if (err.status == GR_INVALID)
			gr_raise_kept_gone(reader->kept);
		gr_raise(&err);
	}
	memcpy(reader->piece, rows, n * reader->set.ncolumns * sizeof(double));
	reader->first += n;
	reader->n = n;
	reader->at = 0;
	return true;
}

const double *
gr_kept_next(GrKeptReader *reader)
{
	for (;;)
	{
		const double *row = reader->piece + reader->at * reader->set.ncolumns;

		if (reader->at == reader->n)
		{
			if (!read_piece(reader))
				return NULL;
			continue;
		}
		reader->at++;
		if (gr_filter_passes(reader->steps, reader->nsteps, row))
			return row;
	}
}

void
gr_kept_rewind(GrKeptReader *reader)
{
	reader->first = reader->n = reader->at = 0;
}
