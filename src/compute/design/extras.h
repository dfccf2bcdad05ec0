/*
 * extras.h: records that a model carries beside its fields: keys and values in front of its design, in one text. The
 * type gpu_model never gains a field, as dumps contain its rows; this text grows instead. model_extras.c calls it
 * first.
 *
 *	 text   := [ extras ] [ design ]
 *	 extras := 2 nrecords { key nbytes value }
 *
 * Items are separated by one space, numbers are decimal, and nbytes is the length of value, which may have any bytes
 * but 0. A key is made of a-z and _. A design (design.h) begins with 1 or 3. A model without records has the design
 * alone, like models of release 0.1.0. Readers skip records with unknown keys.
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

/* Name of the offsets of a model that does not know its columns, such as a state's. */
#define GR_UNNAMED_OFFSETS "(offset)"

/* Keys */
#define GR_EXTRA_OFFSETS "offsets"	/* name of the column of offsets, or GR_UNNAMED_OFFSETS */
#define GR_EXTRA_WEIGHTS "weights"	/* name of the column of prior weights */
#define GR_EXTRA_FREQUENCIES "frequencies"	/* name of the column of frequencies */
#define GR_EXTRA_DF "df"		/* degrees of freedom of each term; see gr_extras_numbers() */
#define GR_EXTRA_BREAD "bread"	/* (X'WX)^-1 of a model with robust covariances, a packed triangle of numbers */
#define GR_EXTRA_MIXED "mixed"	/* random terms, see lmm_record.h */
#define GR_EXTRA_VCOV_LOW "vcov_low"	/* low halves of vcov, see vcov_low.h */
#define GR_EXTRA_ABSORBED "absorbed"	/* names of the absorbed columns, as in a formula */
#define GR_EXTRA_EFFECTS "effects"	/* numbers of the absorbed effects, see GrAbsorbed */
#define GR_EXTRA_CLASSES "classes"	/* labels of classes: for each, { nbytes label } with a space behind nbytes */

typedef struct GrExtra
{
	GrString	key;
	GrString	value;
} GrExtra;

typedef struct GrExtras
{
	int			n;
	GrExtra		record[GR_EXTRAS_MAX];
	GrString	design;			/* text after the records, or "" */
} GrExtras;

/*
 * Reads an untrusted text of nbytes into records that point into it. Returns false if the text begins with records that
 * are malformed, too many or have one key twice. The design is not checked.
 */
extern bool gr_extras_read(const char *text, size_t nbytes, GrExtras *extras);

/* Returns the value of a key, or NULL if no record has the key. */
extern const GrString *gr_extras_find(const GrExtras *extras, const char *key);

/* Adds a record that points to key and value. Returns false if there are GR_EXTRAS_MAX records already. */
extern bool gr_extras_add(GrExtras *extras, const char *key, GrString value);

/*
 * Reads a list of n numbers, separated by spaces, each as 16 hexadecimal digits of a float8's bits. Numbers may be NaN
 * or infinite. Returns false if value is malformed or has another length.
 */
extern bool gr_extras_numbers(GrString value, int n, double *numbers);

/* Writes a list of n > 0 numbers into text, of GR_EXTRA_NUMBER_SIZE * n bytes; the last byte becomes 0. */
extern void gr_extras_put_numbers(const double *numbers, int n, char *text);

#define GR_EXTRA_NUMBER_SIZE 17

/* Writes records and design. Without records this is the design alone. */
extern void gr_extras_write(GrWriter *writer, const GrExtras *extras);

#ifdef __cplusplus
}
#endif
#endif							/* GPUREG_EXTRAS_H */
