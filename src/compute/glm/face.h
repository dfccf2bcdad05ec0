/*
 * face.h: the size of a direction of a pass's faces, and how exactly rows are placed beside it.
 */
#ifndef GPUREG_FACE_H
#define GPUREG_FACE_H

#include <math.h>
#include <stddef.h>

#include "compute/base/row.h"

/* How many float8 a face takes */
GR_HD size_t
gr_face_size(int nfeatures)
{
	return 2 * (size_t) gr_nterms(nfeatures);
}

/*
 * Bound of the error of z' direction, as a share of the sum of its terms' magnitudes. That of Dot2 (Ogita, Rump and
 * Oishi 2005) is n^2 2^-106 and some for n terms; directions that pass through rows come to within 2^-90.
 */
static inline double
gr_face_rounding(int nfeatures)
{
	double		n = (double) nfeatures + 8;

	return fmax(0x1p-90, n * n * 0x1p-102);
}

#endif							/* GPUREG_FACE_H */
