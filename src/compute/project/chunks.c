/*
 * chunks.c: projects dense vectors, and keeps the chunks of S that they used.
 *
 * A chunk of S is kept by rows, so that a row's sum over the chunk stays in a register. For a single vector, four rows
 * are summed at a time. Several vectors are projected eight at a time, transposed, one vector per lane. A chunk that is
 * not kept is drawn column by column, and each entry is added to its row at once.
 */
#include "compute/project/chunks.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compute/base/arena.h"
#include "compute/project/project_cpu.h"
#include "compute/project/projection_state.h"

/* Rows of the result written between two polls */
#define WRITE_NROWS 4096

/* Drawing of a chunk */

/* Entries of consecutive columns, in the order in which they are drawn */
typedef struct Drawn
{
	uint32_t   *rows;			/* row of S, with the sign in the highest bit */
	uint32_t   *ends;			/* per column, the end of its entries */
	size_t		capacity;
} Drawn;

/* Makes room for n entries. */
static bool
reserve(Drawn *drawn, size_t n, GrError *err)
{
	uint32_t   *rows;

	if (n <= drawn->capacity)
		return true;
	n += n / 4;
	rows = realloc(drawn->rows, n * sizeof(uint32_t));
	if (rows == NULL)
		return gr_projection_no_memory(n * sizeof(uint32_t), err);
	drawn->rows = rows;
	drawn->capacity = n;
	return true;
}

/* Draws columns first .. first + ncols - 1; p < 1. Fails with GR_NO_MEMORY and GR_CANCELED. */
static bool
draw_columns(const GrDraw *draw, int64_t first, int32_t ncols, Drawn *drawn, const GrHost *host, GrError *err)
{
	size_t		n = 0;
	size_t		polled = 0;

	for (int32_t c = 0; c < ncols; c++)
	{
		for (int32_t s = 0; s < draw->nstrata; s++)
		{
			if (!reserve(drawn, n + GR_DRAW_MAX, err))
				return false;
			n += (size_t) gr_draw_stratum(draw, first + c, s, drawn->rows + n);
			if (n + (size_t) s - polled > GR_POLL_ENTRIES)
			{
				polled = n + (size_t) s;
				if (gr_canceled(host))
					return gr_fail(err, GR_CANCELED, 0, "drawing");
			}
		}
		drawn->ends[c] = (uint32_t) n;
	}
	return true;
}

/* Sorts drawn entries by rows into chunk: a counting sort, which keeps the columns' order. */
static bool
sort_by_row(GrMatrixChunk *chunk, const GrDraw *draw, const Drawn *drawn, const GrHost *host, GrError *err)
{
	uint32_t	n = drawn->ends[chunk->ncols - 1];
	uint32_t   *starts = chunk->starts;
	uint32_t	c = 0;

	/* count row i in starts[i + 1]; sums make these starts, which the second loop moves to the rows' ends */
	memset(starts, 0, ((size_t) draw->k + 1) * sizeof(uint32_t));
	for (uint32_t m = 0; m < n; m++)
	{
		starts[(drawn->rows[m] & ~GR_ENTRY_SIGN) + 1]++;
		if (m % GR_POLL_ENTRIES == GR_POLL_ENTRIES - 1 && gr_canceled(host))
			return gr_fail(err, GR_CANCELED, 0, "drawing");
	}
	for (int32_t i = 0; i < draw->k; i++)
		starts[i + 1] += starts[i];
	for (uint32_t m = 0; m < n; m++)
	{
		while (m == drawn->ends[c])
			c++;
		chunk->entries[starts[drawn->rows[m] & ~GR_ENTRY_SIGN]++] = 2 * c | drawn->rows[m] >> 31;
		if (m % GR_POLL_ENTRIES == GR_POLL_ENTRIES - 1 && gr_canceled(host))
			return gr_fail(err, GR_CANCELED, 0, "drawing");
	}
	memmove(starts + 1, starts, (size_t) draw->k * sizeof(uint32_t));
	starts[0] = 0;
	return true;
}

/* Fills a chunk with p = 1, where every row has every column. */
static bool
draw_signs(GrMatrixChunk *chunk, const GrDraw *draw, int64_t first, const GrHost *host, GrError *err)
{
	size_t		ncols = (size_t) chunk->ncols;

	chunk->starts[0] = 0;
	for (int32_t i = 0; i < draw->k; i += 128)
	{
		int32_t		nrows = draw->k - i < 128 ? draw->k - i : 128;

		for (int32_t r = i + 1; r <= i + nrows; r++)
			chunk->starts[r] = (uint32_t) ((size_t) r * ncols);
		for (size_t c = 0; c < ncols; c++)
		{
			GrPhilox	words = gr_draw_words(draw->seed, first + (int64_t) c, 0, (uint32_t) i / 128);

			for (int32_t r = 0; r < nrows; r++)
				chunk->entries[(size_t) (i + r) * ncols + c] = 2 * (uint32_t) c | (words.word[r / 32] >> (r % 32) & 1);
		}
		if (gr_canceled(host))
			return gr_fail(err, GR_CANCELED, 0, "drawing");
	}
	return true;
}

static void
drop_chunk(GrProjection *projection, GrMatrixChunk *chunk)
{
	gr_projection_count(projection, 0, chunk->nbytes);
	free(chunk->starts);
	free(chunk->entries);
	memset(chunk, 0, sizeof(*chunk));
}

/* Fills an empty chunk with columns first .. first + ncols - 1. On failure the chunk stays empty. */
static bool
fill_chunk(GrProjection *projection, GrMatrixChunk *chunk, int64_t first, int32_t ncols, const GrHost *host,
		   GrError *err)
{
	const GrDraw *draw = &projection->draw;
	size_t		starts_nbytes = ((size_t) draw->k + 1) * sizeof(uint32_t);
	size_t		n = (size_t) draw->k * (size_t) ncols;
	Drawn		drawn = {0};
	bool		ok = true;

	if (draw->density < 1.0)
	{
		drawn.ends = malloc((size_t) ncols * sizeof(uint32_t));
		ok = drawn.ends != NULL && reserve(&drawn, (size_t) ((double) n * draw->density) + 1, err);
		ok = ok && draw_columns(draw, first, ncols, &drawn, host, err);
		n = ok ? drawn.ends[ncols - 1] : 0;
	}
	if (ok)
	{
		chunk->starts = malloc(starts_nbytes);
		chunk->entries = malloc((n + 1) * sizeof(uint32_t));
		ok = chunk->starts != NULL && chunk->entries != NULL;
	}
	if (ok)
	{
		chunk->ncols = ncols;
		chunk->nbytes = starts_nbytes + (n + 1) * sizeof(uint32_t);
		gr_projection_count(projection, chunk->nbytes, 0);
		if (draw->density < 1.0)
			ok = sort_by_row(chunk, draw, &drawn, host, err);
		else
			ok = draw_signs(chunk, draw, first, host, err);
		if (!ok)
			drop_chunk(projection, chunk);
	}
	else
	{
		gr_projection_no_memory(starts_nbytes + (n + 1) * sizeof(uint32_t), err);
		free(chunk->starts);
		free(chunk->entries);
		memset(chunk, 0, sizeof(*chunk));
	}
	free(drawn.rows);
	free(drawn.ends);
	projection->cache->ndrawn += ok ? ncols : 0;
	return ok;
}

/* Makes the list of chunks n long. */
static bool
extend_chunks(GrProjection *projection, int64_t n, GrError *err)
{
	GrMatrixChunk *chunks = realloc(projection->chunks, (size_t) n * sizeof(GrMatrixChunk));

	if (chunks == NULL)
		return gr_projection_no_memory((size_t) n * sizeof(GrMatrixChunk), err);
	projection->chunks = chunks;
	memset(chunks + projection->nchunks, 0, (size_t) (n - projection->nchunks) * sizeof(GrMatrixChunk));
	gr_projection_count(projection, (size_t) (n - projection->nchunks) * sizeof(GrMatrixChunk), 0);
	projection->nchunks = n;
	return true;
}

/* Returns chunk c, with at least ncols columns, in *chunk; NULL if it cannot be kept. */
static bool
get_chunk(GrProjection *projection, int64_t c, int32_t ncols, const GrMatrixChunk **chunk, const GrHost *host,
		  GrError *err)
{
	const GrDraw *draw = &projection->draw;
	double		n = (double) ncols * gr_draw_mean(draw);
	double		nbytes = 4.0 * (n + 6.0 * sqrt(n) + draw->k + 2.0) + (double) (c + 1) * sizeof(GrMatrixChunk);
	GrMatrixChunk *at;

	*chunk = NULL;
	if (c < projection->nchunks && projection->chunks[c].ncols >= ncols)
	{
		*chunk = &projection->chunks[c];
		return true;
	}
	if (c < projection->nchunks && projection->chunks[c].ncols > 0)
		drop_chunk(projection, &projection->chunks[c]);
	if (n > UINT32_MAX / 4 || nbytes > (double) projection->cache->limit_nbytes ||
		!gr_projection_make_room(projection, (size_t) nbytes))
		return true;
	if (c >= projection->nchunks && !extend_chunks(projection, c + 1, err))
		return false;
	at = &projection->chunks[c];
	if (!fill_chunk(projection, at, c * GR_CHUNK_NCOLS, ncols, host, err))
		return false;
	*chunk = at;
	return true;
}

/* Projection of dense vectors */

/* Vectors projected together. lanes is 1, or GR_PROJECT_BATCH with zeros for missing vectors. */
typedef struct Batch
{
	GrProjection *projection;
	const float *x;
	int64_t		nvectors;
	int64_t		dim;
	int			lanes;
	GrGather	gather;
	double	   *total;			/* k x lanes */
	double	   *part;			/* k x lanes */
	/* the vectors' values in a chunk: ncols x lanes; for a single vector ncols x 2, each value and its negative */
	float	   *columns;
	uint32_t   *ends;			/* k: workspace of find_ends() */
	const GrHost *host;
	GrPoll	   *poll;
} Batch;

/* Returns where the entries of rows row .. row + n - 1 in the chunk's first ncols columns end. */
static const uint32_t *
find_ends(const Batch *batch, const GrMatrixChunk *chunk, int32_t ncols, int32_t row, int32_t n)
{
	if (ncols == chunk->ncols)
		return chunk->starts + row + 1;
	for (int32_t i = row; i < row + n; i++)
	{
		uint32_t	low = chunk->starts[i];
		uint32_t	high = chunk->starts[i + 1];

		while (low < high)
		{
			uint32_t	middle = low + (high - low) / 2;

			if (chunk->entries[middle] < 2 * (uint32_t) ncols)
				low = middle + 1;
			else
				high = middle;
		}
		batch->ends[i] = low;
	}
	return batch->ends + row;
}

/* Copies the vectors' values of a chunk to batch->columns. */
static void
load_columns(const Batch *batch, int64_t first, int32_t ncols)
{
	if (batch->lanes == 1)
	{
		float	   *pairs = batch->columns;
		const float *x = batch->x + first;

		for (int32_t c = 0; c < ncols; c++)
		{
			pairs[2 * c] = x[c];
			pairs[2 * c + 1] = -x[c];
		}
		return;
	}
	for (int32_t c = 0; c < ncols; c++)
	{
		const float *x = batch->x + first + c;
		float	   *to = batch->columns + (size_t) c * GR_PROJECT_BATCH;

		for (int v = 0; v < GR_PROJECT_BATCH; v++)
			to[v] = v < batch->nvectors ? x[v * batch->dim] : 0.0f;
	}
}

/* Adds a chunk of S that is kept. */
static bool
apply_kept(const Batch *batch, const GrMatrixChunk *chunk, int64_t first, int32_t ncols, GrError *err)
{
	const GrDraw *draw = &batch->projection->draw;
	double		work_per_row = ((double) ncols * draw->density + 16.0) * batch->lanes;
	int32_t		piece = draw->k;

	/* rows are summed four at a time */
	if (draw->k * work_per_row > GR_POLL_ENTRIES)
		piece = 4 + (int32_t) (GR_POLL_ENTRIES / work_per_row) / 4 * 4;
	load_columns(batch, first, ncols);
	for (int32_t i = 0; i < draw->k; i += piece)
	{
		int32_t		n = draw->k - i < piece ? draw->k - i : piece;
		const uint32_t *starts = chunk->starts + i;
		const uint32_t *ends = find_ends(batch, chunk, ncols, i, n);
		double	   *total = batch->total + (size_t) i * (size_t) batch->lanes;

		if (batch->lanes == 1)
			gr_gather_vector(total, batch->columns, chunk->entries, starts, ends, n);
		else
			batch->gather(total, batch->columns, chunk->entries, starts, ends, n);
		if (gr_poll(batch->poll, (int64_t) (n * work_per_row)))
			return gr_fail(err, GR_CANCELED, 0, "random projection");
	}
	return true;
}

/* part[row] += +-x for n entries of a column; vector v's value is x[v dim]. */
static inline void
scatter(const Batch *batch, const uint32_t *entries, int n, const float *x)
{
	for (int m = 0; m < n; m++)
	{
		double	   *to = batch->part + (size_t) (entries[m] & ~GR_ENTRY_SIGN) * (size_t) batch->lanes;
		double		sign = entries[m] & GR_ENTRY_SIGN ? -1.0 : 1.0;

		for (int v = 0; v < batch->nvectors; v++)
			to[v] += sign * x[v * batch->dim];
	}
}

/* Draws piece s of column j: a stratum or, with p = 1, the signs of 128 rows. Returns the number of entries. */
static int
draw_piece(const GrDraw *draw, int64_t j, int32_t s, uint32_t *entries)
{
	int			n = draw->k - s * 128 < 128 ? draw->k - s * 128 : 128;
	GrPhilox	words;

	if (draw->density < 1.0)
		return gr_draw_stratum(draw, j, s, entries);
	words = gr_draw_words(draw->seed, j, 0, (uint32_t) s);
	for (int r = 0; r < n; r++)
		entries[r] = (uint32_t) (s * 128 + r) | words.word[r / 32] >> (r % 32) << 31;
	return n;
}

/* Draws column j and adds it to part. *work: entries since the last poll. */
static bool
scatter_column(const Batch *batch, int64_t j, int64_t *work, GrError *err)
{
	const GrDraw *draw = &batch->projection->draw;
	int32_t		npieces = draw->density < 1.0 ? draw->nstrata : (draw->k + 127) / 128;
	uint32_t	entries[128];

	for (int32_t s = 0; s < npieces; s++)
	{
		int			n = draw_piece(draw, j, s, entries);

		scatter(batch, entries, n, batch->x + j);
		*work += 1 + n;
		if (*work < GR_POLL_ENTRIES)
			continue;
		*work = 0;
		if (gr_canceled(batch->host))
			return gr_fail(err, GR_CANCELED, 0, "random projection");
	}
	return true;
}

/* Adds a chunk of S that is not kept. */
static bool
apply_drawn(const Batch *batch, int64_t first, int32_t ncols, GrError *err)
{
	size_t		n = (size_t) batch->projection->draw.k * (size_t) batch->lanes;
	int64_t		work = 0;

	if (!gr_projection_clear(batch->part, n, batch->poll))
		return gr_fail(err, GR_CANCELED, 0, "random projection");
	for (int32_t c = 0; c < ncols; c++)
		if (!scatter_column(batch, first + c, &work, err))
			return false;
	for (size_t from = 0; from < n; from += GR_POLL_ENTRIES)
	{
		size_t		end = n - from < GR_POLL_ENTRIES ? n : from + GR_POLL_ENTRIES;

		for (size_t i = from; i < end; i++)
			batch->total[i] += batch->part[i];
		if (gr_poll(batch->poll, (int64_t) (end - from)))
			return gr_fail(err, GR_CANCELED, 0, "random projection");
	}
	batch->projection->cache->ndrawn += ncols;
	return true;
}

/* Projects the batch's vectors; y is nvectors x k. */
static bool
apply_batch(const Batch *batch, float *y, GrError *err)
{
	const GrDraw *draw = &batch->projection->draw;
	int64_t		nchunks = (batch->dim + GR_CHUNK_NCOLS - 1) / GR_CHUNK_NCOLS;

	if (!gr_projection_clear(batch->total, (size_t) draw->k * (size_t) batch->lanes, batch->poll))
		return gr_fail(err, GR_CANCELED, 0, "random projection");
	for (int64_t c = 0; c < nchunks; c++)
	{
		int64_t		first = c * GR_CHUNK_NCOLS;
		int32_t		ncols = batch->dim - first < GR_CHUNK_NCOLS ? (int32_t) (batch->dim - first) : GR_CHUNK_NCOLS;
		const GrMatrixChunk *chunk;

		if (!get_chunk(batch->projection, c, ncols, &chunk, batch->host, err))
			return false;
		if (chunk != NULL ? !apply_kept(batch, chunk, first, ncols, err) : !apply_drawn(batch, first, ncols, err))
			return false;
		if (nchunks > 1 && gr_canceled(batch->host))
			return gr_fail(err, GR_CANCELED, 0, "random projection");
	}
	for (int32_t from = 0; from < draw->k; from += WRITE_NROWS)
	{
		int32_t		end = draw->k - from < WRITE_NROWS ? draw->k : from + WRITE_NROWS;

		for (int64_t v = 0; v < batch->nvectors; v++)
			for (int32_t i = from; i < end; i++)
				y[v * draw->k + i] =
					(float) (batch->total[(size_t) i * (size_t) batch->lanes + (size_t) v] * draw->scale);
		if (gr_poll(batch->poll, (int64_t) (end - from) * 4 * batch->lanes))
			return gr_fail(err, GR_CANCELED, 0, "random projection");
	}
	return true;
}

/*
 * Carves the batch's arrays, for k sums per vector and ncols columns of a chunk. Inlined, as projecting a single vector
 * may take little longer than this.
 */
static inline __attribute__((always_inline)) void
carve_batch(Batch *batch, int64_t k, int64_t ncols, GrArena *arena)
{
	batch->total = gr_carve_doubles(arena, k * batch->lanes);
	batch->part = gr_carve_doubles(arena, k * batch->lanes);
	batch->columns = gr_carve(arena, (size_t) (ncols * (batch->lanes == 1 ? 2 : batch->lanes)) * sizeof(float));
	batch->ends = gr_carve(arena, (size_t) k * sizeof(uint32_t));
}

bool
gr_projection_apply_lanes(GrProjection *projection, const GrProjectVectors *vectors, float *y, int max_lanes,
						  const GrHost *host, GrError *err)
{
	int64_t		nvectors = vectors->nvectors;
	int64_t		dim = vectors->dim;
	size_t		k = (size_t) projection->draw.k;
	int			lanes = nvectors == 1 ? 1 : GR_PROJECT_BATCH;
	int64_t		ncols = dim < GR_CHUNK_NCOLS ? dim : GR_CHUNK_NCOLS;
	size_t		work_per_vector = (size_t) ((double) dim * gr_draw_mean(&projection->draw)) + k + (size_t) dim;
	size_t		polled = 0;
	GrPoll		poll = {.host = host};
	Batch		batch = {
		.projection = projection,.dim = dim,.lanes = lanes,.gather = gr_gather_version(max_lanes),.host = host,
		.poll = &poll
	};
	GrArena		arena = {.base = NULL};
	double	   *scratch;
	bool		ok = true;

	carve_batch(&batch, (int64_t) k, ncols, &arena);
	scratch = gr_projection_scratch(projection, arena.used / sizeof(double), err);
	if (scratch == NULL)
		return false;
	arena = (GrArena) {.base = (char *) scratch};
	carve_batch(&batch, (int64_t) k, ncols, &arena);
	for (int64_t v = 0; ok && v < nvectors; v += batch.nvectors)
	{
		batch.x = vectors->x + v * dim;
		batch.nvectors = nvectors - v < lanes ? nvectors - v : lanes;
		ok = apply_batch(&batch, y + v * (int64_t) k, err);
		polled += work_per_vector * (size_t) lanes;
		if (ok && polled >= 4 * GR_POLL_ENTRIES)
		{
			polled = 0;
			ok = !gr_canceled(host) || gr_fail(err, GR_CANCELED, 0, "random projection");
		}
	}
	gr_projection_scratch_done(projection);
	return ok;
}

bool
gr_projection_apply(GrProjection *projection, const GrProjectVectors *vectors, float *y, const GrHost *host,
					GrError *err)
{
	return gr_projection_apply_lanes(projection, vectors, y, 8, host, err);
}
