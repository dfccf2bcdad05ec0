/*
 * fuzz_formula.c: texts of formulas, also when memory fails. A formula that is read must give a design that is read
 * back as written, with as many features as the formula says.
 */
#include <math.h>

#include "compute/design/design.h"
#include "compute/design/design_text.h"
#include "compute/design/formula.h"
#include "fuzz.h"

static const GrMemory memory = {fuzz_take, NULL};

static const GrFormulaColumn columns[] = {
	{"y", GR_COLUMN_NUMBER, true, false}, {"a", GR_COLUMN_FACTOR, true, false}, {"b", GR_COLUMN_FACTOR, true, false},
	{"C \"c", GR_COLUMN_FACTOR, true, true}, {"x", GR_COLUMN_NUMBER, true, false},
	{"z", GR_COLUMN_NUMBER, true, false}, {"k", GR_COLUMN_NUMBER, true, false},
	{"blob", GR_COLUMN_OTHER, false, true}, {"twice", GR_COLUMN_NUMBER, true, true},
	{"twice", GR_COLUMN_NUMBER, true, true}, {"w", GR_COLUMN_NUMBER, true, true}
};

/* Sets the levels of every column that may be a factor: at least two, as callers ensure. */
static void
make_levels(GrLevels *levels)
{
	static const char *const names[] = {"1", "2", "\"\n"};

	memset(levels, 0, COUNT(columns) * sizeof(GrLevels));
	for (int k = 0; k < COUNT(columns); k++)
		for (int i = 0; i < 2 + k % 2; i++)
			must(gr_level_add(&levels[k], (GrString) {names[i], (int) strlen(names[i])}, memory));
}

static GrString
written(const GrFormula *formula, GrString text, const GrLevels *levels)
{
	GrWriter	w = {0};

	gr_design_write(&w, formula, text, columns, COUNT(columns), levels, NULL);
	w.text = fuzz_take(NULL, w.nbytes);
	w.size = w.nbytes;
	w.nbytes = 0;
	gr_design_write(&w, formula, text, columns, COUNT(columns), levels, NULL);
	must(w.nbytes == w.size);
	return (GrString) {w.text, (int) w.nbytes};
}

static void
use_design(const GrDesign *design)
{
	double	   *values = fuzz_take(NULL, (size_t) design->ncolumns * 2 * sizeof(double));
	double	   *features = fuzz_take(NULL, (size_t) design->nfeatures * sizeof(double));
	double	   *paired = fuzz_take(NULL, (size_t) design->nfeatures * sizeof(double));
	double	   *low = fuzz_take(NULL, (size_t) design->npaired * sizeof(double));

	/* small integers: products of a few factors are exact */
	for (int k = 0; k < 2 * design->ncolumns; k++)
		values[k] = k < design->ncolumns ? k % 3 : 0;
	gr_design_expand(design, values, features);
	gr_design_expand_pairs(design, values, paired, low);
	for (int k = 0; k < design->nfeatures; k++)
	{
		char		name[64];
		GrWriter	w = {.text = name,.size = sizeof(name)};

		gr_design_name(&w, design, k);
		must(w.nbytes > 0 && (features[k] == paired[k] || (isnan(features[k]) && isnan(paired[k]))));
	}
}

static void
use_formula(const GrFormula *formula, GrString text)
{
	GrLevels	levels[COUNT(columns)];
	GrString	design_text;
	GrDesign   *design;
	double		nfeatures;

	fuzz_failing = -1;
	must(formula->response >= -1 && formula->response < COUNT(columns)); /* -1: an expression */
	make_levels(levels);
	nfeatures = gr_formula_nfeatures(formula, levels);
	design_text = written(formula, text, levels);
	design = gr_design_read(design_text.bytes, (size_t) design_text.nbytes, memory);
	must((design != NULL) == (nfeatures <= GR_MAX_FEATURES));
	if (design == NULL)
		return;
	must(design->nfeatures == nfeatures && design->formula.nbytes == text.nbytes &&
		 memcmp(design->formula.bytes, text.bytes, (size_t) text.nbytes) == 0);
	use_design(design);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	FuzzInput	in = {data, size};
	uint8_t		head = take_byte(&in);
	GrFormula	formula = {.intercept = (head & 1) != 0,.response = 0};
	GrFormulaError err = {0};
	const char *text;

	fuzz_begin(size);
	text = fuzz_copy(in.at, in.left);
	if (head >= 192)
		fuzz_failing = (head - 192) / 2;
	if (gr_formula_read(&formula, &(GrFormulaText) {text, in.left, columns, COUNT(columns)}, memory, NULL, &err))
		use_formula(&formula, (GrString) {text, (int) in.left});
	else
		must(err.fault != GR_FORMULA_OK && err.at + err.nbytes <= in.left &&
			 (err.fault != GR_FORMULA_NO_MEMORY || head >= 192));
	fuzz_end();
	return 0;
}
