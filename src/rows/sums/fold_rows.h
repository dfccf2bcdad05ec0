/*
 * fold_rows.h: a query's rows, kept fold by fold, so that passes can be made over all but one.
 */
#ifndef GPUREG_FOLD_ROWS_H
#define GPUREG_FOLD_ROWS_H

#include "postgres.h"

#include "rows/sums/source.h"

/* The most folds of an elastic net */
#define GR_NET_FOLDS_MAX 1000

/*
 * Runs the query once, in this process, and keeps each fold's rows as a source of its own, on the CPU: in memory, up to
 * gpureg.ring_size for all, else in temporary files. Folds are told apart by the cluster column, if there is one, else
 * by what rows come to, nfolds of them, of which some may have no row. *n sources, each of which has rows. ERROR as
 * with gr_source_folds(). ingest: prepared; its results are filled in, but for its job
 */
extern GrRowSource *gr_fold_rows_read(GrIngest *ingest, int nfolds, int *n);

#endif							/* GPUREG_FOLD_ROWS_H */
