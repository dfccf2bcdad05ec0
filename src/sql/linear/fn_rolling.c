/*
 * fn_rolling.c: gpu_ols_rolling, linear regression over windows of an ordered query's rows.
 *
 * Sums are merged and never subtracted, because subtraction cancels. Rows are cut into blocks as long as a window, so a
 * window that begins in one block ends in the next. Its sums are those from its first row to the block's end (a tail),
 * plus those of the next block's rows so far. Tails are summed backwards when a block is complete, one for each window
 * that needs it. Each row costs two additions of a row and one of two states, however wide windows are.
 *
 * The rows of a block determine the shift of its columns (gram_shift.h). The next block is summed with the same shift,
 * as long as the differences are exact.
 */
#include "postgres.h"

#include <math.h>

#include "executor/tuptable.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/tuplestore.h"

#include "compute/linalg/gram_shift.h"
#include "compute/linear/ols.h"
#include "rows/columns/columns.h"
#include "rows/query/query.h"
#include "run/args.h"
#include "run/clock.h"
#include "run/device.h"
#include "run/grams.h"
#include "run/raise.h"
#include "run/report.h"
#include "run/result.h"
#include "sql/model/model.h"

PG_FUNCTION_INFO_V1(gr_ols_rolling);

#define FUNCTION "gpu_ols_rolling"

#define FIRST_CAPACITY 64

/* The sums of a window and its fit. */
typedef struct Window
{
	GrGram		gram;			/* nobs: number of complete rows */
	void	   *workspace;
	GrOlsFit	fit;
	double	   *std_error;
} Window;

/* A block of rows and its sums. Members that depend on the number of features are set at the first complete row. */
typedef struct Rolling
{
	GrReceiver	base;
	ReturnSetInfo *rsinfo;
	MemoryContext context;		/* memory of the call */
	MemoryContext row_context;	/* reset after each row */
	int64		width;
	int64		step;
	bool		intercept;
	GrColumns  *columns;
	GrRowShape	shape;
	GrRowRules	rules;
	const char **names;			/* names of the features; NULL before the first complete row */
	int64		row_number;		/* number of rows so far */
	int64		ncomplete;		/* number of rows without NULL so far */

	/* the current block: */
	int64		nplaces;		/* number of its rows so far */
	bool	   *complete;		/* for each of its rows: true if it has no NULL */
	int64		places_capacity;
	double	   *rows;			/* its complete rows */
	int64		nrows;
	int64		rows_capacity;
	GrGram		gram;			/* sums of rows, not set in the first block; shifted as the tails are, or less */
	double	   *narrowed;
	double	   *scratch;

	/* the tails of the previous block, one for each window that ends in this one: */
	double	   *tails;			/* hi and lo triangles of each tail */
	int64	   *tail_rows;
	int64		tails_capacity;
	/* row of the previous block, from 0, at which the first tail begins; the others follow at distances of step */
	int64		first_tail;
	double	   *tails_shift;

	Window		window;
} Rolling;

/* Returns how many numbers a triangle of the sums has. */
static inline Size
triangle_of(const Rolling *r)
{
	return gr_triangle(gr_norder(r->shape.nfeatures));
}

/* True if a window ends with row row_number of the query, from 1. */
static inline bool
ends_window(const Rolling *r, int64 row_number)
{
	return row_number >= r->width && (row_number - r->width) % r->step == 0;
}

/*
 * Returns an array with room for one more than n elements. Grows to twice the size, but to no more than limit elements.
 */
static void *
grow(void *array, int64 n, int64 *capacity, int64 limit, Size element)
{
	int64		wanted = Min(Max(2 * n, FIRST_CAPACITY), limit);

	if (n < *capacity)
		return array;
	*capacity = wanted;
	return array == NULL ? palloc_extended(wanted * element, MCXT_ALLOC_HUGE) :
		repalloc_huge(array, wanted * element);
}

/* Sets what depends on the number of features, at the first complete row. */
static void
begin(Rolling *r, TupleTableSlot *slot)
{
	MemoryContext old = MemoryContextSwitchTo(r->row_context);
	Window	   *w = &r->window;
	int			p;
	int			nterms;

	gr_measure_row(r->columns, GR_SLOT_VALUES(slot));
	MemoryContextSwitchTo(r->context);
	r->shape = gr_columns_shape(r->columns);
	p = r->shape.nfeatures;
	if (p > 0)
		gr_check_nfeatures(p);
	gr_check_terms(p, r->intercept);
	r->names = gr_name_numbers(r->columns);
	nterms = p + (r->intercept ? 1 : 0);
	r->gram = gr_gram_make(p);
	r->narrowed = palloc0((p + 1) * sizeof(double));
	r->tails_shift = palloc0((p + 1) * sizeof(double));
	r->scratch = palloc_extended(gr_gram_scratch_nbytes(r->shape), MCXT_ALLOC_HUGE);
	w->gram = gr_gram_make(p);
	w->workspace = palloc_extended(gr_normal_workspace_nbytes(p), MCXT_ALLOC_HUGE);
	w->fit.intercept = r->intercept;
	w->fit.coef = palloc(nterms * sizeof(double));
	w->fit.vcov = palloc_extended((Size) nterms * nterms * sizeof(double), MCXT_ALLOC_HUGE);
	w->std_error = palloc(nterms * sizeof(double));
	MemoryContextSwitchTo(old);
}

/*
 * Windows
 */

static Datum
floats_datum(double *values, int n)
{
	const GrModel model = {.coef = values,.nterms = n};

	return PointerGetDatum(gr_model_coefficients(&model));
}

/* Adds a row to the result. If the window has no complete row, values has no fit. */
static void
put_window(Rolling *r, Datum *values, bool *nulls)
{
	values[0] = Int64GetDatum(r->row_number);
	values[1] = Int64GetDatum(r->window.gram.nobs);
	values[2] = Int64GetDatum(r->width - r->window.gram.nobs);
	tuplestore_putvalues(r->rsinfo->setResult, r->rsinfo->setDesc, values, nulls);
}

/* Solves the window's sums and adds its row to the result. */
static void
finish_window(Rolling *r)
{
	Window	   *w = &r->window;
	GrOlsFit   *fit = &w->fit;
	GrError		err = {0};
	Datum		values[7] = {0};
	bool		nulls[7] = {false, false, false, true, true, true, true};

	if (w->gram.nobs == 0)
	{
		put_window(r, values, nulls);
		return;
	}
	if (!gr_ols_solve(&w->gram, w->workspace, fit, &gr_host, &err))
		gr_raise_columns(&err, r->shape.nfeatures, r->names);
	for (Size k = 0; k < fit->nterms; k++)
		w->std_error[k] = sqrt(fit->vcov[k * fit->nterms + k]);
	values[3] = floats_datum(fit->coef, fit->nterms);
	values[4] = floats_datum(w->std_error, fit->nterms);
	nulls[3] = nulls[4] = false;
	gr_set_float(&values[5], &nulls[5], sqrt(gr_model_mean_square(fit->rss, (double) fit->df_residual)));
	gr_set_float(&values[6], &nulls[6], fit->tss > 0 ? 1 - fit->rss / fit->tss : NAN);
	put_window(r, values, nulls);
}

/* Finishes the window that begins in the previous block and ends with row `place` of this block, from 1. */
static void
merge_window(Rolling *r, int64 place)
{
	GrGram	   *gram = &r->window.gram;
	int64		tail_nrows = 0;

	if (r->tails != NULL)
	{
		int64		tail = (place - r->first_tail) / r->step;
		Size		triangle = triangle_of(r);
		GrGram		from = {
			.hi = r->tails + 2 * triangle * tail,.lo = r->tails + 2 * triangle * tail + triangle,
			.shift = r->tails_shift,.nfeatures = r->shape.nfeatures
		};

		tail_nrows = r->tail_rows[tail];
		gr_gram_copy(gram, &from);
		gr_gram_join(gram, &r->gram);
	}
	/* without tails, the first complete row is in this block */
	else if (r->names != NULL)
		gr_gram_copy(gram, &r->gram);
	gram->nobs = tail_nrows + r->nrows;
	finish_window(r);
}

/*
 * Blocks
 */

/* Chooses the shift of the complete block's columns. */
static void
choose_shift(Rolling *r)
{
	int			p = r->shape.nfeatures;

	memset(r->tails_shift, 0, (p + 1) * sizeof(double));
	if (r->nrows == 0 || !gr_shift_choose(r->tails_shift, r->rows, r->nrows, r->shape) ||
		gr_shift_exact(r->tails_shift, r->rows, r->nrows, r->shape))
		return;
	gr_shift_narrow(r->narrowed, r->tails_shift, r->rows, r->nrows, r->shape);
	memcpy(r->tails_shift, r->narrowed, (p + 1) * sizeof(double));
}

/*
 * Sums the complete block backwards. Makes a tail for each window that ends in the next block, and the sums of the
 * whole block in r->window.
 */
static void
make_tails(Rolling *r)
{
	Window	   *w = &r->window;
	Size		triangle = triangle_of(r);
	Size		ncols = gr_row_ncols(r->shape);
	int64		row = r->nrows;
	int64		next;

	/*
	 * row of the next block, from 1, at which a window ends first; that window begins after the same row of this block
	 */
	r->first_tail = r->step - (r->row_number - r->width) % r->step;
	next = r->first_tail < r->width ? (r->width - 1 - r->first_tail) / r->step : -1;
	if (next >= r->tails_capacity)
	{
		r->tails_capacity = next + 1;
		if (r->tails != NULL)
		{
			pfree(r->tails);
			pfree(r->tail_rows);
		}
		r->tails = palloc_extended(r->tails_capacity * 2 * triangle * sizeof(double), MCXT_ALLOC_HUGE);
		r->tail_rows = palloc_extended(r->tails_capacity * sizeof(int64), MCXT_ALLOC_HUGE);
	}
	choose_shift(r);
	gr_gram_clear(&w->gram);
	memcpy(w->gram.shift, r->tails_shift, (r->shape.nfeatures + 1) * sizeof(double));
	for (int64 place = r->width - 1; place >= 0; place--)
	{
		if (r->complete[place])
			gr_gram_add(&w->gram, r->rows + --row * ncols, 1, r->shape, r->scratch);
		if (next >= 0 && place == r->first_tail + next * r->step)
		{
			memcpy(r->tails + 2 * triangle * next, w->gram.hi, 2 * triangle * sizeof(double));
			r->tail_rows[next--] = r->nrows - row;
		}
		gr_poll_loop(place);
	}
	w->gram.nobs = r->nrows;
}

/* Finishes a complete block and begins the next. */
static void
end_block(Rolling *r)
{
	if (r->names != NULL)
	{
		MemoryContext old = MemoryContextSwitchTo(r->context);

		make_tails(r);
		MemoryContextSwitchTo(old);
		gr_gram_clear(&r->gram);
		memcpy(r->gram.shift, r->tails_shift, (r->shape.nfeatures + 1) * sizeof(double));
	}
	else
		r->window.gram.nobs = 0;
	if (ends_window(r, r->row_number))
		finish_window(r);
	r->nplaces = 0;
	r->nrows = 0;
}

/* Adds the row behind the block's last one to the block and, except in the first block, to its sums. */
static void
add_row(Rolling *r)
{
	double	   *row = r->rows + r->nrows * gr_row_ncols(r->shape);
	GrPoll		poll = {.host = &gr_host};
	GrError		err = {0};

	gr_check_rows(row, 1, r->shape, r->rules, r->names);
	r->nrows++;
	r->ncomplete++;
	if (r->row_number <= r->width)
		return;
	if (gr_gram_is_shifted(&r->gram) && !gr_shift_exact(r->gram.shift, row, 1, r->shape))
	{
		gr_shift_narrow(r->narrowed, r->gram.shift, row, 1, r->shape);
		if (!gr_gram_translate(&r->gram, r->narrowed, &poll))
		{
			gr_fail(&err, GR_CANCELED, 0, "sums");
			gr_raise(&err);
		}
	}
	gr_gram_add(&r->gram, row, 1, r->shape, r->scratch);
}

/* Stores a row behind the block's last one. Returns false if a value is NULL. */
static bool
take_row(Rolling *r, TupleTableSlot *slot)
{
	MemoryContext old;
	GrRowFate	fate;

	slot_getallattrs(slot);
	for (int k = 0; k < slot->tts_tupleDescriptor->natts; k++)
		if (slot->tts_isnull[k])
			return false;
	if (r->names == NULL)
		begin(r, slot);
	old = MemoryContextSwitchTo(r->context);
	r->rows = grow(r->rows, r->nrows, &r->rows_capacity, r->width, gr_row_ncols(r->shape) * sizeof(double));
	MemoryContextSwitchTo(r->row_context);
	fate = gr_convert_row(r->columns, GR_SLOT_VALUES(slot), r->rows + r->nrows * gr_row_ncols(r->shape));
	MemoryContextSwitchTo(old);
	return fate == GR_ROW_TAKES_PART;
}

static bool
receive_row(TupleTableSlot *slot, DestReceiver *self)
{
	Rolling    *r = (Rolling *) self;
	MemoryContext old = MemoryContextSwitchTo(r->context);
	bool		complete;

	r->row_number++;
	r->complete = grow(r->complete, r->nplaces, &r->places_capacity, r->width, sizeof(bool));
	MemoryContextSwitchTo(r->row_context);
	complete = take_row(r, slot);
	r->complete[r->nplaces++] = complete;
	if (complete)
		add_row(r);
	if (r->nplaces == r->width)
		end_block(r);
	else if (ends_window(r, r->row_number))
		merge_window(r, r->nplaces);
	MemoryContextSwitchTo(old);
	MemoryContextReset(r->row_context);
	return true;
}

/*
 * The function
 */

static int64
positive_argument(FunctionCallInfo fcinfo, int argument, const char *what)
{
	int32		value = PG_GETARG_INT32(argument);

	if (value < 1)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s must be at least 1, got %d", what, value)));
	return value;
}

static void
check_nulls(FunctionCallInfo fcinfo)
{
	static const char *const names[] = {"query", "width", "step", "intercept"};

	for (int k = 0; k < lengthof(names); k++)
		if (PG_ARGISNULL(k))
			ereport(ERROR,
					(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
					 errmsg("%s must not be null", names[k])));
}

static const GrPlan *
plan_query(Rolling *r, const char *text)
{
	const GrQuery *query = gr_analyse_query(text);
	const GrRoles roles = {.intercept = r->intercept};

	if (query->tree->sortClause == NIL)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("query has no ORDER BY"),
				 errdetail("A window consists of consecutive rows, so the query must define their order."),
				 errhint("Add an ORDER BY clause at the end of the query.")));
	r->columns = gr_query_columns(query->columns, query->names, &roles);
	return gr_plan_query(query, CURSOR_OPT_PARALLEL_OK);
}

/*
 * gpu_ols_rolling(query text, width int, step int, intercept boolean): one row per window, in the query's order, with
 * the number of the window's last row
 */
Datum
gr_ols_rolling(PG_FUNCTION_ARGS)
{
	double		started = gr_now();
	Rolling		r = {
		.base.pub.receiveSlot = receive_row,.rsinfo = (ReturnSetInfo *) fcinfo->resultinfo,
		.context = CurrentMemoryContext,.rules = {GR_GAUSSIAN}
	};
	ErrorContextCallback context;
	GrPlace		place = {0};
	double		read_done;
	const GrPlan *plan;
	const char *query;

	check_nulls(fcinfo);
	InitMaterializedSRF(fcinfo, 0);
	query = text_to_cstring(PG_GETARG_TEXT_PP(0));
	r.width = positive_argument(fcinfo, 1, "width");
	r.step = positive_argument(fcinfo, 2, "step");
	r.intercept = PG_GETARG_BOOL(3);
	r.row_context = AllocSetContextCreate(r.context, "gpureg row", ALLOCSET_DEFAULT_SIZES);
	gr_enter_query(&context, query);
	plan = plan_query(&r, query);
	gr_run_plan(plan, NULL, &r.base, 0);
	gr_leave_query(&context);
	/* solving was part of reading */
	read_done = gr_now();
	gr_place_on_cpu(&place, "windows are summed where the query's rows come in their order");
	if (r.names != NULL)
		gr_record_pass(&place, &(GrPassRecord) {
			.function = FUNCTION,.nrows = r.ncomplete,.nfeatures = r.shape.nfeatures,.started = started,
			.read_done = read_done,.solved = read_done
		});
	return (Datum) 0;
}
