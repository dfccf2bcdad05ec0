/*
 * fuzz.h: what the fuzz targets share: input that is taken piece by piece, memory that is the input's alone, and errors
 * of the backend's as a caller meets them.
 *
 * A target is a program of libFuzzer's: LLVMFuzzerTestOneInput() hands an input to what is tested, and what must hold
 * of the result is asked by must(). A finding ends the program: a sanitizer's, a failed must() or Assert(), an error
 * that is no caller's (XX000), or memory out of proportion to the input.
 */
#ifndef GPUREG_FUZZ_H
#define GPUREG_FUZZ_H

#include <setjmp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(array) ((int) (sizeof(array) / sizeof((array)[0])))

extern int	LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Says what isn't so, and ends the program. */
extern void fuzz_finding(const char *file, int line, const char *what) __attribute__((noreturn));

#define must(what) ((what) ? (void) 0 : fuzz_finding(__FILE__, __LINE__, #what))

/* The rest of the input; what is taken where it has ended is 0. */
typedef struct FuzzInput
{
	const uint8_t *at;
	size_t		left;
} FuzzInput;

static inline uint8_t
take_byte(FuzzInput *in)
{
	if (in->left == 0)
		return 0;
	in->left--;
	return *in->at++;
}

static inline void
take_bytes(FuzzInput *in, void *to, size_t n)
{
	size_t		there = n < in->left ? n : in->left;

	if (n > 0)
		memset(to, 0, n);
	if (there > 0)
		memcpy(to, in->at, there);
	in->at += there;
	in->left -= there;
}

/* A number that is often small and whole */
static inline double
take_double(FuzzInput *in)
{
	uint8_t		kind = take_byte(in);
	double		value;

	if (kind < 224)
		return (kind - 112) / 8.0;
	take_bytes(in, &value, sizeof(value));
	return value;
}

static inline uint32_t
take_word(FuzzInput *in)
{
	uint32_t	word;

	take_bytes(in, &word, sizeof(word));
	return word;
}

/*
 * Memory: each piece by itself, so that a sanitizer sees its ends; all of it goes with forget_memory(). An input may
 * have so much of it, and not more than what fuzz_failing says comes.
 */
extern void fuzz_begin(size_t size);
extern void fuzz_end(void);
extern void *fuzz_take(void *arg, size_t nbytes);
extern void fuzz_allow(size_t nbytes);	/* so much more, which the harness itself takes */
extern int	fuzz_failing;		/* pieces that may be taken yet by fuzz_take(); -1: any number */

/* A piece that nobody is to touch any more, until the input ends */
extern void fuzz_forget(void *piece);

/* A copy of its own length, with nothing behind it */
extern void *fuzz_copy(const void *from, size_t nbytes);

#endif							/* GPUREG_FUZZ_H */
