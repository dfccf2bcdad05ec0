/*
 * logreg_rows.c: passes over the rows of a logistic regression.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"

#include "args.h"
#include "logreg_rows.h"
#include "logreg_step.h"
#include "wrapper.h"

/*
 * A sample takes no more memory than this, no more than gpureg.ring_size, and not more than one of so many rows: it is
 * read by one process, the passes by several.
 */
#define SAMPLE_NBYTES_MAX ((Size) 8 << 20)
#define SAMPLE_PART 16

/* With fewer rows to a term than this a sample's estimate is too far off. */
#define SAMPLE_ROWS_A_TERM 30

/* Rows that are copied to be changed stay in the second-level cache. */
#define CHANGED_NBYTES ((Size) 128 << 10)

/* Rows times terms between two polls */
#define POLL_WORK 1000000

/* Plans the passes over the query; true if they would run in parallel. */
static bool
plan_passes(GrRowSource *source, const GrIngest *ingest)
{
	Oid			types[3] = {InvalidOid, TEXTARRAYOID, INT4ARRAYOID};
	int			nworkers;

	if (source->plan != NULL)
		return source->parallel;
	source->step_type = types[0] = gr_own_type(ingest->function, "gpu_logreg_step");
	source->plan = gr_plan_aggregate(ingest, "gpu_logreg_pass", 3, types, source->step_type, &nworkers);
	source->parallel = nworkers > 0;
	return source->parallel;
}

static Datum
names_array(const GrIngest *ingest)
{
	Datum	   *names = palloc((ingest->nfeatures + 1) * sizeof(Datum));

	for (int k = 0; k <= ingest->nfeatures; k++)
		names[k] = CStringGetTextDatum(ingest->names[k]);
	return PointerGetDatum(construct_array(names, ingest->nfeatures + 1, TEXTOID, -1, false, TYPALIGN_INT));
}

/* How many numbers each argument but the first gives */
static Datum
widths_array(const GrIngest *ingest)
{
	int			n = ingest->narguments - 1;
	Datum	   *items = palloc(n * sizeof(Datum));

	for (int k = 0; k < n; k++)
	{
		const GrArgument *argument = &ingest->arguments[k + 1];

		items[k] = Int32GetDatum(argument->npacked > 0 ? argument->npacked : ingest->columns[argument->column].width);
	}
	return PointerGetDatum(construct_array(items, n, INT4OID, sizeof(int32), true, TYPALIGN_INT));
}

void
gr_source_read(GrRowSource *source, GrIngest *ingest)
{
	Size		limit = (Size) gr_ring_size * 1024;
	bool		large = ingest->nrows_estimate * gr_row_nbytes(ingest->nfeatures_estimate, false) > limit;
	GrJobOptions options = {.kind = GR_JOB_ROWS,.may_overflow = ingest->repeatable};
	char		reason[300];

	memset(source, 0, sizeof(*source));
	source->single = ingest->real_features;
	/* what is sure to overflow isn't filled first: the first row alone tells the number of features */
	options.cpu_limit = large ? 1 : limit;
	options.spool = !ingest->repeatable || (large && !plan_passes(source, ingest));
	gr_ingest_read(ingest, &options);
	source->kind = GR_SOURCE_JOB;
	source->job = ingest->job;
	source->nfeatures = ingest->nfeatures;
	source->nskipped = ingest->nskipped;
	if (!ingest->overflowed)
		return;
	if (plan_passes(source, ingest))
	{
		source->kind = GR_SOURCE_QUERY;
		source->names = names_array(ingest);
		source->widths = widths_array(ingest);
		source->nrows = -1;
		return;
	}
	options.may_overflow = false;
	options.spool = true;
	options.cpu_reason = strcpy(reason, ingest->job->place.reason);
	gr_ingest_read(ingest, &options);
	source->job = ingest->job;
	source->nskipped = ingest->nskipped;
}

bool
gr_source_sample(GrRowSource *source, const GrIngest *ingest, int nterms, GrRowSource *sample, double *share)
{
	bool		in_file = source->kind == GR_SOURCE_JOB && source->job->file != NULL;
	double		limit = (double) gr_ring_size * 1024 / gr_row_nbytes(source->nfeatures, false);
	double		nrows = in_file ? source->job->nrows : Max(ingest->nrows_estimate, limit);
	double		wanted = Min(Min(SAMPLE_NBYTES_MAX / gr_row_nbytes(source->nfeatures, false), limit), nrows / SAMPLE_PART);
	double		started = gr_now();

	if ((source->kind != GR_SOURCE_QUERY && !in_file) || wanted < SAMPLE_ROWS_A_TERM * nterms)
		return false;
	memset(sample, 0, sizeof(*sample));
	sample->kind = GR_SOURCE_JOB;
	sample->nfeatures = source->nfeatures;
	sample->job = in_file ? gr_job_head(source->job, (int64) wanted) : gr_ingest_sample(ingest, (int64) wanted);
	source->pass_s += gr_now() - started;
	if (sample->job == NULL)
		return false;
	*share = sample->job->nrows / nrows;
	return sample->job->nfeatures == source->nfeatures && sample->job->nrows >= SAMPLE_ROWS_A_TERM * nterms;
}

/* Every pass must meet the same rows: the sums of different ones don't go together. */
static void
check_same_rows(GrRowSource *source, const GrPass *pass, const double *sums)
{
	int64		nrows = (int64) sums[GR_SUM_NROWS];

	if (pass->nfaces > 0)
		return;
	if (source->nrows < 0)
		source->nrows = nrows;
	if (nrows != source->nrows)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_EXCEPTION),
				 errmsg("query returned other rows when it was run again"),
				 errdetail("It returned " INT64_FORMAT " complete rows, and then " INT64_FORMAT ".", source->nrows, nrows),
				 errhint("Store its result in a table, or raise gpureg.ring_size so that its rows are kept.")));
}

static void
pass_over_query(GrRowSource *source, const GrPass *pass, double *sums)
{
	Oid			types[3] = {source->step_type, TEXTARRAYOID, INT4ARRAYOID};
	Datum		values[3] = {PointerGetDatum(gr_step_request(pass, source->basis)), source->names, source->widths};
	ParamListInfo params = gr_make_params(3, values, types);
	GrStep	   *step;
	Datum		result;
	bool		isnull;

	result = gr_run_for_value(source->plan, params, &isnull);
	if (isnull)
		gr_raise_no_rows(0);
	step = gr_step_settled(result);
	if (step->nfeatures != pass->nfeatures || step->kind != pass->kind)
		elog(ERROR, "gpu_logreg_pass returned another pass");
	gr_pass_merge(pass->kind, pass->nfeatures, sums, gr_step_sums(step));
	source->nskipped = step->nskipped;
	source->nworkers = Max(source->nworkers, step->nparts - 1);
	if ((Pointer) step != DatumGetPointer(result))
		pfree(step);
	pfree(DatumGetPointer(result));
	pfree(params);
	pfree(DatumGetPointer(values[0]));
	check_same_rows(source, pass, sums);
}

/* The caller's rows stay as they are. */
static void
pass_over_chunks(const GrRowSource *source, const GrPass *pass, double *sums)
{
	int			ncols = source->nfeatures + 1;
	int64		piece = source->basis == NULL ? POLL_WORK / ncols + 1 : CHANGED_NBYTES / (ncols * sizeof(double)) + 1;
	double	   *scratch = palloc_extended(gr_pass_scratch_nbytes(pass->kind, pass->nfeatures), MCXT_ALLOC_HUGE);
	double	   *changed = source->basis == NULL ? NULL : palloc_extended(piece * ncols * sizeof(double), MCXT_ALLOC_HUGE);

	for (const GrRowChunk *chunk = source->chunks; chunk != NULL; chunk = chunk->next)
	{
		for (int64 from = 0; from < chunk->nrows; from += piece)
		{
			int64		n = Min(piece, chunk->nrows - from);
			const double *rows = chunk->rows + from * ncols;

			CHECK_FOR_INTERRUPTS();
			if (changed != NULL)
			{
				memcpy(changed, rows, n * ncols * sizeof(double));
				gr_change_rows(source->basis, changed, n);
				rows = changed;
			}
			gr_add_pass(pass, sums, rows, n, scratch);
		}
	}
	if (changed != NULL)
		pfree(changed);
	pfree(scratch);
}

void
gr_source_change(GrRowSource *source, const GrBasis *basis)
{
	Assert(source->basis == NULL);
	if (source->kind == GR_SOURCE_JOB)
		gr_job_change(source->job, basis);
	source->basis = basis;
}

void
gr_source_pass(GrRowSource *source, const GrPass *pass, double *sums)
{
	double		started = gr_now();

	switch (source->kind)
	{
		case GR_SOURCE_JOB:
			gr_job_pass(source->job, pass, sums);
			break;
		case GR_SOURCE_CHUNKS:
			pass_over_chunks(source, pass, sums);
			break;
		case GR_SOURCE_QUERY:
			pass_over_query(source, pass, sums);
			break;
	}
	source->npasses++;
	source->pass_s += gr_now() - started;
}
