/*
 * fn_project.c: the SQL functions of random projection, except gpu_project_rows() (project_rows.c).
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "fmgr.h"

#include "compute/project/chunks.h"
#include "projection/project.h"
#include "run/args.h"
#include "run/clock.h"
#include "run/device.h"
#include "run/raise.h"
#include "run/report.h"

PG_FUNCTION_INFO_V1(gr_project);
PG_FUNCTION_INFO_V1(gr_project_sparse);
PG_FUNCTION_INFO_V1(gr_jl_min_dim);
PG_FUNCTION_INFO_V1(gr_jl_min_dim_bigint);

/* Projects x in batches, on the backend that the settings choose, into y. */
static void
project_batches(const GrVectors *x, int32 k, int64 seed, double density, double work, float *y)
{
	double		started = gr_now();
	GrError		err = {0};
	GrDraw		draw;
	GrProjector *projector;
	int64		submitted = 0;
	int64		taken = 0;

	if (!gr_draw_init(&draw, k, (uint64) seed, density, &err))
		gr_raise(&err);
	projector = gr_projector_begin(&draw, x->dim, x->nvectors, work);
	while (taken < x->nvectors)
	{
		int64		n;

		if (submitted < x->nvectors && projector->nwaiting < GR_PROJECT_NSLOTS)
		{
			float	   *block = gr_projector_block(projector, &n);

			n = Min(n, x->nvectors - submitted);
			memcpy(block, x->values + submitted * x->dim, n * x->dim * sizeof(float));
			gr_projector_submit(projector, n);
			submitted += n;
		}
		else
		{
			const float *projected = gr_projector_take(projector, &n);

			memcpy(y + taken * k, projected, n * k * sizeof(float));
			taken += n;
		}
	}
	gr_projector_end(projector);
	gr_record_projection("gpu_project", projector, started);
}

/* Projects x on the CPU, without copying it. A single vector records no run, as each row may project one. */
static void
project_here(const GrVectors *x, int32 k, int64 seed, double density, double work, float *y)
{
	double		started = x->ndim == 2 ? gr_now() : 0;
	const GrProjectVectors vectors = {.x = x->values,.nvectors = x->nvectors,.dim = x->dim};
	GrError		err = {0};
	GrPlace		place = {0};
	GrRun	   *run;

	if (!gr_projection_apply(gr_session_projection(k, seed, density), &vectors, y, &gr_host, &err))
		gr_raise(&err);
	gr_check_projected(y, x->nvectors * k);
	if (x->ndim == 1)
		return;
	if (!gr_choose_place(&place, work, &gr_host, &err))
		gr_raise(&err);
	run = gr_new_run("gpu_project", &place, x->nvectors, (int) x->dim);
	run->kernel_s = run->total_s = gr_now() - started;
}

/* gpu_project(x real[], k int, seed bigint, density float8): projects a vector, or each row of several. */
Datum
gr_project(PG_FUNCTION_ARGS)
{
	GrVectors	x;
	int32		k;
	int64		seed;
	double		density;
	double		work;
	ArrayType  *result;
	float	   *y;

	if (PG_ARGISNULL(0) || PG_ARGISNULL(1) || PG_ARGISNULL(2))
		PG_RETURN_NULL();
	k = PG_GETARG_INT32(1);
	seed = PG_GETARG_INT64(2);
	gr_check_k(k);
	gr_open_vectors(PG_GETARG_ARRAYTYPE_P(0), &x);
	density = gr_density_arg(fcinfo, 3, gr_dense_density(x.dim));
	result = gr_new_projection_array(x.ndim, x.nvectors, k, &y);
	work = (double) x.nvectors * x.dim * (k * density);
	if (gr_takes_cpu(work))
		project_here(&x, k, seed, density, work, y);
	else
		project_batches(&x, k, seed, density, work, y);
	PG_RETURN_ARRAYTYPE_P(result);
}

/* ERROR unless array has one dimension and no NULLs. */
static void
check_sparse(ArrayType *array, const char *name)
{
	gr_check_vector(array, name);
	if (ARR_HASNULL(array) && array_contains_nulls(array))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("%s must not contain nulls", name)));
}

static void
check_index(int64 j, bool has_dim, int64 dim)
{
	if (j < 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("index " INT64_FORMAT " is negative", j),
				 errdetail("Indexes start from 0.")));
	if (has_dim && j >= dim)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("index " INT64_FORMAT " is not below dim, which is " INT64_FORMAT, j, dim),
				 errdetail("Indexes start from 0."),
				 errhint("Set dim to the length of the vector: at least its largest index plus 1.")));
}

/*
 * gpu_project_sparse(idx bigint[], val real[], k int, seed bigint, density float8, dim bigint): the projection to k
 * numbers, real[], of the vector that has value val[m] at index idx[m]
 */
Datum
gr_project_sparse(PG_FUNCTION_ARGS)
{
	ArrayType  *idx_array;
	ArrayType  *val_array;
	int32		k;
	bool		has_dim = !PG_ARGISNULL(5);
	int64		dim = has_dim ? PG_GETARG_INT64(5) : 0;
	int			n;
	int64	   *idx;
	double	   *val;
	double		density;
	ArrayType  *result;
	float	   *y;

	for (int argno = 0; argno < 4; argno++)
		if (PG_ARGISNULL(argno))
			PG_RETURN_NULL();
	idx_array = PG_GETARG_ARRAYTYPE_P(0);
	val_array = PG_GETARG_ARRAYTYPE_P(1);
	k = PG_GETARG_INT32(2);
	gr_check_k(k);
	if (has_dim && dim < 1)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("dim must be at least 1, got " INT64_FORMAT, dim)));
	density = gr_density_arg(fcinfo, 4, has_dim ? gr_dense_density(dim) : gr_sparse_density(k));
	check_sparse(idx_array, "idx");
	check_sparse(val_array, "val");
	n = ArrayGetNItems(ARR_NDIM(idx_array), ARR_DIMS(idx_array));
	if (n != ArrayGetNItems(ARR_NDIM(val_array), ARR_DIMS(val_array)))
		ereport(ERROR,
				(errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
				 errmsg("idx and val must have the same number of elements"),
				 errdetail("idx has %d, val has %d.", n, ArrayGetNItems(ARR_NDIM(val_array), ARR_DIMS(val_array))),
				 errhint("Pass one value for each index, in the same order.")));
	idx = palloc_extended(n * sizeof(int64) + 1, MCXT_ALLOC_HUGE);
	val = palloc_extended(n * sizeof(double) + 1, MCXT_ALLOC_HUGE);
	for (int m = 0; m < n; m++)
	{
		idx[m] = ((const int64 *) ARR_DATA_PTR(idx_array))[m];
		val[m] = ((const float *) ARR_DATA_PTR(val_array))[m];
		check_index(idx[m], has_dim, dim);
		if (!isfinite(val[m]))
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("val has a value that is NaN or infinite"),
					 errdetail("The value is element %d of val.", m + 1),
					 errhint("Replace the value, or leave the vector out.")));
		gr_poll_loop(m);
	}
	result = gr_new_projection_array(1, 1, k, &y);
	gr_project_columns(gr_session_projection(k, PG_GETARG_INT64(3), density), idx, val, n, y);
	PG_RETURN_ARRAYTYPE_P(result);
}

/*
 * Returns gpu_jl_min_dim(n bigint, eps float8) = 4 ln(n) / (eps^2 / 2 - eps^3 / 3), of Dasgupta and Gupta (2003), at
 * least
 * 1. Callers drop the fraction, as scikit-learn's johnson_lindenstrauss_min_dim() does. ERROR if the result is not
 *   below
 * limit, the end of the SQL type type_name.
 */
static double
jl_min_dim(FunctionCallInfo fcinfo, double limit, const char *type_name)
{
	int64		n = PG_GETARG_INT64(0);
	double		eps = PG_GETARG_FLOAT8(1);
	double		k;

	if (n < 1)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("n must be at least 1, got " INT64_FORMAT, n)));
	if (!(eps > 0.0 && eps < 1.0))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("eps must be between 0 and 1, got %g", eps)));
	if (n == 1)
		return 1.0;
	k = 4.0 * log((double) n) / (eps * eps / 2.0 - eps * eps * eps / 3.0);
	if (!(k < limit))
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("%s out of range", type_name),
				 errdetail("An eps of %g needs %g dimensions.", eps, k),
				 errhint("Use a larger eps.")));
	return Max(k, 1.0);
}

/* The function for gpureg 0.1.0's SQL, which returns an int. */
Datum
gr_jl_min_dim(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT32((int32) jl_min_dim(fcinfo, PG_INT32_MAX, "integer"));
}

Datum
gr_jl_min_dim_bigint(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT64((int64) jl_min_dim(fcinfo, 0x1p63, "bigint"));
}
