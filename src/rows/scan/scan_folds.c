/*
 * scan_folds.c: computes the folds of rows; see scan_folds.h.
 *
 * hash_bytes_extended(), by Bob Jenkins, is written here once more for values of 8 bytes without a seed: several rows
 * are hashed in the lanes of vectors.
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "fmgr.h"
#include "utils/fmgrprotos.h"

#include "compute/base/fold_draw.h"
#include "compute/resample/boot_draw.h"
#include "rows/scan/scan_folds.h"
#include "rows/state/fold_key.h"

GrScanFold *
gr_scan_fold(const Expr *expr, TupleDesc table)
{
	GrFoldCall	call;
	GrScanFold *fold;
	ListCell   *cell;

	if (!gr_fold_call(expr, &call))
		return NULL;
	fold = palloc0(sizeof(GrScanFold));
	fold->nfolds = call.nfolds;
	fold->by_key = call.by_key;
	fold->seed = call.seed;
	fold->all_float8 = true;
	fold->kinds = palloc(list_length(call.values) * sizeof(GrNumberKind));
	fold->attributes = palloc(list_length(call.values) * sizeof(AttrNumber));
	fold->wanted = palloc(list_length(call.values) * sizeof(int));
	foreach(cell, call.values)
	{
		GrNumberKind *kind = &fold->kinds[fold->n];
		bool		is_integer;

		if (!gr_is_number_column(lfirst(cell), table, kind))
			return NULL;
		is_integer = *kind == GR_INT8 || *kind == GR_INT4 || *kind == GR_INT2;
		if (!is_integer && (call.by_key || *kind == GR_BOOL || *kind == GR_NUMERIC))
			return NULL;
		fold->all_float8 &= *kind == GR_FLOAT8;
		fold->attributes[fold->n++] = ((const Var *) lfirst(cell))->varattno;
	}
	return fold;
}

/*
 * Hashes
 */

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define VERSIONS __attribute__((target_clones("avx512f", "arch=haswell", "default")))
#else
#define VERSIONS
#endif

#define NLANES 8

typedef uint32 Words __attribute__((vector_size(NLANES * sizeof(uint32))));
typedef uint64 Hashes __attribute__((vector_size(NLANES * sizeof(uint64))));
typedef double Numbers __attribute__((vector_size(NLANES * sizeof(double))));

#define ROTATE(x, k) ((x) << (k) | (x) >> (32 - (k)))

/* Hashes values of 8 bytes, as hash_bytes_extended() hashes each without a seed. */
static pg_attribute_always_inline void
hash_values(const Hashes *values, Hashes *hashes)
{
	const uint32 begin = 0x9e3779b9 + (uint32) sizeof(uint64) + 3923095;
	Words		low = __builtin_convertvector(*values, Words);
	Words		high = __builtin_convertvector(*values >> 32, Words);
#ifdef WORDS_BIGENDIAN
	Words		a = high + begin;
	Words		b = low + begin;
#else
	Words		a = low + begin;
	Words		b = high + begin;
#endif
	Words		c = a - a + begin;

	c = (c ^ b) - ROTATE(b, 14);
	a = (a ^ c) - ROTATE(c, 11);
	b = (b ^ a) - ROTATE(a, 25);
	c = (c ^ b) - ROTATE(b, 16);
	a = (a ^ c) - ROTATE(c, 4);
	b = (b ^ a) - ROTATE(a, 14);
	c = (c ^ b) - ROTATE(b, 24);
	*hashes = __builtin_convertvector(b, Hashes) << 32 | __builtin_convertvector(c, Hashes);
}

static uint64
hash_float8(double value)
{
	return DatumGetUInt64(DirectFunctionCall2(hashfloat8extended, Float8GetDatum(value), UInt64GetDatum(0)));
}

/* Hashes the number at address at as its type's function does. */
static uint64
hash_number(GrNumberKind kind, const char *at)
{
	switch (kind)
	{
		case GR_INT8:
			return DatumGetUInt64(DirectFunctionCall2(hashint8extended, Int64GetDatum(*(const int64 *) at),
													  UInt64GetDatum(0)));
		case GR_INT4:
			return hash_bytes_uint32_extended((uint32) *(const int32 *) at, 0);
		case GR_INT2:
			return hash_bytes_uint32_extended((uint32) (int32) *(const int16 *) at, 0);
		default:
			/* A real is hashed as a float8. */
			return hash_float8(gr_read_number(kind, at));
	}
}

/* Draws the fold of one row, by the server's functions. */
static pg_noinline int32
draw_row(const GrScanFold *fold, const double *row, const int *column)
{
	uint64		hash = 0;

	for (int k = 0; k < fold->n; k++)
		hash = hash_combine64(hash, hash_float8(row[column[k]]));
	return gr_enet_fold_of(hash, fold->nfolds);
}

/*
 * Draws the folds of NLANES rows. Rows are ncols float8 apart; column[k]: position of value k in a row. Both zeros have
 * the hash 0. All NaN have the same hash, which only the server knows.
 */
static pg_attribute_always_inline void
draw_lanes(const GrScanFold *fold, const double *rows, int ncols, const int *column, int32 *folds)
{
	Hashes		all = {0};
	Hashes		nan = {0};
	Hashes		hashes;
	Size		n = ncols;

	for (int k = 0; k < fold->n; k++)
	{
		const double *from = rows + column[k];
		Numbers		numbers = {
			from[0], from[n], from[2 * n], from[3 * n], from[4 * n], from[5 * n], from[6 * n], from[7 * n]
		};
		Hashes		bits;

		memcpy(&bits, &numbers, sizeof(bits));
		hash_values(&bits, &hashes);
		hashes &= (Hashes) (numbers != 0);
		nan |= (Hashes) (numbers != numbers);
		/* hash_combine64() */
		all ^= hashes + UINT64CONST(0x49a0f4dd15e5a8e3) + (all << 54) + (all >> 7);
	}
	hash_values(&all, &hashes);
	for (int i = 0; i < NLANES; i++)
		folds[i] = (int32) (hashes[i] % (uint64) fold->nfolds);
	for (int i = 0; i < NLANES; i++)
		if (unlikely(nan[i] != 0))
			folds[i] = draw_row(fold, rows + i * n, column);
}

VERSIONS void
gr_scan_draw_folds(const GrScanFold *fold, const double *rows, int64 nrows, int ncols, const int *column, int32 *folds)
{
	double		last[NLANES * FUNC_MAX_ARGS];
	int32		drawn[NLANES];
	int64		done = nrows - nrows % NLANES;

	for (int64 i = 0; i < done; i += NLANES)
		draw_lanes(fold, rows + i * ncols, ncols, column, folds + i);
	if (done == nrows)
		return;
	memset(last, 0, NLANES * ncols * sizeof(double));
	memcpy(last, rows + done * ncols, (nrows - done) * ncols * sizeof(double));
	draw_lanes(fold, last, ncols, column, drawn);
	memcpy(folds + done, drawn, (nrows - done) * sizeof(int32));
}

/* Draws the folds of NLANES keys, from gr_boot_integer_key(), as gr_fold_of() does. */
static pg_attribute_always_inline void
draw_key_lanes(const GrScanFold *fold, const int64 *keys, int32 *folds)
{
	uint32		key0 = (uint32) fold->seed;
	uint32		key1 = (uint32) (fold->seed >> 32);
	Hashes		all;
	Words		w0;
	Words		w1;
	Words		w2 = {0};
	Words		w3 = w2 + GR_FOLD_TAG;

	memcpy(&all, keys, sizeof(all));
	w0 = __builtin_convertvector(all, Words);
	w1 = __builtin_convertvector(all >> 32, Words);
	for (int round = 0; round < GR_PHILOX_ROUNDS; round++)
	{
		Hashes		a = __builtin_convertvector(w0, Hashes) * GR_PHILOX_M0;
		Hashes		b = __builtin_convertvector(w2, Hashes) * GR_PHILOX_M1;

		w0 = __builtin_convertvector(b >> 32, Words) ^ w1 ^ key0;
		w1 = __builtin_convertvector(b, Words);
		w2 = __builtin_convertvector(a >> 32, Words) ^ w3 ^ key1;
		w3 = __builtin_convertvector(a, Words);
		key0 += GR_PHILOX_W0;
		key1 += GR_PHILOX_W1;
	}
	for (int i = 0; i < NLANES; i++)
		folds[i] = 1 + (int32) ((uint64) w0[i] * (uint64) fold->nfolds >> 32);
}

VERSIONS void
gr_scan_draw_key_folds(const GrScanFold *fold, const int64 *keys, int64 nrows, int32 *folds)
{
	for (int64 i = 0; i < nrows; i += NLANES)
	{
		int			n = (int) Min(nrows - i, NLANES);
		int64		some[NLANES] = {0};
		int32		drawn[NLANES];

		for (int k = 0; k < n; k++)
			some[k] = gr_boot_integer_key(keys[i + k]);
		draw_key_lanes(fold, some, drawn);
		memcpy(folds + i, drawn, n * sizeof(int32));
	}
}

int32
gr_scan_fold_of(const GrScanFold *fold, const char *data, const int32 *at, bool *isnull)
{
	uint64		hash = 0;
	int64		key;
	int32		drawn;

	*isnull = fold->by_key && at[fold->wanted[0]] < 0;
	if (*isnull)
		return 0;
	if (fold->by_key)
	{
		key = gr_scan_fold_key(fold, data + at[fold->wanted[0]]);
		gr_scan_draw_key_folds(fold, &key, 1, &drawn);
		return drawn;
	}
	for (int k = 0; k < fold->n; k++)
	{
		int32		offset = at[fold->wanted[k]];

		hash = hash_combine64(hash, offset < 0 ? 0 : hash_number(fold->kinds[k], data + offset));
	}
	return gr_enet_fold_of(hash, fold->nfolds);
}
