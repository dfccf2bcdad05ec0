/*
 * fold_rows.h: reads a query's rows fold by fold, so that passes can be made over all folds but one.
 */
#ifndef GPUREG_FOLD_ROWS_H
#define GPUREG_FOLD_ROWS_H

#include "postgres.h"

#include "rows/state/fold_key.h"
#include "rows/sums/source.h"

/*
 * Runs the query once, in this process, and keeps each fold's rows on the CPU: in memory, up to gpureg.ring_size for
 * all folds, else in temporary files. Folds are the values of the cluster column or, without one, nfolds numbers drawn
 * from the row's values. Returns *n sources, one per fold that has rows. ERROR as for gr_source_folds(). ingest:
 * prepared; its results are set, except job
 */
extern GrRowSource *gr_fold_rows_read(GrIngest *ingest, int nfolds, int *n);

#endif							/* GPUREG_FOLD_ROWS_H */
