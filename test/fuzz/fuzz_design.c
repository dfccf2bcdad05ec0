/*
 * fuzz_design.c: texts of designs, which a model carries and anyone may write. A design that is read must name its
 * features and expand rows of any numbers without touching memory beyond its own.
 */
#include "compute/design/design.h"
#include "compute/design/design_text.h"
#include "fuzz.h"

static const GrMemory memory = {fuzz_take, NULL};

static void
use_design(const GrDesign *design, FuzzInput *in)
{
	size_t		n = (size_t) design->nfeatures;
	double	   *values = fuzz_take(NULL, (size_t) design->ncolumns * 2 * sizeof(double));
	double	   *features = fuzz_take(NULL, n * sizeof(double));
	double	   *low = fuzz_take(NULL, (size_t) design->npaired * sizeof(double));

	must(design->nfeatures >= 0 && design->nfeatures <= GR_MAX_FEATURES && design->npaired <= design->nfeatures);
	for (int c = 0; c < design->ncolumns; c++)
	{
		const GrDesignColumn *column = &design->columns[c];

		/* levels exist, as the caller has looked them up */
		values[c] = take_double(in);
		values[design->ncolumns + c] = column->levels.n > 0 ? take_byte(in) % column->levels.n : 0;
		for (int k = 0; k < column->levels.n && k < 50; k++)
			must(gr_level_find(&column->levels, column->levels.level[k].bytes, column->levels.level[k].nbytes) == k);
	}
	gr_design_expand(design, values, features);
	gr_design_expand_pairs(design, values, features, low);
	for (size_t k = 0; k < n; k += 1 + n / 50)
	{
		char		name[40];
		GrWriter	w = {.text = name,.size = sizeof(name)};

		gr_design_name(&w, design, (int) k);
		must(w.nbytes > 0 || design->nfeatures > 0);
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	FuzzInput	in = {data, size};
	uint8_t		head = take_byte(&in);
	const char *text;
	GrDesign   *design;

	fuzz_begin(size);
	text = fuzz_copy(in.at, in.left);
	if (head >= 192)
		fuzz_failing = head - 192;
	design = gr_design_read(text, in.left, memory);
	fuzz_failing = -1;
	if (design != NULL)
		use_design(design, &in);
	fuzz_end();
	return 0;
}
