/*
 * projection_reference.c: see projection_reference.h.
 */
#include "projection_reference.h"

#include <stdlib.h>

#include "compute/project/projection.h"

int
projection_reference_column(const GrDraw *draw, int64_t j, uint32_t *entries)
{
	int			n = 0;

	if (draw->density == 1.0)
	{
		for (int i = 0; i < draw->k; i++)
		{
			uint32_t	word = gr_draw_words(draw->seed, j, 0, (uint32_t) i / 128).word[i / 32 % 4];

			entries[n++] = (uint32_t) i | (word >> (i % 32)) << 31;
		}
		return n;
	}
	for (int32_t s = 0; s < draw->nstrata; s++)
	{
		GrPhilox	first = gr_draw_words(draw->seed, j, (uint32_t) s, 0);
		int			count = gr_draw_count(gr_draw_table(draw, s), first);

		gr_draw_entries(draw, j, s, first, count, entries + n, 1);
		n += count;
	}
	return n;
}

void
projection_reference(const GrDraw *draw, const float *x, int64_t dim, float *y)
{
	double	   *total = calloc((size_t) draw->k, sizeof(double));
	double	   *part = calloc((size_t) draw->k, sizeof(double));
	uint32_t   *entries = malloc((size_t) draw->k * sizeof(uint32_t));

	for (int64_t j = 0; j < dim; j++)
	{
		int			n = projection_reference_column(draw, j, entries);

		for (int m = 0; m < n; m++)
			part[entries[m] & ~GR_ENTRY_SIGN] += entries[m] & GR_ENTRY_SIGN ? -(double) x[j] : (double) x[j];
		if ((j + 1) % GR_CHUNK_NCOLS == 0 || j + 1 == dim)
			for (int i = 0; i < draw->k; i++)
			{
				total[i] += part[i];
				part[i] = 0.0;
			}
	}
	for (int i = 0; i < draw->k; i++)
		y[i] = (float) (total[i] * draw->scale);
	free(total);
	free(part);
	free(entries);
}
