/*
 * four.h: vectors of four float8, for loops over the columns of a row whose values are padded to a multiple of four.
 * Each operation is IEEE's, lane by lane, so bits do not depend on the processor.
 */
#ifndef GPUREG_FOUR_H
#define GPUREG_FOUR_H

#ifdef __cplusplus
extern "C" {
#endif

/* aligned(8): rows need no alignment beyond a float8's */
typedef double GrFour __attribute__((vector_size(32), aligned(8), may_alias));

#define GR_FOUR_AT(p) (*(GrFour *) (p))
#define GR_FOUR_FROM(p) (*(const GrFour *) (p))

#if defined(__x86_64__) && defined(__gnu_linux__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__)
#define GR_FOUR_VERSIONS __attribute__((target_clones("avx2", "default")))
#else
#define GR_FOUR_VERSIONS
#endif

#ifdef __cplusplus
}
#endif
#endif							/* GPUREG_FOUR_H */
