/*
 * state_rows.c: the aggregates' transition functions, which add rows to a state.
 *
 * gpu_ols_agg(y, x...) and the like, gpu_logreg_step_agg(beta, y, x...) and gpu_glm_step_agg(family, link, beta, y,
 * x...) take features as arrays. gpu_ols_pass(request, names, widths, columns...) takes a query's columns as they are;
 * gpu_ols_fit() runs it over its query in parallel workers. gpu_ols_array_pass(y, x), with gpu_ols_agg's transition
 * function, and gpu_logreg_array_pass(request, y, x) run over a remote query: they depend only on their arguments and
 * the state. The aggregates differ in their sums; all hold rows back in the same way. Functions that run per row are
 * inlined with the state's type as a constant.
 */
#include "postgres.h"

#include <math.h>

#include "access/parallel.h"
#include "fmgr.h"
#include "utils/array.h"
#include "utils/builtins.h"

#include "compute/glm/glm_row.h"
#include "rows/columns/columns.h"
#include "rows/state/families.h"
#include "rows/state/state.h"
#include "rows/state/state_rows.h"
#include "run/args.h"
#include "run/raise.h"

PG_FUNCTION_INFO_V1(gr_ols_stats_accum);
PG_FUNCTION_INFO_V1(gr_ols_vector_accum);
PG_FUNCTION_INFO_V1(gr_wls_stats_accum);
PG_FUNCTION_INFO_V1(gr_logreg_step_accum);
PG_FUNCTION_INFO_V1(gr_glm_step_accum);
PG_FUNCTION_INFO_V1(gr_ols_pass_accum);
PG_FUNCTION_INFO_V1(gr_logreg_array_pass_accum);
PG_FUNCTION_INFO_V1(gr_wls_array_pass_accum);

/*
 * Rows
 */

/* Initial number of pending rows: the full number if the matrix is larger than all these rows anyway */
static int
first_capacity(GrStateType type, int p)
{
	const GrStateKind *f = &gr_state_kinds[type];

	return p < f->full_capacity ? f->first_capacity : f->full_capacity;
}

/* Counts a row that is left out. */
static Datum
skip_row(FunctionCallInfo fcinfo, GrState *state, GrStateType type)
{
	if (state == NULL)
		state = gr_state_create(type, -1, 0);
	gr_add_count(&state->nskipped, 1);
	return gr_state_result(fcinfo, state);
}

/*
 * Returns a state with room for another row: either a larger copy, in the current context, or the state with its
 * pending rows added. The aggregate copies a new state into its own context; that happens once or twice per state.
 */
static pg_noinline GrState *
make_room(GrState *state)
{
	GrStateType type = (GrStateType) state->type;
	int			full = gr_state_kinds[type].full_capacity;

	if (state->capacity < full)
		return gr_state_resize(state, state->capacity == 0 ? first_capacity(type, state->nfeatures) : full);
	gr_state_flush(state, NULL);
	return state;
}

/*
 * Returns the address for the next row, which has p features and maybe a weight. ERROR if the state has another number
 * of features. May replace *state.
 */
static inline double *
next_row(GrState **state, int p, bool weight)
{
	Size		ncols;

	gr_check_same_width((*state)->nfeatures, p);
	/* An aggregate of the user's may make a state take rows with and without weights. */
	if (unlikely((*state)->weight != weight))
		*state = gr_state_reshape(*state, (GrRowShape) {.nfeatures = p,.weight = weight}, GR_PRIOR_WEIGHTS,
								  (*state)->capacity);
	if (unlikely((*state)->npending == (*state)->capacity))
		*state = make_room(*state);
	ncols = gr_row_ncols((GrRowShape) {.nfeatures = p,.weight = weight,.offset = (*state)->offset});
	/* Pending rows are at the value's end, as in gr_state_pending(). */
	return (double *) ((char *) *state + VARSIZE(*state)) - ((*state)->capacity - (*state)->npending) * ncols;
}

static inline void
count_row(GrState *state)
{
	state->npending++;
	gr_add_count(&state->nrows, 1);
}

/*
 * True if the row needs no check before its batch is added. In a pass, NaN and infinity are not plain: the batch may be
 * added in another function, which knows no names of columns. In a Gram matrix, a value whose square is near float8's
 * range is not plain. roles: the row has a weight or an offset, so it is not plain
 */
static inline bool
is_plain(const double *row, int p, GrStateType type, bool roles)
{
	double		sum = 0;
	bool		extreme = false;

	if (roles)
		return false;
	if (type == GR_STATS)
	{
		for (int k = 0; k <= p; k++)
			extreme |= !(fabs(row[k]) < 1e140);
		return !extreme;
	}
	/* v * 0 is 0 for finite v and NaN otherwise */
	for (int k = 0; k <= p; k++)
		sum += row[k] * 0.0;
	return sum == 0 && (row[p] == 0 || row[p] == 1);
}

/*
 * Arrays
 */

/*
 * Creates a state for p features. before: state that has only left rows out, or NULL. beta: beta of the first complete
 * row, or NULL. family: NULL: the type's own
 */
static GrState *
first_state(const GrState *before, GrStateType type, const GrNamedFamily *family, ArrayType *beta, int p)
{
	int			n = beta == NULL ? 0 : ArrayGetNItems(ARR_NDIM(beta), ARR_DIMS(beta));
	const double *at = beta == NULL ? NULL : (const double *) ARR_DATA_PTR(beta);
	const uint8 *nulls = beta == NULL ? NULL : ARR_NULLBITMAP(beta);
	int			first = n == p ? 1 : 0;
	GrState    *state;

	gr_check_nfeatures(p);
	if (n != 0 && n != p && n != p + 1)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("beta has the wrong number of elements"),
				 errdetail("beta has %d elements, and x has %d.", n, p),
				 errhint("Pass the intercept and one coefficient per feature, only the coefficients for a model "
						 "without intercept, or '{}' for the first step.")));
	state = family == NULL ? gr_state_create(type, p, first_capacity(type, p)) :
		gr_state_create_step(family->distribution, family->quasi, p, first_capacity(type, p));
	state->intercept = first == 0;
	state->nskipped = before == NULL ? 0 : before->nskipped;
	for (int k = 0; k < n; k++)
	{
		if (nulls != NULL && (nulls[k / 8] & (1 << (k % 8))) == 0)
			gr_state_fixed(state)[k + first] = 1;
		else if (!isfinite(*at))
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("beta has a value that is NaN or infinite"),
					 errhint("Pass '{}' for the first step, and then the coefficients that gpu_logreg_solve or "
							 "gpu_glm_solve returned.")));
		else
			gr_state_beta(state)[k + first] = *at++;
	}
	return state;
}

static void raise_other_beta(void) __attribute__((noreturn));

static void
raise_other_beta(void)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("beta must be the same for all rows"),
			 errhint("Pass a constant, or a subquery that returns one value.")));
}

static void
check_same_beta(GrState *state, ArrayType *beta)
{
	int			n = ArrayGetNItems(ARR_NDIM(beta), ARR_DIMS(beta));
	const double *at = (const double *) ARR_DATA_PTR(beta);
	const uint8 *nulls = ARR_NULLBITMAP(beta);
	int			first = state->intercept ? 0 : 1;
	bool		same = n == 0 || n == gr_nterms(state->nfeatures) - first;

	for (int k = 0; same && k < n; k++)
	{
		if (nulls != NULL && (nulls[k / 8] & (1 << (k % 8))) == 0)
			same = gr_state_fixed(state)[k + first] == 1;
		else
			same = *at++ == gr_state_beta(state)[k + first];
	}
	if (!same)
		raise_other_beta();
}

/* Returns the argument beta. Call before anything is done for a row. ERROR if it is NULL */
static inline ArrayType *
beta_argument(FunctionCallInfo fcinfo, int argno)
{
	if (PG_ARGISNULL(argno))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("beta must not be NULL"),
				 errhint("Pass '{}' for the first step.")));
	return PG_GETARG_ARRAYTYPE_P(argno);
}

static void raise_other_aggregate(const char *name) __attribute__((noreturn));

static void
raise_other_aggregate(const char *name)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("argument is not a state of %s", name)));
}

/*
 * Adds a row to the state and returns the state. y_argno: argument y, a boolean or a number, followed by x. type: with
 * GR_STEP, argument 1 is beta. weight: argument 1 is the row's weight
 */
static pg_attribute_always_inline Datum
accumulate(FunctionCallInfo fcinfo, GrStateType type, bool weight, const int y_argno)
{
	const int	x_argno = y_argno + 1;
	GrState    *state = gr_state_argument(fcinfo, type);
	ArrayType  *beta = type == GR_STEP ? beta_argument(fcinfo, 1) : NULL;
	ArrayType  *x = PG_ARGISNULL(x_argno) ? NULL : PG_GETARG_ARRAYTYPE_P(x_argno);
	double	   *row;
	int			p;

	if (type == GR_STEP && state != NULL && unlikely(state->internal | !gr_state_is_logistic(state)))
		raise_other_aggregate("gpu_logreg_step_agg");
	if (x != NULL)
		gr_check_vector(x, "x");
	if (x == NULL || PG_ARGISNULL(y_argno) || array_contains_nulls(x) || (weight && PG_ARGISNULL(1)))
		return skip_row(fcinfo, state, type);
	if (weight && PG_GETARG_FLOAT8(1) == 0.0)
	{
		if (state == NULL)
			PG_RETURN_NULL();
		return gr_state_result(fcinfo, state);
	}
	p = ArrayGetNItems(ARR_NDIM(x), ARR_DIMS(x));
	if (unlikely(state == NULL || state->nfeatures < 0))
	{
		if (beta != NULL)
			gr_check_vector(beta, "beta");
		state = first_state(state, type, NULL, beta, p);
	}
	else if (beta != NULL)
	{
		gr_check_same_width(state->nfeatures, p);
		check_same_beta(state, beta);
	}
	row = next_row(&state, p, weight);
	memcpy(row, ARR_DATA_PTR(x), p * sizeof(double));
	row[p] = gr_number_argument(fcinfo, y_argno);
	if (weight)
		row[p + 1] = PG_GETARG_FLOAT8(1);
	if ((type == GR_STEP || weight) && unlikely(!is_plain(row, p, type, weight)))
		gr_check_rows(row, 1, gr_state_shape(state), gr_state_rules(state), NULL);
	count_row(state);
	return gr_state_result(fcinfo, state);
}

/* gr_ols_stats_accum(state gpu_ols_stats, y float8 or boolean, VARIADIC x float8[]) */
Datum
gr_ols_stats_accum(PG_FUNCTION_ARGS)
{
	return accumulate(fcinfo, GR_STATS, false, 1);
}

/*
 * Arrays as array_agg takes them
 */

/*
 * gr_ols_vector_accum(state gpu_ols_stats, y float8, x float8[]): like gpu_ols_stats_accum, with the errors that
 * array_agg raises for arrays, even of skipped rows.
 */
Datum
gr_ols_vector_accum(PG_FUNCTION_ARGS)
{
	GrState    *state = gr_state_argument(fcinfo, GR_STATS);
	bool		first = state == NULL || state->nfeatures < 0;
	ArrayType  *x;
	double	   *row;
	int			p;

	if (PG_ARGISNULL(2))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("cannot accumulate null arrays")));
	x = PG_GETARG_ARRAYTYPE_P(2);
	gr_check_accumulated(x, first);
	p = ARR_DIMS(x)[0];
	if (unlikely(first))
	{
		state = first_state(state, GR_STATS, NULL, NULL, p);
		*gr_state_lower_bound(state) = ARR_LBOUND(x)[0];
	}
	else if (unlikely(p != state->nfeatures || ARR_LBOUND(x)[0] != *gr_state_lower_bound(state)))
		gr_raise_other_dimensions();
	if (PG_ARGISNULL(1) || array_contains_nulls(x))
		return skip_row(fcinfo, state, GR_STATS);
	row = next_row(&state, p, false);
	memcpy(row, ARR_DATA_PTR(x), p * sizeof(double));
	row[p] = PG_GETARG_FLOAT8(1);
	count_row(state);
	return gr_state_result(fcinfo, state);
}

/* gr_wls_stats_accum(state gpu_ols_stats, weight float8, y float8 or boolean, VARIADIC x float8[]) */
Datum
gr_wls_stats_accum(PG_FUNCTION_ARGS)
{
	return accumulate(fcinfo, GR_STATS, true, 2);
}

/* gr_logreg_step_accum(state gpu_logreg_step, beta float8[], y float8 or boolean, VARIADIC x float8[]) */
Datum
gr_logreg_step_accum(PG_FUNCTION_ARGS)
{
	return accumulate(fcinfo, GR_STEP, false, 2);
}

/*
 * Arrays, of any family
 */

/* Arguments: the state, family, link, beta, y and x */
#define ARG_FAMILY 1
#define ARG_LINK 2
#define ARG_BETA 3
#define ARG_Y 4
#define ARG_X 5

/*
 * Family and link of the last row, and the text of their names, one after the other. Names are parsed again only if
 * they differ.
 */
typedef struct FamilyArguments
{
	GrNamedFamily family;
	int			family_nbytes;
	int			link_nbytes;	/* -1: link is NULL */
	bool		is_boolean;		/* y is a boolean */
	char		names[FLEXIBLE_ARRAY_MEMBER];
} FamilyArguments;

/* True if kept has these names. link: NULL: not given */
static inline bool
has_names(const FamilyArguments *kept, const text *family, const text *link)
{
	int			link_nbytes = link == NULL ? -1 : (int) VARSIZE_ANY_EXHDR(link);

	return kept != NULL && kept->family_nbytes == (int) VARSIZE_ANY_EXHDR(family) && kept->link_nbytes == link_nbytes &&
		memcmp(kept->names, VARDATA_ANY(family), kept->family_nbytes) == 0 &&
		(link == NULL || memcmp(kept->names + kept->family_nbytes, VARDATA_ANY(link), link_nbytes) == 0);
}

static pg_noinline const FamilyArguments *
keep_names(FmgrInfo *flinfo, const text *family, const text *link)
{
	int			family_nbytes = VARSIZE_ANY_EXHDR(family);
	int			link_nbytes = link == NULL ? 0 : VARSIZE_ANY_EXHDR(link);
	GrNamedFamily named = gr_read_family_and_theta(text_to_cstring(family));
	FamilyArguments *kept;

	if (link != NULL)
		gr_read_link(text_to_cstring(link), &named.distribution);
	if (flinfo->fn_extra != NULL)
		pfree(flinfo->fn_extra);
	flinfo->fn_extra = NULL;
	kept = MemoryContextAlloc(flinfo->fn_mcxt, offsetof(FamilyArguments, names) + family_nbytes + link_nbytes);
	kept->family = named;
	kept->is_boolean = gr_argument_is_boolean(flinfo, ARG_Y);
	kept->family_nbytes = family_nbytes;
	kept->link_nbytes = link == NULL ? -1 : link_nbytes;
	memcpy(kept->names, VARDATA_ANY(family), family_nbytes);
	if (link != NULL)
		memcpy(kept->names + family_nbytes, VARDATA_ANY(link), link_nbytes);
	flinfo->fn_extra = kept;
	return kept;
}

static inline const FamilyArguments *
family_arguments(FunctionCallInfo fcinfo)
{
	const FamilyArguments *kept = fcinfo->flinfo->fn_extra;
	const text *family;
	const text *link;

	if (PG_ARGISNULL(ARG_FAMILY))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("family must not be NULL"),
				 errhint("Name a family, such as 'binomial' or 'poisson'.")));
	family = PG_GETARG_TEXT_PP(ARG_FAMILY);
	link = PG_ARGISNULL(ARG_LINK) ? NULL : PG_GETARG_TEXT_PP(ARG_LINK);
	if (unlikely(!has_names(kept, family, link)))
		kept = keep_names(fcinfo->flinfo, family, link);
	return kept;
}

/* True if beta is 0, at most fixed terms are kept out of the model, and at least one term is left. */
static bool
is_at_zero(GrState *state, int fixed)
{
	int			first = state->intercept ? 0 : 1;
	int			nfixed = 0;

	for (int k = first; k <= state->nfeatures; k++)
	{
		if (gr_state_beta(state)[k] != 0)
			return false;
		nfixed += gr_state_fixed(state)[k] != 0 ? 1 : 0;
	}
	return nfixed <= fixed && nfixed <= state->nfeatures - first;
}

/* Creates a state at the first complete row, of p features. before: state that has only left rows out, or NULL */
static GrState *
first_family_state(const GrState *before, const GrNamedFamily *family, ArrayType *beta, int p)
{
	GrState    *state;

	gr_check_vector(beta, "beta");
	state = first_state(before, GR_STEP, family, beta, p);
	state->linear = is_at_zero(state, p) && gr_is_first_linear(family->distribution);
	return state;
}

/* Returns the state for a complete row of p features. ERROR if the state has another family, width or beta. */
static inline GrState *
family_state(GrState *state, const GrNamedFamily *family, ArrayType *beta, int p)
{
	if (unlikely(state == NULL || state->nfeatures < 0))
		return first_family_state(state, family, beta, p);
	if (state->family != family->distribution.family || state->link != family->distribution.link ||
		state->theta != family->distribution.theta || state->quasi != family->quasi)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("family and link must be the same for all rows"),
				 errhint("Pass constants for these arguments.")));
	gr_check_same_width(state->nfeatures, p);
	check_same_beta(state, beta);
	if (ARR_NDIM(beta) == 0 && !is_at_zero(state, 0))
		raise_other_beta();
	return state;
}

/*
 * gr_glm_step_accum(state gpu_logreg_step, family text, link text, beta float8[], y float8 or boolean,
 * VARIADIC x float8[])
 */
Datum
gr_glm_step_accum(PG_FUNCTION_ARGS)
{
	GrState    *state = gr_state_argument(fcinfo, GR_STEP);
	const FamilyArguments *named = family_arguments(fcinfo);
	ArrayType  *beta = beta_argument(fcinfo, ARG_BETA);
	ArrayType  *x = PG_ARGISNULL(ARG_X) ? NULL : PG_GETARG_ARRAYTYPE_P(ARG_X);
	double	   *row;
	int			p;

	if (state != NULL && unlikely(state->internal))
		raise_other_aggregate("gpu_glm_step_agg");
	if (x != NULL)
		gr_check_vector(x, "x");
	if (x == NULL || PG_ARGISNULL(ARG_Y) || array_contains_nulls(x))
		return skip_row(fcinfo, state, GR_STEP);
	p = ArrayGetNItems(ARR_NDIM(x), ARR_DIMS(x));
	state = family_state(state, &named->family, beta, p);
	row = next_row(&state, p, false);
	memcpy(row, ARR_DATA_PTR(x), p * sizeof(double));
	row[p] = named->is_boolean ? (PG_GETARG_BOOL(ARG_Y) ? 1 : 0) : PG_GETARG_FLOAT8(ARG_Y);
	if (state->family != GR_BINOMIAL || unlikely(!is_plain(row, p, GR_STEP, false)))
		gr_check_rows(row, 1, gr_state_shape(state), gr_state_rules(state), NULL);
	count_row(state);
	return gr_state_result(fcinfo, state);
}

GrState *
gr_arrays_state(FunctionCallInfo fcinfo, GrStateType type, GrArraysForm form, bool weight, int p)
{
	GrState    *state;

	if (form == GR_ARRAYS_OF_FAMILY)
		state = first_family_state(NULL, &family_arguments(fcinfo)->family, beta_argument(fcinfo, ARG_BETA), p);
	else if (form == GR_ARRAYS_AT_BETA)
	{
		ArrayType  *beta = beta_argument(fcinfo, 1);

		gr_check_vector(beta, "beta");
		state = first_state(NULL, type, NULL, beta, p);
	}
	else
		state = first_state(NULL, type, NULL, NULL, p);
	return gr_state_reshape(state, (GrRowShape) {.nfeatures = p,.weight = weight}, GR_PRIOR_WEIGHTS, 0);
}

void
gr_check_array_constants(FunctionCallInfo fcinfo, GrArraysForm form)
{
	if (form == GR_ARRAYS_OF_FAMILY)
		(void) family_arguments(fcinfo);
	if (form != GR_ARRAYS_PLAIN)
		(void) beta_argument(fcinfo, form == GR_ARRAYS_OF_FAMILY ? ARG_BETA : 1);
}

/*
 * A query's columns
 */

/* Arguments: the state, the request, names, widths, and the columns, those with a role first */
#define ARG_REQUEST 1
#define ARG_NAMES GR_PASS_NAMES
#define ARG_WIDTHS 3
#define FIRST_COLUMN 4

static void raise_request(GrStateType type) __attribute__((noreturn));

static void
raise_request(GrStateType type)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("%s needs a request for as many features as there are", gr_state_kinds[type].pass),
			 errhint("Do not call this function: %s uses it in its own queries.", gr_state_kinds[type].fit)));
}

/* Returns the request argument, checked. */
static GrState *
request_argument(FunctionCallInfo fcinfo, GrStateType type)
{
	if (PG_ARGISNULL(ARG_REQUEST))
		raise_request(type);
	return gr_state_settled(PG_GETARG_DATUM(ARG_REQUEST), type, NULL);
}

pg_noinline GrColumns *
gr_pass_columns(FunctionCallInfo fcinfo, GrStateType type)
{
	GrState    *request = request_argument(fcinfo, type);
	GrColumns  *columns = gr_argument_columns(fcinfo, FIRST_COLUMN, gr_state_shape(request));
	bool		needs_widths = type == GR_STEP || !PG_ARGISNULL(ARG_WIDTHS);

	if (needs_widths && !gr_read_widths(fcinfo, columns, ARG_WIDTHS))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s needs a width for each column", gr_state_kinds[type].pass),
				 errhint("Do not call this function: %s uses it in its own queries.", gr_state_kinds[type].fit)));
	if (columns->nfeatures >= 0)
	{
		if (columns->n > gr_nroles(columns))
			gr_check_nfeatures(columns->nfeatures);
		gr_name_arrays(fcinfo, columns, ARG_NAMES);
	}
	fcinfo->flinfo->fn_extra = columns;
	return columns;
}

pg_noinline GrState *
gr_pass_state(FunctionCallInfo fcinfo, GrStateType type, int p, const GrState *before)
{
	GrState    *request = request_argument(fcinfo, type);
	GrState    *state;

	if (type == GR_STATS)
		state = gr_state_reshape(gr_state_create(type, p, 0), gr_state_shape(request),
								 (GrWeighting) request->weighting,
								 p < 0 ? 0 : first_capacity(type, p));
	else
	{
		if (request->nfeatures < 0 || (p >= 0 && request->nfeatures != p))
			raise_request(type);
		state = gr_state_clear(gr_state_resize(request, gr_state_kinds[type].full_capacity));
		state->nrows = 0;
	}
	state->nskipped = before == NULL ? 0 : before->nskipped;
	state->nworkers = IsParallelWorker();
	return state;
}

/*
 * Checks a row that is not plain. ERROR if a value is not allowed. A Gram matrix adds extreme rows at once, so that an
 * overflow is reported with the columns' names. Names are only read for a message or an extreme row: all rows may come
 * here.
 */
static pg_noinline void
check_row(FunctionCallInfo fcinfo, const GrColumns *columns, GrState *state, const double *row)
{
	GrRowShape	shape = gr_state_shape(state);
	bool		extreme = false;
	GrError		err = {0};

	if ((state->type == GR_STEP || state->weight) && !gr_rows_valid(row, 1, shape, gr_state_rules(state), &err))
		gr_raise_row(&err, shape, gr_read_names(fcinfo, columns, ARG_NAMES));
	/* Squares of values are multiplied by a weight. */
	for (Size k = 0; k < gr_state_ncols(state) && state->type == GR_STATS; k++)
		extreme |= !(fabs(row[k]) < 1e90);
	if (extreme)
		gr_state_flush(state, gr_read_names(fcinfo, columns, ARG_NAMES));
}

/* Adds a row of the columns to the state, and returns the state. */
static pg_attribute_always_inline Datum
accumulate_columns(FunctionCallInfo fcinfo, GrStateType type)
{
	const int	first = FIRST_COLUMN;
	GrState    *state = gr_state_argument(fcinfo, type);
	GrColumns  *columns = fcinfo->flinfo->fn_extra;
	bool		complete;
	GrRowFate	fate;
	double	   *row;

	if (unlikely(columns == NULL))
		columns = gr_pass_columns(fcinfo, type);
	complete = gr_arguments_complete(fcinfo, columns, first);
	/* Arrays of unknown width get that of the first complete row. */
	if (unlikely(columns->nfeatures < 0) && complete)
	{
		gr_measure_row(columns, GR_ARGUMENT_VALUES(fcinfo, first));
		gr_name_arrays(fcinfo, columns, ARG_NAMES);
	}
	if (unlikely(state == NULL || (state->nfeatures < 0 && columns->nfeatures >= 0)))
		state = gr_pass_state(fcinfo, type, columns->nfeatures, state);
	if (!complete)
		return skip_row(fcinfo, state, type);
	if (unlikely(state->offset != columns->offset || state->nfeatures != columns->nfeatures))
		raise_request(type);
	row = next_row(&state, columns->nfeatures, columns->weight);
	fate = gr_convert_row(columns, GR_ARGUMENT_VALUES(fcinfo, first), row);
	if (unlikely(fate == GR_ROW_WEIGHTLESS))
		return gr_state_result(fcinfo, state);
	if (fate == GR_ROW_SKIPPED)
		return skip_row(fcinfo, state, type);
	count_row(state);
	/* Check now, while the names are at hand. */
	if (unlikely(!is_plain(row, columns->nfeatures, type, gr_nroles(columns) > 1 || state->family != GR_BINOMIAL)))
		check_row(fcinfo, columns, state, row);
	return gr_state_result(fcinfo, state);
}

/* gr_ols_pass_accum(state gpu_ols_stats, request gpu_ols_stats, names text[], widths int[], VARIADIC "any") */
Datum
gr_ols_pass_accum(PG_FUNCTION_ARGS)
{
	return accumulate_columns(fcinfo, GR_STATS);
}

/*
 * Passes over a remote query
 */

/*
 * Adds a row of y and x to the state. Behind the features, x has the weight and the offset, if the state's rows have
 * them.
 */
static Datum
take_array_row(FunctionCallInfo fcinfo, GrState *state, double y, ArrayType *x)
{
	GrStateType type = (GrStateType) state->type;
	GrRowShape	shape = gr_state_shape(state);
	int			ntail = gr_row_ncols(shape) - gr_nterms(shape.nfeatures);
	int			p = ArrayGetNItems(ARR_NDIM(x), ARR_DIMS(x)) - ntail;
	const double *at = (const double *) ARR_DATA_PTR(x);
	double	   *row;

	gr_check_same_width(shape.nfeatures, p);
	if (shape.weight && at[p] == 0.0)
		return gr_state_result(fcinfo, state);
	row = next_row(&state, p, shape.weight);
	memcpy(row, at, p * sizeof(double));
	row[p] = y;
	memcpy(row + p + 1, at + p, ntail * sizeof(double));
	if (unlikely(!is_plain(row, p, type, ntail > 0 || state->family != GR_BINOMIAL)))
		gr_check_rows(row, 1, shape, gr_state_rules(state), NULL);
	count_row(state);
	return gr_state_result(fcinfo, state);
}

/* gr_wls_array_pass_accum(state gpu_ols_stats, y float8, x float8[]): the last element of x is the row's weight. */
Datum
gr_wls_array_pass_accum(PG_FUNCTION_ARGS)
{
	GrState    *state = gr_state_argument(fcinfo, GR_STATS);
	ArrayType  *x = PG_ARGISNULL(2) ? NULL : PG_GETARG_ARRAYTYPE_P(2);
	int			p;

	if (x != NULL)
		gr_check_vector(x, "x");
	if (x == NULL || PG_ARGISNULL(1) || array_contains_nulls(x))
		return skip_row(fcinfo, state, GR_STATS);
	p = ArrayGetNItems(ARR_NDIM(x), ARR_DIMS(x)) - 1;
	if (unlikely(state == NULL || state->nfeatures < 0))
		state = first_state(state, GR_STATS, NULL, NULL, p);
	if (unlikely(!state->weight))
		state = gr_state_reshape(state, (GrRowShape) {.nfeatures = state->nfeatures,.weight = true}, GR_PRIOR_WEIGHTS,
								 state->capacity);
	return take_array_row(fcinfo, state, PG_GETARG_FLOAT8(1), x);
}

/*
 * gr_logreg_array_pass_accum(state gpu_logreg_step, request gpu_logreg_step, y float8, x float8[]): the request is read
 * once per state. gpu_features_pass() has checked the values of y and x, with the columns' names.
 */
Datum
gr_logreg_array_pass_accum(PG_FUNCTION_ARGS)
{
	GrState    *state = gr_state_argument(fcinfo, GR_STEP);
	ArrayType  *x = PG_ARGISNULL(3) ? NULL : PG_GETARG_ARRAYTYPE_P(3);

	if (unlikely(state == NULL || state->nfeatures < 0))
		state = gr_pass_state(fcinfo, GR_STEP, -1, state);
	if (x != NULL)
		gr_check_vector(x, "x");
	if (x == NULL || PG_ARGISNULL(2) || array_contains_nulls(x))
		return skip_row(fcinfo, state, GR_STEP);
	return take_array_row(fcinfo, state, PG_GETARG_FLOAT8(2), x);
}
