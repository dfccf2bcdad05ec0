/*
 * fuzz_model.c: values of gpu_model, rows that anyone may make of any fields, as arguments of all functions that take
 * one: predictions with values by position, as a row and as JSON, intervals, leverages, tables, tests. A model written
 * after it was read must be read as the same. A prediction from finite numbers must be finite, and the same in every
 * form; limits must be on their sides of the mean.
 */
#include <math.h>

#include "backend.h"

#include "catalog/pg_type.h"
#include "utils/jsonb.h"

#include "compute/design/design.h"
#include "compute/design/design_text.h"
#include "compute/design/formula.h"
#include "sql/model/model.h"

#undef snprintf

#define NFIELDS 22
#define NTERMS_MAX 6

PGDLLEXPORT Datum gr_predict(PG_FUNCTION_ARGS);
PGDLLEXPORT Datum gr_predict_interval(PG_FUNCTION_ARGS);
PGDLLEXPORT Datum gr_leverage(PG_FUNCTION_ARGS);
PGDLLEXPORT Datum gr_tidy(PG_FUNCTION_ARGS);
PGDLLEXPORT Datum gr_glance(PG_FUNCTION_ARGS);
PGDLLEXPORT Datum gr_summary(PG_FUNCTION_ARGS);
PGDLLEXPORT Datum gr_with_terms(PG_FUNCTION_ARGS);
PGDLLEXPORT Datum gr_wald(PG_FUNCTION_ARGS);
PGDLLEXPORT Datum gr_vif_model(PG_FUNCTION_ARGS);
PGDLLEXPORT Datum gr_anova(PG_FUNCTION_ARGS);

static const Oid types[NFIELDS] = {
	TEXTOID, TEXTARRAYOID, FLOAT8ARRAYOID, FLOAT8ARRAYOID, INT8OID, INT8OID, INT4OID, INT8OID, FLOAT8OID, FLOAT8OID,
	INT4OID, BOOLOID, TEXTARRAYOID, TEXTOID, FLOAT8OID, TEXTOID, TEXTOID, FLOAT8OID, FLOAT8OID, TEXTOID, FLOAT8OID,
	TEXTOID
};
/* gpu_tidy's columns: a term, its numbers and its class */
static const Oid tidy_types[] = {
	TEXTOID, FLOAT8OID, FLOAT8OID, FLOAT8OID, FLOAT8OID, FLOAT8OID, FLOAT8OID, FLOAT8OID, TEXTOID
};
static const Oid four_numbers[] = {FLOAT8OID, FLOAT8OID, FLOAT8OID, FLOAT8OID};

/* Properties of an input's model beside its fields */
typedef struct Made
{
	Datum		row;
	int			nfeatures;
	int			nvalues;		/* values of the features, and of the offset if there is one */
	const char *names[NTERMS_MAX + 1];	/* names of the values */
	bool		plain;			/* without a design: predictions find terms by name and by place */
	bool		finite;			/* true if the coefficients that aren't NULL are finite */
	bool		has_offset;
	const char *offset;			/* the offset's name */
} Made;

static const char *const methods[] = {
	"ols", "logistic", "glm", "iv", "logistic (l2 = 0.5)", "logistic (firth)", "ols (l2 = 2)", "glm (l2 = 1)",
	"glm (theta error = 0.25)", "ols (elastic net) (alpha = 0.5) (lambda = 0.1)",
	"logistic (elastic net) (alpha = 1) (lambda = 2)"
};
static const char *const families[] = {
	"gaussian", "binomial", "poisson", "gamma", "negative binomial", "quasibinomial", "quasipoisson", "Gamma"
};
static const char *const links[] = {"identity", "logit", "log", "probit", "cloglog", "inverse", "sqrt"};
static const char *const names[] = {
	GR_INTERCEPT, "x1", "x2", "a", "b", "a[1]", "a[2]", "a[3]", "a[01]", "", "x[0]", "c]", "d[1]"
};
static const char *const vcov_types[] = {"iid", "HC1", "HC3", "CR1", "CR2", "bootstrap"};

static Datum
take_text(FuzzInput *in, const char *const *known, int nknown)
{
	uint8_t		which = take_byte(in);
	size_t		n;
	char	   *bytes;

	if (which < 240)
		return PointerGetDatum(backend_text(known[which % nknown], strlen(known[which % nknown]), which >= 120));
	n = take_byte(in);
	n = Min(n, in->left);
	bytes = palloc(n + 1);
	take_bytes(in, bytes, n);
	/* texts of the server contain no 0 */
	for (size_t k = 0; k < n; k++)
		bytes[k] = bytes[k] == '\0' ? '0' : bytes[k];
	return PointerGetDatum(backend_text(bytes, n, false));
}

static Datum
take_names(FuzzInput *in, int n, Made *made, bool first_terms)
{
	Datum	   *items = palloc((Size) n * sizeof(Datum) + 1);
	bool	   *nulls = palloc0((Size) n + 1);
	uint8_t		how = take_byte(in);
	int			dims[2] = {n, 1};
	int			bounds[2] = {1, 1};
	char		name[20];

	for (int k = 0; k < n; k++)
	{
		if (how >= 64)
			items[k] = take_text(in, names, COUNT(names));
		else
		{
			snprintf(name, sizeof(name), "%s%d", k == 0 && how % 2 == 0 ? GR_INTERCEPT : "x", k);
			items[k] = PointerGetDatum(backend_text(k == 0 && how % 2 == 0 ? GR_INTERCEPT : name,
													strlen(k == 0 && how % 2 == 0 ? GR_INTERCEPT : name), false));
		}
		nulls[k] = how > 240 && k == how - 241;
		if (first_terms && how < 64 && (k > 0 || how % 2 != 0))
			made->names[made->nfeatures++] = pstrdup(name);
	}
	if (first_terms)
		made->plain = how < 64;
	if (how == 240)
		bounds[0] = -3;
	return PointerGetDatum(backend_array(TEXTOID, n == 0 ? 0 : how == 239 ? 2 : 1, dims, bounds, items,
										 how > 240 ? nulls : NULL));
}

static Datum
take_numbers(FuzzInput *in, int nrows, int ncols, bool square, bool *finite)
{
	int			n = nrows * Max(ncols, 1);
	Datum	   *items = palloc((Size) n * sizeof(Datum) + 1);
	bool	   *nulls = palloc0((Size) n + 1);
	int			dims[2] = {nrows, ncols};
	int			bounds[2] = {1, 1};
	uint8_t		how = take_byte(in);
	bool		some = false;

	for (int k = 0; k < n; k++)
	{
		double		value = take_double(in);

		/* square arrays often are covariances, of values unrelated to each other */
		if (square && how < 200)
			value = k / nrows == k % nrows ? fabs(value) : 0;
		items[k] = Float8GetDatum(value);
		nulls[k] = how % 8 == 7 && k % 3 == how / 8 % 3;
		some |= nulls[k];
		if (finite != NULL && !nulls[k])
			*finite &= isfinite(value);
	}
	return PointerGetDatum(backend_array(FLOAT8OID, ncols > 0 ? 2 : 1, dims, bounds, items, some ? nulls : NULL));
}

/* Makes records without a design: those of a model with an offset, or bytes of the input behind the 2. */
static Datum
take_records(FuzzInput *in, Made *made)
{
	static const char *const offsets[] = {
		"2 1 offsets 1 o", "2 2 weights 1 w offsets 1 o", "2 2 x 0  offsets 8 (offset)"
	};
	uint8_t		which = take_byte(in);
	char		text[130] = "2 ";
	size_t		n = 2;

	if (which < 200)
	{
		made->has_offset = true;
		made->offset = which % COUNT(offsets) == 2 ? "(offset)" : "o";
		return PointerGetDatum(backend_text(offsets[which % COUNT(offsets)], strlen(offsets[which % COUNT(offsets)]),
											which < 100));
	}
	if (which < 228)
	{
		/* low halves for one to three terms, which covariances accept if they are 0 */
		static const int lengths[] = {16, 48, 96};
		int			length = lengths[which % COUNT(lengths)];

		n = (size_t) snprintf(text, sizeof(text), "2 1 vcov_low %d ", length);
		for (int k = 0; k < length; k++)
			text[n++] = which < 214 ? '0' : "0123456789abcdef"[take_byte(in) % 16];
		return PointerGetDatum(backend_text(text, n, false));
	}
	for (; n < sizeof(text) && in->left > 0; n++)
	{
		text[n] = (char) take_byte(in);
		text[n] = text[n] == '\0' ? '0' : text[n];
	}
	return PointerGetDatum(backend_text(text, n, false));
}

/* Makes a design as a fit writes it, or any other text. */
static Datum
take_design(FuzzInput *in, Made *made)
{
	static const GrFormulaColumn columns[] = {
		{"y", GR_COLUMN_NUMBER, true, false}, {"x1", GR_COLUMN_NUMBER, true, false},
		{"x2", GR_COLUMN_NUMBER, true, false}, {"a", GR_COLUMN_FACTOR, true, false}
	};
	static const char *const formulas[] = {"y ~ x1 + x2", "y ~ a", "y ~ x1 * a", "y ~ poly(x1, 2)", "y ~ x1 + I(x1^2)"};
	uint8_t		which = take_byte(in);
	GrLevels	levels[COUNT(columns)] = {{0}};
	GrFormula	formula = {.intercept = true};
	GrFormulaError err = {0};
	GrMemory	memory = {fuzz_take, NULL};
	GrWriter	w = {0};
	const char *text;

	if (which >= 96 && which < 128)
		return take_records(in, made);
	if (which < 128)
		return PointerGetDatum(backend_text("", 0, which % 2 == 0));
	made->plain = false;
	if (which >= 220)
		return take_text(in, formulas, COUNT(formulas));
	text = formulas[which % COUNT(formulas)];
	must(gr_level_add(&levels[3], (GrString) {"u", 1}, memory) &&
		 gr_level_add(&levels[3], (GrString) {"v", 1}, memory));
	if (!gr_formula_read(&formula, &(GrFormulaText) {text, strlen(text), columns, COUNT(columns)}, memory, NULL, &err))
		return PointerGetDatum(backend_text(text, strlen(text), false));
	for (int k = 0; k < 2; k++)
	{
		w.nbytes = 0;
		gr_design_write(&w, &formula, (GrString) {text, (int) strlen(text)}, columns, COUNT(columns), levels, NULL);
		if (k == 0)
			w.text = palloc(w.nbytes + 1);
		w.size = w.nbytes;
	}
	return PointerGetDatum(backend_text(w.text, w.nbytes, false));
}

static int64
take_count(FuzzInput *in)
{
	uint8_t		byte = take_byte(in);
	int64		count;

	if (byte < 240)
		return byte;
	take_bytes(in, &count, sizeof(count));
	return count;
}

static void
take_model(FuzzInput *in, Made *made)
{
	int			nterms = 1 + take_byte(in) % NTERMS_MAX;
	uint8_t		odd = take_byte(in);
	Datum		values[NFIELDS];
	bool		nulls[NFIELDS] = {false};
	Oid			own[NFIELDS];
	BackendRow	row = {.natts = NFIELDS,.types = own,.values = values,.nulls = nulls};

	*made = (Made) {.finite = true};
	memcpy(own, types, sizeof(own));
	values[0] = take_text(in, methods, COUNT(methods));
	values[1] = take_names(in, nterms, made, true);
	values[2] = take_numbers(in, odd == 200 ? nterms + 1 : nterms, odd == 201 ? 1 : 0, false, &made->finite);
	values[3] = take_numbers(in, nterms, odd == 202 ? nterms - 1 : nterms, odd != 202, NULL);
	for (int k = 4; k < 8; k++)
		values[k] = Int64GetDatum(k == 6 ? (int64) (int32) take_count(in) : take_count(in));
	values[8] = Float8GetDatum(take_double(in));
	values[9] = Float8GetDatum(take_double(in));
	values[10] = Int32GetDatum((int32) take_count(in));
	values[11] = BoolGetDatum(take_byte(in) % 2);
	values[12] = take_names(in, take_byte(in) % 4, made, false);
	values[13] = PointerGetDatum(backend_text("cpu", 3, false));
	values[14] = Float8GetDatum(take_double(in));
	values[15] = take_text(in, families, COUNT(families));
	values[16] = take_text(in, links, COUNT(links));
	values[17] = Float8GetDatum(take_double(in));
	values[18] = Float8GetDatum(take_double(in));
	values[19] = take_text(in, vcov_types, COUNT(vcov_types));
	values[20] = Float8GetDatum(take_double(in));
	values[21] = take_design(in, made);
	made->nvalues = made->nfeatures;
	if (made->has_offset)
		made->names[made->nvalues++] = made->offset;
	/* from an earlier version's last field on NULL; one field NULL; another type */
	for (int k = 14; k < NFIELDS && odd >= 128 && odd < 160; k++)
		nulls[k] = true;
	if (odd < 2 * NFIELDS)
		nulls[odd % NFIELDS] = true;
	if (odd >= 230 && odd < 230 + NFIELDS)
		own[odd - 230] = odd % 2 == 0 ? InvalidOid : INT2OID;
	row.natts -= odd == 252;
	made->row = backend_row(&row);
}

/*
 * Predictions
 */

typedef enum Form
{
	BY_POSITION,
	AS_ARRAY,
	AS_ROW,
	AS_OBJECT,
	ODD_OBJECT
} Form;

#define NFORMS 5

static void
add_object(BackendCall *call, FuzzInput *in, const Made *model, const double *values, Form form)
{
	BackendJson *root = palloc0(sizeof(BackendJson));
	BackendJson **next = &root->first;
	uint8_t		odd = form == ODD_OBJECT ? take_byte(in) : 0;

	root->type = jbvObject;
	for (int k = 0; k < model->nvalues; k++)
	{
		BackendJson *member = palloc0(sizeof(BackendJson));

		member->key = model->names[k];
		member->nkey = (int) strlen(member->key);
		member->type = jbvNumeric;
		member->number = values[k];
		if (odd != 0 && k == odd % model->nvalues)
		{
			member->type = odd / 8 % 3 == 0 ? jbvBool : odd / 8 % 3 == 1 ? jbvNull : jbvArray;
			member->first = odd / 24 % 2 == 0 || member->type != jbvArray ? NULL : palloc0(sizeof(BackendJson));
			member->nmembers = member->first != NULL;
		}
		*next = member;
		next = &member->next;
		root->nmembers++;
	}
	if (odd % 16 == 15)
		root->type = jbvArray;
	backend_argument(call, JSONBOID, backend_jsonb(root), false);
}

static void
add_values(BackendCall *call, FuzzInput *in, const Made *model, const double *values, Form form)
{
	int			n = model->nvalues;
	Datum		items[NTERMS_MAX + 1];
	bool		nulls[NTERMS_MAX + 1] = {false};
	Oid			numbers[NTERMS_MAX + 1];

	for (int k = 0; k < n; k++)
	{
		items[k] = Float8GetDatum(values[k]);
		numbers[k] = FLOAT8OID;
	}
	if (form == BY_POSITION)
		for (int k = 0; k < n; k++)
			backend_argument(call, FLOAT8OID, items[k], false);
	else if (form == AS_ARRAY)
		backend_argument(call, FLOAT8ARRAYOID, PointerGetDatum(construct_array(items, n, FLOAT8OID, 8, true, 'd')),
						 false);
	else if (form == AS_ROW)
	{
		BackendRow	row = {n, numbers, model->names, items, nulls, (Oid) (2 + n)};

		backend_argument(call, 100000 + row.identifier, backend_row(&row), false);
	}
	else
		add_object(call, in, model, values, form);
}

/* Adds values of any types and any number, which go with no model. */
static void
add_any(BackendCall *call, FuzzInput *in)
{
	int			n = take_byte(in) % 5;

	for (int k = 0; k < n; k++)
	{
		uint8_t		which = take_byte(in);
		Datum		items[] = {Float8GetDatum(take_double(in)), Float8GetDatum(2)};
		int			two = 2 - which / 16 % 2;
		int			dims[] = {two, 1};
		int			bounds[] = {which / 32, 1};
		bool		nulls[] = {false, which / 64 == 1};

		if (which % 8 == 0)
			backend_argument(call, FLOAT8OID, items[0], false);
		else if (which % 8 == 1)
			backend_argument(call, FLOAT8ARRAYOID,
							 PointerGetDatum(backend_array(FLOAT8OID, which / 64 == 2 ? 2 : 1, dims, bounds, items,
														   which / 64 == 1 && two == 2 ? nulls : NULL)), false);
		else if (which % 8 == 2)
			backend_argument(call, TEXTOID, take_text(in, (const char *const[]) {"u", "v", "w"}, 3), false);
		else if (which % 8 == 3)
			backend_argument(call, INT4OID, Int32GetDatum(which), false);
		else if (which % 8 == 4)
			backend_argument(call, NUMERICOID, backend_numeric(take_double(in)), false);
		else if (which % 8 == 5)
			backend_argument(call, BOOLARRAYOID, PointerGetDatum(construct_empty_array(BOOLOID)), false);
		else
			backend_argument(call, BOOLOID, BoolGetDatum(which / 8 % 2), false);
	}
}

/* Checks that predictions agree in each form. */
static void
predict_all(FuzzInput *in, const Made *model)
{
	double		values[NTERMS_MAX + 1];
	volatile double first = 0;
	volatile bool known = false;
	bool		finite = model->finite;

	for (int k = 0; k < model->nvalues; k++)
	{
		values[k] = take_double(in);
		finite &= isfinite(values[k]);
		/* JSON has finite numbers only */
		if (!isfinite(values[k]) || fabs(values[k]) > 1e308)
			return;
	}
	for (Form form = BY_POSITION; form <= AS_OBJECT && model->nvalues > 0; form++)
	{
		BackendCall *call = backend_call(false);
		double		mean;

		backend_argument(call, types[0], model->row, false);
		add_values(call, in, model, values, form);
		/* if values by position are accepted, so are the other forms */
		if (catch_error())
		{
			must(form == BY_POSITION);
			return;
		}
		mean = DatumGetFloat8(backend_run(call, gr_predict));
		must(!call->null && (!finite || isfinite(mean)));
		must(form == BY_POSITION || !known || memcmp(&mean, (const void *) &first, sizeof(mean)) == 0);
		first = mean;
		known = true;
	}
}

static void
check_interval(const BackendCall *call, Datum row)
{
	Datum		values[4];
	bool		nulls[4];
	double		mean;

	if (call->null)
		return;
	backend_fields(row, values, nulls, 4);
	must(!nulls[0] && nulls[2] == nulls[3] && (nulls[2] || !nulls[1]));
	must(nulls[1] || !(DatumGetFloat8(values[1]) < 0));
	mean = DatumGetFloat8(values[0]);
	if (nulls[2] || isnan(mean))
		return;
	must(!(DatumGetFloat8(values[2]) > mean) && !(DatumGetFloat8(values[3]) < mean));
}

/* Calls one function for a few models and values, one after another, as in a query. */
static void
predict_some(FuzzInput *in, const Made *first, const Made *second, uint8_t op)
{
	static const PGFunction functions[] = {gr_predict, gr_predict_interval, gr_leverage};
	static const char *const kinds[] = {"confidence", "prediction", "other"};
	PGFunction	function = functions[op % 3];
	BackendCall *call = backend_call(false);
	double		values[NTERMS_MAX + 1];
	Form		form = (Form) (take_byte(in) % (NFORMS + 1));

	backend_result_type(4, four_numbers);
	for (int k = 0; k <= NTERMS_MAX; k++)
		values[k] = take_double(in);
	backend_argument(call, types[0], first->row, false);
	if (function == gr_predict_interval)
	{
		backend_argument(call, TEXTOID, take_text(in, kinds, 3), false);
		backend_argument(call, FLOAT8OID, Float8GetDatum(take_byte(in) / 255.0), false);
	}
	if (form < NFORMS && first->nvalues > 0)
		add_values(call, in, first, values, form);
	else
		add_any(call, in);
	for (int k = 0; k < 3; k++)
	{
		Datum		result;

		call->args[0].value = (op >> (3 + k)) % 2 == 0 ? first->row : second->row;
		if (catch_error())
			continue;
		result = backend_run(call, function);
		if (function == gr_predict_interval)
			check_interval(call, result);
	}
}

/*
 * Tables and tests
 */

static void
tabulate(FuzzInput *in, const Made *first, const Made *second, uint8_t op)
{
	static const PGFunction functions[] = {
		gr_tidy, gr_glance, gr_summary, gr_with_terms, gr_wald, gr_vif_model, gr_anova
	};
	PGFunction	function = functions[op % COUNT(functions)];
	BackendCall *call = backend_call(false);

	backend_result_type(NFIELDS, types);
	if (function == gr_tidy)
		backend_result_type(COUNT(tidy_types), tidy_types);
	backend_argument(call, types[0], first->row, false);
	if (function == gr_tidy)
	{
		backend_argument(call, FLOAT8OID, Float8GetDatum(take_byte(in) / 255.0), false);
		backend_argument(call, BOOLOID, BoolGetDatum(op / 8 % 2), false);
	}
	else if (function == gr_with_terms || function == gr_wald)
	{
		Made		ignored = {0};

		backend_argument(call, TEXTARRAYOID, take_names(in, take_byte(in) % (NTERMS_MAX + 1), &ignored, false), false);
	}
	else if (function == gr_anova)
		backend_argument(call, types[0], second->row, false);
	if (!catch_error())
		(void) backend_run(call, function);
}

/*
 * A model as it was read, and as it is read from its written form: both must agree. A model of an earlier version is
 * written as one of this version.
 */
typedef struct Reading
{
	const Made *model;
	GrModel		read;
} Reading;

static Reading reading;

static Datum
write_model(PG_FUNCTION_ARGS)
{
	gr_read_model(fcinfo, 0, &reading.read, GR_MODEL_ALL);
	reading.read.device = "cpu";
	return gr_model_datum(fcinfo, &reading.read);
}

static void
compare_arrays(Datum a, Datum b)
{
	must(VARSIZE_ANY(DatumGetPointer(a)) == VARSIZE_ANY(DatumGetPointer(b)) &&
		 memcmp(DatumGetPointer(a), DatumGetPointer(b), VARSIZE_ANY(DatumGetPointer(a))) == 0);
}

static void
go_round(const Made *model)
{
	Datum		values[2][NFIELDS];
	bool		nulls[2][NFIELDS];
	volatile Datum row = model->row;

	backend_result_type(NFIELDS, types);
	for (volatile int k = 0; k < 2; k++)
	{
		BackendCall *call = backend_call(false);

		backend_argument(call, types[0], row, false);
		if (catch_error())
		{
			/* refusing a model that was written is a finding */
			must(k == 0);
			return;
		}
		row = backend_run(call, write_model);
		backend_fields(row, values[k], nulls[k], NFIELDS);
	}
	for (int k = 0; k < NFIELDS; k++)
	{
		must(nulls[0][k] == nulls[1][k]);
		if (nulls[0][k])
			continue;
		if (types[k] == TEXTOID || types[k] == TEXTARRAYOID || types[k] == FLOAT8ARRAYOID)
			compare_arrays(values[0][k], values[1][k]);
		else
			must(values[0][k] == values[1][k]);
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	FuzzInput	in = {data, size};
	uint8_t		op = take_byte(&in);
	uint8_t		shift = take_byte(&in);
	Made		first;
	Made		second;

	backend_begin(size);
	backend_allowed = 0;
	take_model(&in, &first);
	second = first;
	if (op < 96)
		take_model(&in, &second);
	if (op % 4 == 0 && first.plain)
		predict_all(&in, &first);
	else if (op % 4 == 1)
		predict_some(&in, &first, &second, shift);
	else if (op % 4 == 2)
		tabulate(&in, &first, &second, shift);
	else
		go_round(&first);
	backend_end();
	return 0;
}
