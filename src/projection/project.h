/*
 * project.h: random projection for the SQL functions: arguments, the session's cache of S, and vectors on their way to
 * a backend.
 */
#ifndef GPUREG_PROJECT_H
#define GPUREG_PROJECT_H

#include "postgres.h"

#include "fmgr.h"
#include "utils/array.h"

#include "compute/backend/backend.h"
#include "compute/project/projection.h"
#include "run/device.h"

/* A one- or two-dimensional real[] without NULLs: vectors of dim elements, row-major. */
typedef struct GrVectors
{
	const float *values;
	int			ndim;			/* of the array */
	int64		nvectors;
	int64		dim;
} GrVectors;

/*
 * ERROR if the array has other than one or two dimensions (or none: no element), or holds a NULL, NaN or an infinity.
 */
extern void gr_open_vectors(ArrayType *array, GrVectors *vectors);

/* ERROR unless k is from 1 to what an array can hold. */
extern void gr_check_k(int64 k);

/* The float8 argument argno, or what NULL stands for; ERROR unless 0 < density <= 1. */
extern double gr_density_arg(FunctionCallInfo fcinfo, int argno, double density_of_null);

/* The session's projection for these, on the CPU; it stays valid until the next call. */
extern GrProjection *gr_session_projection(int32 k, int64 seed, double density);

/* A new real[] of nvectors x k (ndim 2) or of k (ndim 1); *values are to be filled. ERROR if it would be too large. */
extern ArrayType *gr_new_projection_array(int ndim, int64 nvectors, int32 k, float **values);

/* ERROR if a result is beyond the range of real. */
extern void gr_check_projected(const float *values, int64 n);

/* y (k) from sparse columns in any order; those that come several times add up. idx and val are overwritten. */
extern void gr_project_columns(GrProjection *projection, int64 *idx, double *val, int64 n, float *y);

/*
 * Vectors on their way to the backend that the settings call for. The memory context that is current at
 * gr_projector_begin() owns it. Batches are submitted and taken as in backend.h.
 */
typedef struct GrProjector
{
	GrPlace		place;
	GrProject  *project;
	GrDraw		draw;
	int64		dim;
	int64		nvectors;		/* submitted */
	int			nwaiting;		/* batches submitted and not taken */
	GrTimes		times;
	MemoryContextCallback callback;
} GrProjector;

/* work: in products, for the choice of the backend; nvectors: that will come, or 0 */
extern GrProjector *gr_projector_begin(const GrDraw *draw, int64 dim, int64 nvectors, double work);
extern float *gr_projector_block(GrProjector *projector, int64 *capacity);
extern void gr_projector_submit(GrProjector *projector, int64 nvectors);
extern const float *gr_projector_take(GrProjector *projector, int64 *nvectors);
extern void gr_projector_end(GrProjector *projector);

/* Notes for gpu_last_run() what it did since started. */
extern void gr_record_projection(const char *function, const GrProjector *projector, double started);

#endif							/* GPUREG_PROJECT_H */
