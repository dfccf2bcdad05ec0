/*
 * path_quick.c: LDL' in float8 of a matrix that grows and shrinks; see path_quick.h.
 */
#include "compute/enet/path_quick.h"

#include <string.h>

static inline double *
row_of(const GrQuick *quick, int64_t i)
{
	return quick->l + gr_path_row_at(i);
}

/* Sets rows to the eight rows of the group that begins at base. */
static inline void
group_rows(const GrQuick *quick, int64_t base, const double *rows[8])
{
	for (int r = 0; r < 8; r++)
		rows[r] = row_of(quick, base + r);
}

void
gr_quick_forward(const GrQuick *quick, double *const *x, int m, int first, int end)
{
	const GrPathKernels *kernels = gr_path_kernels(GR_PATH_LANES);

	for (int base = first / 8 * 8; base < end; base += 8)
	{
		int			from = base < first ? first : base;
		int			to = base + 8 < end ? base + 8 : end;
		const double *rows[8];

		group_rows(quick, base, rows);
		for (int q = 0; q < m; q++)
		{
			double		sums[8];

			kernels->dots(sums, rows, x[q], base);
			for (int i = from; i < to; i++)
			{
				double		sum = sums[i - base];

				for (int k = base; k < i; k++)
					sum += rows[i - base][k] * x[q][k];
				x[q][i] -= sum;
			}
		}
	}
}

bool
gr_quick_append(GrQuick *quick, const double *solved, double square, double share)
{
	int			n = quick->n;
	double	   *row = row_of(quick, n);
	double		pivot = square;

	/* kernels read all rows of a group, those not yet appended times 0 */
	if (n % 8 == 0)
		memset(row, 0, sizeof(double) * 8 * (size_t) GR_PATH_PITCH(n));
	for (int k = 0; k < n; k++)
		row[k] = solved[k] / quick->d[k];
	for (int k = 0; k < n; k++)
		pivot -= row[k] * solved[k];
	if (!(pivot > share * square))
		return false;
	quick->d[n] = pivot;
	quick->n++;
	return true;
}

/* Removes row k and column k; w becomes the entries of column k in the rows below. */
static void
remove_row(GrQuick *quick, int k, double *w)
{
	for (int i = k + 1; i < quick->n; i++)
	{
		const double *from = row_of(quick, i);
		double	   *to = row_of(quick, i - 1);

		w[i - 1] = from[k];
		memmove(to, from, (size_t) k * sizeof(double));
		memmove(to + k, from + k + 1, (size_t) (i - 1 - k) * sizeof(double));
		quick->d[i - 1] = quick->d[i];
	}
	quick->n--;
}

/* Updates the factor as gr_factor_drop() does. */
void
gr_quick_drop(GrQuick *quick, int k, double *work)
{
	double		weight = quick->d[k];
	double	   *before = work;
	double	   *share = work + quick->n;

	remove_row(quick, k, before);
	for (int i = k; i < quick->n; i++)
	{
		double	   *row = row_of(quick, i);
		double		w = before[i];
		double		pivot;

		for (int t = k; t < i; t++)
		{
			w -= before[t] * row[t];
			row[t] += share[t] * w;
		}
		pivot = quick->d[i] + weight * w * w;
		before[i] = w;
		share[i] = weight * w / pivot;
		weight *= quick->d[i] / pivot;
		quick->d[i] = pivot;
	}
}

void
gr_quick_solve(const GrQuick *quick, double *x)
{
	const GrPathKernels *kernels = gr_path_kernels(GR_PATH_LANES);
	int			n = quick->n;

	gr_quick_forward(quick, &x, 1, 0, n);
	for (int i = 0; i < n; i++)
		x[i] /= quick->d[i];
	for (int base = (n - 1) / 8 * 8; base >= 0; base -= 8)
	{
		const double *rows[8];
		double		factors[8] = {0};

		group_rows(quick, base, rows);
		for (int i = (base + 8 < n ? base + 8 : n) - 1; i >= base; i--)
		{
			factors[i - base] = x[i];
			for (int k = base; k < i; k++)
				x[k] -= rows[i - base][k] * x[i];
		}
		kernels->subtract(x, rows, factors, base);
	}
}
