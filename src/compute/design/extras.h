/*
 * extras.h: records that a model carries beside its fields: keys and values in front of its design, in one text.
 * The type gpu_model never gains a field, as dumps contain its rows; this text is where it grows.
 *
 *	 text := [ extras ] [ design ]			extras := 2 nrecords { key nbytes value }
 *
 * with one space between any two items, numbers decimal, and nbytes the length of value, which has any bytes but 0. A
 * key is made of a-z and _. A design (design.h) begins with 1. A model without records has the design alone, as models
 * of release 0.1.0 have it. Readers skip records whose keys they do not know.
 *
 * A new record needs a key here, a member of GrModelExtras, and lines in src/sql/model/model_extras.c.
 */
#ifndef GPUREG_EXTRAS_H
#define GPUREG_EXTRAS_H

#include "compute/design/design.h"

#ifdef __cplusplus
extern "C" {
#endif

#define GR_EXTRAS_MAX 64		/* records of a model */
#define GR_EXTRA_KEY_MAX 32		/* bytes of a key */

/* Name of the offsets of a model that does not know its columns, such as that of a state */
#define GR_UNNAMED_OFFSETS "(offset)"

/* Keys */
#define GR_EXTRA_OFFSETS "offsets"	/* name of the column of offsets, or GR_UNNAMED_OFFSETS */
#define GR_EXTRA_WEIGHTS "weights"	/* name of the column of prior weights */
#define GR_EXTRA_FREQUENCIES "frequencies"	/* name of the column of frequencies */
#define GR_EXTRA_DF "df"		/* degrees of freedom of each term, see gr_extras_numbers() */
#define GR_EXTRA_VCOV_LOW "vcov_low"	/* low halves of vcov, see vcov_low.h */

typedef struct GrExtra
{
	GrString	key;
	GrString	value;
} GrExtra;

typedef struct GrExtras
{
	int			n;
	GrExtra		record[GR_EXTRAS_MAX];
	GrString	design;			/* text behind the records, or "" */
} GrExtras;

/*
 * Reads a text of nbytes, which anyone may have written, into records that point into it. Returns false if the text
 * begins with records that are malformed, too many or have one key twice. The design is not looked at.
 */
extern bool gr_extras_read(const char *text, size_t nbytes, GrExtras *extras);

/* The value of a key, or NULL if no record has the key. */
extern const GrString *gr_extras_find(const GrExtras *extras, const char *key);

/* Adds a record, which points to key and value. Returns false if there are GR_EXTRAS_MAX already. */
extern bool gr_extras_add(GrExtras *extras, const char *key, GrString value);

/*
 * Reads a value that is a list of n numbers: 16 hexadecimal digits each, the bits of a float8, with one space between
 * any two. Returns false if it is malformed, or has another number of them. numbers: n entries, of any value.
 */
extern bool gr_extras_numbers(GrString value, int n, double *numbers);

/* Writes such a list of n > 0 numbers into text, of GR_EXTRA_NUMBER_SIZE n bytes; the last of them becomes 0. */
extern void gr_extras_put_numbers(const double *numbers, int n, char *text);

#define GR_EXTRA_NUMBER_SIZE 17

/* Writes records and design. A text without records is the design alone. */
extern void gr_extras_write(GrWriter *writer, const GrExtras *extras);

#ifdef __cplusplus
}
#endif
#endif							/* GPUREG_EXTRAS_H */
