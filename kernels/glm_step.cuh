/*
 * glm_step.cuh: the passes of generalised linear models over rows on the device; glm.h says what they sum.
 *
 * A plan says how passes over rows of nfeatures are laid out on one device. Sums are kept in records, parts that one
 * warp, thread block or split owns and every launch of a pass adds to; the caller zeroes them before the first launch
 * (zero bytes are zero sums), and gr_glm_reduce_launch() adds them up in a fixed order. Launches of one pass go to one
 * stream. The order of summation depends on the plan and on how the rows are cut into launches only.
 *
 * FAST has one kernel that reads each row once up to GLM_FUSED_FEATURES features, and GRADIENT up to as many as shared
 * memory takes; these take chunks of rows (fused). All else goes block by block of rows. FAST: the sums of GRADIENT and
 * the rows' weights and residuals (step), then the Hessian (matrix). For more features there are two kernels instead of
 * step: weights and residuals (weigh), then sums of columns (columns). EXACT and FACE: weighted rows (transform) for
 * the Gram primitive.
 */
#ifndef GPUREG_GLM_STEP_CUH
#define GPUREG_GLM_STEP_CUH

#include "weighted_gram.cuh"

#include "compute/glm/glm.h"

#define GLM_TILE 32				/* rows a warp takes at a time */
#define GLM_FUSED_FEATURES 32	/* the most that the fused kernel's registers hold */
#define GLM_CHUNKS_MAX 64		/* chunks of one launch of the fused kernel */

/* Chunks of rows, each from a 16-byte boundary on: tiles end[c - 1] .. end[c] - 1 lie in rows[c]. */
typedef struct GlmChunks
{
	int			n;
	int64_t		nrows;			/* in all; of the last tile, rows beyond are finite but don't count */
	const double *rows[GLM_CHUNKS_MAX];
	int64_t		end[GLM_CHUNKS_MAX];
} GlmChunks;

/* The arguments of a pass (glm.h) in device memory. */
typedef struct GlmTerms
{
	const double *beta;
	const double *shift;
	int			nfaces;
	const double *faces;
	const double *face_absolute;
	double		face_relative;
	bool		linear;
	GrDistribution distribution;
	GrMeasure	measure;
	bool		counts;
	const double *factor;		/* rows of the triangle, nterms entries each, zeros behind its own; or NULL */
	double		edge;
} GlmTerms;

/* How the fused kernel finds its rows in shared memory; see glm_step.cu. */
typedef struct GlmFusedShape
{
	GrRowShape	rows;
	int			row_step[4];	/* from a lane's row to the rows it takes besides, and between lanes */
	int			tile_ndoubles;
	int			warp_ndoubles;	/* shared memory of a warp */
} GlmFusedShape;

typedef struct GlmPlan
{
	GrRowShape	rows;
	int			nsms;
	GlmFusedShape fused;
	int			fused_nwarps;	/* a thread block; 0: too many features */
	size_t		fused_nbytes;	/* shared memory of a thread block */
	int			wide_ncolumns;	/* features of a thread; 0: there are too few, or too many */
	int			wide_nrows;		/* rows of a thread block at a time */
	int			wide_nthreads;	/* a thread block */
	int			wide_nblocks;
	size_t		wide_nbytes;
	int			own_ndoubles;	/* shared memory of a warp of transform; 0: it spreads rows over lanes */
	size_t		own_nbytes;		/* ... and of a thread block */
	int			row_nblocks;	/* thread blocks of weigh and transform, at most */
	int			column_nsplits; /* copies of the columns' sums */
	WeightedGramPlan gram;		/* the Hessian's, where the fused kernel doesn't serve */
	/* float8 that each kind of sums takes, all copies together */
	size_t		fused_ndoubles;
	size_t		heads_ndoubles;
	size_t		columns_ndoubles;
	size_t		matrix_ndoubles;
	/* estimates at the device's peak, to cut work into launches */
	double		fused_row_s;	/* a row of FAST, fused */
	double		weigh_row_s;	/* a row of weigh and columns */
	double		matrix_row_s;	/* a row of the Hessian */
	double		transform_row_s;	/* a row of transform, for each linear predictor in double-double */
} GlmPlan;

/* Plans for the current device; copies of the Hessian take at most budget_nbytes unless a single one needs more. */
extern cudaError_t gr_glm_plan(GlmPlan *plan, GrRowShape rows, size_t budget_nbytes);

/* Whether a pass of this kind is one kernel over chunks. */
extern bool gr_glm_is_fused(const GlmPlan *plan, GrPassKind kind);

/* FAST or GRADIENT, where fused: adds all the chunks' rows to records, fused_ndoubles of them. */
extern cudaError_t gr_glm_fused_launch(const GlmPlan *plan, GrPassKind kind, const GlmChunks *chunks,
									   const GlmTerms *terms,
									   double *records, cudaStream_t stream);

/* Where GRADIENT is fused and FAST isn't: GRADIENT's sums, and weights[r] = (w, y - mu) of nrows rows. */
extern cudaError_t gr_glm_step_launch(const GlmPlan *plan, const double *rows, int64_t nrows, const GlmTerms *terms,
									  double2 *weights, double *records, cudaStream_t stream);

/* weights[r] = (w, y - mu) of nrows rows; adds to heads. */
extern cudaError_t gr_glm_weigh_launch(const GlmPlan *plan, const double *rows, int64_t nrows, const GlmTerms *terms,
									   double2 *weights, double *heads, cudaStream_t stream);

/* Adds the gradient, the first row and the diagonal over nrows rows of these weights to columns. */
extern cudaError_t gr_glm_columns_launch(const GlmPlan *plan, const double *rows, int64_t nrows, const GlmTerms *terms,
										 const double2 *weights, double *columns, cudaStream_t stream);

/* Adds the Hessian's part of the features alone to matrix. */
extern cudaError_t gr_glm_matrix_launch(const GlmPlan *plan, const double *rows, int64_t nrows, const GlmTerms *terms,
										const double2 *weights, double *matrix, cudaStream_t stream);

/*
 * EXACT and FACE: nrows rows (u, u z, v) or (1, z, y) to out, zeros for a row that has no part.
 */
extern cudaError_t gr_glm_transform_launch(const GlmPlan *plan, GrPassKind kind, const double *rows, int64_t nrows,
										   const GlmTerms *terms, double *out, double *heads, cudaStream_t stream);

typedef enum GlmRecords
{
	GLM_FUSED,					/* all of FAST's sums */
	GLM_FUSED_GRADIENT,			/* all of GRADIENT's sums */
	GLM_HEADS,					/* to the head alone */
	GLM_COLUMNS					/* to what follows GRADIENT's head */
} GlmRecords;

/* Adds up records of a kind into sums, which lie as glm.h says. */
extern cudaError_t gr_glm_reduce_launch(const GlmPlan *plan, GlmRecords kind, const double *records, double *sums,
										cudaStream_t stream);

/* Entries first .. first + nentries - 1 of FAST's packed Hessian, whose first column is given. */
extern cudaError_t gr_glm_matrix_reduce_launch(const GlmPlan *plan, const double *matrix, const double *first_column,
											   int64_t first, int64_t nentries, double *hessian, cudaStream_t stream);

#endif							/* GPUREG_GLM_STEP_CUH */
