/*
 * scan_explain.c: shows the properties of a custom scan in EXPLAIN.
 */
#include "postgres.h"

#include <math.h>

#include "commands/explain.h"
#include "executor/instrument.h"

#include "rows/scan/scan_state.h"
#include "run/compat.h"

#include GR_EXPLAIN_FORMAT_HEADER

int64
gr_scan_count_spilled(const GrScanState *s)
{
	return s->nspilled + (s->groups == NULL ? 0 : s->groups->nspilled);
}

/* Returns the number of parallel workers that took part. Sets *seconds to the longest time of a process. */
static int
count_workers(const PlanState *node, double *seconds)
{
	double		own_s = gr_node_seconds(node->instrument);
	int			n = 0;

	*seconds = 0;
	for (int k = 0; node->worker_instrument != NULL && k < node->worker_instrument->num_workers; k++)
	{
		const GrNodeCounters *worker = &node->worker_instrument->instrument[k];

		n += worker->nloops > 0;
		own_s -= gr_node_seconds(worker);
		*seconds = Max(*seconds, gr_node_seconds(worker));
	}
	*seconds = Max(*seconds, own_s);
	return n;
}

/* Largest memory of a process for its groups, in bytes. A worker counts with the mean over its loops. */
static double
most_memory(const GrScanState *s)
{
	const GrWorkerCounters *workers = s->css.ss.ps.worker_instrument;
	double		nbytes = s->nbytes_peak;

	for (int k = 0; workers != NULL && k < workers->num_workers; k++)
	{
		const GrNodeCounters *worker = &workers->instrument[k];

		if (worker->nloops > 0)
			nbytes = Max(nbytes, worker->nfiltered2 / worker->nloops);
	}
	return nbytes;
}

/* Shows the device, rows and speed over all processes and loops. The child's instrumentation counts the rows read. */
static void
explain_run(GrScanState *s, ExplainState *es)
{
	PlanState  *child = &s->child->ss.ps;
	double		nrows;
	double		seconds;
	int			nworkers;

	InstrEndLoop(child->instrument);
	nworkers = count_workers(child, &seconds);
	nrows = child->instrument->ntuples + child->instrument->nfiltered1;
	ExplainPropertyText("Device", "cpu", es);
	ExplainPropertyFloat("Rows Read", NULL, nrows, 0, es);
	if (es->timing && seconds > 0)
		ExplainPropertyFloat("Rows per Second", NULL, nrows / seconds, 0, es);
	if (nworkers > 0)
		ExplainPropertyInteger("Scanning Workers", NULL, nworkers, es);
	if (s->nkeys == 0)
		return;
	ExplainPropertyFloat("Partial Groups", NULL, s->css.ss.ps.instrument->ntuples, 0, es);
	ExplainPropertyInteger("Memory Usage", "kB", (int64) ceil(most_memory(s) / 1024), es);
}

void
gr_scan_explain(CustomScanState *node, List *ancestors, ExplainState *es)
{
	GrScanState *s = (GrScanState *) node;
	int64		nspilled = gr_scan_count_spilled(s);
	bool		direct = false;

	for (int i = 0; i < s->naggregates; i++)
		direct |= s->aggregates[i].direct || s->aggregates[i].design != NULL;
	ExplainPropertyText("Columns", !direct ? "by expressions" : s->by_slot ? "in place and by expressions" :
						s->columns.all_fixed ? "in place, at fixed offsets" : "in place", es);
	if (es->analyze && s->child->ss.ps.instrument != NULL && s->css.ss.ps.instrument->nloops > 0)
		explain_run(s, es);
	if (s->css.ss.ps.instrument != NULL)
		nspilled += (int64) s->css.ss.ps.instrument->ntuples2;
	if (es->analyze && s->nexchanged > 0)
		ExplainPropertyInteger("Records Exchanged", NULL, s->nexchanged, es);
	else if (es->analyze && nspilled > 0)
		ExplainPropertyInteger("Records in Files", NULL, nspilled, es);
}
