/*
 * exact_floats.h: stops the compilation if the compiler may change floating-point results.
 *
 * IMMUTABLE functions must return the same bits in every build, and double-double arithmetic needs IEEE rounding. The
 * Makefile includes this header in every translation unit (EXACT_FLOATS). It also turns contraction of a * b + c off,
 * which no macro reports.
 */
#ifndef GPUREG_EXACT_FLOATS_H
#define GPUREG_EXACT_FLOATS_H

#if defined(__FAST_MATH__) || (defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__ > 0) || \
	defined(__ASSOCIATIVE_MATH__) || defined(__RECIPROCAL_MATH__) || defined(__NO_SIGNED_ZEROS__)
#error "gpureg must not be compiled with -ffast-math, -Ofast or a part of them: IMMUTABLE functions would change"
#endif

#if defined(__FLT_EVAL_METHOD__) && (__FLT_EVAL_METHOD__ == 2 || __FLT_EVAL_METHOD__ == -1)
#error "gpureg needs float8 arithmetic without excess precision; on 32-bit x86 compile with -msse2 -mfpmath=sse"
#endif

#endif							/* GPUREG_EXACT_FLOATS_H */
