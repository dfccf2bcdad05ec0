/*
 * project.c: random projection for the SQL functions: arguments, the session's cache of S, and vectors on their way to
 * a backend; see project.h.
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "utils/memutils.h"

#include "compute/project/sparse.h"
#include "projection/project.h"
#include "run/args.h"
#include "run/clock.h"
#include "run/device.h"
#include "run/raise.h"
#include "run/report.h"

/* Returns the index of the first value that is not finite, or -1. */
static int64
find_not_finite(const float *values, int64 n)
{
	float		zeros[4] = {0, 0, 0, 0};
	int64		k = 0;

	/* v * 0 is 0 for finite v and NaN otherwise */
	for (; k + 4 <= n; k += 4)
		for (int l = 0; l < 4; l++)
			zeros[l] += values[k + l] * 0.0f;
	for (; k < n; k++)
		zeros[0] += values[k] * 0.0f;
	if (likely(zeros[0] + zeros[1] + zeros[2] + zeros[3] == 0.0f))
		return -1;
	for (k = 0; isfinite(values[k]); k++)
		;
	return k;
}

void
gr_open_vectors(ArrayType *array, GrVectors *vectors)
{
	int			ndim = ARR_NDIM(array);
	int64		at;

	Assert(ARR_ELEMTYPE(array) == FLOAT4OID);
	if (ndim == 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("x must have at least one element")));
	if (ndim > 2)
		ereport(ERROR,
				(errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
				 errmsg("x must have one or two dimensions"),
				 errdetail("x has %d dimensions.", ndim),
				 errhint("Pass one vector, or a two-dimensional array with one vector per row, as array_agg(vector) "
						 "returns.")));
	if (ARR_HASNULL(array) && array_contains_nulls(array))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("x must not contain nulls"),
				 errhint("Replace them by 0, or leave the vector out.")));
	vectors->values = (const float *) ARR_DATA_PTR(array);
	vectors->ndim = ndim;
	vectors->nvectors = ndim == 2 ? ARR_DIMS(array)[0] : 1;
	vectors->dim = ARR_DIMS(array)[ndim - 1];
	at = find_not_finite(vectors->values, vectors->nvectors * vectors->dim);
	if (at >= 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("x has a value that is NaN or infinite"),
				 errdetail("The value is element " INT64_FORMAT " of x.", at + 1),
				 errhint("Replace the value, or leave the vector out.")));
}

void
gr_check_k(int64 k)
{
	if (k < 1)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("k must be at least 1, got " INT64_FORMAT, k)));
	if (k > MaxArraySize)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("k must be at most %zu, got " INT64_FORMAT, (size_t) MaxArraySize, k),
				 errdetail("An array cannot have more elements.")));
}

double
gr_density_arg(FunctionCallInfo fcinfo, int argno, double density_of_null)
{
	double		density;

	if (PG_ARGISNULL(argno))
		return density_of_null;
	density = PG_GETARG_FLOAT8(argno);
	if (!(density > 0.0 && density <= 1.0))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("density must be greater than 0 and at most 1, got %.15g", density),
				 errhint("Pass NULL for the default density.")));
	return density;
}

/* Returns the session's cache of S. gpureg.projection_cache_size limits its size. */
static GrProjectionCache *
session_cache(void)
{
	static GrProjectionCache *cache = NULL;

	if (cache == NULL)
		cache = gr_projection_cache_create();
	if (cache == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_OUT_OF_MEMORY),
				 errmsg("out of memory")));
	return cache;
}

static Size
cache_limit(void)
{
	return (Size) gr_projection_cache_size * 1024;
}

GrProjection *
gr_session_projection(int32 k, int64 seed, double density)
{
	GrError		err = {0};
	GrProjection *projection = gr_projection_open(session_cache(), k, (uint64) seed, density, cache_limit(), &err);

	if (projection == NULL)
		gr_raise(&err);
	return projection;
}

ArrayType *
gr_new_projection_array(int ndim, int64 nvectors, int32 k, float **values)
{
	Size		header = ARR_OVERHEAD_NONULLS(ndim);
	int64		n = nvectors * k;
	ArrayType  *array;

	if (n > MaxArraySize || header + n * sizeof(float) > MaxAllocSize)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("the projections have more elements than an array can hold"),
				 errdetail("There are " INT64_FORMAT " vectors with %d elements each.", nvectors, k),
				 errhint("Use gpu_project_rows(), which returns one row per vector.")));
	array = palloc(header + n * sizeof(float));
	SET_VARSIZE(array, header + n * sizeof(float));
	array->ndim = ndim;
	array->dataoffset = 0;
	array->elemtype = FLOAT4OID;
	if (ndim == 2)
		ARR_DIMS(array)[0] = (int) nvectors;
	ARR_DIMS(array)[ndim - 1] = k;
	for (int d = 0; d < ndim; d++)
		ARR_LBOUND(array)[d] = 1;
	*values = (float *) ARR_DATA_PTR(array);
	return array;
}

void
gr_check_projected(const float *values, int64 n)
{
	if (find_not_finite(values, n) >= 0)
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("a sum is out of range for type real"),
				 errhint("Rescale the values.")));
}

/*
 * Sparse columns
 */
typedef struct Column
{
	int64		j;
	double		value;
} Column;

/*
 * Sorts columns by number: a radix sort over the bytes in which they differ, as branches on comparisons of random
 * numbers are mispredicted. Returns the sorted array: columns or spare.
 */
static Column *
sort_columns(Column *columns, Column *spare, int64 n)
{
	uint64		differing = 0;

	for (int64 m = 1; m < n; m++)
		differing |= (uint64) (columns[m].j ^ columns[0].j);
	for (int shift = 0; shift < 64; shift += 8)
	{
		int64		places[256] = {0};
		int64		place = 0;
		Column	   *sorted = spare;

		if ((differing >> shift & 0xff) == 0)
			continue;
		for (int64 m = 0; m < n; m++)
			places[columns[m].j >> shift & 0xff]++;
		for (int byte = 0; byte < 256; byte++)
		{
			int64		count = places[byte];

			places[byte] = place;
			place += count;
		}
		for (int64 m = 0; m < n; m++)
			sorted[places[columns[m].j >> shift & 0xff]++] = columns[m];
		spare = columns;
		columns = sorted;
		CHECK_FOR_INTERRUPTS();
	}
	return columns;
}

static int
compare_values(const void *a, const void *b, void *arg)
{
	double		x = ((const Column *) a)->value;
	double		y = ((const Column *) b)->value;

	return x < y ? -1 : x > y;
}

/*
 * Sorts columns by number and adds the values of equal columns, in ascending order. Returns the number of columns left.
 */
static int64
merge_columns(int64 *idx, double *val, int64 n)
{
	Column	   *memory = palloc_extended(2 * n * sizeof(Column), MCXT_ALLOC_HUGE);
	Column	   *columns;
	int64		nmerged = 0;
	int64		next;

	for (int64 m = 0; m < n; m++)
	{
		memory[m].j = idx[m];
		memory[m].value = val[m];
		gr_poll_loop(m);
	}
	columns = sort_columns(memory, memory + n, n);
	for (int64 m = 0; m < n; m = next)
	{
		double		sum;

		for (next = m + 1; next < n && columns[next].j == columns[m].j; next++)
			;
		/* a sum of two does not depend on their order */
		if (next - m > 2)
			qsort_interruptible(columns + m, next - m, sizeof(Column), compare_values, NULL);
		sum = columns[m].value;
		for (int64 same = m + 1; same < next; same++)
			sum += columns[same].value;
		idx[nmerged] = columns[m].j;
		val[nmerged] = sum;
		gr_poll_loop(nmerged++);
	}
	pfree(memory);
	return nmerged;
}

void
gr_project_columns(GrProjection *projection, int64 *idx, double *val, int64 n, float *y)
{
	GrError		err = {0};
	int64		ascending = 1;

	while (ascending < n && idx[ascending] > idx[ascending - 1])
		ascending++;
	if (ascending < n)
		n = merge_columns(idx, val, n);
	if (!gr_projection_apply_sparse(projection, idx, val, n, y, &gr_host, &err))
		gr_raise(&err);
	gr_check_projected(y, gr_projection_draw(projection)->k);
}

/*
 * Vectors on their way to a backend
 */

static void
end_project(GrProjector *projector)
{
	if (projector->project != NULL)
		projector->place.backend->projector->end(projector->project);
	projector->project = NULL;
}

static void
release_projector(void *arg)
{
	GrProjector *projector = arg;

	end_project(projector);
	gr_leave_place(&projector->place);
}

static bool
begin_project(GrProjector *projector, int64 nvectors, GrError *err)
{
	GrProjectOptions options = {
		.draw = &projector->draw,.dim = projector->dim,.nvectors = nvectors,
		.block_nbytes = (Size) gr_ring_size * 1024 / 8,
		.memory_limit = gr_device_limit(),
		.cache_nbytes = cache_limit(),.cache = session_cache()
	};

	return projector->place.backend->projector->begin(projector->place.session, &options, &gr_host,
													  &projector->project, err);
}

GrProjector *
gr_projector_begin(const GrDraw *draw, int64 dim, int64 nvectors, double work)
{
	GrProjector *projector = palloc0(sizeof(GrProjector));
	GrError		err = {0};
	bool		begun;

	projector->draw = *draw;
	projector->dim = dim;
	projector->callback.func = release_projector;
	projector->callback.arg = projector;
	MemoryContextRegisterResetCallback(CurrentMemoryContext, &projector->callback);
	if (!gr_choose_place(&projector->place, work, &gr_host, &err))
		gr_raise(&err);
	begun = begin_project(projector, nvectors, &err);
	if (!begun)
	{
		end_project(projector);
		/* nothing was computed yet, so the CPU may take over */
		if (gr_retreat_to_cpu(&projector->place, &err))
		{
			memset(&err, 0, sizeof(err));
			begun = begin_project(projector, nvectors, &err);
		}
	}
	if (!begun)
		gr_raise(&err);
	return projector;
}

float *
gr_projector_block(GrProjector *projector, int64 *capacity)
{
	GrError		err = {0};
	float	   *vectors;
	int64_t		n;

	Assert(projector->nwaiting < GR_PROJECT_NSLOTS);
	if (!projector->place.backend->projector->block(projector->project, &vectors, &n, &err))
		gr_raise(&err);
	*capacity = n;
	return vectors;
}

void
gr_projector_submit(GrProjector *projector, int64 nvectors)
{
	GrError		err = {0};

	CHECK_FOR_INTERRUPTS();
	if (!projector->place.backend->projector->submit(projector->project, nvectors, &gr_host, &err))
		gr_raise(&err);
	projector->nvectors += nvectors;
	projector->nwaiting++;
}

const float *
gr_projector_take(GrProjector *projector, int64 *nvectors)
{
	GrError		err = {0};
	const float *projected;
	int64_t		n;

	Assert(projector->nwaiting > 0);
	if (!projector->place.backend->projector->take(projector->project, &projected, &n, &err))
		gr_raise(&err);
	projector->nwaiting--;
	gr_check_projected(projected, n * projector->draw.k);
	*nvectors = n;
	return projected;
}

void
gr_projector_end(GrProjector *projector)
{
	projector->place.backend->projector->times(projector->project, &projector->times);
	release_projector(projector);
}

void
gr_record_projection(const char *function, const GrProjector *projector, double started)
{
	GrRun	   *run = gr_new_run(function, &projector->place, projector->nvectors, (int) projector->dim);

	run->bytes_to_device = projector->times.bytes_to_device;
	run->copy_s = projector->times.copy_s;
	run->kernel_s = projector->times.kernel_s;
	run->total_s = gr_now() - started;
	/* the CPU projects between reads, a device meanwhile */
	run->read_s = run->total_s - (projector->times.bytes_to_device == 0 ? run->kernel_s : 0);
}
