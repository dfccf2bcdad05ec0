/*
 * fn_kept.c: gpu_keep(), gpu_kept() and gpu_forget().
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

#include "rows/keep.h"
#include "rows/kept_set.h"
#include "run/kept_list.h"
#include "run/progress.h"

PG_FUNCTION_INFO_V1(gr_keep);
PG_FUNCTION_INFO_V1(gr_show_kept);
PG_FUNCTION_INFO_V1(gr_forget);

/* gpu_keep(name text, query text, replace boolean): how many rows are kept */
Datum
gr_keep(PG_FUNCTION_ARGS)
{
	char	   *name = text_to_cstring(PG_GETARG_TEXT_PP(0));
	char	   *query = text_to_cstring(PG_GETARG_TEXT_PP(1));

	gr_progress_begin(fcinfo);
	PG_RETURN_INT64(gr_keep_query(fcinfo, name, query, PG_GETARG_BOOL(2)));
}

/* The names of the columns, a text[] */
static Datum
column_names(StringInfo description)
{
	GrKeptSet	set = {0};
	Datum	   *items;

	gr_read_description(description, &set);
	items = palloc(set.ncolumns * sizeof(Datum));
	for (int k = 0; k < set.ncolumns; k++)
		items[k] = CStringGetTextDatum(set.names[k]);
	return PointerGetDatum(construct_array(items, set.ncolumns, TEXTOID, -1, false, TYPALIGN_INT));
}

static void
put_entry(ReturnSetInfo *rsinfo, const GrKeptEntry *entry)
{
	const char *owner = GetUserNameFromId(entry->owner, true);
	Datum		values[9];
	bool		nulls[9] = {false};
	StringInfoData description;

	initStringInfo(&description);
	if (!gr_kept_describe(entry, &description))
		return;
	values[0] = CStringGetTextDatum(entry->name);
	nulls[1] = owner == NULL;
	values[1] = owner == NULL ? (Datum) 0 : CStringGetTextDatum(owner);
	values[2] = CStringGetTextDatum(entry->query);
	values[3] = column_names(&description);
	values[4] = Int64GetDatum(entry->nrows);
	values[5] = Int64GetDatum((int64) entry->nbytes);
	values[6] = TimestampTzGetDatum(entry->kept_at);
	values[7] = Int64GetDatum((int64) entry->hits);
	values[8] = CStringGetTextDatum(gr_kept_device(entry));
	tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
}

/* gpu_kept(): the sets of kept rows of this database that the role may use */
Datum
gr_show_kept(PG_FUNCTION_ARGS)
{
	GrKeptEntry *entries = palloc(GR_KEPT_MAX * sizeof(GrKeptEntry));
	int			n = gr_kept_list(entries, GR_KEPT_MAX);

	InitMaterializedSRF(fcinfo, 0);
	for (int k = 0; k < n; k++)
		put_entry((ReturnSetInfo *) fcinfo->resultinfo, &entries[k]);
	return (Datum) 0;
}

/* gpu_forget(name text): whether there were such rows */
Datum
gr_forget(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(gr_kept_forget(text_to_cstring(PG_GETARG_TEXT_PP(0))));
}
