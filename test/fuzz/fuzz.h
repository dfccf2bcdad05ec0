/*
 * fuzz.h: shared by the fuzz targets: input that is consumed piece by piece, memory that belongs to the input, and
 * errors of the server as a caller sees them.
 *
 * A target is a libFuzzer program: LLVMFuzzerTestOneInput() passes an input to the code under test, and must() checks
 * what has to hold of the result. A finding ends the program: a sanitizer's report, a failed must() or Assert(), an
 * error that isn't a caller's (XX000), or memory out of proportion to the input.
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

/* Prints the condition that failed, and ends the program. */
extern void fuzz_finding(const char *file, int line, const char *what) __attribute__((noreturn));

#define must(what) ((what) ? (void) 0 : fuzz_finding(__FILE__, __LINE__, #what))

/* The rest of the input; bytes beyond its end are 0. */
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

/* Takes a number that is often a small integer. */
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
 * Memory of an input. Each piece is allocated by itself, so a sanitizer sees its ends; forget_memory() frees all of it.
 * fuzz_take() fails beyond a limit that depends on the input's size, or when fuzz_failing says so.
 */
extern void fuzz_begin(size_t size);
extern void fuzz_end(void);
extern void *fuzz_take(void *arg, size_t nbytes);
extern void fuzz_allow(size_t nbytes);	/* raises the limit for the harness's own memory */
extern int	fuzz_failing;		/* pieces that fuzz_take() still gives; -1: any number */

/* Makes a piece untouchable until the input ends. */
extern void fuzz_forget(void *piece);

/* Copies nbytes into a piece of exactly that length. */
extern void *fuzz_copy(const void *from, size_t nbytes);

#endif							/* GPUREG_FUZZ_H */
