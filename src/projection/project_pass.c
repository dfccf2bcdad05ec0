/*
 * project_pass.c: functions that gpu_project_rows() puts around its query's vectors, for parallel workers to compute.
 *
 * The session's own process receives the results. It compares dimensions, as a worker knows only its own rows, and
 * counts workers.
 */
#include "postgres.h"

#include "access/parallel.h"
#include "fmgr.h"

#include "compute/project/chunks.h"
#include "projection/project.h"
#include "projection/project_rows.h"
#include "run/raise.h"

PG_FUNCTION_INFO_V1(gr_project_pass);
PG_FUNCTION_INFO_V1(gr_vector_pass);

const float *
gr_open_row_vector(Datum value, int64 *dim)
{
	GrVectors	x;

	gr_open_vectors(DatumGetArrayTypeP(value), &x);
	if (x.ndim > 1)
		ereport(ERROR,
				(errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
				 errmsg("the vector of a row must be a one-dimensional array"),
				 errdetail("The array has %d dimensions.", x.ndim),
				 errhint("Return one vector per row.")));
	*dim = x.dim;
	return x.values;
}

static GrWorkerRow *
new_row(int64 dim, int64 nvalues)
{
	Size		nbytes = offsetof(GrWorkerRow, values) + nvalues * sizeof(float);
	GrWorkerRow  *row = palloc(nbytes);

	SET_VARSIZE(row, nbytes);
	row->worker = ParallelWorkerNumber;
	row->dim = (int32) dim;
	return row;
}

/* gpu_project_pass(vector real[], k int, seed bigint, density float8): returns the vector's projection. */
Datum
gr_project_pass(PG_FUNCTION_ARGS)
{
	GrError		err = {0};
	const float *x;
	int64		dim;
	int32		k;
	double		density;
	GrWorkerRow  *row;

	if (PG_ARGISNULL(0) || PG_ARGISNULL(1) || PG_ARGISNULL(2))
		PG_RETURN_NULL();
	k = PG_GETARG_INT32(1);
	gr_check_k(k);
	x = gr_open_row_vector(PG_GETARG_DATUM(0), &dim);
	density = gr_density_arg(fcinfo, 3, gr_dense_density(dim));
	row = new_row(dim, k);
	if (!gr_projection_apply(gr_session_projection(k, PG_GETARG_INT64(2), density),
							 &(GrProjectVectors) {.x = x,.nvectors = 1,.dim = dim}, row->values, &gr_host, &err))
		gr_raise(&err);
	gr_check_projected(row->values, k);
	PG_RETURN_POINTER(row);
}

/* gpu_vector_pass(vector real[]): returns the vector itself. */
Datum
gr_vector_pass(PG_FUNCTION_ARGS)
{
	int64		dim;
	const float *x = gr_open_row_vector(PG_GETARG_DATUM(0), &dim);
	GrWorkerRow  *row = new_row(dim, dim);

	memcpy(row->values, x, dim * sizeof(float));
	PG_RETURN_POINTER(row);
}
