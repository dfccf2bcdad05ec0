/*
 * enet_rows.c: the rows of an elastic net; see enet_rows.h.
 *
 * A query runs once. Of a linear regression its sums are made where these are made, and those of folds by PostgreSQL,
 * which groups the rows; kept rows are summed up by a pass over all, or over each fold. Of a logistic regression rows
 * are kept for passes, those of each fold by themselves, so that a pass over all but one fold is one over each other.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "rows/query/query.h"
#include "run/args.h"
#include "run/clock.h"
#include "run/report.h"
#include "sql/enet/enet_rows.h"
#include "sql/glm/glm_fit.h"
#include "sql/linear/ols_fit.h"

void
gr_check_nfolds(int n)
{
	if (n < 2 || n > GR_FOLDS_MAX)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("folds must be between 2 and %d, got %d", GR_FOLDS_MAX, n)));
}

bool
gr_enet_is_binomial(const char *family)
{
	if (strcmp(family, "binomial") == 0)
		return true;
	if (strcmp(family, "gaussian") != 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("unknown family \"%s\" of an elastic net", family),
				 errhint("Use 'gaussian' or 'binomial'.")));
	return false;
}

static GrFamily
family_of(const GrEnetRequest *request)
{
	return request->binomial ? GR_BINOMIAL : GR_GAUSSIAN;
}

static void
prepare(FunctionCallInfo fcinfo, const GrEnetRequest *request, GrIngest *ingest)
{
	gr_ingest_prepare(request->rows.query, fcinfo->flinfo->fn_oid, family_of(request), &request->roles, ingest);
}

/*
 * Rows for passes
 */

static void
read_kept(const GrEnetRequest *request, GrEnetRows *rows)
{
	GrRowRules	rules = {family_of(request), request->roles.weighting, 0};

	if (request->nfolds > 0)
		rows->source = gr_kept_read_folds(&request->rows, rules, &request->roles, request->nfolds, GR_FOLDS_MAX,
										  &rows->ingest, &rows->n);
	else
		gr_kept_read(&request->rows, rules, &request->roles, &rows->ingest, rows->source);
}

void
gr_enet_read(FunctionCallInfo fcinfo, const GrEnetRequest *request, GrEnetRows *rows)
{
	memset(rows, 0, sizeof(*rows));
	rows->n = 1;
	rows->source = palloc0(sizeof(GrRowSource));
	if (request->rows.kept != NULL)
		read_kept(request, rows);
	else
	{
		prepare(fcinfo, request, &rows->ingest);
		if (request->nfolds > 0)
			rows->source = gr_fold_rows_read(&rows->ingest, request->nfolds, &rows->n);
		else
		{
			gr_source_read(rows->source, &rows->ingest);
			if (rows->ingest.nrows == 0 && rows->source->kind == GR_SOURCE_JOB)
				gr_raise_no_rows(rows->ingest.nskipped);
		}
	}
	rows->nskipped = rows->ingest.nskipped;
	rows->read_done = gr_now();
}

/* Of several sources the rows are those of all, and the seconds too. */
static void
record(const GrEnetRequest *request, const GrEnetRows *rows)
{
	GrQueryFit	fit = {.source = rows->source[0],.read_done = rows->read_done};

	gr_glm_record_query(request->function, &fit, request->started);
	for (int f = 1; f < rows->n; f++)
	{
		const GrJob *job = rows->source[f].job;

		gr_last_run.nrows += job->nrows;
		gr_last_run.bytes_to_device += job->times.bytes_to_device;
		gr_last_run.copy_s += job->times.copy_s;
		gr_last_run.kernel_s += job->times.kernel_s;
	}
}

const char *
gr_enet_release(const GrEnetRequest *request, GrEnetRows *rows)
{
	const char *device = pstrdup(rows->source[0].job->place.device);

	record(request, rows);
	for (int f = 0; f < rows->n; f++)
		gr_job_release(rows->source[f].job);
	return device;
}

/*
 * Sums
 */

static GrFoldSums
make_sums(int nfeatures)
{
	Size		triangle = gr_triangle(gr_norder(nfeatures));
	GrFoldSums	sums = {.hi = palloc_extended((2 * triangle + gr_nterms(nfeatures)) * sizeof(double),
											  MCXT_ALLOC_HUGE)};

	sums.lo = sums.hi + triangle;
	sums.shift = sums.lo + triangle;
	return sums;
}

/* Of a source whose rows are kept */
static GrFoldSums
sum_source(GrRowSource *source)
{
	GrFoldSums	sums = make_sums(source->shape.nfeatures);

	gr_ols_sum_kept(source, sums.hi, sums.lo, sums.shift);
	sums.nobs = gr_job_nobs(source->job);
	return sums;
}

/* Of the ingest's job */
static GrFoldSums
sum_job(GrJob *job)
{
	GrFoldSums	sums = make_sums(job->shape.nfeatures);

	gr_job_finish(job, sums.hi, sums.lo, sums.shift);
	sums.nobs = gr_job_nobs(job);
	return sums;
}

static GrEnetSums
named_sums(const GrFoldSums *sums, const GrIngest *ingest)
{
	return (GrEnetSums) {
		.hi = sums->hi,.lo = sums->lo,.shift = sums->shift,.nfeatures = ingest->nfeatures,.nobs = sums->nobs,
		.names = (const char *const *) ingest->names
	};
}

static GrEnetSums
sum_query(const GrEnetRequest *request, GrIngest *ingest, double *log_constant, const char **device)
{
	GrPlace		place = {0};
	GrState    *state = gr_source_sum(ingest, &place);
	GrFoldSums	sums;
	double		read_done = gr_now();

	*device = "cpu";
	if (state != NULL)
	{
		sums = (GrFoldSums) {
			.hi = gr_state_hi(state),.lo = gr_state_lo(state),.shift = gr_state_shift(state),
			.nobs = gr_state_nobs(state)
		};
		*log_constant = state->log_constant;
		gr_record_pass(request->function, &place, state->nrows, state->nfeatures, state->nworkers, request->started,
					   read_done, read_done);
		return named_sums(&sums, ingest);
	}
	sums = sum_job(ingest->job);
	*log_constant = ingest->job->totals.log_constant;
	*device = pstrdup(ingest->job->place.device);
	read_done = gr_now();
	gr_record_run(request->function, ingest->job, request->started, read_done, read_done);
	gr_job_release(ingest->job);
	return named_sums(&sums, ingest);
}

GrEnetSums
gr_enet_sum(FunctionCallInfo fcinfo, const GrEnetRequest *request, GrIngest *ingest, double *log_constant,
			const char **device)
{
	GrEnetRows	rows;
	GrFoldSums	sums;

	if (request->rows.kept == NULL)
	{
		prepare(fcinfo, request, ingest);
		return sum_query(request, ingest, log_constant, device);
	}
	gr_enet_read(fcinfo, request, &rows);
	sums = sum_source(rows.source);
	*ingest = rows.ingest;
	*log_constant = rows.source->totals.log_constant;
	*device = gr_enet_release(request, &rows);
	return named_sums(&sums, ingest);
}

/* Of kept rows, each fold's by passes over its own */
static GrFolds *
sum_kept_folds(FunctionCallInfo fcinfo, const GrEnetRequest *request, GrIngest *ingest, const char **device)
{
	GrEnetRows	rows;
	GrFolds    *folds;

	gr_enet_read(fcinfo, request, &rows);
	*ingest = rows.ingest;
	folds = gr_folds_create(ingest->nfeatures, (const char *const *) ingest->names);
	for (int f = 0; f < rows.n; f++)
	{
		GrFoldSums	sums = sum_source(&rows.source[f]);

		gr_folds_add(folds, sums.hi, sums.lo, sums.shift, sums.nobs, 0, rows.source[f].totals.log_constant);
		pfree(sums.hi);
	}
	*device = gr_enet_release(request, &rows);
	return folds;
}

GrFolds *
gr_enet_sum_folds(FunctionCallInfo fcinfo, const GrEnetRequest *request, GrIngest *ingest, const char **device)
{
	GrPlace		place = {0};
	GrState   **state;
	GrFolds    *folds;
	double		read_done;
	int			nworkers = 0;
	int			n;

	if (request->rows.kept != NULL)
		return sum_kept_folds(fcinfo, request, ingest, device);
	prepare(fcinfo, request, ingest);
	state = gr_source_folds(ingest, request->nfolds, &n);
	folds = gr_folds_create(ingest->nfeatures, (const char *const *) ingest->names);
	for (int k = 0; k < n; k++)
	{
		if (state[k]->nrows > 0)
			gr_folds_add(folds, gr_state_hi(state[k]), gr_state_lo(state[k]), gr_state_shift(state[k]),
						 gr_state_nobs(state[k]), 0, state[k]->log_constant);
		nworkers = Max(nworkers, state[k]->nworkers);
	}
	read_done = gr_now();
	gr_place_on_cpu(&place, "the rows were grouped into folds");
	gr_record_pass(request->function, &place, ingest->nrows, ingest->nfeatures, nworkers, request->started,
				   read_done, read_done);
	*device = "cpu";
	return folds;
}
