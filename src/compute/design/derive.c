/*
 * derive.c: makes, checks and applies derivations of kept rows on the CPU; see derive.h.
 */
#include "compute/design/derive.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compute/design/derive_row.h"

/* Validation */

static bool
step_has_column(int32_t op)
{
	return op <= GR_FILTER_IS_NOT_NULL;
}

/* True if step hashes existing columns and its value is a fold k < n of GR_FOLD_VALUE(k, n). */
static bool
fold_step_valid(const GrFilterStep *step, int ncolumns)
{
	double		n = GR_FILTER_FOLDS_MAX + 1.0;
	double		fold = floor(step->value / n);
	double		nfolds = step->value - fold * n;

	return step->column >= 1 && step->column <= ncolumns && step->value >= 0 && step->value < n * n &&
		nfolds == floor(nfolds) && fold < nfolds;
}

static bool
step_valid(const GrFilterStep *step, int ncolumns)
{
	if (step->op < 0 || step->op >= GR_NFILTER_OPS || !isfinite(step->value))
		return false;
	if (step->op == GR_FILTER_FOLD)
		return fold_step_valid(step, ncolumns);
	if (step->op > GR_FILTER_GE && step->value != 0.0)
		return false;
	return step_has_column(step->op) ? step->column >= 0 && step->column < ncolumns : step->column == 0;
}

bool
gr_filter_valid(const GrFilterStep *steps, int nsteps, int ncolumns)
{
	int			depth = 0;

	if (nsteps < 0 || nsteps > GR_FILTER_STEPS_MAX)
		return false;
	for (int k = 0; k < nsteps; k++)
	{
		int32_t		op = steps[k].op;
		int			wants = op == GR_FILTER_AND || op == GR_FILTER_OR ? 2 : op == GR_FILTER_NOT ? 1 : 0;

		if (!step_valid(&steps[k], ncolumns) || depth < wants)
			return false;
		depth += 1 - wants;
		if (depth > GR_FILTER_DEPTH_MAX)
			return false;
	}
	return nsteps == 0 || depth == 1;
}

static bool
head_valid(const GrDerivation *d, int ncolumns)
{
	int			nroles = GR_DERIVES_WEIGHT | GR_DERIVES_OFFSET | GR_DERIVES_KEY | GR_DERIVES_SECOND_KEY;
	int64_t		ncols;

	if (d->ncolumns != ncolumns || ncolumns < 1 || ncolumns > GR_ROW_NCOLS_MAX || d->zero != 0)
		return false;
	if (d->nfeatures < 0 || d->nfeatures > GR_MAX_FEATURES || (d->roles & ~nroles) != 0)
		return false;
	if ((d->roles & GR_DERIVES_SECOND_KEY) != 0 && (d->roles & GR_DERIVES_KEY) == 0)
		return false;
	ncols = gr_row_ncols(gr_derived_shape(d));
	return d->nfactors >= ncols && d->nfactors <= ncols * GR_FORMULA_ORDER_MAX &&
		d->nsteps >= 0 && d->nsteps <= GR_FILTER_STEPS_MAX;
}

static bool
is_integer_within(double value, double least, double most)
{
	return value >= least && value <= most && value == floor(value);
}

/* True if factor[0 .. 2] are those of a GR_DERIVED_FOLD. */
static bool
fold_number_valid(const GrDeriveFactor *factor)
{
	for (int k = 0; k < GR_FOLD_NFACTORS; k++)
		if (factor[k].column != factor[0].column || factor[k].power != 1)
			return false;
	return is_integer_within(factor[0].value, 1, GR_FOLDS_MAX) && is_integer_within(factor[1].value, 0, UINT32_MAX) &&
		is_integer_within(factor[2].value, 0, UINT32_MAX);
}

static bool
number_valid(const GrDerivedNumber *number, const GrDerivation *d, int32_t first)
{
	const GrDeriveFactor *factor = gr_derive_factors(d) + first;

	if (number->first != first || number->nfactors < 1 || number->nfactors > GR_FORMULA_ORDER_MAX ||
		number->kind > GR_DERIVED_FOLD || number->nfactors > d->nfactors - first)
		return false;
	if (number->kind == GR_DERIVED_FOLD)
		return number->nfactors == GR_FOLD_NFACTORS && fold_number_valid(factor);
	return number->kind != GR_DERIVED_COLUMN ||
		(number->nfactors == 1 && factor->power == 1 && factor->value == 0.0);
}

bool
gr_derivation_valid(const GrDerivation *d, size_t nbytes, int ncolumns)
{
	const GrDerivedNumber *number;
	const GrDeriveFactor *factor;
	int32_t		first = 0;

	if ((uintptr_t) d % sizeof(double) != 0 || nbytes < sizeof(*d) || !head_valid(d, ncolumns) ||
		nbytes != gr_derivation_nbytes(d))
		return false;
	number = gr_derived_numbers(d);
	for (int j = 0; j < gr_row_ncols(gr_derived_shape(d)); first += number[j++].nfactors)
		if (!number_valid(&number[j], d, first))
			return false;
	if (first != d->nfactors)
		return false;
	factor = gr_derive_factors(d);
	for (int k = 0; k < d->nfactors; k++)
		if (factor[k].column < 0 || factor[k].column >= ncolumns || factor[k].power < 0 ||
			factor[k].power > GR_POLY_DEGREE_MAX || !isfinite(factor[k].value))
			return false;
	return gr_filter_valid(gr_derive_filter(d), d->nsteps, ncolumns);
}

int
gr_derivation_used(const GrDerivation *d, int32_t *columns)
{
	const GrDeriveFactor *factor = gr_derive_factors(d);
	int			n = 0;

	memset(columns, 0, (size_t) d->ncolumns * sizeof(*columns));
	for (int k = 0; k < d->nfactors; k++)
		columns[factor[k].column] = 1;
	/* the marks become the list in place: n never exceeds c */
	for (int32_t c = 0; c < d->ncolumns; c++)
		if (columns[c] != 0)
			columns[n++] = c;
	return n;
}

int64_t
gr_derivation_work(const GrDerivation *d)
{
	const GrDeriveFactor *factor = gr_derive_factors(d);
	int64_t		work = (int64_t) d->ncolumns + d->nsteps;

	for (int k = 0; k < d->nfactors; k++)
		work += factor[k].power < 1 ? 1 : factor[k].power;
	return work;
}

/* Construction */

typedef struct Making
{
	const GrDeriveOptions *options;
	GrDerivedNumber *number;	/* next number to write */
	GrDeriveFactor *factor;
	int32_t		nfactors;		/* factors written so far */
} Making;

static void
put_number(Making *m, int nfactors, GrDerivedKind kind)
{
	*m->number++ = (GrDerivedNumber) {m->nfactors, (uint16_t) nfactors, (uint16_t) kind};
	m->nfactors += nfactors;
}

static void
put_column(Making *m, int column)
{
	*m->factor++ = (GrDeriveFactor) {column, 1, 0.0};
	put_number(m, 1, GR_DERIVED_COLUMN);
}

/* Writes the key's number: its column, or its fold. */
static void
put_key(Making *m)
{
	const GrDeriveOptions *options = m->options;
	int			column = options->key;

	if (options->nfolds == 0)
	{
		put_column(m, column);
		return;
	}
	*m->factor++ = (GrDeriveFactor) {column, 1, options->nfolds};
	*m->factor++ = (GrDeriveFactor) {column, 1, (double) (uint32_t) options->fold_seed};
	*m->factor++ = (GrDeriveFactor) {column, 1, (double) (uint32_t) (options->fold_seed >> 32)};
	put_number(m, GR_FOLD_NFACTORS, GR_DERIVED_FOLD);
}

/* Returns the factor for number k of a part. */
static GrDeriveFactor
factor_of(const GrDeriveOptions *options, const GrDesignPart *part, int k)
{
	int			column = options->columns[part->column];
	int			level = k + (part->kind == GR_PART_CONTRASTS ? 1 : 0);
	const double *codes = options->codes == NULL ? NULL : options->codes[part->column];

	if (part->kind == GR_PART_NUMBER || gr_part_is_poly(part))
		return (GrDeriveFactor) {column, k + 1, part->center};
	return (GrDeriveFactor) {column, 0, codes == NULL ? level : codes[level]};
}

/* Returns the kind of a term's numbers: a number by itself is copied, as by expand_any() of design.c. */
static GrDerivedKind
kind_of(const GrDesignTerm *term)
{
	return term->nparts == 1 && term->part[0].kind == GR_PART_NUMBER ? GR_DERIVED_COLUMN : GR_DERIVED_PRODUCT;
}

static void
put_term(Making *m, const GrDesignTerm *term, GrDerivedKind kind)
{
	for (int k = 0; k < term->width; k++)
	{
		int			rest = k;

		for (int i = 0; i < term->nparts; rest /= term->part[i++].width)
			*m->factor++ = factor_of(m->options, &term->part[i], rest % term->part[i].width);
		put_number(m, term->nparts, kind);
	}
}

static void
put_features(Making *m)
{
	const GrDeriveOptions *options = m->options;
	const GrDesign *design = options->design;

	for (int k = 0; design == NULL && k < options->nfeatures; k++)
		put_column(m, options->columns[k]);
	for (int t = 0; design != NULL && t < design->nterms; t++)
		put_term(m, &design->terms[t], options->pairs && design->terms[t].paired ? GR_DERIVED_HIGH :
				 kind_of(&design->terms[t]));
	for (int t = 0; design != NULL && options->pairs && t < design->nterms; t++)
		if (design->terms[t].paired)
			put_term(m, &design->terms[t], GR_DERIVED_LOW);
}

/* Returns the head of the derivation to be made. Limits are checked later, by head_valid(). */
static GrDerivation
head_of(const GrDeriveOptions *options)
{
	const GrDesign *design = options->design;
	GrDerivation head = {.ncolumns = options->ncolumns,.nfeatures = options->nfeatures,.nsteps = options->nsteps};

	head.roles = (options->weight >= 0 ? GR_DERIVES_WEIGHT : 0) | (options->offset >= 0 ? GR_DERIVES_OFFSET : 0) |
		(options->key >= 0 ? GR_DERIVES_KEY : 0) | (options->second_key != NULL ? GR_DERIVES_SECOND_KEY : 0);
	if (design != NULL)
		head.nfeatures = design->nfeatures + (options->pairs ? design->npaired : 0);
	head.nfactors = gr_row_ncols(gr_derived_shape(&head));
	if (options->key >= 0 && options->nfolds > 0)
		head.nfactors += GR_FOLD_NFACTORS - 1;
	for (int t = 0; design != NULL && t < design->nterms; t++)
		head.nfactors += (design->terms[t].nparts - 1) * design->terms[t].width *
			(options->pairs && design->terms[t].paired ? 2 : 1);
	return head;
}

GrDerivation *
gr_derivation_make(const GrDeriveOptions *options, GrMemory memory, GrError *err)
{
	GrDerivation head = head_of(options);
	GrDerivation *d;
	Making		m = {.options = options};

	if (!head_valid(&head, options->ncolumns))
	{
		(void) gr_fail(err, GR_INVALID, 0, "%d columns, %d features", options->ncolumns, head.nfeatures);
		return NULL;
	}
	d = memory.take(memory.arg, gr_derivation_nbytes(&head));
	if (d == NULL)
	{
		if (err->status == GR_OK)
			err->bytes_needed = gr_derivation_nbytes(&head);
		(void) gr_fail(err, GR_NO_MEMORY, 0, "a derivation of rows");
		return NULL;
	}
	*d = head;
	m.number = (GrDerivedNumber *) gr_derived_numbers(d);
	m.factor = (GrDeriveFactor *) gr_derive_factors(d);
	put_features(&m);
	put_column(&m, options->response);
	if (options->weight >= 0)
		put_column(&m, options->weight);
	if (options->offset >= 0)
		put_column(&m, options->offset);
	if (options->key >= 0)
		put_key(&m);
	if (options->second_key != NULL)
		put_column(&m, *options->second_key);
	if (options->nsteps > 0)
		memcpy(m.factor, options->steps, (size_t) options->nsteps * sizeof(GrFilterStep));
	if (gr_derivation_valid(d, gr_derivation_nbytes(d), options->ncolumns))
		return d;
	(void) gr_fail(err, GR_INVALID, 0, "a column, a code or a step of the filter is invalid");
	return NULL;
}

/* Derived rows */

#define BLOCK 64				/* rows whose truth values fit the bits of a word */

struct GrDeriving
{
	const GrDerivation *d;
	int			ncols;			/* numbers of a derived row */
	bool		copied;			/* derived rows are copies of the kept rows */
	int			nused;
	int32_t    *used;			/* columns that are used */
	int32_t    *column;			/* per number: the column that it copies, or -1 */
};

GrDeriving *
gr_deriving_begin(const GrDerivation *d, GrError *err)
{
	int			ncols = gr_row_ncols(gr_derived_shape(d));
	size_t		nbytes = sizeof(GrDeriving) + (size_t) (d->ncolumns + ncols) * sizeof(int32_t);
	GrDeriving *deriving = malloc(nbytes);

	if (deriving == NULL)
	{
		if (err->status == GR_OK)
			err->bytes_needed = nbytes;
		(void) gr_fail(err, GR_NO_MEMORY, 0, "a derivation of rows");
		return NULL;
	}
	*deriving = (GrDeriving) {.d = d,.ncols = ncols,.copied = ncols == d->ncolumns};
	deriving->used = (int32_t *) (deriving + 1);
	deriving->column = deriving->used + d->ncolumns;
	deriving->nused = gr_derivation_used(d, deriving->used);
	for (int j = 0; j < ncols; j++)
	{
		deriving->column[j] = gr_derived_column(&gr_derived_numbers(d)[j], gr_derive_factors(d));
		deriving->copied &= deriving->column[j] == j;
	}
	return deriving;
}

void
gr_deriving_end(GrDeriving *deriving)
{
	free(deriving);
}

/* Truth values of up to BLOCK rows, one bit per row */
typedef struct BlockTruths
{
	uint64_t	yes;
	uint64_t	no;
} BlockTruths;

#define COMPARE_BLOCK(comparison) \
	for (int r = 0; r < n; r++) \
		is |= (uint64_t) (x[(int64_t) r * stride] comparison value) << r

/* Returns the truth values of a step that tests a column, for n rows. */
static BlockTruths
test_block(const GrFilterStep *step, const double *rows, int n, int stride)
{
	const double *x = rows + step->column;
	double		value = step->value;
	uint64_t	is = 0;
	uint64_t	nulls = 0;

	for (int r = 0; r < n; r++)
		nulls |= (uint64_t) (isnan(x[(int64_t) r * stride]) ? 1 : 0) << r;
	switch (step->op)
	{
		case GR_FILTER_IS_NULL:
			return (BlockTruths) {nulls, ~nulls};
		case GR_FILTER_IS_NOT_NULL:
			return (BlockTruths) {~nulls, nulls};
		case GR_FILTER_EQ:
			COMPARE_BLOCK(==);
			break;
		case GR_FILTER_NE:
			COMPARE_BLOCK(!=);
			break;
		case GR_FILTER_LT:
			COMPARE_BLOCK(<);
			break;
		case GR_FILTER_LE:
			COMPARE_BLOCK(<=);
			break;
		case GR_FILTER_GT:
			COMPARE_BLOCK(>);
			break;
		default:
			COMPARE_BLOCK(>=);
			break;
	}
	return (BlockTruths) {is & ~nulls, ~is & ~nulls};
}

/* Returns the truth values of a GR_FILTER_FOLD step, which is never NULL, for n rows. */
static BlockTruths
fold_block(const GrFilterStep *step, const double *rows, int n, int stride)
{
	uint64_t	is = 0;

	for (int r = 0; r < n; r++)
		is |= (uint64_t) gr_is_fold(step, rows + (int64_t) r * stride) << r;
	return (BlockTruths) {is, ~is};
}

/* Returns the bit mask of the n <= BLOCK rows for which the filter is true. */
static uint64_t
filter_block(const GrDerivation *d, const double *rows, int n)
{
	const GrFilterStep *steps = gr_derive_filter(d);
	BlockTruths stack[GR_FILTER_DEPTH_MAX];
	uint64_t	all = n == BLOCK ? ~(uint64_t) 0 : ((uint64_t) 1 << n) - 1;
	int			top = -1;

	for (int k = 0; k < d->nsteps; k++)
	{
		switch (steps[k].op)
		{
			case GR_FILTER_AND:
				top--;
				stack[top].yes &= stack[top + 1].yes;
				stack[top].no |= stack[top + 1].no;
				break;
			case GR_FILTER_OR:
				top--;
				stack[top].yes |= stack[top + 1].yes;
				stack[top].no &= stack[top + 1].no;
				break;
			case GR_FILTER_NOT:
				stack[top] = (BlockTruths) {stack[top].no, stack[top].yes};
				break;
			case GR_FILTER_TRUE:
				stack[++top] = (BlockTruths) {all, 0};
				break;
			case GR_FILTER_FALSE:
				stack[++top] = (BlockTruths) {0, all};
				break;
			case GR_FILTER_NULL:
				stack[++top] = (BlockTruths) {0, 0};
				break;
			case GR_FILTER_FOLD:
				stack[++top] = fold_block(&steps[k], rows, n, d->ncolumns);
				break;
			default:
				stack[++top] = test_block(&steps[k], rows, n, d->ncolumns);
				break;
		}
	}
	return d->nsteps == 0 ? all : stack[0].yes & all;
}

static bool
has_null(const GrDeriving *deriving, const double *row)
{
	double		acc = 0.0;

	/* v * 0 is 0 for finite v and NaN otherwise */
	for (int k = 0; k < deriving->nused; k++)
		acc += row[deriving->used[k]] * 0.0;
	for (int k = 0; acc != 0.0 && k < deriving->nused; k++)
		if (isnan(row[deriving->used[k]]))
			return true;
	return false;
}

static void
derive_row(const GrDeriving *deriving, const double *row, double *out)
{
	const GrDerivedNumber *number = gr_derived_numbers(deriving->d);
	const GrDeriveFactor *factors = gr_derive_factors(deriving->d);

	if (deriving->copied)
	{
		memcpy(out, row, (size_t) deriving->ncols * sizeof(double));
		return;
	}
	for (int j = 0; j < deriving->ncols; j++)
		out[j] = deriving->column[j] >= 0 ? row[deriving->column[j]] : gr_derive_number(&number[j], factors, row);
}

int64_t
gr_derive_rows(GrDeriving *deriving, const double *rows, int64_t nrows, double *out, GrDeriveCounts *counts)
{
	const GrDerivation *d = deriving->d;
	GrRowShape	shape = gr_derived_shape(d);
	double	   *at = out;

	for (int64_t done = 0; done < nrows; done += BLOCK)
	{
		const double *row = rows + done * d->ncolumns;
		int			n = (int) (nrows - done < BLOCK ? nrows - done : BLOCK);
		uint64_t	passing = filter_block(d, row, n);

		for (int r = 0; r < n; r++, row += d->ncolumns)
		{
			if ((passing >> r & 1) == 0)
			{
				counts->nfiltered++;
				continue;
			}
			if (has_null(deriving, row))
			{
				counts->nskipped++;
				continue;
			}
			derive_row(deriving, row, at);
			if (gr_row_weight(at, shape) == 0.0)
				counts->nweightless++;
			else
				at += deriving->ncols;
		}
	}
	nrows = (at - out) / deriving->ncols;
	counts->nrows += nrows;
	return nrows;
}

bool
gr_derived_valid(const double *rows, int64_t nrows, GrRowShape shape, GrRowRules rules, GrError *err)
{
	GrError		any = {0};

	if (gr_rows_valid(rows, nrows, shape, rules, &any))
		return true;
	/* gr_rows_valid() checks a whole block for finite values first: find the first row at fault */
	for (int64_t r = 0; r < nrows; r++, rows += gr_row_ncols(shape))
		if (!gr_rows_valid(rows, 1, shape, rules, err))
			return false;
	return true;
}
