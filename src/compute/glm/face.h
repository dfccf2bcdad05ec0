/*
 * face.h: size of a direction of separation, and the rounding error of the distance of a row from it. Passes (glm.h)
 * and the search for separation use both.
 */
#ifndef GPUREG_FACE_H
#define GPUREG_FACE_H

#include <math.h>
#include <stddef.h>

#include "compute/base/row.h"

/* Returns the number of float8 of a face: the high halves, then the low halves of a direction. */
GR_HD size_t
gr_face_size(int nfeatures)
{
	return 2 * (size_t) gr_nterms(nfeatures);
}

/*
 * Returns a bound of the error of z' direction, as a share of the sum of its terms' magnitudes. The bound of Dot2
 * (Ogita, Rump and Oishi 2005) is about n^2 2^-106 for n terms. Directions that pass through rows are right to 2^-90.
 */
static inline double
gr_face_rounding(int nfeatures)
{
	double		n = (double) nfeatures + 8;

	return fmax(0x1p-90, n * n * 0x1p-102);
}

#endif							/* GPUREG_FACE_H */
