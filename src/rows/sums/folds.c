/*
 * folds.c: parts the rows of a cross-validation into folds; see folds.h.
 */
#include "postgres.h"

#include <math.h>

#include "miscadmin.h"
#include "utils/memutils.h"

#include "compute/base/fold_draw.h"
#include "compute/design/derive.h"
#include "compute/resample/boot_draw.h"
#include "rows/columns/levels.h"
#include "rows/sums/folds.h"
#include "run/args.h"
#include "run/clock.h"
#include "run/raise.h"

/* Keys from 0 to SMALL_MAX are searched first, because most folds are small integers. */
#define SMALL_MAX 127

/*
 * Parts
 */

/* Returns the derivation of the rows, without keys, whose keys are from least to most. */
static GrDerivation *
derive_part(GrRowShape shape, double least, double most)
{
	int			key = gr_key_at(shape);
	GrFilterStep steps[3] = {{GR_FILTER_GE, key, least}, {GR_FILTER_LE, key, most}, {GR_FILTER_AND, 0, 0}};
	GrFilterStep is = {GR_FILTER_EQ, key, least};
	int		   *columns = palloc(Max(shape.nfeatures, 1) * sizeof(int));
	GrDeriveOptions options = {
		.ncolumns = gr_row_ncols(shape),.response = gr_response_at(shape),
		.weight = shape.weight ? gr_weight_at(shape) : -1,.offset = shape.offset ? gr_offset_at(shape) : -1,.key = -1,
		.columns = columns,.nfeatures = shape.nfeatures,.steps = least == most ? &is : steps,
		.nsteps = least == most ? 1 : 3
	};
	GrDerivation *derivation;
	GrError		err = {0};

	for (int k = 0; k < shape.nfeatures; k++)
		columns[k] = k;
	derivation = gr_derivation_make(&options, gr_context_memory(CurrentMemoryContext), &err);
	if (derivation == NULL)
		gr_raise(&err);
	pfree(columns);
	return derivation;
}

static int64
count_keys(GrJob *job, double least, double most)
{
	GrDerivation *derivation = derive_part(job->shape, least, most);
	GrDeriveCounts counts;

	gr_job_count(job, derivation, &counts);
	pfree(derivation);
	return counts.nrows + counts.nweightless;
}

void
gr_raise_many_folds(int most)
{
	ereport(ERROR,
			(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
			 errmsg("there are more than %d folds", most),
			 errhint("Name a fold column that has fewer values, or leave fold out to have folds drawn.")));
}

static void
add_label(GrFoldRows *rows, int64 label)
{
	if (rows->n == GR_FOLDS_MAX)
		gr_raise_many_folds(GR_FOLDS_MAX);
	rows->label[rows->n++] = label;
}

/* Finds the distinct keys from least to most, which n rows have, by bisection. */
static void
find_labels(GrFoldRows *rows, GrJob *job, int64 least, int64 most, int64 n)
{
	int64		middle = least + (most - least) / 2;
	int64		nlower;

	check_stack_depth();
	if (n == 0)
		return;
	if (least == most)
	{
		add_label(rows, least);
		return;
	}
	nlower = count_keys(job, (double) least, (double) middle);
	find_labels(rows, job, least, middle, nlower);
	find_labels(rows, job, middle + 1, most, n - nlower);
}

static void
list_labels(GrFoldRows *rows, GrJob *job, int nfolds)
{
	rows->label = palloc(GR_FOLDS_MAX * sizeof(int64));
	for (int k = 1; k <= nfolds; k++)
		add_label(rows, k);
	if (nfolds > 0)
		return;
	if (count_keys(job, 0, SMALL_MAX) == job->nrows)
		find_labels(rows, job, 0, SMALL_MAX, job->nrows);
	else
		find_labels(rows, job, -GR_BOOT_KEY_MAX, GR_BOOT_KEY_MAX, job->nrows);
}

/*
 * Returns an upper estimate of the rows of a part: six standard deviations above the mean if folds are drawn, else
 * their exact number.
 */
static int64
expected_nrows(GrJob *job, int nfolds, int64 label)
{
	double		mean = (double) job->nrows / nfolds;

	return nfolds > 0 ? Min(job->nrows, (int64) (mean + 6 * sqrt(mean) + 64)) :
		count_keys(job, (double) label, (double) label);
}

GrFoldRows *
gr_fold_rows(GrJob *job, int nfolds, const char *const *names)
{
	GrFoldRows *rows = palloc0(sizeof(GrFoldRows));
	int			n = 0;

	Assert(job->shape.key && !job->overflowed);
	list_labels(rows, job, nfolds);
	rows->shape = job->shape;
	rows->shape.key = false;
	rows->rules = job->rules;
	rows->part = palloc0(rows->n * sizeof(GrJob *));
	rows->first_sums = palloc0(rows->n * sizeof(double *));
	for (int k = 0; k < rows->n; k++)
	{
		double		label = (double) rows->label[k];
		GrDerivation *derivation = derive_part(job->shape, label, label);
		GrJob	   *part = gr_job_part(job, derivation, names, expected_nrows(job, nfolds, rows->label[k]));

		pfree(derivation);
		if (part->nrows == 0)
		{
			gr_job_release(part);
			continue;
		}
		rows->label[n] = rows->label[k];
		rows->part[n++] = part;
		rows->nrows += part->nrows;
	}
	rows->n = n;
	/* The parts have the rows now. */
	gr_job_end_sink(job);
	gr_spool_end(&job->spool);
	if (rows->n < 2)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("cross-validation needs at least two folds, got %d", rows->n),
				 nfolds > 0 ? errdetail("The keys of all rows were drawn into one fold.") :
				 errdetail("The fold is the same in every row used."),
				 errhint("Name a column that has different values among these rows.")));
	return rows;
}

void
gr_fold_release(GrFoldRows *rows)
{
	for (int k = 0; k < rows->n; k++)
		gr_job_release(rows->part[k]);
}

/*
 * Passes
 */

/* True if request equals the first request that left out a fold. Equal requests have equal bytes. */
static bool
is_first(const GrFoldRows *rows, const GrRequest *request)
{
	return rows->first != NULL && gr_request_nbytes(rows->first) == gr_request_nbytes(request) &&
		memcmp(rows->first, request, gr_request_nbytes(request)) == 0;
}

static void
note_first(GrFoldRows *rows, const GrRequest *request)
{
	Size		nbytes = gr_request_nbytes(request);

	rows->first = memcpy(MemoryContextAllocHuge(GetMemoryChunkContext(rows), nbytes), request, nbytes);
}

static void
sum_part(GrFoldRows *rows, int part, const GrRequest *request, double *sums)
{
	double		started = gr_now();

	gr_job_sums(rows->part[part], request, sums);
	rows->npasses++;
	rows->pass_s += gr_now() - started;
}

void
gr_fold_part_sums(GrFoldRows *rows, int part, GrRequest *request, double *sums)
{
	sum_part(rows, part, request, sums);
	pfree(request);
}

/* Returns a part's sums of the first request. Makes them at the first call. */
static const double *
first_sums(GrFoldRows *rows, int part, const GrRequest *request)
{
	double	   *sums = rows->first_sums[part];

	if (sums != NULL)
		return sums;
	sums = MemoryContextAllocHuge(GetMemoryChunkContext(rows), gr_request_nsums(request) * sizeof(double));
	gr_request_clear(request, sums);
	sum_part(rows, part, request, sums);
	return rows->first_sums[part] = sums;
}

void
gr_fold_request(GrFoldRows *rows, int left_out, const GrRequest *request, double *sums)
{
	bool		first;

	/* Note the pass that each fit begins with, which has neither faces nor a factor. */
	if (left_out != GR_NO_FOLD && rows->first == NULL && request->nfaces == 0 &&
		request->offsets[GR_REQUEST_FACTOR] == 0)
		note_first(rows, request);
	first = left_out != GR_NO_FOLD && is_first(rows, request);
	for (int k = 0; k < rows->n; k++)
	{
		CHECK_FOR_INTERRUPTS();
		if (k != left_out && first)
			gr_request_merge(request, sums, first_sums(rows, k, request));
		else if (k != left_out)
			sum_part(rows, k, request, sums);
	}
}

GrRowTotals
gr_fold_totals(const GrFoldRows *rows, int left_out)
{
	GrRowTotals totals = {0};

	for (int k = 0; k < rows->n; k++)
		if (k != left_out)
			gr_totals_merge(&totals, &rows->part[k]->totals);
	return totals;
}

int64
gr_fold_nrows(const GrFoldRows *rows, int left_out)
{
	return rows->nrows - (left_out == GR_NO_FOLD ? 0 : rows->part[left_out]->nrows);
}
