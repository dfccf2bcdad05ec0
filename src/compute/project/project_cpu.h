/*
 * project_cpu.h: the inner loops of random projections on the CPU. Included plainly it declares them for chunks.c;
 * kernels_cpu.h includes it as a part of its template of simd.h.
 */
#ifndef GPUREG_PROJECT_CPU_H
#define GPUREG_PROJECT_CPU_H

#include <stdint.h>

#define GR_PROJECT_BATCH 8		/* vectors projected together */

/*
 * total[i][b] += sum over the entries of row i, in order, of +-x[column][b], for rows i < k and b < GR_PROJECT_BATCH.
 * Row i has entries starts[i] .. ends[i] - 1, each 2 column + (1 if the sign is -). Sums start from 0. All lanes do the
 * same operations, so the bits do not depend on V_LANES.
 */
typedef void (*GrGather) (double *total, const float *x, const uint32_t *entries, const uint32_t *starts,
						  const uint32_t *ends, int k);

/* Does the same for a single vector: x has two float4 per column, the value and its negative. */
extern void gr_gather_vector(double *total, const float *x, const uint32_t *entries, const uint32_t *starts,
							 const uint32_t *ends, int k);

/* Returns the GrGather for vectors of at most max_lanes doubles. */
extern GrGather gr_gather_version(int max_lanes);

#endif							/* GPUREG_PROJECT_CPU_H */

#ifdef V_LANES

#define NVECTORS (GR_PROJECT_BATCH / V_LANES)
#define GATHER_NROWS 4			/* rows at a time, as their sums do not wait for each other */

/* Adds one entry of one row; the products with 1 and -1 are exact. */
#define GATHER_ENTRY(sums, entry) do { \
	V sign_ = V_SET1(signs[(entry) & 1]); \
	const float *x_ = x + (size_t) ((entry) >> 1) * GR_PROJECT_BATCH; \
	for (int v_ = 0; v_ < NVECTORS; v_++) \
		sums[v_] = V_MLA(sign_, V_LOAD_FLOAT4(x_ + v_ * V_LANES), sums[v_]); \
} while (0)

static TARGET void
NAME(gather)(double *total, const float *x, const uint32_t *entries, const uint32_t *starts, const uint32_t *ends,
			 int k)
{
	static const double signs[2] = {1.0, -1.0};

	for (int i = 0; i < k; i += GATHER_NROWS)
	{
		int			nrows = k - i < GATHER_NROWS ? k - i : GATHER_NROWS;
		uint32_t	common = UINT32_MAX;
		V			sums[GATHER_NROWS][NVECTORS];

		for (int r = 0; r < GATHER_NROWS; r++)
			for (int v = 0; v < NVECTORS; v++)
				sums[r][v] = V_ZERO();
		for (int r = 0; r < nrows; r++)
			if (ends[i + r] - starts[i + r] < common)
				common = ends[i + r] - starts[i + r];
		if (nrows == GATHER_NROWS)
		{
			const uint32_t *e = entries + starts[i];
			const uint32_t *f = entries + starts[i + 1];
			const uint32_t *g = entries + starts[i + 2];
			const uint32_t *h = entries + starts[i + 3];

			for (uint32_t n = 0; n < common; n++)
			{
				GATHER_ENTRY(sums[0], e[n]);
				GATHER_ENTRY(sums[1], f[n]);
				GATHER_ENTRY(sums[2], g[n]);
				GATHER_ENTRY(sums[3], h[n]);
			}
		}
		else
			common = 0;
		for (int r = 0; r < nrows; r++)
		{
			double	   *to = total + (size_t) (i + r) * GR_PROJECT_BATCH;

			for (uint32_t n = starts[i + r] + common; n < ends[i + r]; n++)
				GATHER_ENTRY(sums[r], entries[n]);
			for (int v = 0; v < NVECTORS; v++)
				V_STORE(to + v * V_LANES, V_ADD(V_LOAD(to + v * V_LANES), sums[r][v]));
		}
	}
}

#undef GATHER_ENTRY
#undef GATHER_NROWS
#undef NVECTORS

#endif							/* V_LANES */
