/*
 * rotation.h: signs of a vector's coordinates after random rotations.
 *
 * A rotation of vectors of N = 2^m elements is H D2 H D1 H D0: D diagonal, of random signs, and H the Hadamard matrix
 * in the natural order, H[i][j] = -1 if i AND j has an odd number of bits, else 1. Up to a factor it is orthogonal, and
 * its coordinates are as good as those of a uniformly random one for telling angles (Andoni, Indyk, Laarhoven,
 * Razenshteyn and Schmidt, "Practical and optimal LSH for angular distance", 2015); two vectors differ in a share of
 * the signs that is near their angle's of 180 degrees. Rows of a rotation are orthogonal to each other, which makes
 * that share less noisy than with as many independent directions.
 *
 * Shorter vectors are continued by zeros. Coordinates 0 .. N - 1 are those of rotation 0, the next N of rotation 1, and
 * so on, as many as are wanted. All of it is a function of (seed, N) and the vector alone, by integer arithmetic and
 * additions that are rounded once, in a fixed order, so that signs are the same everywhere and for ever: stored results
 * depend on every detail below, and none may change.
 *
 * Signs. That of element j in D_t of rotation b is - if bit j % 32 of word j % 128 / 32 of Philox 4x32-10 is set, with
 * the counter (j / 128, b, t, GR_ROTATION_TAG) and the key (low half of the seed, high half of the seed).
 *
 * Order of additions. H is applied in stages h = 1, 2, 4, .. N / 2: for all j whose bit h isn't set, elements j and
 * j + h become their sum and their difference, in float8. With elements of float4 nothing overflows.
 */
#ifndef GPUREG_ROTATION_H
#define GPUREG_ROTATION_H

#include "compute/base/compute.h"

#define GR_ROTATION_TAG UINT32_C(0x726F7461)
#define GR_ROTATION_ROUNDS 3

/* N for vectors of dim elements, 1 <= dim <= GR_MAX_DIM */
extern int64_t gr_rotation_length(int64_t dim);

/* A vector and the rotation of it */
typedef struct GrRotation
{
	const float *x;
	int64_t		dim;
	uint64_t	seed;
	int64_t		k;				/* coordinates wanted */
} GrRotation;

/*
 * Writes the signs of coordinates 0 .. k - 1, 8 a byte, the first in the highest bit: 1 where the coordinate is above
 * 0. What is left of the last byte is 0. work: gr_rotation_length(dim) numbers. Polls host; fails with GR_CANCELED.
 */
extern bool gr_rotation_signs(const GrRotation *rotation, double *work, uint8_t *signs, const GrHost *host,
							  GrError *err);

#endif							/* GPUREG_ROTATION_H */
