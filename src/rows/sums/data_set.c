/*
 * data_set.c: opens the rows of a fit; see data_set.h.
 *
 * A query runs once if its rows fit. PostgreSQL or a job makes the Gram matrix of all its rows; PostgreSQL groups the
 * rows for the matrices of folds. Kept rows are summed by passes.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "compute/resample/boot.h"
#include "rows/sums/cells.h"
#include "rows/sums/data_set.h"
#include "run/args.h"
#include "run/clock.h"
#include "run/grams.h"
#include "run/raise.h"
#include "run/report.h"
#include "run/request.h"

/* A kept column whose mean is further from 0 than this many standard deviations is summed about its mean. */
#define FAR_SPREADS 4.0

/*
 * Sums by passes
 */

/* Copies gram's triangle out of a pass's sums, where it follows a row of ones. */
static void
take_gram(const double *of_pass, GrGram *gram)
{
	const double *hi = of_pass + GR_SUM_HEAD;
	const double *lo = hi + gr_triangle(gr_norder(gram->nfeatures) + 1);

	for (int64 i = 1; i <= gr_norder(gram->nfeatures); i++)
		for (int64 j = 1; j <= i; j++)
			gr_gram_set(gram, i - 1, j - 1, (GrDD) {hi[gr_packed(i, j)], lo[gr_packed(i, j)]});
}

/*
 * Sums the rows of a source in one pass, or two if a column needs a shift. The response is never shifted: passes cannot
 * shift it.
 */
static GrGram
sum_source(GrRowSource *source)
{
	int			p = source->shape.nfeatures;
	GrGram		sums = gr_gram_make(p);
	double	   *of_pass = palloc_extended(gr_pass_nsums(GR_PASS_EXACT, p) * sizeof(double), MCXT_ALLOC_HUGE);
	GrError		err = {0};
	int			column;

	do
	{
		gr_pass_clear(GR_PASS_EXACT, p, of_pass);
		gr_source_sums(source, gr_linear_request(source->shape, source->rules, sums.shift), of_pass);
		take_gram(of_pass, &sums);
	} while (source->npasses == 1 && gr_gram_choose_shift(&sums, FAR_SPREADS, sums.shift));
	pfree(of_pass);
	if (!gr_gram_finite(sums.hi, p, &column))
	{
		gr_fail(&err, GR_OUT_OF_RANGE, column, "%s", "");
		gr_job_fail(source->job, &err);
	}
	sums.nsummed = source->job->nrows;
	sums.nobs = gr_job_nobs(source->job);
	sums.log_constant = source->totals.log_constant;
	return sums;
}

/* Sums each part about the shift. */
static void
sum_parts_about(GrFoldRows *parts, const double *shift, GrGram *sums)
{
	int			p = parts->shape.nfeatures;
	double	   *of_pass = palloc_extended(gr_pass_nsums(GR_PASS_EXACT, p) * sizeof(double), MCXT_ALLOC_HUGE);

	for (int k = 0; k < parts->n; k++)
	{
		CHECK_FOR_INTERRUPTS();
		gr_pass_clear(GR_PASS_EXACT, p, of_pass);
		gr_fold_part_sums(parts, k, gr_linear_request(parts->shape, parts->rules, shift), of_pass);
		take_gram(of_pass, &sums[k]);
		memcpy(sums[k].shift, shift, gr_nterms(p) * sizeof(double));
	}
	pfree(of_pass);
}

/* Sums each part, in two passes if a column of all rows is far from 0. */
static GrGram *
sum_parts(GrFoldRows *parts, const char *const *names)
{
	int			p = parts->shape.nfeatures;
	GrGram	   *sums = palloc(parts->n * sizeof(GrGram));
	GrGram		all;
	double	   *shift = palloc0(gr_nterms(p) * sizeof(double));
	GrError		err = {0};
	int			column;

	for (int k = 0; k < parts->n; k++)
	{
		sums[k] = gr_gram_make(p);
		sums[k].nsummed = sums[k].nobs = parts->part[k]->nrows;
	}
	sum_parts_about(parts, shift, sums);
	all = gr_gram_duplicate(&sums[0]);
	for (int k = 1; k < parts->n; k++)
		gr_gram_join(&all, &sums[k]);
	if (gr_gram_choose_shift(&all, FAR_SPREADS, shift))
		sum_parts_about(parts, shift, sums);
	for (int k = 0; k < parts->n; k++)
		if (!gr_gram_finite(sums[k].hi, p, &column))
		{
			(void) gr_fail(&err, GR_OUT_OF_RANGE, column, "%s", "");
			gr_raise_columns(&err, p, names);
		}
	return sums;
}

GrGram
gr_finish_job(GrJob *job)
{
	GrGram		sums = gr_gram_make(job->shape.nfeatures);

	gr_job_finish(job, &sums);
	return sums;
}

/*
 * Sums that PostgreSQL makes
 */

static GrGram
state_sums(GrState *state)
{
	GrGram		sums = gr_state_gram(state);

	sums.nsummed = state->nrows;
	return sums;
}

/* Sums all rows of the query, by an aggregate or by a job. */
static void
sum_query(GrDataSet *data)
{
	GrIngest   *ingest = &data->ingest;
	GrState    *state;

	data->n = 1;
	data->sums = palloc(sizeof(GrGram));
	if (ingest->cells != NULL)
	{
		data->nworkers = gr_cells_nworkers(ingest->cells);
		data->sums[0] = gr_cells_gram(ingest);
		data->nsummed = ingest->nfeatures;
		gr_place_on_cpu(&data->place, "the rows were summed by the levels of factors");
		return;
	}
	state = gr_source_sum(ingest, &data->place);
	if (state != NULL)
	{
		data->sums[0] = state_sums(state);
		data->nsummed = state->nfeatures;
		data->nworkers = state->nworkers;
		return;
	}
	data->job = ingest->job;
	data->sums[0] = gr_finish_job(data->job);
}

/* Sums each fold of the query's rows. */
static void
sum_query_folds(GrDataSet *data)
{
	bool		by_key = data->wanted.use == GR_ROWS_PART_SUMS;
	int64	   *labels = NULL;
	int			n;
	GrState   **state = by_key ? gr_source_key_folds(&data->ingest, &labels, &n) :
		gr_source_folds(&data->ingest, data->wanted.nfolds, &n);

	data->sums = palloc(Max(n, 1) * sizeof(GrGram));
	data->label = palloc0(Max(n, 1) * sizeof(int64));
	for (int k = 0; k < n; k++)
	{
		data->nworkers = Max(data->nworkers, state[k]->nworkers);
		if (state[k]->nrows == 0)
			continue;
		data->sums[data->n] = state_sums(state[k]);
		data->label[data->n++] = by_key ? labels[k] : 0;
	}
	data->nsummed = data->ingest.nfeatures;
	gr_place_on_cpu(&data->place, "the rows were grouped into folds");
}

/*
 * Folds sums over the rows that were read, in place, if powers are in two columns (ingest->nlow > 0); see
 * gr_gram_fold(). Then ingest->nfeatures and names are without the rests.
 */
static void
fold_sums(GrIngest *ingest, GrGram *gram)
{
	GrPoll		poll = {.host = &gr_host};
	GrError		err = {0};
	int			nfeatures;
	int		   *rest_of;
	const char **names;

	rest_of = gr_frame_rests(ingest->row_design, &nfeatures);
	if (!gr_gram_fold(gram, rest_of, ingest->nlow, &poll))
	{
		(void) gr_fail(&err, GR_CANCELED, 0, "Gram matrix");
		gr_raise(&err);
	}
	names = palloc((nfeatures + 1) * sizeof(char *));
	memcpy(names, ingest->names, nfeatures * sizeof(char *));
	names[nfeatures] = ingest->names[ingest->nfeatures];
	ingest->names = names;
	ingest->nfeatures = nfeatures;
}

/*
 * Opening
 */

static void
open_query(GrDataSet *data)
{
	const GrRowsWanted *wanted = &data->wanted;
	GrIngest   *ingest = &data->ingest;

	gr_ingest_prepare(wanted->from.query, wanted->function, wanted->family, wanted->roles,
					  wanted->use == GR_ROWS_SUM ? gr_cells_read : NULL, ingest);
	ingest->rules.theta = wanted->theta;
	ingest->more = wanted->more;
	ingest->parted = wanted->use == GR_ROWS_PARTS;
	switch (wanted->use)
	{
		case GR_ROWS_SUM:
			sum_query(data);
			break;
		case GR_ROWS_FOLD_SUMS:
		case GR_ROWS_PART_SUMS:
			sum_query_folds(data);
			break;
		case GR_ROWS_FOLD_PASSES:
			data->source = gr_fold_rows_read(ingest, wanted->nfolds, &data->n);
			break;
		case GR_ROWS_PASSES:
		case GR_ROWS_PARTS:
			data->n = 1;
			data->source = palloc(sizeof(GrRowSource));
			gr_source_read(data->source, ingest);
			if (ingest->nrows == 0 && data->source->kind == &gr_source_held)
				gr_raise_no_ingested(ingest, ingest->nskipped);
			break;
	}
}

static void
open_kept(GrDataSet *data)
{
	const GrRowsWanted *wanted = &data->wanted;
	GrRowRules	rules = {wanted->family, wanted->roles->weighting, wanted->theta};

	if (wanted->use == GR_ROWS_FOLD_PASSES || wanted->use == GR_ROWS_FOLD_SUMS)
		data->source = gr_kept_read_folds(&wanted->from, rules, wanted->roles, wanted->nfolds, GR_NET_FOLDS_MAX,
										  &data->ingest, &data->n);
	else
	{
		data->n = 1;
		data->source = palloc(sizeof(GrRowSource));
		gr_kept_read(&wanted->from, rules, wanted->roles, &data->ingest, data->source);
	}
}

GrDataSet *
gr_open_rows(const GrRowsWanted *wanted)
{
	GrDataSet  *data = palloc0(sizeof(GrDataSet));
	bool		has_parts = wanted->use == GR_ROWS_PARTS || wanted->use == GR_ROWS_PART_SUMS;

	data->wanted = *wanted;
	if (wanted->from.kept != NULL)
		open_kept(data);
	else
		open_query(data);
	if (data->source != NULL)
	{
		data->job = data->source[0].job;
		if (has_parts)
		{
			data->source->left_out = GR_NO_FOLD;
			data->source->folds = gr_fold_rows(data->job, wanted->roles->nfolds, data->ingest.names);
		}
		if (wanted->use == GR_ROWS_PART_SUMS)
		{
			data->n = data->source->folds->n;
			data->sums = sum_parts(data->source->folds, data->ingest.names);
			data->label = data->source->folds->label;
		}
		else if (wanted->use == GR_ROWS_SUM || wanted->use == GR_ROWS_FOLD_SUMS)
		{
			data->sums = palloc(data->n * sizeof(GrGram));
			for (int k = 0; k < data->n; k++)
				data->sums[k] = sum_source(&data->source[k]);
		}
	}
	if (wanted->from.kept == NULL)
		gr_ingest_check(&data->ingest, gr_rows_nskipped(data));
	data->read_done = gr_now();
	if (wanted->use == GR_ROWS_SUM && data->ingest.nlow > 0)
		fold_sums(&data->ingest, &data->sums[0]);
	return data;
}

/*
 * Reports
 */

/* Appends to the reason of the last run. */
static void append_reason(const char *format,...) pg_attribute_printf(1, 2);

static void
append_reason(const char *format,...)
{
	Size		used = strlen(gr_last_run.reason);
	va_list		args;

	va_start(args, format);
	vsnprintf(gr_last_run.reason + used, sizeof(gr_last_run.reason) - used, format, args);
	va_end(args);
}

/* Records a run over a query that was read again for each pass. */
static void
record_query(const GrDataSet *data)
{
	const GrRowSource *source = data->source;
	GrRun	   *run = &gr_last_run;

	run->nrows = source->nrows;
	run->nworkers = source->nworkers;
	/* A pass reads and computes at the same time. */
	run->read_s = source->pass_s;
	run->solve_s = run->total_s - source->pass_s;
	if (source->for_workers)
		append_reason("; %s is worth parallel workers: ", data->wanted.more->name);
	else
		append_reason("; %s", source->remote ? "" : "more rows than gpureg.ring_size holds: ");
	if (source->nsampled > 0)
		append_reason("after a fit to its first " INT64_FORMAT " rows ", source->nsampled);
	append_reason("the query was run %d times", source->npasses);
}

/* Records that the query was run, or kept rows were read back, for the sums of clusters. */
static void
record_clusters(const GrRowSource *source)
{
	int			n = source->nclusterings;

	if (source->kept_clusters != NULL && n == 1)
		append_reason("; they were read back once for the sums of clusters");
	else if (source->kept_clusters != NULL)
		append_reason("; they were read back %d times for the sums of clusters", n);
	else if (n == 1)
		append_reason("; the query was run once more for the sums of clusters");
	else
		append_reason("; the query was run %d times more for the sums of clusters", n);
}

void
gr_record_rows(GrDataSet *data, const char *name, double started)
{
	const GrFoldRows *parts = data->source == NULL ? NULL : data->source->folds;
	const GrJob *holder = parts != NULL ? parts->part[0] : data->job;

	if (data->job == NULL)
	{
		gr_record_pass(&data->place, &(GrPassRecord) {
			.function = name,.nrows = data->ingest.nrows,.nfeatures = data->nsummed,.nworkers = data->nworkers,
			.started = started,.read_done = data->read_done,.solved = gr_now()
		});
		return;
	}
	gr_record_run(name, data->job, started, data->read_done, gr_now());
	for (int k = 0; parts != NULL && k < parts->n; k++)
		gr_last_run.kernel_s += gr_job_times(parts->part[k])->kernel_s;
	if (parts != NULL)
		append_reason("; %d folds, %d passes over one each", parts->n, parts->npasses);
	if (holder->spool.file != NULL)
		append_reason("; the rows went to a temporary file");
	if (data->refitted)
		append_reason("; read and fitted twice, as terms are collinear or separated");
	if (parts != NULL || data->source == NULL)
		return;
	if (data->source->kind == &gr_source_query)
		record_query(data);
	if (data->source->nclusterings > 0)
		record_clusters(data->source);
	/* The first source is recorded: add the counts and times of the others. */
	for (int f = 1; f < data->n; f++)
	{
		GrJob	   *job = data->source[f].job;
		const GrTimes *times = gr_job_times(job);

		gr_last_run.nrows += job->nrows;
		gr_last_run.bytes_to_device += times->bytes_to_device;
		gr_last_run.copy_s += times->copy_s;
		gr_last_run.kernel_s += times->kernel_s;
	}
}

void
gr_release_rows(GrDataSet *data)
{
	bool		has_folds = data->source != NULL && data->source->folds != NULL;

	if (data->source == NULL && data->job != NULL)
		gr_job_release(data->job);
	for (int f = 0; data->source != NULL && f < (has_folds ? 1 : data->n); f++)
		data->source[f].kind->close(&data->source[f]);
}

const char *
gr_rows_device(const GrDataSet *data)
{
	return data->job == NULL ? "cpu" : pstrdup(data->job->place.device);
}

const char *
gr_close_rows(GrDataSet *data, const char *name, double started)
{
	const char *device = gr_rows_device(data);

	gr_record_rows(data, name, started);
	gr_release_rows(data);
	return device;
}

int64
gr_rows_nskipped(const GrDataSet *data)
{
	return data->source != NULL && data->n == 1 ? data->source->nskipped : data->ingest.nskipped;
}
