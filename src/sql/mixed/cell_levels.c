/*
 * cell_levels.c: numbers the levels of grouping factors; see cell_levels.h.
 */
#include "postgres.h"

#include "lib/stringinfo.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/numeric.h"

#include "rows/columns/levels.h"
#include "sql/mixed/cell_levels.h"

#define FIRST_CAPACITY 64

GrCellLevels *
gr_cell_levels_make(const GrLmmFormula *formula)
{
	GrCellLevels *cells = palloc0(sizeof(GrCellLevels));

	cells->context = CurrentMemoryContext;
	cells->formula = formula;
	return cells;
}

/* Makes room for another cell. */
static void
grow(GrCellLevels *cells)
{
	int64		capacity = Max(2 * cells->capacity, FIRST_CAPACITY);

	if (cells->ncells < cells->capacity)
		return;
	if (capacity > PG_INT32_MAX / 2)
		ereport(ERROR, (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED), errmsg("there are too many states")));
	for (int k = 0; k < cells->formula->nterms; k++)
		cells->levels[k] = cells->capacity == 0 ?
			MemoryContextAllocHuge(cells->context, capacity * sizeof(int)) :
			repalloc_huge(cells->levels[k], capacity * sizeof(int));
	cells->capacity = capacity;
}

/* Returns the number of a level of a random term, which is added if it is new. */
static int
number_of(GrCellLevels *cells, int term, const StringInfo text)
{
	GrLevels   *table = &cells->tables[term];
	int			number = gr_level_find(table, text->data, text->len);
	char	   *copy;

	if (number >= 0)
		return number;
	copy = MemoryContextAlloc(cells->context, text->len + 1);
	memcpy(copy, text->data, text->len + 1);
	if (!gr_level_add(table, (GrString) {copy, text->len}, gr_context_memory(cells->context)))
		ereport(ERROR, (errcode(ERRCODE_OUT_OF_MEMORY), errmsg("out of memory")));
	return table->n - 1;
}

/* Appends a factor's value to a level's text; lengths tell values apart. */
static void
append_value(StringInfo text, const char *bytes, int nbytes)
{
	appendStringInfo(text, "%d ", nbytes);
	appendBinaryStringInfo(text, bytes, nbytes);
}

/* Appends a factor's value in an object. Returns false if it is null. */
static bool
append_member(StringInfo text, Jsonb *object, const GrString *factor)
{
	JsonbValue	key = {
		.type = jbvString,.val.string = {.val = unconstify(char *, factor->bytes),.len = factor->nbytes}
	};
	JsonbValue *value = findJsonbValueFromContainer(&object->root, JB_FOBJECT, &key);
	char	   *number;

	if (value == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("levels have no \"%s\", by which random effects vary", factor->bytes),
				 errhint("Pass levels as in jsonb_build_object('%s', %s).", factor->bytes, factor->bytes)));
	switch (value->type)
	{
		case jbvNull:
			return false;
		case jbvString:
			append_value(text, value->val.string.val, value->val.string.len);
			return true;
		case jbvNumeric:
			number = DatumGetCString(DirectFunctionCall1(numeric_out, NumericGetDatum(value->val.numeric)));
			append_value(text, number, (int) strlen(number));
			return true;
		case jbvBool:
			append_value(text, value->val.boolean ? "true" : "false", value->val.boolean ? 4 : 5);
			return true;
		default:
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("level \"%s\" must be a string, a number or a boolean", factor->bytes)));
	}
	return false;
}

bool
gr_cell_levels_add(GrCellLevels *cells, Jsonb *object)
{
	int			numbers[GR_LMM_TERMS_MAX];
	StringInfoData text;

	if (!JB_ROOT_IS_OBJECT(object))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("levels must be an object"),
				 errhint("Pass levels as in jsonb_build_object('school', school).")));
	initStringInfo(&text);
	for (int k = 0; k < cells->formula->nterms; k++)
	{
		const GrLmmFormulaTerm *term = &cells->formula->terms[k];

		resetStringInfo(&text);
		for (int j = 0; j < term->nfactors; j++)
			if (!append_member(&text, object, &term->factors[j]))
				return false;
		numbers[k] = number_of(cells, k, &text);
	}
	pfree(text.data);
	grow(cells);
	for (int k = 0; k < cells->formula->nterms; k++)
		cells->levels[k][cells->ncells] = numbers[k];
	cells->ncells++;
	return true;
}

bool
gr_cell_levels_add_texts(GrCellLevels *cells, const GrString *values)
{
	int			numbers[GR_LMM_TERMS_MAX];
	StringInfoData text;

	initStringInfo(&text);
	for (int k = 0; k < cells->formula->nterms; k++)
	{
		resetStringInfo(&text);
		for (int j = 0; j < cells->formula->terms[k].nfactors; j++, values++)
		{
			if (values->bytes == NULL)
				return false;
			append_value(&text, values->bytes, values->nbytes);
		}
		numbers[k] = number_of(cells, k, &text);
	}
	pfree(text.data);
	grow(cells);
	for (int k = 0; k < cells->formula->nterms; k++)
		cells->levels[k][cells->ncells] = numbers[k];
	cells->ncells++;
	return true;
}

char *
gr_cell_level_text(const GrCellLevels *cells, int term, int level)
{
	GrString	text = cells->tables[term].level[level];
	StringInfoData out;
	const char *at = text.bytes;

	initStringInfo(&out);
	while (at < text.bytes + text.nbytes)
	{
		char	   *value;
		int			nbytes = (int) strtol(at, &value, 10);

		/* append_value() has written a space behind the length */
		if (at > text.bytes)
			appendStringInfoChar(&out, ':');
		appendBinaryStringInfo(&out, value + 1, nbytes);
		at = value + 1 + nbytes;
	}
	return out.data;
}
