/*
 * state_text.h: what the text forms of the aggregates' states share. They are JSON with a fixed frame, and every number has the digits
 * that give back the same float8, whatever extra_float_digits says.
 */
#ifndef GPUREG_STATE_TEXT_H
#define GPUREG_STATE_TEXT_H

#include "postgres.h"

#include "lib/stringinfo.h"

/* A reader over the text of a value of the type; ERROR where the text isn't such a value. */
typedef struct GrTextReader
{
	const char *type;
	const char *string;
	const char *at;
} GrTextReader;

extern void gr_text_bad(const GrTextReader *reader) __attribute__((noreturn));

/* Reads one token of the fixed frame, and the white space around it. */
extern void gr_text_expect(GrTextReader *reader, const char *token);

/* Reads "key": */
extern void gr_text_key(GrTextReader *reader, const char *key);
extern int64 gr_text_integer(GrTextReader *reader, int64 min, int64 max);

/* A finite number; null_value stands for null, NaN: there must be none. */
extern double gr_text_number(GrTextReader *reader, double null_value);

/* ERROR unless all was read. */
extern void gr_text_end(const GrTextReader *reader);

/* Appends a number, or null if it isn't finite. */
extern void gr_append_number(StringInfo buf, double value);

#endif							/* GPUREG_STATE_TEXT_H */
