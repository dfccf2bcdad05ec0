/*
 * fold_key.h: folds of rows, which gpu_enet_fold draws from a row's values and gpu_cv_fold from its key. The functions
 * are here so that plans which group by them know the number of groups.
 */
#ifndef GPUREG_FOLD_KEY_H
#define GPUREG_FOLD_KEY_H

#include "postgres.h"

#include "common/hashfn.h"
#include "fmgr.h"
#include "nodes/pg_list.h"
#include "nodes/primnodes.h"

/* Largest number of folds of an elastic net */
#define GR_NET_FOLDS_MAX 1000

/* Raises an ERROR unless n is a number of folds that the rows of an elastic net may be drawn into. */
static inline void
gr_check_nfolds(int n)
{
	if (n < 2 || n > GR_NET_FOLDS_MAX)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("folds must be between 2 and %d, got %d", GR_NET_FOLDS_MAX, n)));
}

/* Raises an ERROR unless n is a number of folds that rows may be drawn into by their keys. */
extern void gr_check_key_folds(int n);

/* Returns the fold, 0 .. nfolds - 1, of a row whose values have this hash: hash_combine64() of the values' hashes */
static inline int32
gr_enet_fold_of(uint64 hash, int nfolds)
{
	/* hash_combine64() alone mixes poorly */
	return (int32) (hash_bytes_extended((const unsigned char *) &hash, sizeof(hash), 0) % (uint64) nfolds);
}

/* A call of gpu_enet_fold or gpu_cv_fold with valid constants */
typedef struct GrFoldCall
{
	bool		by_key;			/* gpu_cv_fold */
	int			nfolds;
	uint64		seed;			/* if by_key */
	List	   *values;			/* expressions of the values, or of the key */
} GrFoldCall;

/*
 * Fills *fold if expr is a call of gpu_enet_fold or gpu_cv_fold with a constant number of folds and seed. Returns false
 * for other expressions. The functions are recognized by their address, whatever they are called. Cheap for other
 * functions.
 */
extern bool gr_fold_call(const Expr *expr, GrFoldCall *fold);

#endif							/* GPUREG_FOLD_KEY_H */
