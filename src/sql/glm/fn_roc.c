/*
 * fn_roc.c: gpu_roc, gpu_calibration, gpu_lift and gpu_confusion, which compare a query's scores with its labels.
 *
 * The first three are sums over the walk of ranking_walk.h. Rows that share a score are never divided: neither by a
 * threshold nor by a bin.
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/tuplestore.h"

#include "compute/base/dd.h"
#include "run/args.h"
#include "run/clock.h"
#include "run/result.h"
#include "sql/glm/ranking_query.h"
#include "sql/glm/ranking_walk.h"

PG_FUNCTION_INFO_V1(gr_roc);
PG_FUNCTION_INFO_V1(gr_calibration);
PG_FUNCTION_INFO_V1(gr_lift);
PG_FUNCTION_INFO_V1(gr_confusion);

/* Limit of the number of bins. Documented in docs/reference/tests.md. */
#define BINS_MAX 10000

/* Most columns of a result */
#define NCOLUMNS_MAX 16

/* Rows that are being put into a result */
typedef struct Output
{
	ReturnSetInfo *rsinfo;
	Datum		values[NCOLUMNS_MAX];
	bool		nulls[NCOLUMNS_MAX];
	int			n;				/* columns of the current row so far */
} Output;

static void
put_count(Output *output, int64 count)
{
	output->values[output->n] = Int64GetDatum(count);
	output->nulls[output->n++] = false;
}

/* Adds a column of a number, NULL if it is NaN. */
static void
put_number(Output *output, double x)
{
	gr_set_float(&output->values[output->n], &output->nulls[output->n], x);
	output->n++;
}

static void
end_row(Output *output)
{
	tuplestore_putvalues(output->rsinfo->setResult, output->rsinfo->setDesc, output->values, output->nulls);
	output->n = 0;
	CHECK_FOR_INTERRUPTS();
}

/* Returns a / b, or NaN if b is 0. */
static double
share(int64 a, int64 b)
{
	return b == 0 ? NAN : (double) a / (double) b;
}

/* Returns a / b of products of counts, rounded once; NaN if b is 0. */
static double
share_of_products(GrDD a, GrDD b)
{
	return b.hi == 0 ? NAN : gr_dd_to_double(gr_dd_div(a, b));
}

static GrDD
product(int64 a, int64 b)
{
	return gr_two_prod((double) a, (double) b);
}

/*
 * gpu_roc
 */

/* A point of the curve: the rows that have at least a score, by label */
typedef struct Point
{
	double		threshold;
	int64		zeros;
	int64		ones;
} Point;

typedef struct Curve
{
	Output		output;
	int64		nzeros;
	int64		nones;
	bool		corners;		/* points within straight lines are left out */
} Curve;

static void
put_point(Curve *curve, const Point *point)
{
	Output	   *output = &curve->output;
	double		sensitivity = share(point->ones, curve->nones);
	double		specificity = share(curve->nzeros - point->zeros, curve->nzeros);

	put_number(output, point->threshold);
	/* NaN is a number to PostgreSQL: no score reaches it */
	output->nulls[0] = false;
	put_count(output, point->ones);
	put_count(output, point->zeros);
	put_count(output, curve->nzeros - point->zeros);
	put_count(output, curve->nones - point->ones);
	put_number(output, sensitivity);
	put_number(output, specificity);
	put_number(output, share(point->ones, point->ones + point->zeros));
	put_number(output, sensitivity + specificity - 1);
	end_row(output);
}

/* True if b is on the straight line from a to c. */
static bool
is_straight(const Point *a, const Point *b, const Point *c)
{
	GrDD		one = product(b->zeros - a->zeros, c->ones - b->ones);
	GrDD		other = product(c->zeros - b->zeros, b->ones - a->ones);

	return one.hi == other.hi && one.lo == other.lo;
}

static void
take_curve(GrRanking *ranking, void *arg)
{
	Curve	   *curve = arg;
	GrRankingWalk walk;
	Point		last = {INFINITY, 0, 0};	/* last point of the result */
	Point		next = {0};
	bool		more;

	curve->nzeros = gr_ranking_nrows(ranking, false);
	curve->nones = gr_ranking_nrows(ranking, true);
	gr_ranking_walk_begin(&walk, ranking);
	more = gr_ranking_walk_next(&walk);
	/* the threshold of no row must be above all scores */
	if (more && isinf(walk.score) && walk.score > 0)
		last.threshold = NAN;
	put_point(curve, &last);
	while (more)
	{
		next = (Point) {walk.score, walk.false_positives, walk.true_positives};
		more = gr_ranking_walk_next(&walk);
		if (more && curve->corners &&
			is_straight(&last, &next, &(Point) {walk.score, walk.false_positives, walk.true_positives}))
			continue;
		put_point(curve, &next);
		last = next;
	}
}

/* gpu_roc(query text, corners boolean): the points of the ROC curve */
Datum
gr_roc(PG_FUNCTION_ARGS)
{
	GrRankingQuery query = {.fcinfo = fcinfo,.function = "gpu_roc",.began = gr_now()};
	Curve		curve = {0};

	InitMaterializedSRF(fcinfo, 0);
	if (PG_ARGISNULL(1))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("corners must not be null")));
	curve.output.rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	curve.corners = PG_GETARG_BOOL(1);
	gr_rank_query(&query, take_curve, &curve);
	return (Datum) 0;
}

/*
 * gpu_calibration and gpu_lift
 */

/* The rows of a bin */
typedef struct Bin
{
	int64		nrows;
	int64		nones;
	double		lowest;
	double		highest;
	GrDD		sum;			/* of the scores */
} Bin;

typedef struct Bins
{
	Bin		   *bins;
	int			n;
	bool		uniform;		/* bins of equal width, not of equal numbers of rows */
	int64		nrows;			/* of all bins */
	int64		nones;
} Bins;

/* Returns the argument "bins". */
static int
read_bins(FunctionCallInfo fcinfo)
{
	int			n;

	if (PG_ARGISNULL(1))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("bins must not be null")));
	n = PG_GETARG_INT32(1);
	if (n < 1 || n > BINS_MAX)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("bins must be between 1 and %d, got %d", BINS_MAX, n)));
	return n;
}

/* Counts the rows of a state. Raises an ERROR if the number times that of the bins is out of range. */
static void
begin_bins(Bins *bins, const GrRanking *ranking)
{
	bins->nones = gr_ranking_nrows(ranking, true);
	bins->nrows = gr_ranking_nrows(ranking, false);
	gr_add_count(&bins->nrows, bins->nones);
	if (bins->nrows > PG_INT64_MAX / bins->n)
		gr_raise_count();
}

static void
add_to_bin(Bin *bin, const GrRankingWalk *walk)
{
	int64		nrows = walk->zeros + walk->ones;

	if (bin->nrows == 0)
		bin->highest = walk->score;
	bin->lowest = walk->score;
	bin->nrows += nrows;
	bin->nones += walk->ones;
	bin->sum = gr_dd_add(bin->sum, gr_two_prod((double) nrows, walk->score));
}

/*
 * Returns the bin of a probability p: the number of inner limits k / n of bins that are less than p. A row on a limit
 * belongs to the lower bin, as in R's cut().
 */
static int
uniform_bin(const Bins *bins, double p)
{
	int			bin = Min((int) (p * bins->n), bins->n - 1);

	/* the product may be rounded across a limit */
	while (bin > 0 && (double) bin / bins->n >= p)
		bin--;
	while (bin < bins->n - 1 && (double) (bin + 1) / bins->n < p)
		bin++;
	return bin;
}

/*
 * Returns the bin of a score with nless rows of lesser scores: the number of inner quantiles of R's type 7 that are
 * less than the score. Quantile k is between the sorted scores floor(k (nrows - 1) / n) and the next one, counted from
 * 0. It is less than the score if the former is, which it is if its number is less than nless.
 */
static int
quantile_bin(const Bins *bins, int64 nless)
{
	int64		k;

	if (nless == 0)
		return 0;
	/* the greatest k with floor(k (nrows - 1) / n) <= nless - 1, hence k (nrows - 1) < n nless */
	k = (nless * bins->n - 1) / (bins->nrows - 1);
	return (int) Min(k, bins->n - 1);
}

static void
take_calibration(GrRanking *ranking, void *arg)
{
	Bins	   *bins = arg;
	GrRankingWalk walk;

	begin_bins(bins, ranking);
	gr_ranking_walk_begin(&walk, ranking);
	while (gr_ranking_walk_next(&walk))
	{
		int64		nless = bins->nrows - walk.true_positives - walk.false_positives;

		if (!(walk.score >= 0 && walk.score <= 1))
			ereport(ERROR,
					(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
					 errmsg("probability must be between 0 and 1, got %g", walk.score),
					 errhint("Use gpu_roc or gpu_lift for scores that are not probabilities.")));
		add_to_bin(&bins->bins[bins->uniform ? uniform_bin(bins, walk.score) : quantile_bin(bins, nless)], &walk);
	}
}

/* Returns whether the argument "strategy" is uniform. */
static bool
read_strategy(FunctionCallInfo fcinfo)
{
	char	   *strategy;

	if (PG_ARGISNULL(2))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("strategy must not be null")));
	strategy = text_to_cstring(PG_GETARG_TEXT_PP(2));
	if (strcmp(strategy, "quantile") != 0 && strcmp(strategy, "uniform") != 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("unknown strategy \"%s\"", strategy),
				 errhint("The strategies are quantile (bins of equal size) and uniform (bins of equal width).")));
	return strcmp(strategy, "uniform") == 0;
}

/* gpu_calibration(query text, bins int, strategy text): mean probabilities and shares of ones, by bin */
Datum
gr_calibration(PG_FUNCTION_ARGS)
{
	GrRankingQuery query = {.fcinfo = fcinfo,.function = "gpu_calibration",.began = gr_now()};
	Bins		bins = {.n = read_bins(fcinfo),.uniform = read_strategy(fcinfo)};
	Output		output = {.rsinfo = (ReturnSetInfo *) fcinfo->resultinfo};

	InitMaterializedSRF(fcinfo, 0);
	bins.bins = palloc0(bins.n * sizeof(Bin));
	gr_rank_query(&query, take_calibration, &bins);
	for (int k = 0; k < bins.n; k++)
	{
		const Bin  *bin = &bins.bins[k];

		if (bin->nrows == 0)
			continue;
		output.values[output.n] = Int32GetDatum(k + 1);
		output.nulls[output.n++] = false;
		put_count(&output, bin->nrows);
		put_count(&output, bin->nones);
		put_number(&output, bin->lowest);
		put_number(&output, bin->highest);
		put_number(&output, share_of_products(bin->sum, gr_dd((double) bin->nrows)));
		put_number(&output, share(bin->nones, bin->nrows));
		end_row(&output);
	}
	return (Datum) 0;
}

static void
take_lift(GrRanking *ranking, void *arg)
{
	Bins	   *bins = arg;
	GrRankingWalk walk;

	begin_bins(bins, ranking);
	gr_ranking_walk_begin(&walk, ranking);
	while (gr_ranking_walk_next(&walk))
	{
		int64		ngreater = walk.true_positives + walk.false_positives - walk.zeros - walk.ones;

		add_to_bin(&bins->bins[ngreater * bins->n / bins->nrows], &walk);
	}
}

/* gpu_lift(query text, bins int): how ones gather among the rows of the greatest scores */
Datum
gr_lift(PG_FUNCTION_ARGS)
{
	GrRankingQuery query = {.fcinfo = fcinfo,.function = "gpu_lift",.began = gr_now()};
	Bins		bins = {.n = read_bins(fcinfo)};
	Output		output = {.rsinfo = (ReturnSetInfo *) fcinfo->resultinfo};
	int64		nrows = 0;
	int64		nones = 0;

	InitMaterializedSRF(fcinfo, 0);
	bins.bins = palloc0(bins.n * sizeof(Bin));
	gr_rank_query(&query, take_lift, &bins);
	for (int k = 0; k < bins.n; k++)
	{
		const Bin  *bin = &bins.bins[k];

		if (bin->nrows == 0)
			continue;
		nrows += bin->nrows;
		nones += bin->nones;
		output.values[output.n] = Int32GetDatum(k + 1);
		output.nulls[output.n++] = false;
		put_count(&output, bin->nrows);
		put_count(&output, bin->nones);
		put_number(&output, bin->lowest);
		put_number(&output, bin->highest);
		put_number(&output, share(bin->nones, bin->nrows));
		put_number(&output, share_of_products(product(bin->nones, bins.nrows), product(bin->nrows, bins.nones)));
		put_count(&output, nrows);
		put_count(&output, nones);
		put_number(&output, share(nones, bins.nones));
		put_number(&output, share_of_products(product(nones, bins.nrows), product(nrows, bins.nones)));
		end_row(&output);
	}
	return (Datum) 0;
}

/*
 * gpu_confusion
 */

/* The element of gpu_confusion_pass's array of counts for a prediction and a label */
enum
{
	FALSE_NEGATIVES, TRUE_NEGATIVES, TRUE_POSITIVES, FALSE_POSITIVES, NCOUNTS
};

/* Returns Cohen's kappa: (po - pe) / (1 - pe), as a quotient of sums of products of counts. */
static double
kappa(const int64 *c)
{
	GrDD		agree = gr_dd_sub(product(c[TRUE_POSITIVES], c[TRUE_NEGATIVES]),
								  product(c[FALSE_POSITIVES], c[FALSE_NEGATIVES]));
	GrDD		rows = product(c[TRUE_POSITIVES] + c[FALSE_POSITIVES], c[FALSE_POSITIVES] + c[TRUE_NEGATIVES]);
	GrDD		columns = product(c[TRUE_POSITIVES] + c[FALSE_NEGATIVES], c[FALSE_NEGATIVES] + c[TRUE_NEGATIVES]);

	return share_of_products(gr_dd_add(agree, agree), gr_dd_add(rows, columns));
}

/* Returns the correlation of predictions and labels (Matthews), or NaN if either are all the same. */
static double
matthews(const int64 *c)
{
	GrDD		agree = gr_dd_sub(product(c[TRUE_POSITIVES], c[TRUE_NEGATIVES]),
								  product(c[FALSE_POSITIVES], c[FALSE_NEGATIVES]));
	GrDD		predicted = product(c[TRUE_POSITIVES] + c[FALSE_POSITIVES], c[FALSE_NEGATIVES] + c[TRUE_NEGATIVES]);
	GrDD		labels = product(c[TRUE_POSITIVES] + c[FALSE_NEGATIVES], c[FALSE_POSITIVES] + c[TRUE_NEGATIVES]);

	if (predicted.hi == 0 || labels.hi == 0)
		return NAN;
	return gr_dd_to_double(agree) / (sqrt(gr_dd_to_double(predicted)) * sqrt(gr_dd_to_double(labels)));
}

static void
put_confusion(Output *output, const int64 *c)
{
	int64		ones = c[TRUE_POSITIVES] + c[FALSE_NEGATIVES];
	int64		zeros = c[TRUE_NEGATIVES] + c[FALSE_POSITIVES];
	int64		positives = c[TRUE_POSITIVES] + c[FALSE_POSITIVES];
	double		sensitivity = share(c[TRUE_POSITIVES], ones);
	double		specificity = share(c[TRUE_NEGATIVES], zeros);

	put_count(output, c[TRUE_POSITIVES]);
	put_count(output, c[FALSE_POSITIVES]);
	put_count(output, c[TRUE_NEGATIVES]);
	put_count(output, c[FALSE_NEGATIVES]);
	put_number(output, share(c[TRUE_POSITIVES] + c[TRUE_NEGATIVES], ones + zeros));
	put_number(output, sensitivity);
	put_number(output, specificity);
	put_number(output, share(c[TRUE_POSITIVES], positives));
	put_number(output, share(c[TRUE_NEGATIVES], c[TRUE_NEGATIVES] + c[FALSE_NEGATIVES]));
	put_number(output, share(2 * c[TRUE_POSITIVES], positives + ones));
	put_number(output, (sensitivity + specificity) / 2);
	put_number(output, kappa(c));
	put_number(output, matthews(c));
	put_number(output, share(ones, ones + zeros));
	end_row(output);
}

/* gpu_confusion(query text, threshold float8): counts of predictions, 1 where the score is at least threshold */
Datum
gr_confusion(PG_FUNCTION_ARGS)
{
	GrRankingQuery query = {.fcinfo = fcinfo,.function = "gpu_confusion",.began = gr_now()};
	Output		output = {.rsinfo = (ReturnSetInfo *) fcinfo->resultinfo};
	ArrayType  *array;
	const int64 *counts;
	int64		nrows = 0;

	InitMaterializedSRF(fcinfo, 0);
	if (PG_ARGISNULL(1) || isnan(PG_GETARG_FLOAT8(1)))
		ereport(ERROR,
				(errcode(PG_ARGISNULL(1) ? ERRCODE_NULL_VALUE_NOT_ALLOWED : ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("threshold must not be %s", PG_ARGISNULL(1) ? "null" : "NaN")));
	array = DatumGetArrayTypeP(gr_aggregate_scores(&query, "gpu_confusion_pass", INT8ARRAYOID, PG_GETARG_FLOAT8(1)));
	counts = (const int64 *) ARR_DATA_PTR(array);
	for (int k = 0; k < NCOUNTS; k++)
		nrows += counts[k];
	gr_record_scores(&query, nrows);
	if (nrows > 0)
		put_confusion(&output, counts);
	return (Datum) 0;
}
