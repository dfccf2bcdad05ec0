/*
 * dictionary.h: numbers the distinct values of a column from 0 on, in the order in which they are met. The codes of
 * absorbed effects and of their clusters are made here; effect_rows.c is the first caller.
 *
 * Texts are told apart by their bytes, numeric and floating-point values by their shortest decimal form.
 */
#ifndef GPUREG_DICTIONARY_H
#define GPUREG_DICTIONARY_H

#include "postgres.h"

#include "rows/columns/levels.h"

typedef struct GrDictionary
{
	Oid			type;			/* type of the values, no domain */
	bool		by_value;		/* values are compared as Datums; else as strings */
	int16		nbytes;			/* by reference, of fixed length: compared by these bytes; 0: see gr_level_of() */
	MemoryContext context;		/* owns what follows */
	int32		n;
	int32		room;
	Datum	   *value;			/* by_value: n values */
	GrString   *string;			/* else: n strings */
	uint32	   *hash;			/* n */
	int32	   *slot;			/* 1 + a code; 0: free */
	uint32		mask;			/* number of slots less 1, a power of two less 1 */
	int32		last;			/* code of the last value; -1: none */
	Size		size;			/* bytes that the dictionary takes */
} GrDictionary;

/* True if values of a type, which is no domain, can have codes. */
extern bool gr_can_have_codes(Oid type);

/* Begins an empty dictionary of values of the type, which must pass gr_can_have_codes(), in the current context. */
extern void gr_dictionary_begin(GrDictionary *dictionary, Oid type);

/*
 * Returns the code of a value that is not NULL, a new one if the value was not met before. May allocate in the current
 * memory context. ERROR if there are 2^31 - 1 values.
 */
extern int32 gr_dictionary_code(GrDictionary *dictionary, Datum value);

/* Returns the text of a code's value as SQL's cast to text would give it, in the current memory context. */
extern char *gr_dictionary_text(const GrDictionary *dictionary, int32 code);

/*
 * Returns the n codes in the order of their values: that of the type, or of bytes for texts. In the current memory
 * context.
 */
extern int32 *gr_dictionary_order(const GrDictionary *dictionary);

#endif							/* GPUREG_DICTIONARY_H */
