/*
 * kept_set.h: rows that a device service keeps: describes their columns, and reads the rows back into the session.
 *
 * Kept rows are numbers: the values of columns of numbers or booleans, a number that stands for a level of a factor,
 * and NaN for NULL. The description, in shared memory, tells what the numbers mean. See kept_list.h for the list of
 * sets, and derive.h for rows derived from kept ones.
 */
#ifndef GPUREG_KEPT_SET_H
#define GPUREG_KEPT_SET_H

#include "postgres.h"

#include "lib/stringinfo.h"

#include "compute/design/design.h"
#include "compute/design/derive.h"
#include "compute/remote/remote.h"
#include "run/device.h"
#include "run/kept_list.h"

typedef enum GrKeptKind
{
	GR_KEPT_NUMBER = 'n',
	GR_KEPT_BOOLEAN = 'b',
	GR_KEPT_FACTOR = 'f'
} GrKeptKind;

typedef struct GrKeptColumn
{
	const char *name;
	GrKeptKind	kind;
	Oid			type;			/* type of the values before they were kept; no domain */
	int			digits;			/* precision of the numbers; see GrFilterColumn */
	bool		collated;		/* a factor's texts may be equal though their bytes differ */
	bool		nulls;			/* the column has NULLs */
	bool		keys;			/* the numbers are integers that can be keys of a bootstrap */
	double		center;			/* column of numbers: middle between the least and the greatest */
	GrLevels	levels;			/* levels of a factor, in their sort order */
	double	   *codes;			/* numbers that stand for the levels */
} GrKeptColumn;

typedef struct GrKeptSet
{
	GrKeptEntry entry;			/* copy of the set's entry in the list */
	int			ncolumns;
	GrKeptColumn *columns;
	const char **names;			/* names of the columns */
} GrKeptSet;

/*
 * Writes a description, and returns the bytes at its beginning that have the columns' names, which are all that
 * gr_read_kept_names() reads.
 */
extern Size gr_describe_kept(StringInfo description, int ncolumns, const GrKeptColumn *columns);

/* Reads a description, or its columns' names alone, in the current memory context. */
extern void gr_read_description(StringInfo description, GrKeptSet *set);
extern void gr_read_kept_names(StringInfo description, GrKeptSet *set);

extern void gr_raise_lent(void) __attribute__((noreturn));

/* ERROR while a thread sends rows of this session to a device: the session can't wait for other answers then. */
static inline void
gr_check_not_lent(void)
{
	if (gr_session_is_lent())
		gr_raise_lent();
}

/* Parses a filter (row_filter.h) into steps, which has room for GR_FILTER_STEPS_MAX. Returns their number, or ERROR. */
extern int	gr_kept_filter(const GrKeptSet *set, const char *text, GrFilterStep *steps);

/* Sets *code to the number that stands for a level of column k; false if the column has no such level. */
static inline bool
gr_kept_code(const GrKeptSet *set, int k, const char *bytes, int nbytes, double *code)
{
	const GrKeptColumn *column = &set->columns[k];
	int			level = column->kind == GR_KEPT_FACTOR ? gr_level_find(&column->levels, bytes, nbytes) : -1;

	if (level >= 0)
		*code = column->codes[level];
	return level >= 0;
}

/* Finds and holds a set; returns the connection to its service. ERROR unless the set exists and the role may use it. */
extern GrRemoteClient *gr_kept_open(const char *kept, GrKeptSet *set);

/* Raises the ERROR that the service no longer has the rows. */
extern void gr_raise_kept_gone(const char *kept) __attribute__((noreturn));

/* Reads a set's rows one after the other in the service's order, or those for which a filter is true. */
typedef struct GrKeptReader GrKeptReader;

/*
 * Make a reader in the current memory context: gr_kept_reader_of() for all rows of an open set; gr_kept_reader() for
 * the rows of a set, which it opens as gr_kept_open() does, for which filter is true (NULL: all rows).
 */
extern GrKeptReader *gr_kept_reader_of(const char *kept, const GrKeptSet *set, GrRemoteClient *client);
extern GrKeptReader *gr_kept_reader(const char *kept, const char *filter);
extern const GrKeptSet *gr_kept_reader_set(const GrKeptReader *reader);

/* Returns the next row, valid until the next call; NULL after the last one. ERROR if the rows are gone. */
extern const double *gr_kept_next(GrKeptReader *reader);

/* Restarts the reader at the first row. */
extern void gr_kept_rewind(GrKeptReader *reader);

/* Adds a level, in the current memory context. ERROR if memory is out. */
extern void gr_kept_add_level(GrLevels *levels, GrString level);

/* Raises 0A000 if column was kept as numbers, which have no levels. */
extern void gr_kept_check_factor(const GrKeptColumn *column);

/* Lists all levels of a factor or boolean column, and their codes: codes has room for each level, at least two. */
extern void gr_kept_levels(const GrKeptColumn *column, GrLevels *levels, double *codes);

#endif							/* GPUREG_KEPT_SET_H */
