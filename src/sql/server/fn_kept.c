/*
 * fn_kept.c: the SQL functions gpu_keep(), gpu_kept(), gpu_kept_all() and gpu_forget().
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "fmgr.h"
#include "funcapi.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"
#include "utils/tuplestore.h"

#include "rows/kept/keep.h"
#include "rows/kept/kept_set.h"
#include "run/kept_list.h"
#include "run/progress.h"

PG_FUNCTION_INFO_V1(gr_keep);
PG_FUNCTION_INFO_V1(gr_show_kept);
PG_FUNCTION_INFO_V1(gr_show_kept_all);
PG_FUNCTION_INFO_V1(gr_forget);

/* gpu_keep(name text, query text, replace boolean): number of rows kept */
Datum
gr_keep(PG_FUNCTION_ARGS)
{
	char	   *name = text_to_cstring(PG_GETARG_TEXT_PP(0));
	char	   *query = text_to_cstring(PG_GETARG_TEXT_PP(1));

	gr_progress_begin(fcinfo);
	PG_RETURN_INT64(gr_keep_query(fcinfo, name, query, PG_GETARG_BOOL(2)));
}

/* Returns the names of the columns as a text[]. */
static Datum
column_names(StringInfo description)
{
	GrKeptSet	set = {0};
	Datum	   *items;

	gr_read_kept_names(description, &set);
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

/* gpu_kept(): the sets of kept rows in this database that the role may use */
Datum
gr_show_kept(PG_FUNCTION_ARGS)
{
	GrKeptEntry *entries = palloc(GR_KEPT_MAX * sizeof(GrKeptEntry));
	int			n = gr_kept_list(entries, GR_KEPT_MAX);

	InitMaterializedSRF(fcinfo, 0);
	for (int k = 0; k < n; k++)
	{
		CHECK_FOR_INTERRUPTS();
		put_entry((ReturnSetInfo *) fcinfo->resultinfo, &entries[k]);
	}
	return (Datum) 0;
}

/* Returns a text of an entry. If it is in the encoding of another database, other characters than ASCII become "?". */
static Datum
entry_text(const GrKeptEntry *entry, const char *text)
{
	char	   *copy = pstrdup(text);

	for (char *c = copy; *c != '\0' && entry->encoding != GetDatabaseEncoding(); c++)
		if (IS_HIGHBIT_SET(*c))
			*c = '?';
	return CStringGetTextDatum(copy);
}

static void
put_entry_of_all(ReturnSetInfo *rsinfo, const GrKeptEntry *entry)
{
	bool		there = entry->state == GR_KEPT_THERE;
	const char *database = gr_database_name(entry->database);
	const char *owner = GetUserNameFromId(entry->owner, true);
	Datum		values[10] = {0};
	bool		nulls[10] = {false};

	values[0] = database == NULL ? entry_text(entry, entry->database_name) : CStringGetTextDatum(database);
	values[1] = owner == NULL ? entry_text(entry, entry->owner_name) : CStringGetTextDatum(owner);
	values[2] = entry_text(entry, entry->name);
	values[3] = CStringGetTextDatum(there ? "kept" : "being kept");
	values[4] = entry_text(entry, entry->query);
	values[5] = Int64GetDatum(entry->nrows);
	values[6] = Int64GetDatum((int64) entry->nbytes);
	values[7] = TimestampTzGetDatum(entry->kept_at);
	values[8] = Int64GetDatum((int64) entry->hits);
	values[9] = CStringGetTextDatum(gr_kept_device(entry));
	nulls[4] = nulls[5] = nulls[7] = nulls[8] = !there;
	tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
}

/* gpu_kept_all(): the sets of kept rows of all databases and roles, including those that are still being read */
Datum
gr_show_kept_all(PG_FUNCTION_ARGS)
{
	GrKeptEntry *entries = palloc(GR_KEPT_MAX * sizeof(GrKeptEntry));
	int			n = gr_kept_list_all(entries, GR_KEPT_MAX);

	InitMaterializedSRF(fcinfo, 0);
	for (int k = 0; k < n; k++)
		put_entry_of_all((ReturnSetInfo *) fcinfo->resultinfo, &entries[k]);
	return (Datum) 0;
}

/* gpu_forget(name text): true if there was a set of that name */
Datum
gr_forget(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(gr_kept_forget(text_to_cstring(PG_GETARG_TEXT_PP(0))));
}
