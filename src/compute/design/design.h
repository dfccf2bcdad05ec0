/*
 * design.h: makes features of a query's columns by a design: a formula whose factors' levels are known. frame.c writes
 * a design as text, which workers receive and a model carries. Readers treat the text as untrusted.
 *
 * A term is a product of parts. A part gives one or several numbers: a number itself; its powers 1 .. d; a factor's
 * indicators, of all levels or all but the first. The term's features are all products of one number of each part, the
 * first part's number varying fastest. Their names are made of the parts' names: race[2]:x^3.
 *
 *	 design := 1 formula ncolumns { column } nterms { nparts { part } }
 *	         | 3 formula ncolumns { column } response offset nexpressions { expression } nterms { nparts { part } }
 *	 column := n name | f name levels | b name levels      (number, factor, both)
 *	 levels := nlevels { level }
 *	 part   := n column                                    (number)
 *	         | p column degree                             (powers)
 *	         | q column degree center                      (powers of column - center; in rows only, not in models)
 *	         | c column | d column                         (contrasts, dummies)
 *	         | e number                                    (expression)
 *	 response := 0 | ncolumns { name } expression          (of these columns; 0: the response is a column)
 *	 offset   := 0 | 1 expression
 *	 expression := name nsteps { step }                    (see expression.h)
 *	 step   := x column | k number | + | - | * | / | ^ | ~ (minus) | l (log) | b (log2) | t (log10) | p (log1p)
 *	         | e (exp) | m (expm1) | r (sqrt) | a (abs)
 *
 * Items are separated by one space. Strings are "quoted", with quotes doubled; numbers are decimal, but center and
 * the number of a step are the 16 hexadecimal digits of a float8. A part names its column by its number, from 0 on.
 */
#ifndef GPUREG_DESIGN_H
#define GPUREG_DESIGN_H

#include "compute/base/dd.h"
#include "compute/design/formula_terms.h"

#ifdef __cplusplus
extern "C" {
#endif

#define GR_DESIGN_COLUMNS_MAX 1664	/* most columns of a query */
#define GR_LEVEL_NBYTES_MAX 1000
#define GR_EXPRESSION_NAME_MAX (8 * GR_FORMULA_NBYTES_MAX)

/* Hash table of distinct strings, numbered in the order in which they were added. */
typedef struct GrLevels
{
	int			n;
	int			nslots;			/* a power of two, more than n; 0 while empty */
	int		   *slots;			/* 1 + the number of a level; 0: empty slot */
	GrString   *level;			/* room for nslots / 2 */
} GrLevels;

/* Returns the number of a level, or -1. */
extern int	gr_level_find(const GrLevels *levels, const char *bytes, int nbytes);

/*
 * Adds a level that the table does not have. level.bytes must outlive the table. Returns false if there is no memory.
 */
extern bool gr_level_add(GrLevels *levels, GrString level, GrMemory memory);

typedef enum GrPartKind
{
	GR_PART_NUMBER = 'n',
	GR_PART_POLY = 'p',
	GR_PART_CENTERED = 'q',
	GR_PART_CONTRASTS = 'c',
	GR_PART_DUMMIES = 'd',
	GR_PART_EXPRESSION = 'e'
} GrPartKind;

typedef struct GrDesignPart
{
	int			column;			/* -1: an expression */
	GrPartKind	kind;
	int			width;			/* numbers that the part gives; a polynomial's degree */
	int			at;				/* index in a row's values; -1: an expression */
	double		center;			/* subtracted before a number is raised to powers; 0 for other parts */
	const GrExpression *expression; /* GR_PART_EXPRESSION; else NULL */
} GrDesignPart;

/* True if part has powers of a number. */
static inline bool
gr_part_is_poly(const GrDesignPart *part)
{
	return part->kind == GR_PART_POLY || part->kind == GR_PART_CENTERED;
}

/* True if part has numbers, not indicators. */
static inline bool
gr_part_is_number(const GrDesignPart *part)
{
	return part->kind == GR_PART_NUMBER || part->kind == GR_PART_EXPRESSION || gr_part_is_poly(part);
}

typedef struct GrDesignTerm
{
	int			nparts;
	const GrDesignPart *part;
	int			width;			/* features of the term */
	bool		paired;			/* true if a part has powers above the first */
} GrDesignTerm;

typedef struct GrDesignColumn
{
	GrString	name;
	bool		is_number;
	bool		is_factor;		/* both may be true */
	GrLevels	levels;
} GrDesignColumn;

typedef struct GrDesign
{
	GrString	formula;		/* "" if unknown */
	int			ncolumns;
	GrDesignColumn *columns;
	int			nresponse_columns;	/* 0: the response is a column, or unknown */
	GrString   *response_columns;	/* names of the columns of `response`, whose steps number them */
	GrExpression response;
	GrExpression offset;		/* offset that the formula makes of the design's columns; nsteps 0: none */
	int			nexpressions;
	GrExpression *expressions;
	int			nterms;
	GrDesignTerm *terms;
	int			nfeatures;
	int			npaired;		/* features of paired terms */
} GrDesign;

/* Output of text into a buffer: writes what fits into size bytes, without a terminating 0, and counts all of it. */
typedef struct GrWriter
{
	char	   *text;
	size_t		size;
	size_t		nbytes;
} GrWriter;

/* Counts nbytes, and writes as many of them as fit. */
extern void gr_write_bytes(GrWriter *writer, const char *bytes, size_t nbytes);

/* Writes the name of feature k. */
extern void gr_design_name(GrWriter *writer, const GrDesign *design, int k);

/*
 * Returns which indicator of a factor's part is 1 for a row's values, or -1 if none is: for the base level, and for a
 * number that is no level.
 */
extern int	gr_part_indicator(const GrDesignPart *part, const double *values);

/* Computes a row's features. values: ncolumns numbers, then ncolumns level numbers, of which one may be unset. */
extern void gr_design_expand(const GrDesign *design, const double *values, double *features);

/*
 * Computes a row's features in double-double: features[k] is rounded; low has the rounding errors of the features of
 * paired terms, in their order (npaired numbers).
 */
extern void gr_design_expand_pairs(const GrDesign *design, const double *values, double *features, double *low);

/*
 * Returns the expression, among those of terms and the offset, that is not finite although the row's numbers are, such
 * as the log of 0, and sets *step to the step where that happens. Returns NULL if there is none.
 */
extern const GrExpression *gr_design_fault(const GrDesign *design, const double *values, int *step);

/* True if gr_design_fault() may find something: the design has an expression. */
static inline bool
gr_design_can_fault(const GrDesign *design)
{
	return design->nexpressions > 0 || design->offset.nsteps > 0;
}

/* A feature of a row that may be other than 0 */
typedef struct GrNonzero
{
	int			feature;		/* index among the design's features */
	GrDD		value;
} GrNonzero;

/* Returns how many entries gr_design_nonzeros() writes at most, which does not grow with the levels of factors. */
extern int	gr_design_nonzeros_max(const GrDesign *design);

/*
 * Writes the features of a row that may be other than 0, in ascending order, with the values that
 * gr_design_expand_pairs() gives them; all others are 0. Returns their number. values: as for gr_design_expand().
 */
extern int	gr_design_nonzeros(const GrDesign *design, const double *values, GrNonzero *into);

#ifdef __cplusplus
}
#endif
#endif							/* GPUREG_DESIGN_H */
