/* cells.c: makes the Gram matrix of a design with factors from sums by cell; see cells.h. */
#include "compute/design/cells.h"

#include <string.h>

bool
gr_formula_has_cells(const GrFormula *formula)
{
	bool		any = false;

	for (int t = 0; t < formula->nterms; t++)
	{
		const GrFormulaTerm *term = &formula->terms[t];
		int			nnumbers = 0;

		for (int i = 0; i < gr_formula_order(term); i++)
		{
			GrVariableKind kind = formula->variables[term->variable[i]].kind;

			if (kind != GR_VARIABLE_FACTOR && kind != GR_VARIABLE_NUMBER)
				return false;
			nnumbers += kind == GR_VARIABLE_NUMBER ? 1 : 0;
			any |= kind == GR_VARIABLE_FACTOR;
		}
		if (nnumbers > 1)
			return false;
	}
	return any;
}

/* Returns the number of column k among the design's numbers, from 1. */
static int
number_of_column(const GrDesign *design, int k)
{
	int			n = 0;

	for (int c = 0; c <= k; c++)
		n += design->columns[c].is_number ? 1 : 0;
	return n;
}

/* Returns the row of the extended matrix that belongs to the features of a term. */
static int
number_of_term(GrCellSums *sums, const GrDesignTerm *term)
{
	int			number = 0;
	bool		has_factor = false;

	for (int i = 0; i < term->nparts; i++)
		if (term->part[i].kind == GR_PART_NUMBER)
			number = number_of_column(sums->design, term->part[i].column);
		else
			has_factor = true;
	if (number == 0 || !has_factor)
		return number;
	sums->has_slopes = true;
	return sums->nnumbers + 1 + number;
}

static void *
take(GrMemory memory, size_t n, size_t nbytes)
{
	return memory.take(memory.arg, (n > 0 ? n : 1) * nbytes);
}

/* Takes memory for all arrays. Returns false if there is none. */
static bool
take_arrays(GrCellSums *sums, GrMemory memory)
{
	const GrDesign *design = sums->design;
	int			p = design->nfeatures;
	int			q = sums->nnumbers;
	int			nnonzeros = gr_design_nonzeros_max(design);
	double	   *gram = take(memory, gr_gram_ndoubles(p), sizeof(double));
	double	   *moved = take(memory, gr_gram_ndoubles(q), sizeof(double));

	sums->nextended = 2 * q + 2;
	sums->shift = take(memory, (size_t) q + 1, sizeof(double));
	sums->number = take(memory, (size_t) p, sizeof(int));
	sums->values = take(memory, 2 * (size_t) design->ncolumns, sizeof(double));
	sums->nonzeros = take(memory, (size_t) nnonzeros, sizeof(GrNonzero));
	sums->entries = take(memory, (size_t) nnonzeros + 2, sizeof(GrCellEntry));
	sums->extended = take(memory, (size_t) sums->nextended * (size_t) sums->nextended, sizeof(GrDD));
	if (gram == NULL || moved == NULL || sums->shift == NULL || sums->number == NULL || sums->values == NULL ||
		sums->nonzeros == NULL || sums->entries == NULL || sums->extended == NULL)
		return false;
	sums->gram = gr_gram_at(gram, p);
	sums->moved = gr_gram_at(moved, q);
	return true;
}

bool
gr_cells_begin(GrCellSums *sums, const GrDesign *design, const double *shift, GrMemory memory)
{
	int			k = 0;

	memset(sums, 0, sizeof(*sums));
	sums->design = design;
	for (int c = 0; c < design->ncolumns; c++)
		sums->nnumbers += design->columns[c].is_number ? 1 : 0;
	if (!take_arrays(sums, memory))
		return false;
	memcpy(sums->shift, shift, ((size_t) sums->nnumbers + 1) * sizeof(double));
	for (int c = 0; c < 2 * design->ncolumns; c++)
		sums->values[c] = 1;
	gr_gram_clear(&sums->gram);
	for (int t = 0; t < design->nterms; t++)
	{
		int			number = number_of_term(sums, &design->terms[t]);

		for (int i = 0; i < design->terms[t].width; i++, k++)
		{
			sums->number[k] = number;
			sums->gram.shift[k] = number > 0 && number <= sums->nnumbers ? shift[number - 1] : 0;
		}
	}
	sums->gram.shift[design->nfeatures] = shift[sums->nnumbers];
	return true;
}

static GrDD *
extended_entry(GrCellSums *sums, int i, int j)
{
	return &sums->extended[i * sums->nextended + j];
}

/* Sets the rows of the numbers about 0, x = (x - shift) + shift, in the extended matrix. */
static void
extend_slopes(GrCellSums *sums)
{
	int			q = sums->nnumbers;

	for (int i = 1; i <= q; i++)
	{
		for (int j = 0; j <= q + 1; j++)
		{
			GrDD		product = gr_dd_mul_d(*extended_entry(sums, 0, j), sums->shift[i - 1]);
			GrDD		entry = gr_dd_add(*extended_entry(sums, i, j), product);

			*extended_entry(sums, q + 1 + i, j) = *extended_entry(sums, j, q + 1 + i) = entry;
		}
	}
	for (int i = 1; i <= q; i++)
		for (int j = 1; j <= q; j++)
		{
			GrDD		product = gr_dd_mul_d(*extended_entry(sums, 0, q + 1 + i), sums->shift[j - 1]);

			*extended_entry(sums, q + 1 + i, q + 1 + j) = gr_dd_add(*extended_entry(sums, j, q + 1 + i), product);
		}
}

static void
extend(GrCellSums *sums)
{
	for (int i = 0; i <= sums->nnumbers + 1; i++)
		for (int j = 0; j <= i; j++)
			*extended_entry(sums, i, j) = *extended_entry(sums, j, i) = gr_gram_entry(&sums->moved, i, j);
	if (sums->has_slopes)
		extend_slopes(sums);
}

/* Sets the entries that are not 0 in a cell, in ascending order. Returns their number. */
static int
find_entries(GrCellSums *sums)
{
	int			n = gr_design_nonzeros(sums->design, sums->values, sums->nonzeros);
	GrCellEntry *entry = sums->entries;

	*entry++ = (GrCellEntry) {0, 0};
	for (int k = 0; k < n; k++)
	{
		int			feature = sums->nonzeros[k].feature;

		*entry++ = (GrCellEntry) {feature + 1, sums->number[feature]};
	}
	*entry++ = (GrCellEntry) {sums->design->nfeatures + 1, sums->nnumbers + 1};
	return (int) (entry - sums->entries);
}

bool
gr_cells_add(GrCellSums *sums, const int *levels, const GrGram *cell, GrPoll *poll)
{
	int			n;

	for (int c = 0; c < sums->design->ncolumns; c++)
		if (sums->design->columns[c].is_factor)
			sums->values[sums->design->ncolumns + c] = levels[c];
	if (!gr_gram_copy_about(&sums->moved, cell, sums->shift, poll))
		return false;
	extend(sums);
	n = find_entries(sums);
	for (int i = 0; i < n; i++)
		for (int j = 0; j <= i; j++)
		{
			const GrCellEntry *a = &sums->entries[i];
			const GrCellEntry *b = &sums->entries[j];

			gr_gram_set(&sums->gram, a->row, b->row,
						gr_dd_add(gr_gram_entry(&sums->gram, a->row, b->row),
								  *extended_entry(sums, a->number, b->number)));
		}
	return true;
}
