/*
 * project.h: random projection for the SQL functions: checks arguments, holds the session's cache of S, and sends
 * vectors to a backend. The fn_*.c and project_rows.c of this folder call it.
 */
#ifndef GPUREG_PROJECT_H
#define GPUREG_PROJECT_H

#include "postgres.h"

#include "fmgr.h"
#include "utils/array.h"

#include "compute/backend/backend.h"
#include "compute/project/projection.h"
#include "run/device.h"

/* Vectors of dim elements, row-major, in a one- or two-dimensional real[] without NULLs */
typedef struct GrVectors
{
	const float *values;
	int			ndim;			/* dimensions of the array */
	int64		nvectors;
	int64		dim;
} GrVectors;

/* Reads array into vectors. ERROR if it is empty, has over two dimensions, or holds a NULL, NaN or infinity. */
extern void gr_open_vectors(ArrayType *array, GrVectors *vectors);

/* ERROR unless k is from 1 to the most elements of an array. */
extern void gr_check_k(int64 k);

/* Returns the float8 argument argno, or density_of_null for NULL. ERROR unless 0 < density <= 1. */
extern double gr_density_arg(FunctionCallInfo fcinfo, int argno, double density_of_null);

/* Returns the session's projection for the CPU. It is valid until the next call. */
extern GrProjection *gr_session_projection(int32 k, int64 seed, double density);

/* Returns a new real[] of nvectors x k (ndim 2) or k (ndim 1) elements in *values. ERROR if it is too large. */
extern ArrayType *gr_new_projection_array(int ndim, int64 nvectors, int32 k, float **values);

/* ERROR if a result is beyond the range of real. */
extern void gr_check_projected(const float *values, int64 n);

/* Projects sparse columns, in any order, to y (k); equal columns add up. Overwrites idx and val. */
extern void gr_project_columns(GrProjection *projection, int64 *idx, double *val, int64 n, float *y);

/*
 * Vectors on their way to a backend, which the settings choose. Belongs to the memory context that is current at
 * gr_projector_begin(). Batches are submitted and taken as in backend.h.
 */
typedef struct GrProjector
{
	GrPlace		place;
	GrProject  *project;
	GrDraw		draw;
	int64		dim;
	int64		nvectors;		/* vectors submitted */
	int			nwaiting;		/* batches submitted and not taken */
	GrTimes		times;
	MemoryContextCallback callback;
} GrProjector;

/* Begins a projection. work: products, for the choice of the backend; nvectors: vectors to come, or 0 if unknown. */
extern GrProjector *gr_projector_begin(const GrDraw *draw, int64 dim, int64 nvectors, double work);
extern float *gr_projector_block(GrProjector *projector, int64 *capacity);
extern void gr_projector_submit(GrProjector *projector, int64 nvectors);
extern const float *gr_projector_take(GrProjector *projector, int64 *nvectors);
extern void gr_projector_end(GrProjector *projector);

/* Records the projection, which began at `started`, for gpu_last_run(). */
extern void gr_record_projection(const char *function, const GrProjector *projector, double started);

#endif							/* GPUREG_PROJECT_H */
