/*
 * progress.c: reports the progress of functions, for gpu_progress() and by notices; see progress.h.
 */
#include "postgres.h"

#include <math.h>

#include "access/parallel.h"
#include "catalog/pg_authid.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "storage/proc.h"
#include "storage/procarray.h"
#include "utils/acl.h"
#include "utils/backend_progress.h"
#include "utils/backend_status.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"
#include "utils/tuplestore.h"

#include "run/clock.h"
#include "run/compat.h"
#include "run/progress.h"

PG_FUNCTION_INFO_V1(gr_progress);

/* Progress command of gpureg's entries. The server's own commands are few and numbered from 0. */
#define PROGRESS_GPUREG ((ProgressCommandType) 0x67707572)

/* Parameters of an entry; the function's name takes four */
#define PARAM_NAME 0
#define NAME_NBYTES 32
#define PARAM_STARTED 4			/* start time in us on the clock of gr_now() */
#define PARAM_ROWS 5
#define PARAM_PASSES 6
#define PARAM_ITERATION 7
#define PARAM_DEVIANCE 8		/* the float8's bits; a NaN: none yet */
#define NPARAMS 9

#define NOTICE_S 1.0			/* least time between two notices */

bool		gr_progress_notices = false;
bool		gr_progress_active = false;

/* Progress of the function under way in this process. */
static struct
{
	char		name[NAME_NBYTES];
	double		started;
	double		noticed;		/* time of the last notice */
	int64		nrows;
	int64		npasses;
	int64		iteration;
	double		deviance;
}			mine;

static int64
bits_of(double value)
{
	int64		bits;

	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

static void
end_progress(void *arg)
{
	/* a failed transaction may have ended the entry already, and another command may have taken it */
	if (gr_progress_active && MyBEEntry != NULL && MyBEEntry->st_progress_command == PROGRESS_GPUREG)
		pgstat_progress_end_command();
	gr_progress_active = false;
}

/* Starts this process's progress entry, and writes all values known so far. */
static void
show(void)
{
	int64		values[NPARAMS] = {0};
	int			params[NPARAMS];

	for (int k = 0; k < NPARAMS; k++)
		params[k] = k;
	memcpy(values + PARAM_NAME, mine.name, NAME_NBYTES);
	values[PARAM_STARTED] = (int64) (mine.started * 1e6);
	values[PARAM_ROWS] = mine.nrows;
	values[PARAM_PASSES] = mine.npasses;
	values[PARAM_ITERATION] = mine.iteration;
	values[PARAM_DEVIANCE] = bits_of(mine.deviance);
	pgstat_progress_start_command(PROGRESS_GPUREG, InvalidOid);
	pgstat_progress_update_multi_param(NPARAMS, params, values);
}

/*
 * True if this process's progress entry is that of the gpureg function under way. A subtransaction that fails ends the
 * entry, as when a fit retreats from its first attempt; the entry is then started again. A parallel worker starts an
 * entry in any case: it works for one statement, whose function the leader shows.
 */
static bool
is_shown(void)
{
	if (!gr_progress_active && !IsParallelWorker())
		return false;
	if (MyBEEntry == NULL || !pgstat_track_activities)
		return false;
	if (MyBEEntry->st_progress_command == PROGRESS_COMMAND_INVALID)
		show();
	return MyBEEntry->st_progress_command == PROGRESS_GPUREG;
}

void
gr_progress_begin(FunctionCallInfo fcinfo)
{
	MemoryContextCallback *callback;
	char	   *name;

	if (!pgstat_track_activities || MyBEEntry == NULL || MyBEEntry->st_progress_command != PROGRESS_COMMAND_INVALID)
		return;
	callback = palloc0(sizeof(MemoryContextCallback));
	memset(&mine, 0, sizeof(mine));
	name = get_func_name(fcinfo->flinfo->fn_oid);
	strlcpy(mine.name, name != NULL ? name : "", sizeof(mine.name));
	mine.deviance = NAN;
	mine.started = mine.noticed = gr_now();
	callback->func = end_progress;
	MemoryContextRegisterResetCallback(CurrentMemoryContext, callback);
	gr_progress_active = true;
	show();
}

/* Sends a NOTICE of the progress, at most one per NOTICE_S, if gpureg.progress_notices asks for it. */
static void
notice(void)
{
	double		now;

	if (!gr_progress_notices || IsParallelWorker())
		return;
	now = gr_now();
	if (now - mine.noticed < NOTICE_S)
		return;
	mine.noticed = now;
	if (isnan(mine.deviance))
		ereport(NOTICE,
				(errmsg("%s: " INT64_FORMAT " rows read in %.0f s by this process, " INT64_FORMAT " passes", mine.name,
						mine.nrows, now - mine.started, mine.npasses)));
	else
		ereport(NOTICE,
				(errmsg("%s: iteration " INT64_FORMAT ", deviance %.8g, " INT64_FORMAT " passes in %.0f s", mine.name,
						mine.iteration, mine.deviance, mine.npasses, now - mine.started)));
}

void
gr_progress_add_rows(int64 nrows)
{
	if (!is_shown())
		return;
	mine.nrows += nrows;
	pgstat_progress_update_param(PARAM_ROWS, mine.nrows);
	notice();
}

void
gr_progress_pass(void)
{
	if (!is_shown())
		return;
	pgstat_progress_update_param(PARAM_PASSES, ++mine.npasses);
	notice();
}

void
gr_progress_iteration(int iteration, double deviance)
{
	const int	params[] = {PARAM_ITERATION, PARAM_DEVIANCE};
	const int64 values[] = {iteration, bits_of(deviance)};

	if (!is_shown())
		return;
	mine.iteration = iteration;
	mine.deviance = deviance;
	pgstat_progress_update_multi_param(lengthof(params), params, values);
	notice();
}

/*
 * gpu_progress()
 */

/* Returns the leader of the parallel worker pid, or 0 if the process is no parallel worker or has ended. */
static int
leader_of(int pid)
{
	PGPROC	   *proc = BackendPidGetProc(pid);
	PGPROC	   *leader = proc == NULL ? NULL : proc->lockGroupLeader;

	return leader == NULL || leader->pid == pid ? 0 : leader->pid;
}

/* Adds to *nrows the rows that the parallel workers of process pid have read. Returns the number of workers. */
static int
add_workers(int pid, int64 *nrows)
{
	int			nworkers = 0;

	for (int i = 1; i <= pgstat_fetch_stat_numbackends(); i++)
	{
		const PgBackendStatus *entry = &gr_local_backend_status(i)->backendStatus;

		if (entry->st_progress_command != PROGRESS_GPUREG || entry->st_procpid == pid ||
			leader_of(entry->st_procpid) != pid)
			continue;
		*nrows += entry->st_progress_param[PARAM_ROWS];
		nworkers++;
	}
	return nworkers;
}

static void
put_entry(ReturnSetInfo *result, const PgBackendStatus *entry)
{
	Datum		values[9];
	bool		nulls[9] = {0};
	char		name[NAME_NBYTES + 1] = {0};
	int64		nrows = entry->st_progress_param[PARAM_ROWS];
	int			nworkers = add_workers(entry->st_procpid, &nrows);
	double		seconds = gr_now() - entry->st_progress_param[PARAM_STARTED] / 1e6;
	double		deviance;

	memcpy(name, entry->st_progress_param + PARAM_NAME, NAME_NBYTES);
	memcpy(&deviance, entry->st_progress_param + PARAM_DEVIANCE, sizeof(deviance));
	seconds = Max(seconds, 0);
	values[0] = Int32GetDatum(entry->st_procpid);
	values[1] = CStringGetTextDatum(name);
	values[2] = Int64GetDatum(nrows);
	values[3] = Float8GetDatum(seconds > 0 ? nrows / seconds : 0);
	values[4] = Int32GetDatum(nworkers);
	values[5] = Int64GetDatum(entry->st_progress_param[PARAM_PASSES]);
	values[6] = Int32GetDatum((int32) entry->st_progress_param[PARAM_ITERATION]);
	values[7] = Float8GetDatum(deviance);
	nulls[6] = nulls[7] = isnan(deviance);
	values[8] = Float8GetDatum(seconds);
	tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
}

/* gpu_progress(): progress of the sessions of roles whose privileges the caller has */
Datum
gr_progress(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	bool		all = has_privs_of_role(GetUserId(), ROLE_PG_READ_ALL_STATS);

	InitMaterializedSRF(fcinfo, 0);
	for (int i = 1; i <= pgstat_fetch_stat_numbackends(); i++)
	{
		const PgBackendStatus *entry = &gr_local_backend_status(i)->backendStatus;

		if (entry->st_progress_command == PROGRESS_GPUREG && entry->st_progress_param[PARAM_STARTED] != 0 &&
			(all || has_privs_of_role(GetUserId(), entry->st_userid)))
			put_entry(result, entry);
	}
	PG_RETURN_VOID();
}
