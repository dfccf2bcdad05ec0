/*
 * project.cuh: random projection on the device: draws S, and applies it to batches of vectors. project_cuda.cu calls it
 * first.
 *
 * S lies on the device as rows, with entries sorted by (row, column). It is drawn in steps, in the caller's memory:
 * count the nonzeros of each thread block's strata; scan the counts; draw the nonzeros in the order of columns as pairs
 * (row, column | sign); sort these stably by row; find where rows start. All steps are deterministic, and give the same
 * S as the host (compute/project/draw.h).
 *
 * Sums are those of compute/project/projection.h: the bits depend neither on the kernel nor on the batch. Launches use
 * the current device and are asynchronous.
 */
#ifndef GPUREG_PROJECT_CUH
#define GPUREG_PROJECT_CUH

#include "cuda_util.cuh"
#include "philox.cuh"

#include "compute/project/draw.h"

#define PROJECT_PADDING 64		/* zero entries after the last one, as kernels read ahead */
#define PROJECT_TILE 32			/* most vectors of a tile */
#define PROJECT_SEGMENT ((int64_t) 128 * 65536)	/* columns of a segment: whole chunks */

/* S. program has the same entries for the fused kernel, tile by tile; see project_fused.cu. */
typedef struct ProjectMatrix
{
	int32_t		k;
	int64_t		dim;
	int64_t		nnonzeros;
	double		scale;
	const int64_t *row_start;	/* k + 1 */
	const uint32_t *entries;	/* nnonzeros + PROJECT_PADDING: column | sign << 31, by row, then by column */
	/* per segment but the first, k positions: where the segment begins in each row's entries */
	const int64_t *segment_start;
	const uint32_t *program_start;	/* NULL: no program */
	const uint2 *program;
} ProjectMatrix;

/* Plan of drawing S; p < 1 unless noted */
typedef struct ProjectDrawing
{
	GrDraw		draw;
	int64_t		dim;
	int64_t		nstrata;		/* strata of all columns, a thread each */
	int64_t		nblocks;		/* thread blocks for all strata */
	int64_t		nblocks_per_launch; /* keeps a launch far below 100 ms */
	int			nbits;			/* bits of a row's number */
	int			key_nbytes;		/* bytes of a row's number: 2 or 4 */
	/* most nonzeros of a thread block in shared memory; with more, all are written directly */
	int			room;
	size_t		scan_nbytes;	/* workspace of the scan */
} ProjectDrawing;

extern cudaError_t gr_project_drawing(ProjectDrawing *drawing, const GrDraw *draw, int64_t dim);

/* Writes the nonzeros of each thread block's strata to counts[first_block ..]; counts has nblocks + 1 entries. */
extern cudaError_t gr_project_count_launch(const ProjectDrawing *drawing, int64_t first_block, int64_t nblocks,
										   int64_t *counts,
										   cudaStream_t stream);

/* Replaces counts by the positions at which each thread block's nonzeros begin; the last one becomes their total. */
extern cudaError_t gr_project_scan_launch(const ProjectDrawing *drawing, int64_t *counts, void *scan,
										  cudaStream_t stream);

/* Draws the thread blocks' nonzeros, in the order of columns: keys (rows) and values (column | sign << 31). */
extern cudaError_t gr_project_draw_launch(const ProjectDrawing *drawing, int64_t first_block, int64_t nblocks,
										  const int64_t *counts, void *keys, uint32_t *values, cudaStream_t stream);

/* Pairs of a key and a value. The sort moves them from keys[0], values[0] to keys[sorted], values[sorted]. */
typedef struct ProjectSort
{
	void	   *scratch;		/* NULL: the sort only sets scratch_nbytes */
	size_t		scratch_nbytes;
	void	   *keys[2];
	uint32_t   *values[2];
	int			sorted;
} ProjectSort;

/* Sorts nnonzeros pairs by key. */
extern cudaError_t gr_project_sort_launch(const ProjectDrawing *drawing, int64_t nnonzeros, ProjectSort *sort,
										  cudaStream_t stream);

/* Sets row_start (k + 1 entries) from the sorted rows. */
extern cudaError_t gr_project_rows_launch(const ProjectDrawing *drawing, int64_t nnonzeros, const void *keys,
										  int64_t *row_start,
										  cudaStream_t stream);

/* For p = 1: writes the entries (k x dim) of columns first .. first + ncolumns - 1 and, with column 0, row_start. */
extern cudaError_t gr_project_fill_launch(const ProjectDrawing *drawing, int64_t first, int64_t ncolumns,
										  uint32_t *entries,
										  int64_t *row_start, cudaStream_t stream);

static inline int64_t
gr_project_nsegments(int64_t dim)
{
	return (dim + PROJECT_SEGMENT - 1) / PROJECT_SEGMENT;
}

/* Sets segment_start ((nsegments - 1) x k entries) of the matrix. */
extern cudaError_t gr_project_segments_launch(const ProjectMatrix *matrix, int64_t *segment_start, cudaStream_t stream);

/*
 * Plan of applying S to batches of at most capacity vectors, row-major on the device: by the fused kernel, or tile by
 * tile. A tile is dim x width float4, with width vectors side by side.
 */
typedef struct ProjectPlan
{
	int			nsms;
	bool		fused;
	bool		split;			/* different threads sum the chunks of a row */
	int			width;			/* vectors of a tile: a power of 2 up to PROJECT_TILE */
	int64_t		tiles_per_step; /* tiles in memory at a time */
	int64_t		nsegments;
	int64_t		segments_per_launch;
	/* rows per launch, for that many segments and tiles; keeps a launch far below 100 ms */
	int32_t		rows_per_launch;
	int64_t		vectors_per_launch; /* vectors per launch of the fused kernel */
	double		row_tile_s;		/* rough upper estimate of a row's time, for a tile and the segments of a launch */
	double		vector_s;		/* rough upper estimate of a vector's time in the fused kernel */
	int64_t		nchunks;
	size_t		tiles_nbytes;	/* memory for the tiles; 0 if width is 1 */
	/* memory for the chunks' sums (split), or for totals between segments */
	size_t		sums_nbytes;
} ProjectPlan;

/* True if batches of up to capacity vectors, S and the device suit the fused kernel, which needs a program. */
extern bool gr_project_wants_program(int32_t k, int64_t dim, int64_t capacity);

/* Plans for the current device. nnonzeros and has_program describe S, as memory is planned before S is drawn. */
extern cudaError_t gr_project_plan(ProjectPlan *plan, int32_t k, int64_t dim, int64_t nnonzeros, bool has_program,
								   int64_t capacity);

/* Copies nvectors x dim numbers to tiles; the last tile is padded with zeros. */
extern cudaError_t gr_project_tile_launch(const ProjectPlan *plan, const float *x, int64_t nvectors, int64_t dim,
										  float *tiles,
										  cudaStream_t stream);

/*
 * Rows first_row .. first_row + nrows - 1 of S, and segments from first_segment on, to be applied to tiles of vectors
 */
typedef struct ProjectApply
{
	const float *tiles;
	int64_t		nvectors;
	int32_t		first_row;
	int32_t		nrows;
	int64_t		first_segment;
	double	   *sums;			/* sums_nbytes of memory */
	float	   *y;				/* nvectors x k */
} ProjectApply;

/*
 * Applies the plan's number of segments. The launch with the last segment writes y. Launches with the earlier segments
 * must precede it, in order, with the same rows.
 */
extern cudaError_t gr_project_apply_launch(const ProjectPlan *plan, const ProjectMatrix *matrix,
										   const ProjectApply *apply, cudaStream_t stream);

/* Computes y (nvectors x k) from x (nvectors x dim). S must have a program. */
extern cudaError_t gr_project_fused_launch(const ProjectMatrix *matrix, const float *x, int64_t nvectors, float *y,
										   cudaStream_t stream);

/*
 * gr_project_program_sizes() sets *start_nbytes and *program_nbytes, the bytes of the arrays start and program for S
 * of k rows, dim columns and nnonzeros entries, and *scratch_nbytes, those of the memory to make them.
 * gr_project_program_launch() makes both in memory of the caller.
 */
extern cudaError_t gr_project_program_sizes(int32_t k, int64_t dim, int64_t nnonzeros, size_t *start_nbytes,
											size_t *program_nbytes,
											size_t *scratch_nbytes);
extern cudaError_t gr_project_program_launch(const ProjectMatrix *matrix, uint32_t *start, uint2 *program,
											 void *scratch,
											 size_t scratch_nbytes, cudaStream_t stream);

#endif							/* GPUREG_PROJECT_CUH */
