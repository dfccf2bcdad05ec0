/*
 * prune.c: removes singletons, and numbers levels; see effects.h.
 */
#include <stdlib.h>
#include <string.h>

#include "compute/effects/effects.h"

/* Rows of a level: their number, and the bitwise XOR of their indexes, which is the row where there is one. */
typedef struct LevelRows
{
	int64_t		n;
	int64_t		which;
} LevelRows;

typedef struct Pruning
{
	GrEffectRows *rows;
	LevelRows  *level[GR_EFFECTS_MAX];
	int64_t    *queue;			/* rows to drop */
	int64_t		nqueued;
	bool	   *dropped;
} Pruning;

/* Queues the last row of a level, unless it is queued already. */
static void
queue_single(Pruning *p, const LevelRows *level)
{
	int64_t		r = level->which;

	if (level->n != 1 || p->dropped[r] || (p->rows->counts && p->rows->weights != NULL && p->rows->weights[r] > 1))
		return;
	p->dropped[r] = true;
	p->queue[p->nqueued++] = r;
}

static void
find_singletons(Pruning *p)
{
	const GrEffectRows *rows = p->rows;

	for (int f = 0; f < rows->nfactors; f++)
		for (int64_t r = 0; r < rows->nrows; r++)
		{
			LevelRows  *level = &p->level[f][rows->code[f][r]];

			level->n++;
			level->which ^= r;
		}
	for (int f = 0; f < rows->nfactors; f++)
		for (int32_t l = 0; l < rows->nlevels[f]; l++)
			queue_single(p, &p->level[f][l]);
	for (int64_t at = 0; at < p->nqueued; at++)
	{
		int64_t		r = p->queue[at];

		for (int f = 0; f < rows->nfactors; f++)
		{
			LevelRows  *level = &p->level[f][rows->code[f][r]];

			level->n--;
			level->which ^= r;
			queue_single(p, level);
		}
	}
}

/* Moves the rows that are left to the front. */
static void
close_ranks(GrEffectRows *rows, const bool *dropped)
{
	int64_t		to = 0;

	for (int64_t r = 0; r < rows->nrows; r++)
	{
		if (dropped[r])
			continue;
		if (to != r)
		{
			memcpy(rows->values + to * rows->stride, rows->values + r * rows->stride,
				   (size_t) rows->stride * sizeof(double));
			if (rows->weights != NULL)
				rows->weights[to] = rows->weights[r];
			if (rows->offsets != NULL)
				rows->offsets[to] = rows->offsets[r];
			for (int f = 0; f < rows->nfactors; f++)
				rows->code[f][to] = rows->code[f][r];
			for (int c = 0; c < rows->nclusters; c++)
				rows->cluster[c][to] = rows->cluster[c][r];
		}
		to++;
	}
	rows->nrows = to;
}

bool
gr_effect_rows_prune(GrEffectRows *rows, int64_t *ndropped, const GrHost *host, GrError *err)
{
	Pruning		p = {.rows = rows};
	size_t		n = (size_t) rows->nrows;
	bool		ok;

	*ndropped = 0;
	if (rows->nrows == 0)
		return true;
	p.queue = malloc(n * sizeof(int64_t));
	p.dropped = calloc(n, sizeof(bool));
	ok = p.queue != NULL && p.dropped != NULL;
	for (int f = 0; f < rows->nfactors; f++)
	{
		p.level[f] = calloc((size_t) rows->nlevels[f], sizeof(LevelRows));
		ok &= p.level[f] != NULL;
	}
	if (ok)
		find_singletons(&p);
	else
		gr_fail(err, GR_NO_MEMORY, GR_NO_COLUMN, "singletons");
	if (ok && p.nqueued > 0)
		close_ranks(rows, p.dropped);
	*ndropped = p.nqueued;
	for (int f = 0; f < rows->nfactors; f++)
		free(p.level[f]);
	free(p.queue);
	free(p.dropped);
	return ok && (!gr_canceled(host) || gr_fail(err, GR_CANCELED, GR_NO_COLUMN, "singletons"));
}

/* Marks the rows of factor f's levels with a constant response. has: nlevels; bit 1: not 0, bit 2: not 1 */
static void
mark_constant(const GrEffectRows *rows, int f, bool ones, char *has, bool *dropped)
{
	memset(has, 0, (size_t) rows->nlevels[f]);
	for (int64_t r = 0; r < rows->nrows; r++)
	{
		double		y = rows->values[r * rows->stride + rows->ncols - 1];

		if (!dropped[r])
			has[rows->code[f][r]] |= (y != 0 ? 1 : 0) | (y != 1 || !ones ? 2 : 0);
	}
	for (int64_t r = 0; r < rows->nrows; r++)
		dropped[r] |= has[rows->code[f][r]] != 3;
}

bool
gr_effect_rows_drop_constant(GrEffectRows *rows, bool ones, int64_t *ndropped, GrError *err)
{
	int32_t		most = 1;
	int64_t		before = rows->nrows;
	bool	   *dropped = calloc((size_t) rows->nrows + 1, sizeof(bool));
	char	   *has;

	for (int f = 0; f < rows->nfactors; f++)
		most = rows->nlevels[f] > most ? rows->nlevels[f] : most;
	has = malloc((size_t) most);
	if (dropped == NULL || has == NULL)
	{
		free(dropped);
		free(has);
		return gr_fail(err, GR_NO_MEMORY, GR_NO_COLUMN, "separated rows");
	}
	for (int f = 0; f < rows->nfactors; f++)
		mark_constant(rows, f, ones, has, dropped);
	close_ranks(rows, dropped);
	*ndropped += before - rows->nrows;
	free(dropped);
	free(has);
	return true;
}

int32_t *
gr_effect_compact(int32_t *code, int64_t nrows, int32_t *nlevels, GrError *err)
{
	int32_t    *new_code = calloc((size_t) *nlevels + 1, sizeof(int32_t));
	int32_t    *old_code = malloc(((size_t) *nlevels + 1) * sizeof(int32_t));
	int32_t		n = 0;

	if (new_code == NULL || old_code == NULL)
	{
		free(new_code);
		free(old_code);
		gr_fail(err, GR_NO_MEMORY, GR_NO_COLUMN, "levels");
		return NULL;
	}
	for (int64_t r = 0; r < nrows; r++)
		new_code[code[r]] = 1;
	for (int32_t l = 0; l < *nlevels; l++)
		if (new_code[l] != 0)
		{
			old_code[n] = l;
			new_code[l] = n++;
		}
	for (int64_t r = 0; r < nrows; r++)
		code[r] = new_code[code[r]];
	free(new_code);
	*nlevels = n;
	return old_code;
}

bool
gr_effect_is_nested(const GrEffectRows *rows, int f, int c, GrError *err)
{
	int32_t    *first = malloc(((size_t) rows->nlevels[f] + 1) * sizeof(int32_t));
	bool		nested = true;

	if (first == NULL)
		return gr_fail(err, GR_NO_MEMORY, GR_NO_COLUMN, "clusters");
	for (int32_t l = 0; l < rows->nlevels[f]; l++)
		first[l] = -1;
	for (int64_t r = 0; r < rows->nrows && nested; r++)
	{
		int32_t    *at = &first[rows->code[f][r]];

		if (*at < 0)
			*at = rows->cluster[c][r];
		nested = *at == rows->cluster[c][r];
	}
	free(first);
	return nested;
}
