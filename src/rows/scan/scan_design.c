/*
 * scan_design.c: recognises designs among an aggregate's sources, and gives rows with their features to a taker.
 *
 * Numbers of tuples are collected by columns. When a block is full, expressions and features are computed a column at a
 * time (design_block.h) and written as rows. The bits are those that the functions give for each row, and rows keep
 * their order.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "fmgr.h"
#include "utils/array.h"
#include "utils/builtins.h"

#include "compute/design/design_block.h"
#include "rows/columns/design_values.h"
#include "rows/scan/scan_design.h"
#include "rows/scan/scan_values.h"

#define ROLES_MAX GR_ROLES_MAX
#define INPUTS_MAX 256
#define GUARDS_MAX 4

/* A design whose columns are inputs */
typedef struct Made
{
	GrDesign   *design;
	GrDesignBlock *block;
	const double **columns;		/* per column of the design: numbers of its input */
} Made;

/* A number with a role: an input, or what an expression makes of inputs */
typedef struct Role
{
	int			input;			/* -1: made */
	Made		made;
} Role;

struct GrScanDesign
{
	int			ninputs;
	int			nattributes;	/* inputs, then guards */
	AttrNumber	attributes[INPUTS_MAX + GUARDS_MAX];
	int			wanted[INPUTS_MAX + GUARDS_MAX];	/* indexes in columns.wanted of the scan */
	int32		fixed[INPUTS_MAX];	/* offsets in tuples without NULLs */
	GrNumberKind kinds[INPUTS_MAX];
	const char *names[INPUTS_MAX];	/* names for messages, of bigints */
	double	   *inputs;			/* [ninputs][GR_DESIGN_BLOCK] */
	int			nroles;
	Role		roles[ROLES_MAX];
	Made		features;
	bool		pairs;
	int			nfeatures;		/* features, and the low halves of paired terms */
	Datum	   *sample;			/* values of the sources, with an array of the right width */
	bool		checked;		/* the taker is known to expect the design's rows */
	int			nrows;			/* rows that wait */
	GrTaker    *taker;
};

/*
 * Recognising
 */

/* Returns the call of a function of this library, by address, or NULL if expr is another expression. */
static const FuncExpr *
call_of(const Expr *expr, PGFunction function)
{
	const FuncExpr *call = (const FuncExpr *) expr;
	FmgrInfo	info;

	if (!IsA(expr, FuncExpr) || call->funcid < FirstNormalObjectId || call->funcvariadic)
		return NULL;
	fmgr_info(call->funcid, &info);
	return info.fn_addr == function ? call : NULL;
}

/* Returns the number of an input, added if it is new, or -1 if expr is no column of numbers. name: for bigints */
static int
add_input(GrScanDesign *d, const Expr *expr, TupleDesc table, const char *name)
{
	GrNumberKind kind;
	AttrNumber	attribute;

	if (!gr_is_number_column(expr, table, &kind) || (kind == GR_INT8 && name == NULL))
		return -1;
	attribute = ((const Var *) expr)->varattno;
	for (int k = 0; k < d->ninputs; k++)
		if (d->attributes[k] == attribute)
			return k;
	if (d->ninputs >= INPUTS_MAX)
		return -1;
	d->attributes[d->ninputs] = attribute;
	d->kinds[d->ninputs] = kind;
	d->names[d->ninputs] = name;
	return d->ninputs++;
}

/* Reads the design of a call whose arguments from first on are its columns. input: per column, set to its input */
static bool
read_made(GrScanDesign *d, const FuncExpr *call, int first, TupleDesc table, bool pairs, Made *made, int *input)
{
	const Const *first_argument = linitial(call->args);
	int			n = list_length(call->args) - first;
	const text *of_design;

	if (!IsA(first_argument, Const) || first_argument->constisnull || n < 1 || n > INPUTS_MAX)
		return false;
	of_design = DatumGetTextPP(first_argument->constvalue);
	made->design = gr_open_design(CurrentMemoryContext, VARDATA_ANY(of_design), VARSIZE_ANY_EXHDR(of_design));
	if (made->design == NULL || made->design->ncolumns != n)
		return false;
	made->block = gr_design_block(made->design, pairs, gr_context_memory(CurrentMemoryContext));
	if (made->block == NULL)
		return false;
	made->columns = palloc(n * sizeof(double *));
	for (int k = 0; k < n; k++)
	{
		input[k] = add_input(d, list_nth(call->args, first + k), table, gr_design_column_name(made->design, k));
		if (input[k] < 0)
			return false;
	}
	return true;
}

/* Adds a source with a role. input: as for read_made() */
static bool
add_role(GrScanDesign *d, const Expr *source, TupleDesc table, int *input)
{
	Role	   *role = &d->roles[d->nroles++];
	const FuncExpr *call = call_of(source, gr_design_number);

	if (call == NULL)
	{
		role->input = add_input(d, source, table, NULL);
		return role->input >= 0;
	}
	role->input = -1;
	return read_made(d, call, 1, table, false, &role->made, input) && role->made.design->offset.nsteps > 0;
}

/* True if a column that is tested is an input or a guard: rows with a NULL in it are skipped anyway. */
static bool
is_tested_anyway(const GrScanDesign *d, const Expr *test)
{
	const NullTest *null = (const NullTest *) test;
	const Var  *var = IsA(test, NullTest) ? (const Var *) null->arg : NULL;

	if (var == NULL || !IsA(var, Var) || null->nulltesttype != IS_NOT_NULL)
		return false;
	for (int k = 0; k < d->nattributes; k++)
		if (d->attributes[k] == var->varattno)
			return true;
	return false;
}

/* Returns the value of CASE WHEN columns IS NOT NULL THEN value END, if d tests the columns; else expr. */
static const Expr *
without_tests(const GrScanDesign *d, const Expr *expr)
{
	const CaseExpr *guarded = (const CaseExpr *) expr;
	const CaseWhen *when;
	const Expr *all;
	ListCell   *cell;

	if (!IsA(expr, CaseExpr) || guarded->arg != NULL || list_length(guarded->args) != 1 ||
		!IsA(guarded->defresult, Const) || !((const Const *) guarded->defresult)->constisnull)
		return expr;
	when = linitial_node(CaseWhen, guarded->args);
	all = when->expr;
	if (!IsA(all, BoolExpr))
		return is_tested_anyway(d, all) ? when->result : expr;
	foreach(cell, ((const BoolExpr *) all)->args)
		if (((const BoolExpr *) all)->boolop != AND_EXPR || !is_tested_anyway(d, lfirst(cell)))
			return expr;
	return when->result;
}

/* Sets where the numbers of a design's columns are. */
static void
set_columns(const GrScanDesign *d, Made *made, const int *input)
{
	for (int k = 0; k < made->design->ncolumns; k++)
		made->columns[k] = d->inputs + input[k] * GR_DESIGN_BLOCK;
}

/* Returns a float8[] of n zeros. */
static Datum
sample_array(int n)
{
	Datum	   *zeros = palloc0((n + 1) * sizeof(Datum));

	return PointerGetDatum(construct_array(zeros, n, FLOAT8OID, sizeof(float8), FLOAT8PASSBYVAL, TYPALIGN_DOUBLE));
}

GrScanDesign *
gr_scan_design(const List *sources, TupleDesc table)
{
	GrScanDesign *d = palloc0(sizeof(GrScanDesign));
	int			n = list_length(sources) - 1;
	AttrNumber	guards[GUARDS_MAX];
	int		   *input = palloc((n + 2) * INPUTS_MAX * sizeof(int));
	int			nguards = 0;
	const FuncExpr *call;
	const Const *pairs;

	if (n < 1 || n > ROLES_MAX)
		return NULL;
	for (int k = 0; k < n; k++)
	{
		const Expr *source = list_nth(sources, k);

		if (k == 0)
			source = gr_without_guards(source, table, GUARDS_MAX, guards, &nguards);
		if (!add_role(d, source, table, input + k * INPUTS_MAX))
			return NULL;
	}
	d->nattributes = d->ninputs;
	for (int k = 0; k < nguards; k++)
		d->attributes[d->nattributes++] = guards[k];
	call = call_of(without_tests(d, list_nth(sources, n)), gr_design_row);
	pairs = call == NULL || list_length(call->args) < 3 ? NULL : lsecond(call->args);
	if (pairs == NULL || !IsA(pairs, Const) || pairs->constisnull)
		return NULL;
	d->pairs = DatumGetBool(pairs->constvalue);
	if (!read_made(d, call, 2, table, d->pairs, &d->features, input + n * INPUTS_MAX))
		return NULL;
	/* new inputs take the place of the guards */
	d->nattributes = d->ninputs;
	for (int k = 0; k < nguards; k++)
		d->attributes[d->nattributes++] = guards[k];
	d->nfeatures = d->features.design->nfeatures + (d->pairs ? d->features.design->npaired : 0);
	d->sample = palloc0((n + 1) * sizeof(Datum));
	d->sample[n] = sample_array(d->nfeatures);
	d->inputs = palloc0((d->ninputs + 1) * GR_DESIGN_BLOCK * sizeof(double));
	for (int k = 0; k < n; k++)
		if (d->roles[k].input < 0)
			set_columns(d, &d->roles[k].made, input + k * INPUTS_MAX);
	set_columns(d, &d->features, input + n * INPUTS_MAX);
	return d;
}

int
gr_scan_design_attributes(const GrScanDesign *d, const AttrNumber **attributes)
{
	*attributes = d->attributes;
	return d->nattributes;
}

void
gr_scan_design_locate(GrScanDesign *d, const GrHeapColumns *columns)
{
	for (int k = 0; k < d->nattributes; k++)
	{
		d->wanted[k] = 0;
		while (columns->wanted[d->wanted[k]] != d->attributes[k])
			d->wanted[k]++;
		if (k < d->ninputs)
			d->fixed[k] = columns->fixed[d->wanted[k]];
	}
}

/*
 * Rows
 */

/* Raises an ERROR unless the taker expects the rows that the design makes. */
static void
check_taker(const GrScanDesign *d)
{
	const GrTaker *taker = d->taker;

	if (taker->columns->nfeatures != d->nfeatures || gr_nroles(taker->columns) != d->nroles || taker->shape.single)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("gpu_design_row makes %d features, but the aggregate expects %d", d->nfeatures,
						taker->columns->nfeatures),
				 errhint("Do not call this function: gpureg uses it in its own queries.")));
}

void
gr_scan_design_start(GrScanDesign *d, GrTaker *taker)
{
	d->taker = taker;
	d->nrows = 0;
	d->checked = false;
}

/* Makes room for a row. Returns false if no more rows are accepted. */
static bool
make_room(GrScanDesign *d)
{
	bool		accepts = gr_taker_make_room_like(d->taker, d->sample);

	if (accepts && !d->checked)
		check_taker(d);
	d->checked |= accepts;
	return accepts;
}

/* Writes the rows of the block to the taker. numbers: of each role, by columns */
static void
write_rows(GrScanDesign *d, const double *features, const double *const *numbers, uint64 defined)
{
	GrTaker    *taker = d->taker;

	for (int r = 0; r < d->nrows; r++)
	{
		double	   *row;

		if ((defined & UINT64CONST(1) << r) == 0)
		{
			taker->nskipped++;
			continue;
		}
		if (taker->columns->weight && numbers[1][r] == 0)
			continue;
		if (!gr_taker_has_room(taker) && !make_room(d))
			return;
		row = (double *) taker->at;
		for (int k = 0; k < d->nfeatures; k++)
			row[k] = features[k * GR_DESIGN_BLOCK + r];
		for (int k = 0; k < d->nroles; k++)
			row[d->nfeatures + k] = numbers[k][r];
		gr_taker_count_row(taker);
	}
}

void
gr_scan_design_flush(GrScanDesign *d)
{
	double		made[ROLES_MAX][GR_DESIGN_BLOCK];
	const double *numbers[ROLES_MAX];
	uint64		defined = ~UINT64CONST(0);
	const double *features;

	if (d->nrows == 0)
		return;
	for (int k = 0; k < d->nroles; k++)
	{
		Role	   *role = &d->roles[k];

		numbers[k] = role->input >= 0 ? d->inputs + role->input * GR_DESIGN_BLOCK : made[k];
		if (role->input < 0)
			gr_design_block_offset(role->made.block, role->made.columns, d->nrows, made[k], &defined);
	}
	features = gr_design_block_features(d->features.block, d->features.columns, d->nrows, &defined);
	write_rows(d, features, numbers, defined);
	d->nrows = 0;
}

void
gr_scan_design_take(GrScanDesign *d, const char *data, const int32 *at)
{
	double	   *into = d->inputs + d->nrows;

	for (int k = 0; at != NULL && k < d->nattributes; k++)
		if (at[d->wanted[k]] < 0)
		{
			d->taker->nskipped++;
			return;
		}
	for (int k = 0; k < d->ninputs; k++, into += GR_DESIGN_BLOCK)
	{
		const char *from = data + (at == NULL ? d->fixed[k] : at[d->wanted[k]]);

		*into = gr_read_number(d->kinds[k], from);
		if (unlikely(d->kinds[k] == GR_INT8))
			(void) gr_bigint_number(*(const int64 *) from, d->names[k]);
	}
	if (++d->nrows == GR_DESIGN_BLOCK)
		gr_scan_design_flush(d);
}
