/*
 * fn_project_bits.c: gpu_project_bits(x real[], k int, seed bigint): signs of a vector's coordinates after random
 * rotations, as bits.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "fmgr.h"
#include "utils/memutils.h"
#include "utils/varbit.h"

#include "compute/linalg/rotation.h"
#include "projection/project.h"
#include "run/raise.h"

PG_FUNCTION_INFO_V1(gr_project_bits);

/* Most bits of bit(k), to which results are cast for an index. */
#define BITS_MAX (MaxAttrSize * BITS_PER_BYTE)

static void
check_nbits(int32 k)
{
	if (k < 1)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("k must be at least 1, got %d", k)));
	if (k > BITS_MAX)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("k must be at most %d, got %d", BITS_MAX, k),
				 errdetail("A bit string with a length modifier cannot have more bits.")));
}

Datum
gr_project_bits(PG_FUNCTION_ARGS)
{
	int32		k = PG_GETARG_INT32(1);
	GrVectors	x;
	GrError		err = {0};
	GrRotation	rotation;
	VarBit	   *result;
	double	   *work;

	check_nbits(k);
	gr_open_vectors(PG_GETARG_ARRAYTYPE_P(0), &x);
	if (x.ndim != 1)
		ereport(ERROR,
				(errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
				 errmsg("x must have one dimension"),
				 errdetail("x has %d dimensions.", x.ndim),
				 errhint("Call the function once for each vector.")));
	result = palloc0(VARBITTOTALLEN(k));
	SET_VARSIZE(result, VARBITTOTALLEN(k));
	VARBITLEN(result) = k;
	work = palloc_extended(gr_rotation_length(x.dim) * sizeof(double), MCXT_ALLOC_HUGE);
	rotation = (GrRotation) {.x = x.values,.dim = x.dim,.seed = (uint64) PG_GETARG_INT64(2),.k = k};
	if (!gr_rotation_signs(&rotation, work, VARBITS(result), &gr_host, &err))
		gr_raise(&err);
	pfree(work);
	PG_RETURN_VARBIT_P(result);
}
