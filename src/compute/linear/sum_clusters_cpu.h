/*
 * sum_clusters_cpu.h: the kernels of sum_clusters.c, a template of simd.h.
 *
 * Arrays are [entry][lane], with GR_CLUSTER_LANES lanes, one cluster each. The operations of a lane do not depend on
 * V_LANES.
 */

/*
 * Adds a b to hi + lo, exactly except for what lo loses (Ogita, Rump and Oishi 2005, "Accurate sum and dot product").
 */
TARGET static inline __attribute__((always_inline)) void
NAME(add_product) (V *hi, V *lo, V a, V b)
{
	V			p = V_MUL(a, b);
	V			s = V_ADD(*hi, p);
	V			t = V_SUB(s, *hi);
	V			error = V_ADD(V_SUB(*hi, V_SUB(s, t)), V_SUB(p, t));

	*lo = V_ADD(*lo, V_ADD(error, V_FMA(a, b, V_SUB(V_SET1(0.0), p))));
	*hi = s;
}

/* Normalises hi + lo, as double-double is rounded. */
TARGET static inline __attribute__((always_inline)) void
NAME(settle) (V *hi, V *lo)
{
	V			s = V_ADD(*hi, *lo);

	*lo = V_SUB(*lo, V_SUB(s, *hi));
	*hi = s;
}

/* Adds the product of the double-doubles a and b to hi + lo. */
TARGET static inline __attribute__((always_inline)) void
NAME(add_dd_product) (V *hi, V *lo, V a_hi, V a_lo, V b_hi, V b_lo)
{
	NAME(add_product) (hi, lo, a_hi, b_hi);
	*lo = V_ADD(*lo, V_FMA(a_hi, b_lo, V_MUL(a_lo, b_hi)));
}

/*
 * Translates sums to another shift, by which the columns (x, y) grow by d_hi + d_lo. Goes backwards, as
 * gr_gram_translate().
 */
TARGET static void
NAME(translate) (double *hi, double *lo, const double *d_hi, const double *d_lo, int norder)
{
	for (int l = 0; l < GR_CLUSTER_LANES; l += V_LANES)
		for (int64_t i = norder - 1; i > 0; i--)
		{
			int64_t		own = triangle_at(i, 0) * GR_CLUSTER_LANES + l;
			V			di_hi = V_LOAD(d_hi + i * GR_CLUSTER_LANES + l);
			V			di_lo = V_LOAD(d_lo + i * GR_CLUSTER_LANES + l);

			for (int64_t j = i; j >= 0; j--)
			{
				int64_t		at = triangle_at(i, j) * GR_CLUSTER_LANES + l;
				int64_t		sum = triangle_at(j, 0) * GR_CLUSTER_LANES + l;
				V			dj_hi = V_LOAD(d_hi + j * GR_CLUSTER_LANES + l);
				V			dj_lo = V_LOAD(d_lo + j * GR_CLUSTER_LANES + l);
				V			s_hi = V_LOAD(hi + sum);
				V			s_lo = V_LOAD(lo + sum);
				V			g_hi = V_LOAD(hi + at);
				V			g_lo = V_LOAD(lo + at);

				NAME(add_dd_product) (&s_hi, &s_lo, V_LOAD(hi + l), V_LOAD(lo + l), dj_hi, dj_lo);
				NAME(settle) (&s_hi, &s_lo);
				NAME(add_dd_product) (&g_hi, &g_lo, s_hi, s_lo, di_hi, di_lo);
				NAME(settle) (&g_hi, &g_lo);
				NAME(add_dd_product) (&g_hi, &g_lo, V_LOAD(hi + own), V_LOAD(lo + own), dj_hi, dj_lo);
				NAME(settle) (&g_hi, &g_lo);
				V_STORE(hi + at, g_hi);
				V_STORE(lo + at, g_lo);
			}
		}
}

/* Computes s = c - A b and q = C s of n terms. at: index of each entry of (terms, y) in the triangle of the sums. */
TARGET static void
NAME(score) (double *q, GrDDVector s, GrDDConstVector sums, const int64_t *at, GrDDConstVector coef,
			 const double *factor, int n)
{
	const double *hi = sums.hi;
	const double *lo = sums.lo;
	double	   *s_hi = s.hi;
	double	   *s_lo = s.lo;

	for (int l = 0; l < GR_CLUSTER_LANES; l += V_LANES)
	{
		for (int i = 0; i < n; i++)
		{
			V			h = V_LOAD(hi + at[triangle_at(n, i)] + l);
			V			e = V_LOAD(lo + at[triangle_at(n, i)] + l);

			for (int j = 0; j < n; j++)
			{
				int64_t		a = at[i >= j ? triangle_at(i, j) : triangle_at(j, i)] + l;

				NAME(add_dd_product) (&h, &e, V_LOAD(hi + a), V_LOAD(lo + a), V_SET1(-coef.hi[j]),
									  V_SET1(-coef.lo[j]));
			}
			NAME(settle) (&h, &e);
			V_STORE(s_hi + i * GR_CLUSTER_LANES + l, h);
			V_STORE(s_lo + i * GR_CLUSTER_LANES + l, e);
		}
		for (int i = 0; i < n; i++)
		{
			V			h = V_SET1(0.0);
			V			e = V_SET1(0.0);

			for (int j = 0; j <= i; j++)
				NAME(add_dd_product) (&h, &e, V_LOAD(s_hi + j * GR_CLUSTER_LANES + l),
									  V_LOAD(s_lo + j * GR_CLUSTER_LANES + l), V_SET1(factor[(int64_t) i * n + j]),
									  V_SET1(0.0));
			V_STORE(q + i * GR_CLUSTER_LANES + l, V_ADD(h, e));
		}
	}
}

/* Adds x x' to the triangle hi + lo of n (n + 1) / 2 sums. */
TARGET static void
NAME(add_square) (double *hi, double *lo, const double *x, int n)
{
	for (int l = 0; l < GR_CLUSTER_LANES; l += V_LANES)
	{
		int64_t		k = l;

		for (int i = 0; i < n; i++)
		{
			V			xi = V_LOAD(x + i * GR_CLUSTER_LANES + l);

			for (int j = 0; j <= i; j++, k += GR_CLUSTER_LANES)
			{
				V			h = V_LOAD(hi + k);
				V			e = V_LOAD(lo + k);

				NAME(add_product) (&h, &e, xi, V_LOAD(x + j * GR_CLUSTER_LANES + l));
				V_STORE(hi + k, h);
				V_STORE(lo + k, e);
			}
		}
	}
}

/* Computes left = 1 - C A C', a triangle, in float8. work: n x n. */
TARGET static void
NAME(leave_out) (double *left, double *work, const double *hi, const int64_t *at, const double *factor, int n)
{
	for (int l = 0; l < GR_CLUSTER_LANES; l += V_LANES)
	{
		for (int i = 0; i < n; i++)
			for (int j = 0; j < n; j++)
			{
				V			sum = V_SET1(0.0);

				for (int m = 0; m <= j; m++)
					sum = V_FMA(V_LOAD(hi + at[i >= m ? triangle_at(i, m) : triangle_at(m, i)] + l),
								V_SET1(factor[(int64_t) j * n + m]), sum);
				V_STORE(work + ((int64_t) i * n + j) * GR_CLUSTER_LANES + l, sum);
			}
		for (int i = 0; i < n; i++)
			for (int j = 0; j <= i; j++)
			{
				V			sum = V_SET1(i == j ? -1.0 : 0.0);

				for (int m = 0; m <= i; m++)
					sum = V_FMA(V_LOAD(work + ((int64_t) m * n + j) * GR_CLUSTER_LANES + l),
								V_SET1(factor[(int64_t) i * n + m]), sum);
				V_STORE(left + triangle_at(i, j) * GR_CLUSTER_LANES + l, V_SUB(V_SET1(0.0), sum));
			}
	}
}

/*
 * Solves left x = b by Cholesky's factorisation; x: b on entry. left becomes the factor with its diagonal inverted.
 * pivot: n.
 */
TARGET static void
NAME(solve_left) (double *left, double *x, double *pivot, int n)
{
	for (int l = 0; l < GR_CLUSTER_LANES; l += V_LANES)
	{
		for (int i = 0; i < n; i++)
		{
			V			xi = V_LOAD(x + i * GR_CLUSTER_LANES + l);

			for (int j = 0; j <= i; j++)
			{
				double	   *entry = left + triangle_at(i, j) * GR_CLUSTER_LANES + l;
				V			sum = V_SUB(V_SET1(0.0), V_LOAD(entry));

				for (int m = 0; m < j; m++)
					sum = V_FMA(V_LOAD(left + triangle_at(i, m) * GR_CLUSTER_LANES + l),
								V_LOAD(left + triangle_at(j, m) * GR_CLUSTER_LANES + l), sum);
				sum = V_SUB(V_SET1(0.0), sum);
				if (j == i)
				{
					V_STORE(pivot + i * GR_CLUSTER_LANES + l, sum);
					sum = V_DIV(V_SET1(1.0), V_SQRT(sum));
				}
				else
				{
					sum = V_MUL(sum, V_LOAD(left + triangle_at(j, j) * GR_CLUSTER_LANES + l));
					xi = V_SUB(xi, V_MUL(sum, V_LOAD(x + j * GR_CLUSTER_LANES + l)));
				}
				V_STORE(entry, sum);
			}
			V_STORE(x + i * GR_CLUSTER_LANES + l,
					V_MUL(xi, V_LOAD(left + triangle_at(i, i) * GR_CLUSTER_LANES + l)));
		}
		for (int i = n - 1; i >= 0; i--)
		{
			V			xi = V_LOAD(x + i * GR_CLUSTER_LANES + l);

			for (int j = i + 1; j < n; j++)
				xi = V_SUB(xi, V_MUL(V_LOAD(left + triangle_at(j, i) * GR_CLUSTER_LANES + l),
									 V_LOAD(x + j * GR_CLUSTER_LANES + l)));
			V_STORE(x + i * GR_CLUSTER_LANES + l,
					V_MUL(xi, V_LOAD(left + triangle_at(i, i) * GR_CLUSTER_LANES + l)));
		}
	}
}

static const Kernels NAME(kernels) = {
	.translate = NAME(translate),
	.score = NAME(score),
	.add_square = NAME(add_square),
	.leave_out = NAME(leave_out),
	.solve_left = NAME(solve_left),
};
