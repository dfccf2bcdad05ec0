/*
 * design.h: makes features of a query's columns by a design: a formula whose factors' levels are known. frame.c writes
 * a design as text, which workers receive and a model carries. Readers treat the text as untrusted.
 *
 * A term is a product of parts. A part gives one or several numbers: a number itself; its powers 1 .. d; a factor's
 * indicators, of all levels or all but the first. The term's features are all products of one number of each part, the
 * first part's number varying fastest. Their names are made of the parts' names: race[2]:x^3.
 *
 *	 design := 1 formula ncolumns { column } nterms { nparts { part } }
 *	 column := n name | f name levels | b name levels      (number, factor, both)
 *	 levels := nlevels { level }
 *	 part   := n column                                    (number)
 *	         | p column degree                             (powers)
 *	         | q column degree center                      (powers of column - center; in rows only, not in models)
 *	         | c column | d column                         (contrasts, dummies)
 *
 * Items are separated by one space. Strings are "quoted", with quotes doubled; numbers are decimal, but center is the
 * 16 hexadecimal digits of a float8. A part names its column by its number, from 0 on.
 */
#ifndef GPUREG_DESIGN_H
#define GPUREG_DESIGN_H

#include "compute/base/dd.h"
#include "compute/design/formula.h"

#ifdef __cplusplus
extern "C" {
#endif

#define GR_DESIGN_COLUMNS_MAX 1664	/* most columns of a query */
#define GR_LEVEL_NBYTES_MAX 1000

/* A string without a terminating 0. The bytes belong to somebody else. */
typedef struct GrString
{
	const char *bytes;
	int			nbytes;
} GrString;

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
	GR_PART_DUMMIES = 'd'
} GrPartKind;

typedef struct GrDesignPart
{
	int			column;
	GrPartKind	kind;
	int			width;			/* numbers that the part gives; a polynomial's degree */
	int			at;				/* index in a row's values */
	double		center;			/* subtracted before a number is raised to powers; 0 for other parts */
} GrDesignPart;

/* True if part has powers of a number. */
static inline bool
gr_part_is_poly(const GrDesignPart *part)
{
	return part->kind == GR_PART_POLY || part->kind == GR_PART_CENTERED;
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
	int			nterms;
	GrDesignTerm *terms;
	int			nfeatures;
	int			npaired;		/* features of paired terms */
} GrDesign;

/*
 * Reads a design. The design points into text, which must outlive it; other memory, of the order of the text's length,
 * comes from `memory`. Returns NULL if text is not a design, has more than GR_MAX_FEATURES features, or there is no
 * memory.
 */
extern GrDesign *gr_design_read(const char *text, size_t nbytes, GrMemory memory);

/* Output of text into a buffer: writes what fits into size bytes, without a terminating 0, and counts all of it. */
typedef struct GrWriter
{
	char	   *text;
	size_t		size;
	size_t		nbytes;
} GrWriter;

/* Counts nbytes, and writes as many of them as fit. */
extern void gr_write_bytes(GrWriter *writer, const char *bytes, size_t nbytes);

/*
 * Writes the design of formula, whose text is also given. levels: per column, set for columns used as factors. Columns
 * that no term uses are left out. centers: per column, the center of powers if their degree is 2 or more; NULL: no
 * centers.
 */
extern void gr_design_write(GrWriter *writer, const GrFormula *formula, GrString text, const GrFormulaColumn *columns,
							int ncolumns, const GrLevels *levels, const double *centers);

/* Returns the number of features, which may exceed the range of an int. */
extern double gr_formula_nfeatures(const GrFormula *formula, const GrLevels *levels);

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
