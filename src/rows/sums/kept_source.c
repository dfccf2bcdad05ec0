/*
 * kept_source.c: reads the rows of a fit from kept rows. A formula, roles and a filter become a derivation, by which
 * the service makes the rows; see derive.h.
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "utils/builtins.h"

#include "compute/classes/multinom_sums.h"
#include "compute/design/derive.h"
#include "rows/columns/design_values.h"
#include "rows/columns/levels.h"
#include "rows/kept/kept_numbers.h"
#include "rows/kept/kept_set.h"
#include "rows/query/classes.h"
#include "rows/query/frame.h"
#include "rows/sums/folds.h"
#include "rows/sums/kept_clusters.h"
#include "rows/sums/kept_source.h"
#include "run/args.h"
#include "run/device.h"
#include "run/job.h"
#include "run/raise.h"

/* State of reading kept rows for one fit */
typedef struct Reading
{
	const GrFitRows *rows;
	GrRoles		roles;
	GrRowRules	rules;
	GrKeptSet	set;
	GrRemoteClient *client;
	GrQuery		described;		/* the kept columns, described as a query's, and the key behind them, if any */
	int			key;			/* kept column of the key; -1: none */
	int			fold;			/* kept column whose values are the folds; -1: none */
	int			nclusters;		/* number of cluster columns */
	int			nsides;			/* number of absorbed columns and cluster columns */
	int			sides[GR_SIDES_MAX];	/* kept columns that are absorbed, then those of clusters */
	int		   *clusters;		/* kept columns of a fit's clusters, or of a bootstrap's key: the last of sides */
	int			ncluster_steps; /* number of last steps, which leave out rows in no cluster */
	GrFilterStep *steps;		/* the filter's steps; see read_filter() */
	int			nsteps;
	int			found[GR_ROLES_MAX];	/* positions of the response and the columns with roles */
	int			nroles;
	int			class_column;	/* kept column of the response, whose numbers stand for classes; -1: none */
} Reading;

static void raise_none(const GrDeriveCounts *counts) __attribute__((noreturn));

static void
raise_none(const GrDeriveCounts *counts)
{
	ereport(ERROR,
			(errcode(ERRCODE_NO_DATA_FOUND),
			 errmsg("no kept row is left to use"),
			 errdetail(INT64_FORMAT " rows were excluded by the filter, and " INT64_FORMAT " because of a NULL.",
					   (int64) counts->nfiltered, (int64) counts->nskipped),
			 errhint("Relax the filter, or leave out columns that are often NULL.")));
}

static Oid
type_of(GrKeptKind kind)
{
	return kind == GR_KEPT_FACTOR ? TEXTOID : kind == GR_KEPT_BOOLEAN ? BOOLOID : FLOAT8OID;
}

static bool
has_name(const Reading *r, const char *name)
{
	for (int k = 0; k < r->set.ncolumns; k++)
		if (strcmp(r->set.names[k], name) == 0)
			return true;
	return false;
}

/* Raises an ERROR unless the numbers of the column are keys; see boot_draw.h. Codes of levels are. */
static void
check_key(const GrKeptColumn *column)
{
	if (!column->keys)
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("kept column \"%s\" cannot be used as a key", column->name),
				 errdetail("Kept keys and clusters must be integers of at most 2^53, booleans, texts or enums."),
				 errhint("Keep the column as text, which allows up to %d different values.", GR_MAX_FEATURES)));
}

/*
 * Adds the key's column again behind the others, as add_key() of ingest.c does for a query. The column itself is a
 * feature only if a formula names it.
 */
static void
add_key(Reading *r)
{
	int			n = r->set.ncolumns;
	GrKeptColumn *columns = palloc((n + 1) * sizeof(GrKeptColumn));
	const char **names = palloc((n + 1) * sizeof(char *));
	char	   *made;

	r->key = -1;
	if (r->roles.key == NULL)
		return;
	r->key = gr_find_column(n, r->set.names, r->roles.key_role, r->roles.key);
	check_key(&r->set.columns[r->key]);
	if (r->roles.key_is_fold && r->set.columns[r->key].kind == GR_KEPT_FACTOR)
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("kept column \"%s\" is a category", r->roles.key),
				 errdetail("Folds must be integers or booleans.")));
	made = psprintf("(%s)", r->roles.key);
	while (has_name(r, made))
		made = psprintf("(%s)", made);
	memcpy(columns, r->set.columns, n * sizeof(GrKeptColumn));
	memcpy(names, r->set.names, n * sizeof(char *));
	columns[n] = columns[r->key];
	columns[n].name = names[n] = r->roles.made_key = made;
	columns[n].kind = GR_KEPT_NUMBER;
	r->set.columns = columns;
	r->set.names = names;
	r->roles.nclusters = 1;
	r->roles.clusters[0] = r->roles.key;
	if (strcmp(r->roles.key_role, "clusters") == 0)
	{
		r->sides[r->nsides++] = r->key;
		r->nclusters++;
	}
}

static void
describe_as_query(Reading *r)
{
	int			n = r->set.ncolumns + (r->key >= 0 ? 1 : 0);
	TupleDesc	columns = CreateTemplateTupleDesc(n);

	for (int k = 0; k < n; k++)
		TupleDescInitEntry(columns, k + 1, NULL,
						   k == r->class_column ? FLOAT8OID : type_of(r->set.columns[k].kind), -1, 0);
	r->described.columns = columns;
	r->described.names = r->set.names;
}

/* Reads the filter's steps. Allocates room for steps that has_level() and add_step() append. */
static void
read_filter(Reading *r)
{
	/* add_step() checks GR_FILTER_STEPS_MAX; has_level() writes two steps before it checks. */
	r->steps = palloc((GR_FILTER_STEPS_MAX + 2) * sizeof(GrFilterStep));
	if (r->rows->filter != NULL)
		r->nsteps = gr_kept_filter(&r->set, r->rows->filter, r->steps);
}

/* Appends `AND step` to the filter. beside: what needs the step, for the message */
static void
add_step(Reading *r, GrFilterStep step, const char *beside)
{
	bool		first = r->nsteps == 0;

	if (r->nsteps + 2 > GR_FILTER_STEPS_MAX)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("filter has too many comparisons for a fit with %s", beside),
				 errhint("Use fewer comparisons, or keep only these rows: put the filter into the WHERE clause of the "
						 "query of gpu_keep().")));
	r->steps[r->nsteps++] = step;
	if (!first)
		r->steps[r->nsteps++] = (GrFilterStep) {GR_FILTER_AND, 0, 0};
}

/*
 * Finds the absorbed and the cluster columns of a fit. Rows with a NULL there are left out, as by wrap_rows() in
 * frame.c.
 */
static void
find_clusters(Reading *r)
{
	int			nsteps = r->nsteps;

	if (r->key >= 0)
		return;
	r->nclusters = r->roles.nclusters;
	r->nsides = gr_find_sides(r->set.ncolumns, r->set.names, &r->roles, r->sides);
	r->clusters = r->sides + r->roles.nabsorbed;
	for (int k = 0; k < r->nsides; k++)
	{
		check_key(&r->set.columns[r->sides[k]]);
		if (r->set.columns[r->sides[k]].nulls)
			add_step(r, (GrFilterStep) {GR_FILTER_IS_NOT_NULL, r->sides[k], 0}, "clusters");
	}
	r->ncluster_steps = r->nsteps - nsteps;
}

/*
 * Derivations
 */

/* Returns the options of a derivation without features. */
static GrDeriveOptions
derive_options(const Reading *r, const int *found, int nroles)
{
	return (GrDeriveOptions) {
		.ncolumns = r->set.ncolumns,.response = found[0],
		.weight = r->roles.weights != NULL ? found[1] : -1,
		.offset = r->roles.offsets != NULL ? found[nroles - 1 - (r->key >= 0 ? 1 : 0)] : -1,.key = r->key,
		.nfolds = r->roles.nfolds,.fold_seed = r->roles.fold_seed,.steps = r->steps,.nsteps = r->nsteps
	};
}

/* Returns the options of a fit's derivation, with the keys of its clusters if rows are to have them. */
static GrDeriveOptions
fit_options(const Reading *r, const int *found, int nroles)
{
	GrDeriveOptions options = derive_options(r, found, nroles);

	if (r->roles.cluster_keys && r->key < 0 && r->nclusters > 0)
	{
		options.key = r->clusters[0];
		options.second_key = r->nclusters > 1 ? &r->clusters[1] : NULL;
	}
	return options;
}

static GrDerivation *
make_derivation(const GrDeriveOptions *options)
{
	GrError		err = {0};
	GrDerivation *d = gr_derivation_make(options, gr_context_memory(CurrentMemoryContext), &err);

	if (d == NULL)
		gr_raise(&err);
	return d;
}

/* Returns the names of a derived row's numbers, in the order of row.h. The caller sets the names of the features. */
static const char **
name_roles(const Reading *r, const int *found, int nroles, int nfeatures)
{
	const char **names = palloc0((nfeatures + GR_ROLES_MAX) * sizeof(char *));

	for (int i = 0; i < nroles; i++)
		names[nfeatures + i] = r->set.names[found[i]];
	return names;
}

/* Counts the rows that a derivation makes, and checks them. */
static GrDeriveCounts
count_rows(const Reading *r, const GrDerivation *d, const char *const *names)
{
	GrSinkOptions sink = {.kind = GR_SINK_KEEP};
	GrDeriveCounts counts = {0};
	const GrDeriveTask task = {.derivation = d,.rules = r->rules,.options = &sink,.counts = &counts};
	GrError		err = {0};

	if (gr_remote_derive(r->client, r->set.entry.id, &task, &gr_host, &err))
		return counts;
	if (err.status == GR_INVALID)
		gr_raise_kept_gone(r->rows->kept);
	gr_note_device_error(&err);
	gr_raise_row(&err, gr_derived_shape(d), names);
}

/*
 * Levels
 */

/* True if a column has all its levels in complete rows, without a look at the rows: no row is left out. */
static bool
has_all_levels(const Reading *r, const int *found, int nroles, const bool *used)
{
	bool		nulls = false;

	for (int k = 0; k < r->set.ncolumns; k++)
		nulls |= used[k] && r->set.columns[k].nulls;
	for (int i = 0; i < nroles; i++)
		nulls |= r->set.columns[found[i]].nulls;
	return r->nsteps == 0 && !nulls;
}

/* True if a complete row has the number code in column k. */
static bool
has_level(Reading *r, GrDeriveOptions *options, int k, double code, const char *const *names)
{
	GrDeriveCounts counts;

	r->steps[r->nsteps] = (GrFilterStep) {GR_FILTER_EQ, k, code};
	r->steps[r->nsteps + 1] = (GrFilterStep) {GR_FILTER_AND, 0, 0};
	options->nsteps = r->nsteps + (r->nsteps > 0 ? 2 : 1);
	if (options->nsteps > GR_FILTER_STEPS_MAX)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("filter has too many comparisons for a fit with factors"),
				 errhint("Use fewer comparisons, or keep only these rows: put the filter into the WHERE clause of the "
						 "query of gpu_keep().")));
	counts = count_rows(r, make_derivation(options), names);
	return counts.nrows + counts.nweightless > 0;
}

/* Adds the levels of column k in complete rows; see GrFrameColumns. */
static void
find_levels(void *arg, int k, const int *found, int nroles, const bool *used, GrLevels *levels)
{
	Reading    *r = arg;
	const GrKeptColumn *column = &r->set.columns[k];
	GrDeriveOptions options = derive_options(r, found, nroles);
	int		   *features = palloc(r->set.ncolumns * sizeof(int));
	double	   *codes = palloc(Max(column->levels.n, 2) * sizeof(double));
	GrLevels	all = {0};
	const char **names;

	gr_kept_check_factor(column);
	gr_kept_levels(column, &all, codes);
	if (column->kind == GR_KEPT_FACTOR && has_all_levels(r, found, nroles, used))
	{
		*levels = all;
		return;
	}
	for (int j = 0; j < r->set.ncolumns; j++)
		if (used[j])
			features[options.nfeatures++] = j;
	options.columns = features;
	names = name_roles(r, found, nroles, options.nfeatures);
	for (int j = 0; j < options.nfeatures; j++)
		names[j] = r->set.names[features[j]];
	for (int i = 0; i < all.n; i++)
		if (has_level(r, &options, k, codes[i], names))
			gr_kept_add_level(levels, all.level[i]);
	if (levels->n == 0)
	{
		GrDeriveCounts counts;

		options.nsteps = r->nsteps;
		counts = count_rows(r, make_derivation(&options), names);
		raise_none(&counts);
	}
}

static double
find_center(void *arg, int k)
{
	return ((const Reading *) arg)->set.columns[k].center;
}

/*
 * Features
 */

/* Returns the kept columns that the design's columns are. */
static int *
design_columns(const Reading *r, const GrDesign *design)
{
	int		   *columns = palloc(Max(design->ncolumns, 1) * sizeof(int));

	for (int k = 0; k < design->ncolumns; k++)
		columns[k] = gr_find_column(r->set.ncolumns, r->set.names, NULL, gr_design_column_name(design, k));
	return columns;
}

/* Returns the codes of the levels of each column of the design; NULL for a column without levels. */
static const double *const *
design_codes(const Reading *r, const GrDesign *design, const int *columns)
{
	const double **codes = palloc0(Max(design->ncolumns, 1) * sizeof(double *));

	for (int k = 0; k < design->ncolumns; k++)
	{
		const GrLevels *levels = &design->columns[k].levels;
		const GrKeptColumn *column = &r->set.columns[columns[k]];
		double	   *of_levels = palloc(Max(levels->n, 1) * sizeof(double));

		for (int i = 0; i < levels->n; i++)
		{
			GrString	level = levels->level[i];
			bool		found = gr_kept_code(&r->set, columns[k], level.bytes, level.nbytes, &of_levels[i]);

			/* The levels of a boolean are false and true. */
			if (!found)
				of_levels[i] = column->kind == GR_KEPT_BOOLEAN && level.nbytes == 4 ? 1 : 0;
		}
		codes[k] = levels->n > 0 ? of_levels : NULL;
	}
	return codes;
}

/* Raises an ERROR if the kept column has bigints that were rounded. */
static void
check_digits(const GrKeptColumn *column)
{
	if (column->type == INT8OID && column->kind == GR_KEPT_NUMBER && column->digits == 0)
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("kept column \"%s\" has bigint values beyond 2^53, which were rounded", column->name),
				 errhint("Subtract a constant from the column in the query of gpu_keep(), or cast it to float8 there "
						 "to accept the rounding.")));
}

/* Calls check_digits() for all columns whose numbers the derivation reads. ncolumns: length of options->columns */
static void
check_all_digits(const Reading *r, const GrDeriveOptions *options, int ncolumns)
{
	for (int k = 0; k < ncolumns; k++)
		check_digits(&r->set.columns[options->columns[k]]);
	check_digits(&r->set.columns[options->response]);
	if (options->weight >= 0)
		check_digits(&r->set.columns[options->weight]);
	if (options->offset >= 0)
		check_digits(&r->set.columns[options->offset]);
}

/* Returns the derivation of the rows that the frame's design makes. */
static GrDerivation *
derive_design(const Reading *r, GrIngest *ingest)
{
	GrDeriveOptions options = fit_options(r, r->found, r->nroles);
	GrDesign   *design = ingest->row_design[0] == '\0' ? NULL :
		gr_open_design(CurrentMemoryContext, ingest->row_design, strlen(ingest->row_design));
	int		   *columns;

	if (design == NULL && ingest->row_design[0] != '\0')
		elog(ERROR, "malformed design");
	ingest->nfeatures = design == NULL ? 0 : design->nfeatures + ingest->nlow;
	ingest->names = name_roles(r, r->found, r->nroles, ingest->nfeatures);
	check_all_digits(r, &options, 0);
	if (design == NULL)
		return make_derivation(&options);
	gr_frame_names(design, ingest->nlow, ingest->names);
	options.pairs = ingest->nlow > 0;
	columns = design_columns(r, design);
	options.columns = columns;
	options.design = design;
	options.codes = design_codes(r, design, columns);
	check_all_digits(r, &options, design->ncolumns);
	return make_derivation(&options);
}

static bool
is_side(const Reading *r, int k)
{
	for (int i = 0; i < r->nsides; i++)
		if (r->sides[i] == k)
			return true;
	return false;
}

/* Returns the derivation of rows whose features are all columns without a role. */
static GrDerivation *
derive_columns(const Reading *r, GrIngest *ingest)
{
	GrDeriveOptions options = fit_options(r, r->found, r->nroles);
	int		   *columns = palloc(r->set.ncolumns * sizeof(int));

	for (int k = 0; k < r->set.ncolumns; k++)
		if (k != r->found[0] && k != options.weight && k != options.offset && k != options.key && k != r->fold &&
			!is_side(r, k))
			columns[options.nfeatures++] = k;
	options.columns = columns;
	ingest->nfeatures = options.nfeatures;
	ingest->names = name_roles(r, r->found, r->nroles, options.nfeatures);
	for (int k = 0; k < options.nfeatures; k++)
		ingest->names[k] = r->set.names[columns[k]];
	check_all_digits(r, &options, options.nfeatures);
	return make_derivation(&options);
}

/* Raises an ERROR if the response, a weight or an offset is a category. */
static void
check_roles(const Reading *r)
{
	for (int i = 0; i < r->nroles; i++)
		if (r->set.columns[r->found[i]].kind == GR_KEPT_FACTOR && r->found[i] != r->class_column)
			ereport(ERROR,
					(errcode(ERRCODE_DATATYPE_MISMATCH),
					 errmsg("kept column \"%s\" is a category", r->set.names[r->found[i]]),
					 i == 0 ? errdetail("The response must be a number or a boolean.") :
					 errdetail("Weights, frequencies and offsets must be numbers.")));
}

/* Finds the response, the roles and the design, if there is one. */
static void
find_features(Reading *r, GrIngest *ingest)
{
	const GrFrameColumns columns = {find_levels, find_center, r};
	GrFrame    *frame = gr_make_frame_of(&r->described, &columns, &r->roles);

	if (frame != NULL && frame->domain != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("functions and offset() in a formula cannot be used with kept rows"),
				 errhint("Keep the values under names of their own: compute them in the query of gpu_keep().")));
	ingest->intercept = frame == NULL ? r->roles.intercept : frame->intercept;
	ingest->design = frame == NULL ? NULL : frame->design;
	ingest->row_design = frame == NULL ? NULL : frame->row_design;
	ingest->nlow = frame == NULL ? 0 : frame->nlow;
	if (frame == NULL)
		r->nroles = gr_find_roles(r->described.columns->natts, r->set.names, &r->roles, r->found);
	else
	{
		r->nroles = frame->nroles;
		memcpy(r->found, frame->found, sizeof(r->found));
	}
	check_roles(r);
}

static GrDerivation *
derive_features(const Reading *r, GrIngest *ingest)
{
	return ingest->row_design == NULL ? derive_columns(r, ingest) : derive_design(r, ingest);
}

/* Sets the classes of the response, whose kept column has their numbers. */
static void
find_classes(const Reading *r)
{
	const GrKeptColumn *column = &r->set.columns[r->class_column];
	double	   *codes = palloc(Max(column->levels.n, GR_MULTINOM_CLASSES_MAX + 1) * sizeof(double));
	GrLevels	levels = {0};
	int			n;

	gr_check_class_type(column->kind == GR_KEPT_FACTOR ? TEXTOID : column->type, column->name);
	if (column->kind != GR_KEPT_NUMBER)
		gr_kept_levels(column, &levels, codes);
	else
	{
		n = gr_kept_numbers(r->rows->kept, r->rows->filter, r->class_column, codes, GR_MULTINOM_CLASSES_MAX);
		for (int k = 0; k < n; k++)
		{
			char	   *label = psprintf("%.0f", k < GR_MULTINOM_CLASSES_MAX ? codes[k] : INFINITY);

			gr_kept_add_level(&levels, (GrString) {label, (int) strlen(label)});
		}
	}
	if (levels.n == 0)
		raise_none(&(GrDeriveCounts) {.nfiltered = r->set.entry.nrows});
	gr_set_classes(&r->roles, column->name, &levels, codes);
}

/*
 * Reading
 */

static void
check_request(const Reading *r)
{
	if (r->roles.unit_weights)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("the quasibinomial family needs weights for kept rows"),
				 errhint("Keep a column of ones, and pass its name as weights.")));
}

/* Has the service make the rows, at most nrows_max of them. */
static GrJob *
derive_job(const Reading *r, const GrIngest *ingest, const GrDerivation *d, int64 nrows_max, GrDeriveCounts *counts)
{
	GrJobOptions options = {
		.kind = GR_SINK_KEEP,.shape = gr_derived_shape(d),.rules = r->rules,.names = ingest->names,
		.keeper = r->client
	};
	GrJob	   *job;

	gr_check_terms(d->nfeatures, ingest->intercept);
	if (d->nfeatures == 0 && !gr_service_stands_in(r->client))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("a fit to rows kept on a GPU must have a feature"),
				 errhint("Pass a query instead of kept rows.")));
	job = gr_job_derive(&options, r->set.entry.id, d, nrows_max, counts);
	if (job == NULL)
		gr_raise_kept_gone(r->rows->kept);
	return job;
}

static void
describe_kept(void *arg)
{
	errcontext("kept rows \"%s\"", (const char *) arg);
}

/* Opens the kept rows and finds key, filter and clusters. */
static void
open_reading(Reading *r, GrIngest *ingest)
{
	memset(ingest, 0, sizeof(*ingest));
	check_request(r);
	r->clusters = r->sides;
	r->client = gr_kept_open(r->rows->kept, &r->set);
	r->class_column = r->roles.classes == NULL ? -1 : gr_class_column(r->set.ncolumns, r->set.names, &r->roles);
	add_key(r);
	describe_as_query(r);
	read_filter(r);
	find_clusters(r);
	if (r->class_column >= 0)
		find_classes(r);
}

/* Makes a source of the rows that pass the filter, at most nrows_max of them. */
static void
derive_source(const Reading *r, GrIngest *ingest, const GrDerivation *d, int64 nrows_max, GrRowSource *source,
			  GrDeriveCounts *counts)
{
	memset(source, 0, sizeof(*source));
	ingest->rules = source->rules = r->rules;
	ingest->shape = source->shape = gr_derived_shape(d);
	source->kind = &gr_source_held;
	source->job = ingest->job = derive_job(r, ingest, d, nrows_max, counts);
	ingest->nrows = counts->nrows;
	ingest->nrows_estimate = (double) counts->nrows;
	ingest->nskipped = source->nskipped = counts->nskipped;
	source->totals = counts->totals;
}

/*
 * Counts rows in no cluster as rows with a NULL; the filter's steps counted them as filtered. Counts again with the
 * filter's own steps. Each row passes the checks of that derivation or has a NULL: its response is a cluster column,
 * its family the gaussian.
 */
static void
count_clusterless(const Reading *r, GrDeriveCounts *counts)
{
	Reading		all = *r;
	int			feature = r->sides[0] == 0 ? 1 : 0;
	const char *names[] = {r->set.names[feature], r->set.names[r->sides[0]]};
	GrDeriveOptions options = {
		.ncolumns = r->set.ncolumns,.response = r->sides[0],.weight = -1,.offset = -1,.key = -1,
		.columns = &feature,.nfeatures = 1,.steps = r->steps,.nsteps = r->nsteps - r->ncluster_steps
	};
	int64		nclusterless;

	if (r->ncluster_steps == 0)
		return;
	all.rules = (GrRowRules) {GR_GAUSSIAN};
	nclusterless = counts->nfiltered - count_rows(&all, make_derivation(&options), names).nfiltered;
	counts->nfiltered -= nclusterless;
	counts->nskipped += nclusterless;
}

/* Describes the clusters of the source's rows; NULL: there are none. */
static const GrKeptClusters *
describe_clusters(const Reading *r, const GrDerivation *d)
{
	GrKeptClusters *clusters;

	if (r->nsides == 0)
		return NULL;
	clusters = palloc0(sizeof(GrKeptClusters));
	*clusters = (GrKeptClusters) {
		.kept = r->rows->kept,.set = r->set,.client = r->client,.derivation = d,.n = r->nclusters,
		.nabsorbed = r->roles.nabsorbed
	};
	memcpy(clusters->columns, r->clusters, r->nclusters * sizeof(int));
	memcpy(clusters->absorbed, r->sides, clusters->nabsorbed * sizeof(int));
	return clusters;
}

void
gr_kept_read(const GrFitRows *rows, GrRowRules rules, const GrRoles *roles, GrIngest *ingest, GrRowSource *source)
{
	Reading		r = {.rows = rows,.roles = *roles,.rules = rules,.fold = -1};
	ErrorContextCallback context = {.callback = describe_kept,.arg = unconstify(char *, rows->kept)};
	GrDeriveCounts counts = {0};
	GrDerivation *d;

	context.previous = error_context_stack;
	error_context_stack = &context;
	open_reading(&r, ingest);
	find_features(&r, ingest);
	d = derive_features(&r, ingest);
	/* Count first if a filter may leave rows out, so that no more memory is allocated than needed. */
	derive_source(&r, ingest, d, r.nsteps > 0 ? count_rows(&r, d, ingest->names).nrows : r.set.entry.nrows, source,
				  &counts);
	count_clusterless(&r, &counts);
	ingest->nskipped = source->nskipped = counts.nskipped;
	if (counts.nrows == 0)
		raise_none(&counts);
	source->kept_clusters = describe_clusters(&r, d);
	error_context_stack = context.previous;
}

/*
 * Folds
 */

/* Finds the column whose values are the folds. It has no other role. */
static void
find_fold(Reading *r, const char *name)
{
	r->fold = gr_find_column(r->set.ncolumns, r->set.names, r->roles.cluster_role, name);
	r->roles.nclusters = 1;
	r->roles.clusters[0] = name;
}

/* Lists the values of the fold column; ERROR if there are more than most. */
static double *
list_folds(const Reading *r, int most, int *n)
{
	const GrKeptColumn *column = &r->set.columns[r->fold];
	double	   *values = palloc(Max(most, Max(column->levels.n, 2)) * sizeof(double));

	if (column->kind == GR_KEPT_NUMBER)
		*n = gr_kept_numbers(r->rows->kept, r->rows->filter, r->fold, values, most);
	else
	{
		GrLevels	levels = {0};

		gr_kept_levels(column, &levels, values);
		*n = levels.n;
	}
	if (*n > most)
		gr_raise_many_folds(most);
	return values;
}

/*
 * Makes a source per fold. values: value of the fold column in each fold; NULL: folds are drawn. A row with a NULL only
 * in the fold column takes no part and is not counted.
 */
static void
read_folds(Reading *r, GrIngest *ingest, const double *values, int nfolds, GrRowSource *source, int *n)
{
	int			nsteps = r->nsteps;
	GrDeriveCounts all = {0};

	*n = 0;
	for (int k = 0; k < nfolds; k++)
	{
		GrDeriveCounts counts = {0};
		GrDerivation *d;

		CHECK_FOR_INTERRUPTS();
		/* Overwrite the steps of the previous fold. */
		r->nsteps = nsteps;
		add_step(r, values != NULL ? (GrFilterStep) {GR_FILTER_EQ, r->fold, values[k]} :
				 (GrFilterStep) {GR_FILTER_FOLD, r->set.ncolumns, GR_FOLD_VALUE(k, nfolds)}, "folds");
		d = derive_features(r, ingest);
		counts = count_rows(r, d, ingest->names);
		all.nskipped += counts.nskipped;
		all.nfiltered = counts.nfiltered;
		if (counts.nrows == 0)
			continue;
		derive_source(r, ingest, d, counts.nrows, &source[*n], &counts);
		all.nrows += counts.nrows;
		(*n)++;
	}
	if (all.nrows == 0)
		raise_none(&all);
	ingest->nrows = all.nrows;
	ingest->nrows_estimate = (double) all.nrows;
	ingest->nskipped = all.nskipped;
	ingest->job = NULL;
}

GrRowSource *
gr_kept_read_folds(const GrFitRows *rows, GrRowRules rules, const GrRoles *roles, int nfolds, int most,
				   GrIngest *ingest, int *n)
{
	Reading		r = {.rows = rows,.roles = *roles,.rules = rules,.fold = -1};
	ErrorContextCallback context = {.callback = describe_kept,.arg = unconstify(char *, rows->kept)};
	double	   *values = NULL;
	GrRowSource *source;

	context.previous = error_context_stack;
	error_context_stack = &context;
	r.roles.nclusters = 0;
	open_reading(&r, ingest);
	if (roles->nclusters > 0)
	{
		find_fold(&r, roles->clusters[0]);
		values = list_folds(&r, most, &nfolds);
	}
	find_features(&r, ingest);
	source = palloc0(Max(nfolds, 1) * sizeof(GrRowSource));
	read_folds(&r, ingest, values, nfolds, source, n);
	error_context_stack = context.previous;
	return source;
}
