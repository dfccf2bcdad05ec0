/*
 * derive.h: makes the rows of one fit from kept rows: any columns become the response, weight, offset or a bootstrap's
 * key, features are products of columns, and a filter selects rows. Fits of kept data make derivations first
 * (kept_source.c, folds.c); the backends' sinks apply them.
 *
 * Kept rows are a matrix of float8, which holds numbers and codes of factor levels. NaN is NULL. A row is treated like
 * a row of a query (columns.h, frame.c), in this order:
 *
 *	 1. a row for which the filter is not true is dropped
 *	 2. a row with a NULL in a column that a derived number uses is dropped and counted
 *	 3. a row whose weight is 0 is dropped
 *	 4. all numbers must be finite, and the response and weight valid for the family (GrRowRules)
 *
 * Derived rows keep the order of the kept rows. Each of their numbers has the bits that gr_design_expand() or
 * gr_design_expand_pairs() gives for the row.
 *
 * A derivation (derivation.h) has no pointers, so that it may lie in memory shared with other processes. A process that
 * receives one must copy it first, as it may change at any time, and then call gr_derivation_valid() before any other
 * function.
 */
#ifndef GPUREG_DERIVE_H
#define GPUREG_DERIVE_H

#include "compute/design/derivation.h"
#include "compute/design/design.h"
#include "compute/dist/family.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * True if the nbytes at d, which must be at a multiple of 8 bytes, are exactly one valid derivation of rows of ncolumns
 * columns. Reads no byte beyond nbytes. Only then may other functions use d.
 */
extern bool gr_derivation_valid(const GrDerivation *d, size_t nbytes, int ncolumns);

/* True if steps are a valid filter of ncolumns columns, which leaves one value and never overflows the stack. */
extern bool gr_filter_valid(const GrFilterStep *steps, int nsteps, int ncolumns);

/* Input of gr_derivation_make(). Columns are numbered from 0; the arrays stay the caller's. */
typedef struct GrDeriveOptions
{
	int			ncolumns;		/* columns of the kept rows */
	int			response;		/* column of the response */
	int			weight;			/* column of the weight; -1: none */
	int			offset;			/* column of the offset; -1: none */
	int			key;			/* column of the key, which holds integers; -1: none */
	const int  *second_key;		/* column of a second key, only with a key; NULL: none */
	int			nfolds;			/* > 0: the key's number becomes its fold, drawn from fold_seed; see fold_draw.h */
	uint64_t	fold_seed;
	/* the features' columns or, with a design, the kept column of each design column */
	const int  *columns;
	int			nfeatures;		/* length of columns without a design */
	const GrDesign *design;		/* or NULL */
	/* per design column, the finite code of each level; NULL, or a NULL entry: a level's code is its number */
	const double *const *codes;
	/* two numbers per feature of paired terms (rounded value, rounding error); the errors follow all features */
	bool		pairs;
	const GrFilterStep *steps;	/* nsteps steps; see row_filter.h */
	int			nsteps;
} GrDeriveOptions;

/*
 * Makes a derivation of gr_derivation_nbytes() bytes in memory of `memory`. Returns NULL with GR_INVALID (a column,
 * code or filter that does not exist, or more than GR_MAX_FEATURES features) or GR_NO_MEMORY.
 */
extern GrDerivation *gr_derivation_make(const GrDeriveOptions *options, GrMemory memory, GrError *err);

/* Writes the columns that derived numbers use, ascending, to columns (room for d->ncolumns). Returns their number. */
extern int	gr_derivation_used(const GrDerivation *d, int32_t *columns);

/* Returns the work of deriving one row, in units of about a nanosecond. */
extern int64_t gr_derivation_work(const GrDerivation *d);

/* Counts of rows, added up over calls */
typedef struct GrDeriveCounts
{
	int64_t		nrows;			/* derived */
	int64_t		nfiltered;		/* dropped by the filter */
	int64_t		nskipped;		/* dropped because of a NULL */
	int64_t		nweightless;	/* dropped because of a weight of 0 */
	GrRowTotals totals;			/* totals of derived rows, where gr_has_totals(); set by a sink's derive() only */
} GrDeriveCounts;

/* Workspace of gr_derive_rows() for one derivation; usable for any number of calls, one at a time. */
typedef struct GrDeriving GrDeriving;

/* Returns a workspace, or NULL with GR_NO_MEMORY. d must outlive it. gr_deriving_end() frees it and accepts NULL. */
extern GrDeriving *gr_deriving_begin(const GrDerivation *d, GrError *err);
extern void gr_deriving_end(GrDeriving *deriving);

/*
 * Derives nrows kept rows of d->ncolumns float8, stored without gaps, into out (room for nrows derived rows). Returns
 * the number of derived rows and adds to counts, except to its totals. Derived rows are not checked for finite values.
 */
extern int64_t gr_derive_rows(GrDeriving *deriving, const double *rows, int64_t nrows, double *out,
							  GrDeriveCounts *counts);

/*
 * gr_rows_valid() for derived rows. Reports the first invalid row, and its first number that is not finite; where: the
 * number's position in the row.
 */
extern bool gr_derived_valid(const double *rows, int64_t nrows, GrRowShape shape, GrRowRules rules, GrError *err);

#ifdef __cplusplus
}
#endif
#endif							/* GPUREG_DERIVE_H */
