/*
 * project.cuh: random projection on the device: drawing S, and applying it to batches of vectors.
 *
 * S lies on the device as rows sorted by (row, column). It is drawn in steps whose memory the caller owns: count the
 * nonzeros of every thread block's strata, scan the counts, draw the nonzeros in the order of columns as pairs (row,
 * column | sign), sort these stably by row, and find where the rows start. All of it is deterministic, and the same S
 * as on the host (compute/project/draw.h).
 *
 * Applying it sums as compute/project/projection.h says: the bits depend neither on the kernel nor on the batch.
 * Launches take the current device and are asynchronous.
 */
#ifndef GPUREG_PROJECT_CUH
#define GPUREG_PROJECT_CUH

#include "cuda_util.cuh"
#include "philox.cuh"

#include "compute/project/draw.h"

#define PROJECT_PADDING 64		/* zero entries behind the last one, which kernels read ahead */
#define PROJECT_TILE 32			/* vectors in a tile */
#define PROJECT_SEGMENT ((int64_t) 128 * 65536)	/* columns of a segment: whole chunks */

/* S. Program: the same entries for the fused kernel, tile by tile; see project_fused.cu. */
typedef struct ProjectMatrix
{
	int32_t		k;
	int64_t		dim;
	int64_t		nnonzeros;
	double		scale;
	const int64_t *row_start;	/* k + 1 */
	const uint32_t *entries;	/* nnonzeros + PROJECT_PADDING: column | sign << 31, by row, then by column */
	const int64_t *segment_start;	/* k for every segment but the first: where it begins in the rows */
	const uint32_t *program_start;	/* NULL where there is no program */
	const uint2 *program;
} ProjectMatrix;

/* How S is drawn; p < 1 unless said otherwise. */
typedef struct ProjectDrawing
{
	GrDraw		draw;
	int64_t		dim;
	int64_t		nstrata;		/* of all columns: a thread each */
	int64_t		nblocks;		/* thread blocks that cover them */
	int64_t		nblocks_per_launch; /* keeps a launch far below 100 ms */
	int			nbits;			/* of a row's number */
	int			key_nbytes;		/* 2 or 4 */
	int			room;			/* nonzeros of a thread block that shared memory takes; more are written as they come */
	size_t		scan_nbytes;	/* what the scan works with */
} ProjectDrawing;

extern cudaError_t gr_project_drawing(ProjectDrawing *drawing, const GrDraw *draw, int64_t dim);

/* counts (nblocks + 1) [first_block ..] = the nonzeros of each thread block's strata */
extern cudaError_t gr_project_count_launch(const ProjectDrawing *drawing, int64_t first_block, int64_t nblocks,
										   int64_t *counts,
										   cudaStream_t stream);

/* counts become where each thread block's nonzeros begin, the last one the number of all of them. */
extern cudaError_t gr_project_scan_launch(const ProjectDrawing *drawing, int64_t *counts, void *scan,
										  cudaStream_t stream);

/* keys (rows) and values (column | sign << 31) of the thread blocks' nonzeros, in the order of columns */
extern cudaError_t gr_project_draw_launch(const ProjectDrawing *drawing, int64_t first_block, int64_t nblocks,
										  const int64_t *counts, void *keys, uint32_t *values, cudaStream_t stream);

/* Pairs of a key and a value, sorted by their keys from keys[0], values[0] into keys[sorted], values[sorted] */
typedef struct ProjectSort
{
	void	   *scratch;		/* NULL: the sort only sets scratch_nbytes */
	size_t		scratch_nbytes;
	void	   *keys[2];
	uint32_t   *values[2];
	int			sorted;
} ProjectSort;

/* Sorts nnonzeros pairs. */
extern cudaError_t gr_project_sort_launch(const ProjectDrawing *drawing, int64_t nnonzeros, ProjectSort *sort,
										  cudaStream_t stream);

/* row_start (k + 1) from the sorted rows */
extern cudaError_t gr_project_rows_launch(const ProjectDrawing *drawing, int64_t nnonzeros, const void *keys,
										  int64_t *row_start,
										  cudaStream_t stream);

/* p = 1: entries (k x dim) of columns first .. first + ncolumns - 1, and row_start with those of column 0 */
extern cudaError_t gr_project_fill_launch(const ProjectDrawing *drawing, int64_t first, int64_t ncolumns,
										  uint32_t *entries,
										  int64_t *row_start, cudaStream_t stream);

static inline int64_t
gr_project_nsegments(int64_t dim)
{
	return (dim + PROJECT_SEGMENT - 1) / PROJECT_SEGMENT;
}

/* segment_start ((nsegments - 1) x k) of the matrix */
extern cudaError_t gr_project_segments_launch(const ProjectMatrix *matrix, int64_t *segment_start, cudaStream_t stream);

/*
 * How S is applied to batches of at most capacity vectors, row-major on the device: by the fused kernel, or tile by
 * tile. A tile is dim x width float4, width vectors side by side.
 */
typedef struct ProjectPlan
{
	int			nsms;
	bool		fused;
	bool		split;			/* chunks of a row are summed by different threads */
	int			width;			/* of a tile: a power of 2 up to PROJECT_TILE */
	int64_t		tiles_per_step; /* tiles in memory at a time */
	int64_t		nsegments;
	int64_t		segments_per_launch;
	int32_t		rows_per_launch;	/* of so many segments and tiles; keeps a launch far below 100 ms */
	int64_t		vectors_per_launch; /* likewise, of the fused kernel */
	double		row_tile_s;		/* what a row takes for a tile and so many segments, at most, roughly */
	double		vector_s;		/* likewise, a vector in the fused kernel */
	int64_t		nchunks;
	size_t		tiles_nbytes;	/* memory for the tiles (none if width = 1) */
	/* memory for chunks' sums (split), or for those on their way from one segment to the next */
	size_t		sums_nbytes;
} ProjectPlan;

/*
 * Whether batches of up to so many vectors are for the fused kernel, which wants a program: S and the device must suit
 * it, too.
 */
extern bool gr_project_wants_program(int32_t k, int64_t dim, int64_t capacity);

/* nnonzeros and has_program stand for S, as memory is planned before it is drawn. */
extern cudaError_t gr_project_plan(ProjectPlan *plan, int32_t k, int64_t dim, int64_t nnonzeros, bool has_program,
								   int64_t capacity);

/* nvectors x dim to tiles, the last filled up with zeros. */
extern cudaError_t gr_project_tile_launch(const ProjectPlan *plan, const float *x, int64_t nvectors, int64_t dim,
										  float *tiles,
										  cudaStream_t stream);

/* Rows first_row .. first_row + nrows - 1 of S, segments from first_segment on, applied to tiles of vectors */
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
 * Applies as many segments as the plan says; the launch with the last one writes y. Those before it must have gone
 * before, in order, with the same rows.
 */
extern cudaError_t gr_project_apply_launch(const ProjectPlan *plan, const ProjectMatrix *matrix,
										   const ProjectApply *apply, cudaStream_t stream);

/* y (nvectors x k) from x (nvectors x dim); S has a program. */
extern cudaError_t gr_project_fused_launch(const ProjectMatrix *matrix, const float *x, int64_t nvectors, float *y,
										   cudaStream_t stream);

/* What the program takes, and what it is made with; and making it: start and program are the caller's memory. */
extern cudaError_t gr_project_program_sizes(int32_t k, int64_t dim, int64_t nnonzeros, size_t *start_nbytes,
											size_t *program_nbytes,
											size_t *scratch_nbytes);
extern cudaError_t gr_project_program_launch(const ProjectMatrix *matrix, uint32_t *start, uint2 *program,
											 void *scratch,
											 size_t scratch_nbytes, cudaStream_t stream);

#endif							/* GPUREG_PROJECT_CUH */
