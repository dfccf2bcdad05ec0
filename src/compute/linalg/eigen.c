/* eigen.c: eigenvalues of small symmetric matrices by Jacobi's method; see eigen.h. */
#include "compute/linalg/eigen.h"

#include <math.h>
#include <string.h>

#define SWEEPS_MAX 60

/* Share of the root of the product of two diagonal entries below which the entry that couples them counts as 0. */
#define NOTHING 0x1p-53

/* Rotates n pairs of entries of x and y, step apart, by c and s. */
static void
rotate(double *x, double *y, int n, int step, double c, double s)
{
	for (int k = 0; k < n; k++, x += step, y += step)
	{
		double		old = *x;

		*x = c * old - s * *y;
		*y = s * old + c * *y;
	}
}

/* Rotates entry (i, j) to 0. Returns false if it was 0 already. */
static bool
rotate_away(double *a, double *vectors, int n, int i, int j)
{
	double		aii = a[(size_t) i * n + i];
	double		ajj = a[(size_t) j * n + j];
	double		aij = a[(size_t) i * n + j];
	double		tau;
	double		t;
	double		c;

	if (!(fabs(aij) > NOTHING * sqrt(fabs(aii) * fabs(ajj))))
		return false;
	tau = (ajj - aii) / (2 * aij);
	t = (tau >= 0 ? 1 : -1) / (fabs(tau) + sqrt(1 + tau * tau));
	c = 1 / sqrt(1 + t * t);
	rotate(a + (size_t) i * n, a + (size_t) j * n, n, 1, c, t * c);
	rotate(a + i, a + j, n, n, c, t * c);
	rotate(vectors + (size_t) i * n, vectors + (size_t) j * n, n, 1, c, t * c);
	a[(size_t) i * n + j] = a[(size_t) j * n + i] = 0;
	return true;
}

bool
gr_eigen(double *a, double *vectors, int n, GrPoll *poll)
{
	bool		rotated = true;

	memset(vectors, 0, (size_t) n * (size_t) n * sizeof(double));
	for (int k = 0; k < n; k++)
		vectors[(size_t) k * n + k] = 1;
	for (int sweep = 0; sweep < SWEEPS_MAX && rotated; sweep++)
	{
		rotated = false;
		for (int i = 0; i < n; i++)
		{
			if (gr_poll(poll, 6 * (int64_t) n * n))
				return false;
			for (int j = i + 1; j < n; j++)
				rotated |= rotate_away(a, vectors, n, i, j);
		}
	}
	return true;
}
