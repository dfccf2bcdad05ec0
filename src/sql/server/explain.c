/*
 * explain.c: adds lines about aggregates to EXPLAIN (ANALYZE): device, rows, features and groups of each, and with
 * TIMING its rows per second. Only aggregates whose final functions ran in this process are shown.
 */
#include "postgres.h"

#include "run/compat.h"

#if GR_HAS_EXPLAIN_HOOK
#include "commands/explain.h"
#include "commands/explain_format.h"
#include "commands/explain_state.h"
#include "executor/instrument.h"
#include "executor/nodeAgg.h"

#include "rows/state/aggregate.h"
#endif

#include "sql/server/explain.h"

#if GR_HAS_EXPLAIN_HOOK

static explain_per_node_hook_type previous_hook = NULL;

/* Appends a line of text. seconds: run time of the node; 0: not known. */
static void
put_text(const GrAggregateRun *run, double seconds, ExplainState *es)
{
	ExplainIndentText(es);
	appendStringInfo(es->str, "Aggregate: %s  Device: %s  Rows: " INT64_FORMAT "  Features: %d  Groups: " INT64_FORMAT,
					 run->function, run->device, run->nrows, run->nfeatures, run->ngroups);
	if (run->nworkers > 0)
		appendStringInfo(es->str, "  Workers: %d", run->nworkers);
	if (seconds > 0)
		appendStringInfo(es->str, "  Rows per Second: %.0f", run->nrows / seconds);
	appendStringInfoChar(es->str, '\n');
}

static void
put_properties(const GrAggregateRun *run, double seconds, ExplainState *es)
{
	ExplainOpenGroup("Aggregate", NULL, true, es);
	ExplainPropertyText("Aggregate", run->function, es);
	ExplainPropertyText("Device", run->device, es);
	ExplainPropertyInteger("Rows", NULL, run->nrows, es);
	ExplainPropertyInteger("Features", NULL, run->nfeatures, es);
	ExplainPropertyInteger("Groups", NULL, run->ngroups, es);
	ExplainPropertyInteger("Workers", NULL, run->nworkers, es);
	if (seconds > 0)
		ExplainPropertyFloat("Rows per Second", NULL, run->nrows / seconds, 0, es);
	ExplainCloseGroup("Aggregate", NULL, true, es);
}

static void
explain_aggregates(const AggState *node, ExplainState *es)
{
	double		seconds = es->timing && node->ss.ps.instrument != NULL ? gr_node_seconds(node->ss.ps.instrument) : 0;
	bool		any = false;

	for (int k = 0; k < node->numaggs; k++)
	{
		const AggStatePerAggData *call = &node->peragg[k];
		const GrAggregateRun *run = OidIsValid(call->finalfn_oid) ? gr_aggregate_run(&call->finalfn) : NULL;

		if (run == NULL)
			continue;
		if (es->format == EXPLAIN_FORMAT_TEXT)
		{
			put_text(run, seconds, es);
			continue;
		}
		if (!any)
			ExplainOpenGroup("Gpureg Aggregates", "Gpureg Aggregates", false, es);
		any = true;
		put_properties(run, seconds, es);
	}
	if (any)
		ExplainCloseGroup("Gpureg Aggregates", "Gpureg Aggregates", false, es);
}

/* Explains an Agg node, unless it ran in parallel workers: this process has only a part of their numbers. */
static void
explain_node(PlanState *node, List *ancestors, const char *relationship, const char *plan_name, ExplainState *es)
{
	if (previous_hook != NULL)
		previous_hook(node, ancestors, relationship, plan_name, es);
	if (es->analyze && IsA(node, AggState) && node->worker_instrument == NULL)
		explain_aggregates((AggState *) node, es);
}

void
gr_explain_init(void)
{
	previous_hook = explain_per_node_hook;
	explain_per_node_hook = explain_node;
}

#else

void
gr_explain_init(void)
{
}

#endif
