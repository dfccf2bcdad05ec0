/*
 * gram_reference.c: see gram_reference.h. Quadruple precision is slow, so threads share the rows of the triangle.
 */
#include "gram_reference.h"

#include <math.h>
#include <pthread.h>
#include <unistd.h>

#define NTHREADS_MAX 32

typedef struct Share
{
	const double *rows;
	int64_t		nrows;
	int			nfeatures;
	const double *hi;
	const double *lo;
	int			first;			/* rows of the triangle: first, first + step, ... */
	int			step;
	double		worst;
} Share;

static double
entry_error(const Share *share, int i, int j)
{
	int64_t		at = (int64_t) i * (i + 1) / 2 + j;
	int			ncols = share->nfeatures + 1;
	Quad	sum = 0;
	Quad	difference;
	double		size = 0.0;

	for (int64_t r = 0; r < share->nrows; r++)
	{
		const double *row = share->rows + r * ncols;
		double		a = i == 0 ? 1.0 : row[i - 1];
		double		b = j == 0 ? 1.0 : row[j - 1];

		sum += (Quad) a * b;
		size += fabs(a * b);
	}
	if (!isfinite(share->hi[at]) || !isfinite(share->lo[at]))
		return INFINITY;
	difference = (Quad) share->hi[at] + share->lo[at] - sum;
	if (difference == 0)
		return 0.0;
	return size > 0.0 ? fabs((double) difference) / size : INFINITY;
}

static void *
share_run(void *arg)
{
	Share	   *share = arg;

	share->worst = 0.0;
	for (int i = share->first; i < share->nfeatures + 2; i += share->step)
		for (int j = 0; j <= i; j++)
			share->worst = fmax(share->worst, entry_error(share, i, j));
	return NULL;
}

double
gram_reference_error(const double *rows, int64_t nrows, int nfeatures, const double *hi, const double *lo)
{
	pthread_t	threads[NTHREADS_MAX];
	Share		shares[NTHREADS_MAX];
	long		ncores = sysconf(_SC_NPROCESSORS_ONLN);
	int			n = ncores < 1 ? 1 : ncores > NTHREADS_MAX ? NTHREADS_MAX : (int) ncores;
	double		worst = 0.0;

	for (int t = 0; t < n; t++)
		shares[t] = (Share) {rows, nrows, nfeatures, hi, lo, t, n, 0.0};
	for (int t = 1; t < n; t++)
		if (pthread_create(&threads[t], NULL, share_run, &shares[t]) != 0)
			return INFINITY;
	share_run(&shares[0]);
	for (int t = 0; t < n; t++)
	{
		if (t > 0)
			pthread_join(threads[t], NULL);
		worst = fmax(worst, shares[t].worst);
	}
	return worst;
}
