/*
 * rotation.h: signs of a vector's coordinates after random rotations, which compress vectors for angular distance.
 * fn_project_bits.c calls gr_rotation_length() for the scratch, then gr_rotation_signs().
 *
 * A rotation of vectors of N = 2^m elements is H D2 H D1 H D0: D is diagonal with random signs, and H the Hadamard
 * matrix in natural order, H[i][j] = -1 if i AND j has an odd number of bits, else 1. Up to a factor it is orthogonal.
 * Its coordinates are as good for angles as those of a uniformly random rotation (Andoni, Indyk, Laarhoven, Razenshteyn
 * and Schmidt, "Practical and optimal LSH for angular distance", 2015): the share of signs in which two vectors differ
 * is near their angle over 180 degrees. Rows of a rotation are orthogonal, which makes that share less noisy than with
 * as many independent directions.
 *
 * Shorter vectors are padded with zeros. Coordinates 0 .. N - 1 are those of rotation 0, the next N those of rotation
 * 1, and so on. The result depends only on (seed, N) and the vector, by integer arithmetic and additions that are
 * rounded once, in a fixed order. Signs are therefore the same everywhere and forever: stored results depend on every
 * detail below, and none may change.
 *
 * Signs. The sign of element j in D_t of rotation b is - if bit j % 32 of word j % 128 / 32 of Philox 4x32-10 is set,
 * with the counter (j / 128, b, t, GR_ROTATION_TAG) and the key (low half of the seed, high half of the seed).
 *
 * Order of additions. H is applied in stages h = 1, 2, 4, .. N / 2: for all j whose bit h is not set, elements j and j
 * + h are replaced by their sum and difference, in float8. With elements of float4 nothing overflows.
 */
#ifndef GPUREG_ROTATION_H
#define GPUREG_ROTATION_H

#include "compute/base/compute.h"

#define GR_ROTATION_TAG UINT32_C(0x726F7461)
#define GR_ROTATION_ROUNDS 3

/* Returns N for vectors of dim elements, 1 <= dim <= GR_MAX_DIM. */
extern int64_t gr_rotation_length(int64_t dim);

/* A vector and its rotation. */
typedef struct GrRotation
{
	const float *x;
	int64_t		dim;
	uint64_t	seed;
	int64_t		k;				/* number of coordinates */
	int			max_lanes;		/* most lanes of a vector operation; 0: as many as the processor has */
} GrRotation;

/*
 * Writes the signs of coordinates 0 .. k - 1, 8 per byte, the first in the highest bit: 1 if the coordinate is above 0.
 * Unused bits of the last byte are 0. work: gr_rotation_length(dim) numbers. Polls host; fails with GR_CANCELED.
 */
extern bool gr_rotation_signs(const GrRotation *rotation, double *work, uint8_t *signs, const GrHost *host,
							  GrError *err);

#endif							/* GPUREG_ROTATION_H */
