/*
 * derive.h: rows of one fit, made of rows that are kept: any of their columns is the response, a feature, the weight,
 * the offset or a bootstrap's key, features are products of columns, and a filter says which rows take part.
 *
 * Kept rows are a matrix of float8: numbers, and the levels of factors as numbers that stand for them. A NaN is a NULL.
 * What becomes of a row is what becomes of it on its way from a query (columns.h, frame.c), in this order:
 *
 *	 a row for which the filter isn't true is left out
 *	 a row with a NULL in a column that one of the derived numbers uses is left out, and counted
 *	 a row whose weight is 0 is left out
 *	 what is left must be finite, and the response and the weight what the family wants (GrRowRules)
 *
 * The rows that take part stand in the order of those that they come of, and each of their numbers is, to the bit, what
 * gr_design_expand() or gr_design_expand_pairs() makes of the row.
 *
 * A derivation says all of that in memory without pointers, so that it may lie in memory that processes share. Whoever
 * gets one from somewhere else copies it first, as it may be written to at any time, and then asks
 * gr_derivation_valid() before anything else.
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
 * Is what stands in these nbytes, at a multiple of 8, a derivation of rows of so many columns, and nothing behind it?
 * Reads no byte beyond them. After that everything below may be done with it.
 */
extern bool gr_derivation_valid(const GrDerivation *d, size_t nbytes, int ncolumns);

/* Is this a filter of rows of so many columns? Its steps leave one truth value, and never more than the stack has. */
extern bool gr_filter_valid(const GrFilterStep *steps, int nsteps, int ncolumns);

/* What a derivation is made of */
typedef struct GrDeriveOptions
{
	int			ncolumns;		/* of the rows that are there; columns are numbered from 0 */
	int			response;		/* a column */
	int			weight;			/* a column; -1: none */
	int			offset;			/* likewise */
	int			key;			/* likewise, of integers that are keys, as the caller knows */
	const int  *second_key;		/* another such column, with a key only; NULL: none */
	int			nfolds;			/* > 0: the key's fold takes its place, drawn from the seed; see fold_draw.h */
	uint64_t	fold_seed;
	/* the features: columns themselves; or, with a design, which columns those of the design are */
	const int  *columns;
	int			nfeatures;		/* without a design: how many */
	const GrDesign *design;		/* or NULL */
	/* a column of the design: what stands for each of its levels, finite; NULL, as each may be: the level's number */
	const double *const *codes;
	bool		pairs;			/* the features of paired terms in two numbers, the second ones behind all the first */
	const GrFilterStep *steps;	/* the filter; see row_filter.h */
	int			nsteps;
} GrDeriveOptions;

/*
 * Makes a derivation, of gr_derivation_nbytes() bytes. NULL with GR_INVALID (a column or a code that there isn't, more
 * features than GR_MAX_FEATURES, a filter that isn't one) or GR_NO_MEMORY
 */
extern GrDerivation *gr_derivation_make(const GrDeriveOptions *options, GrMemory memory, GrError *err);

/*
 * Are the derived rows the kept ones themselves, as long as none of these has a NULL: all columns in their order, the
 * response last, no weight (of which some may be 0), and no filter? Whether there are NULLs, and whether the rows are
 * of the family, is told by a sink's derive() without a sink to derive. Passes may then be made over the kept rows; a
 * fit that comes to change its rows by a basis must derive them all the same.
 */
extern bool gr_derivation_is_identity(const GrDerivation *d);

/* The columns that derived numbers use, ascending, into room for d->ncolumns; returns how many. */
extern int	gr_derivation_used(const GrDerivation *d, int32_t *columns);

/* What deriving a row takes, in units of about a nanosecond */
extern int64_t gr_derivation_work(const GrDerivation *d);

/* How many rows there were, in all calls that counted here */
typedef struct GrDeriveCounts
{
	int64_t		nrows;			/* derived */
	int64_t		nfiltered;		/* left out by the filter */
	int64_t		nskipped;		/* left out for a NULL */
	int64_t		nweightless;	/* left out for a weight of 0 */
	GrRowTotals totals;			/* of those derived, where gr_has_totals(); by a sink's derive() */
} GrDeriveCounts;

/* What gr_derive_rows() works in: of one derivation, for any number of calls, one at a time */
typedef struct GrDeriving GrDeriving;

/* NULL, with GR_NO_MEMORY. d must stay until gr_deriving_end(), which accepts NULL. */
extern GrDeriving *gr_deriving_begin(const GrDerivation *d, GrError *err);
extern void gr_deriving_end(GrDeriving *deriving);

/*
 * Derives nrows rows of d->ncolumns float8, without a gap; out: room for as many derived ones. Returns how many there
 * are, which counts->nrows is more by; adds to the counts but not to the totals. The derived rows may not be finite.
 */
extern int64_t gr_derive_rows(GrDeriving *deriving, const double *rows, int64_t nrows, double *out,
							  GrDeriveCounts *counts);

/*
 * gr_rows_valid() of derived rows, which fails for the first row that isn't valid, and of its numbers for the first
 * that isn't finite; where: the number's place in a row.
 */
extern bool gr_derived_valid(const double *rows, int64_t nrows, GrRowShape shape, GrRowRules rules, GrError *err);

#ifdef __cplusplus
}
#endif
#endif							/* GPUREG_DERIVE_H */
