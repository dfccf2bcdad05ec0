/*
 * kept_set.h: rows that a device service keeps: what their columns are, and the rows, read back into the session.
 *
 * Kept rows are numbers: those of a column of numbers or booleans, a number that stands for a level of a factor, and
 * NaN for NULL. The description, in shared memory, says what the numbers are; see kept_list.h for who has it, and
 * derive.h for what is made of them.
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
	Oid			type;			/* of the values that were kept; no domain */
	int			digits;			/* how exactly its numbers tell these; see GrFilterColumn */
	bool		collated;		/* a factor's texts may be equal though their bytes differ */
	bool		nulls;			/* it has some */
	bool		keys;			/* its numbers are integers, which can be keys of a bootstrap */
	double		center;			/* a number's: the middle of the values */
	GrLevels	levels;			/* a factor's, in their order, */
	double	   *codes;			/* and what stands for them */
} GrKeptColumn;

typedef struct GrKeptSet
{
	GrKeptEntry entry;			/* as the list had it */
	int			ncolumns;
	GrKeptColumn *columns;
	const char **names;			/* the columns' */
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

/* ERROR where the session is in the middle of sending rows to a service: it has no ear for other answers. */
static inline void
gr_check_not_lent(void)
{
	if (gr_session_is_lent())
		gr_raise_lent();
}

/* Reads a filter (row_filter.h); steps: room for GR_FILTER_STEPS_MAX. How many there are; ERROR where it is none. */
extern int	gr_kept_filter(const GrKeptSet *set, const char *text, GrFilterStep *steps);

/* The number that stands for a level of column k; false if it has no such level. */
static inline bool
gr_kept_code(const GrKeptSet *set, int k, const char *bytes, int nbytes, double *code)
{
	const GrKeptColumn *column = &set->columns[k];
	int			level = column->kind == GR_KEPT_FACTOR ? gr_level_find(&column->levels, bytes, nbytes) : -1;

	if (level >= 0)
		*code = column->codes[level];
	return level >= 0;
}

/* Finds the rows, and the service that has them. ERROR unless there are such rows which the role may use */
extern GrRemoteClient *gr_kept_open(const char *kept, GrKeptSet *set);

/* The service doesn't have them any more. */
extern void gr_raise_kept_gone(const char *kept) __attribute__((noreturn));

/* Kept rows, one after the other as they lie there: those for which a filter is true */
typedef struct GrKeptReader GrKeptReader;

/*
 * In the current memory context: all rows of a set that was opened, or those of a name and for which a filter is true
 * (NULL: all), with gr_kept_open()'s errors
 */
extern GrKeptReader *gr_kept_reader_of(const char *kept, const GrKeptSet *set, GrRemoteClient *client);
extern GrKeptReader *gr_kept_reader(const char *kept, const char *filter);
extern const GrKeptSet *gr_kept_reader_set(const GrKeptReader *reader);

/* The next row, of the set's columns, for a moment; NULL: there is none. ERROR where they have gone meanwhile */
extern const double *gr_kept_next(GrKeptReader *reader);

/* From the first row on again */
extern void gr_kept_rewind(GrKeptReader *reader);

#endif							/* GPUREG_KEPT_SET_H */
