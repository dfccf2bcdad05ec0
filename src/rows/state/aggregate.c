/*
 * aggregate.c: records what aggregates' final functions have done; see aggregate.h.
 *
 * There may be a million groups, so a group costs only two readings of the clock and some additions.
 */
#include "postgres.h"

#include "nodes/extensible.h"

#include "access/parallel.h"
#include "common/int.h"
#include "executor/executor.h"
#include "utils/lsyscache.h"

#include "rows/query/query.h"
#include "rows/state/aggregate.h"
#include "run/args.h"
#include "run/clock.h"
#include "run/report.h"

/* Number of nested statements whose start times are kept */
#define NSTARTED 8

/* Start times of statements, newest first, so that a reused EState address is found at its newest use */
static struct
{
	const EState *estate;
	double		at;
}			started[NSTARTED];

static ExecutorStart_hook_type previous_start = NULL;

/* Final functions whose fn_extra is a GrAggregateRun, in the order of their first calls */
#define NFINALS 32
static PGFunction finals[NFINALS];
static int	nfinals = 0;

static void
start_executor(QueryDesc *query, int eflags)
{
	double		now = gr_now();

	if (previous_start != NULL)
		previous_start(query, eflags);
	else
		standard_ExecutorStart(query, eflags);
	memmove(started + 1, started, (NSTARTED - 1) * sizeof(started[0]));
	started[0].estate = query->estate;
	started[0].at = now;
}

void
gr_aggregate_init(void)
{
	previous_start = ExecutorStart_hook;
	ExecutorStart_hook = start_executor;
}

/* Returns the time at which the statement of estate started, or otherwise if that isn't known. */
static double
start_of(const EState *estate, double otherwise)
{
	for (int k = 0; k < NSTARTED; k++)
		if (started[k].estate == estate)
			return started[k].at;
	return otherwise;
}

/* Sets in *run whether the nodes below an aggregate have parallel workers, or gpureg's custom scan. */
static void
find_source(PlanState *node, GrAggregateRun *run)
{
	for (; node != NULL; node = outerPlanState(node))
	{
		if (IsA(node, GatherState))
			run->nworkers = ((GatherState *) node)->nworkers_launched;
		else if (IsA(node, GatherMergeState))
			run->nworkers = ((GatherMergeState *) node)->nworkers_launched;
		else if (IsA(node, CustomScanState))
			run->by_scan = strcmp(((CustomScanState *) node)->methods->CustomName, GR_SCAN_NAME) == 0;
	}
}

static bool
is_final(PGFunction function)
{
	for (int k = 0; k < nfinals; k++)
		if (finals[k] == function)
			return true;
	return false;
}

const GrAggregateRun *
gr_aggregate_run(const FmgrInfo *final)
{
	return is_final(final->fn_addr) ? final->fn_extra : NULL;
}

/* Creates a record in the memory of the function's FmgrInfo, which lives as long as the statement. */
static GrAggregateRun *
create_run(FunctionCallInfo fcinfo, const char *function, double began)
{
	static uint64 number = 0;
	GrAggregateRun *run = MemoryContextAllocZero(fcinfo->flinfo->fn_mcxt, sizeof(GrAggregateRun));
	const Aggref *call = AggGetAggref(fcinfo);
	PlanState  *node = (PlanState *) fcinfo->context;
	const char *name = call == NULL ? NULL : get_func_name(call->aggfnoid);

	run->number = ++number;
	strlcpy(run->function, name != NULL ? name : function, sizeof(run->function));
	strlcpy(run->device, "cpu", sizeof(run->device));
	run->started = start_of(node->state, began);
	find_source(outerPlanState(node), run);
	if (!is_final(fcinfo->flinfo->fn_addr) && nfinals < NFINALS)
		finals[nfinals++] = fcinfo->flinfo->fn_addr;
	fcinfo->flinfo->fn_extra = run;
	return run;
}

/* Returns the record of the calling aggregate, or NULL in a parallel worker or outside an aggregate. */
static inline GrAggregateRun *
find_run(FunctionCallInfo fcinfo, const char *function, double began)
{
	if (IsParallelWorker() || !gr_in_aggregate(fcinfo))
		return NULL;
	return fcinfo->flinfo->fn_extra != NULL ? fcinfo->flinfo->fn_extra : create_run(fcinfo, function, began);
}

static const char *
reason_of(const GrAggregateRun *run)
{
	return run->by_scan ? "an aggregate, over a scan of gpureg's own" : "an aggregate, over the plan's rows";
}

/* Adds a group's rows without overflow: a state made up by a user may claim any number of rows. */
static void
count_group(GrAggregateRun *run, int64 nrows)
{
	run->ngroups++;
	if (pg_add_s64_overflow(run->nrows, nrows, &run->nrows))
		run->nrows = PG_INT64_MAX;
}

void
gr_record_group(FunctionCallInfo fcinfo, const char *function, int64 nrows, int nfeatures, double began)
{
	GrAggregateRun *run = find_run(fcinfo, function, began);
	GrRun	   *shown = &gr_last_run;
	double		now;

	if (run == NULL)
		return;
	now = gr_now();
	count_group(run, nrows);
	run->nfeatures = nfeatures;
	run->solve_s += now - began;
	/* gr_last_run is another computation's, or this is the first group. */
	if (shown->aggregate != run->number)
	{
		GrPlace		place = {0};

		gr_place_on_cpu(&place, reason_of(run));
		shown = gr_new_run(run->function, &place, 0, 0);
		shown->aggregate = run->number;
		shown->nworkers = run->nworkers;
	}
	shown->nrows = run->nrows;
	shown->nfeatures = nfeatures;
	shown->solve_s = run->solve_s;
	shown->total_s = now - run->started;
	shown->read_s = shown->total_s - run->solve_s;
}

void
gr_add_group(FunctionCallInfo fcinfo, const char *function)
{
	double		now = gr_now();
	GrRun	   *fit = &gr_last_run;
	GrAggregateRun *run = find_run(fcinfo, function, now - fit->total_s);

	if (run == NULL)
		return;
	count_group(run, fit->nrows);
	run->nfeatures = fit->nfeatures;
	run->solve_s += fit->total_s;
	run->bytes_to_device += fit->bytes_to_device;
	run->copy_s += fit->copy_s;
	run->kernel_s += fit->kernel_s;
	strlcpy(run->device, fit->device, sizeof(run->device));
	strlcpy(fit->function, run->function, sizeof(fit->function));
	fit->nrows = run->nrows;
	fit->bytes_to_device = run->bytes_to_device;
	fit->copy_s = run->copy_s;
	fit->kernel_s = run->kernel_s;
	fit->solve_s = run->solve_s;
	fit->total_s = now - run->started;
	fit->read_s = fit->total_s - run->solve_s;
	fit->nworkers = run->nworkers;
}

void
gr_record_state(FunctionCallInfo fcinfo, int64 nrows, int nfeatures, double began)
{
	GrPlace		place = {0};
	char	   *name;

	if (IsParallelWorker())
		return;
	name = get_func_name(fcinfo->flinfo->fn_oid);
	gr_place_on_cpu(&place, "computed from a state");
	gr_record_pass(&place, &(GrPassRecord) {
		.function = name != NULL ? name : "",.nrows = nrows,.nfeatures = nfeatures,.started = began,
		.read_done = began,.solved = gr_now()
	});
	if (name != NULL)
		pfree(name);
}
