/*
 * design.h: how features are made of a query's columns: what a formula comes to once the levels of its factors are
 * known. It is written as a text, which workers are told and a model carries, and read back from one that is anyone's.
 *
 * A term is a product of parts, each of which gives one number or several: a number itself; its powers 1 .. d; a
 * factor's indicators, of all levels or of all but the first. Its features are all products of a number of each part,
 * the first part's varying fastest, and are called by what they are made of: race[2]:x^3.
 *
 *	 design := 1 formula ncolumns { n name | f name levels | b name levels } nterms { nparts { part } }
 *	 levels := nlevels { level }		part := n column | p column degree | c column | d column
 *
 * (n: a number, f: a factor, b: both; parts: a number, powers, contrasts, dummies; and for rows alone, powers of the
 * number less a center, `q column degree center`, which is 16 hexadecimal digits of a float8),
 * with spaces between; strings are "quoted", their quotes doubled, and numbers decimal. A part names its column by its
 * number, from 0 on.
 */
#ifndef GPUREG_DESIGN_H
#define GPUREG_DESIGN_H

#include "compute/design/formula.h"

#ifdef __cplusplus
extern "C" {
#endif

#define GR_DESIGN_COLUMNS_MAX 1664	/* what a query can have */
#define GR_LEVEL_NBYTES_MAX 1000

/* A string that isn't terminated */
typedef struct GrString
{
	const char *bytes;
	int			nbytes;
} GrString;

/* Different strings, numbered as they came, to find them by */
typedef struct GrLevels
{
	int			n;
	int			nslots;			/* a power of two, more than n; 0 at first */
	int		   *slots;			/* a level's number, and 1 more; 0: empty */
	GrString   *level;			/* room for half as many as there are slots */
} GrLevels;

/* The number of a level, or -1 */
extern int	gr_level_find(const GrLevels *levels, const char *bytes, int nbytes);

/* Adds a level that isn't there, whose bytes must stay; false if there is no memory. */
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
	int			width;			/* numbers that it gives; of a polynomial its degree */
	int			at;				/* which of a row's values */
	double		center;			/* that is subtracted before a number is raised to powers; 0 elsewhere */
} GrDesignPart;

/* Has it powers? */
static inline bool
gr_part_is_poly(const GrDesignPart *part)
{
	return part->kind == GR_PART_POLY || part->kind == GR_PART_CENTERED;
}

typedef struct GrDesignTerm
{
	int			nparts;
	const GrDesignPart *part;
	int			width;			/* features */
	bool		paired;			/* it has a power above the first */
} GrDesignTerm;

typedef struct GrDesignColumn
{
	GrString	name;
	bool		is_number;
	bool		is_factor;		/* or both */
	GrLevels	levels;
} GrDesignColumn;

typedef struct GrDesign
{
	GrString	formula;		/* or "" */
	int			ncolumns;
	GrDesignColumn *columns;
	int			nterms;
	GrDesignTerm *terms;
	int			nfeatures;
	int			npaired;		/* of them, those of paired terms */
} GrDesign;

/*
 * Reads a design; NULL if the text isn't one, or has more than GR_MAX_FEATURES features, or there is no memory. What is
 * allocated is of the order of the text's length, and the design points into it.
 */
extern GrDesign *gr_design_read(const char *text, size_t nbytes, GrMemory memory);

/* What is written is counted; as much as there is room for is put to text, and no 0 at its end. */
typedef struct GrWriter
{
	char	   *text;
	size_t		size;
	size_t		nbytes;
} GrWriter;

/* Counts nbytes, and writes as many of them as writer has room for. */
extern void gr_write_bytes(GrWriter *writer, const char *bytes, size_t nbytes);

/*
 * Writes the design of a formula whose text is given, too; levels: of a column, those of one that is used as a factor.
 * Columns of no term are left out. centers: of the columns, those whose powers of the second degree and above are to be
 * about them; NULL: none are
 */
extern void gr_design_write(GrWriter *writer, const GrFormula *formula, GrString text, const GrFormulaColumn *columns,
							int ncolumns, const GrLevels *levels, const double *centers);

/* How many features there will be; maybe more than an int has room for. */
extern double gr_formula_nfeatures(const GrFormula *formula, const GrLevels *levels);

/* Writes the name of feature k. */
extern void gr_design_name(GrWriter *writer, const GrDesign *design, int k);

/*
 * Returns which indicator of a factor's part is 1 for a row's values, or -1 if none is: for the base level, and for a
 * number that is no level.
 */
extern int	gr_part_indicator(const GrDesignPart *part, const double *values);

/*
 * A row's features; values: of the columns, as many numbers, and then as many numbers of levels; those of a column that
 * isn't the one or the other aren't looked at.
 */
extern void gr_design_expand(const GrDesign *design, const double *values, double *features);

/*
 * The same in double-double: features[k] is rounded, and for the features of paired terms, in their order, low has what
 * rounding left.
 */
extern void gr_design_expand_pairs(const GrDesign *design, const double *values, double *features, double *low);

#ifdef __cplusplus
}
#endif
#endif							/* GPUREG_DESIGN_H */
