/*
 * glm_step.cuh: passes of generalised linear models over rows on the device; glm.h defines their sums. rows_cuda.cu
 * calls them first.
 *
 * A plan lays out passes over rows of nfeatures on one device. Sums are kept in records, each owned by one warp, thread
 * block or split; every launch of a pass adds to them. The caller zeroes them before the first launch (zero bytes are
 * zero sums), and gr_glm_reduce_launch() adds them up in a fixed order. All launches of a pass go to one stream. The
 * order of summation depends only on the plan and on how rows are divided into launches.
 *
 *    FAST      up to GLM_FUSED_FEATURES   fused
 *              more features              step (or weigh, columns), then matrix
 *    GRADIENT  few or not too many        fused
 *              more features              weigh, columns
 *    EXACT, FACE                          transform, then the Gram primitive (gram.cuh)
 *
 * - fused: one kernel over chunks of rows, which reads each row once.
 * - step: GRADIENT's sums, and the rows' weights and residuals.
 * - weigh: weights and residuals; columns: then the sums of columns.
 * - matrix: the Hessian of the features.
 * - transform: writes weighted rows.
 */
#ifndef GPUREG_GLM_STEP_CUH
#define GPUREG_GLM_STEP_CUH

#include "weighted_gram.cuh"

#include "compute/glm/glm.h"

#define GLM_TILE 32				/* rows that a warp takes at a time */
#define GLM_FUSED_FEATURES 32	/* most features of the fused kernel's registers */
#define GLM_CHUNKS_MAX 64		/* most chunks per launch of the fused kernel */

/* Chunks of rows, each beginning at a multiple of 16 bytes. Tiles end[c - 1] .. end[c] - 1 lie in rows[c]. */
typedef struct GlmChunks
{
	int			n;
	int64_t		nrows;			/* rows of all chunks; the last tile's rows beyond these are finite but do not count */
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
	const double *factor;		/* NULL, or the triangle's rows, each of nterms entries padded with zeros */
	double		edge;
} GlmTerms;

/* Layout of a tile in the fused kernel's shared memory; see glm_fused.cuh. */
typedef struct GlmFusedShape
{
	GrRowShape	rows;
	int			row_step[4];	/* steps from a lane's row to its other rows (three), and between lanes */
	int			tile_ndoubles;
	int			warp_ndoubles;	/* shared memory of a warp */
} GlmFusedShape;

typedef struct GlmPlan
{
	GrRowShape	rows;
	int			nsms;
	GlmFusedShape fused;
	int			fused_nwarps;	/* warps of a thread block; 0: too many features */
	size_t		fused_nbytes;	/* shared memory of a thread block */
	int			wide_ncolumns;	/* features per thread; 0: too few or too many features */
	int			wide_nrows;		/* rows of a thread block at a time */
	int			wide_nthreads;	/* threads of a thread block */
	int			wide_nblocks;
	size_t		wide_nbytes;
	int			own_ndoubles;	/* shared memory of a warp of transform; 0: rows are spread over lanes */
	size_t		own_nbytes;		/* shared memory of a thread block of transform */
	int			row_nblocks;	/* most thread blocks of weigh and transform */
	int			column_nsplits; /* copies of the columns' sums */
	WeightedGramPlan gram;		/* the Hessian's plan, where the fused kernel is not used */
	/* float8 of each kind of sums, all copies together */
	size_t		fused_ndoubles;
	size_t		heads_ndoubles;
	size_t		columns_ndoubles;
	size_t		matrix_ndoubles;
	/* estimated times at the device's peak, for dividing work into launches */
	double		fused_row_s;	/* a row of FAST in the fused kernel */
	double		weigh_row_s;	/* a row of weigh and columns */
	double		matrix_row_s;	/* a row of the Hessian */
	double		transform_row_s;	/* a row of transform, per linear predictor in double-double */
} GlmPlan;

/* Plans passes for the current device. Copies of the Hessian take at most budget_nbytes, unless one copy takes more. */
extern cudaError_t gr_glm_plan(GlmPlan *plan, GrRowShape rows, size_t budget_nbytes);

/* True if a pass of this kind is one kernel over chunks. */
extern bool gr_glm_is_fused(const GlmPlan *plan, GrPassKind kind);

/* FAST or GRADIENT, fused: adds the rows of all chunks to records (fused_ndoubles numbers). */
extern cudaError_t gr_glm_fused_launch(const GlmPlan *plan, GrPassKind kind, const GlmChunks *chunks,
									   const GlmTerms *terms,
									   double *records, cudaStream_t stream);

/* Adds nrows rows to GRADIENT's records, and sets weights[r] = (w, y - mu). Only if FAST is not fused. */
extern cudaError_t gr_glm_step_launch(const GlmPlan *plan, const double *rows, int64_t nrows, const GlmTerms *terms,
									  double2 *weights, double *records, cudaStream_t stream);

/* Sets weights[r] = (w, y - mu) for nrows rows, and adds to heads. */
extern cudaError_t gr_glm_weigh_launch(const GlmPlan *plan, const double *rows, int64_t nrows, const GlmTerms *terms,
									   double2 *weights, double *heads, cudaStream_t stream);

/* Adds the gradient, the first row and the diagonal of the Hessian over nrows rows with these weights to columns. */
extern cudaError_t gr_glm_columns_launch(const GlmPlan *plan, const double *rows, int64_t nrows, const GlmTerms *terms,
										 const double2 *weights, double *columns, cudaStream_t stream);

/* Adds the Hessian of the features alone to matrix. */
extern cudaError_t gr_glm_matrix_launch(const GlmPlan *plan, const double *rows, int64_t nrows, const GlmTerms *terms,
										const double2 *weights, double *matrix, cudaStream_t stream);

/*
 * EXACT or FACE: writes nrows rows (u, u z, v) or (1, z, e) to out, zeros for rows that take no part, and adds their
 * head sums to heads (plan->heads_ndoubles numbers, zeroed by the caller before the first launch).
 */
extern cudaError_t gr_glm_transform_launch(const GlmPlan *plan, GrPassKind kind, const double *rows, int64_t nrows,
										   const GlmTerms *terms, double *out, double *heads, cudaStream_t stream);

typedef enum GlmRecords
{
	GLM_FUSED,					/* all of FAST's sums */
	GLM_FUSED_GRADIENT,			/* all of GRADIENT's sums */
	GLM_HEADS,					/* the head alone */
	GLM_COLUMNS					/* all sums after GRADIENT's head */
} GlmRecords;

/* Adds up records of a kind into sums, in glm.h's layout. */
extern cudaError_t gr_glm_reduce_launch(const GlmPlan *plan, GlmRecords kind, const double *records, double *sums,
										cudaStream_t stream);

/* Writes entries first .. first + nentries - 1 of FAST's packed Hessian, whose first column is given. */
extern cudaError_t gr_glm_matrix_reduce_launch(const GlmPlan *plan, const double *matrix, const double *first_column,
											   int64_t first, int64_t nentries, double *hessian, cudaStream_t stream);

#endif							/* GPUREG_GLM_STEP_CUH */
