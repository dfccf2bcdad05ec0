/*
 * boot_sums.h: a bootstrap's passes over a query that is run for each, in parallel workers where the planner likes, by
 * the aggregate gpu_boot_pass(request gpu_logreg_step, draws bigint[], influence float8[], names text[], widths int[],
 * columns ...).
 *
 * The request is that of an EXACT pass with leverages, from which coefficients, shift, basis and triangle are taken;
 * draws are the seed, the first replicate and how many there are, and a 1 where they are of signs. The state is the
 * process's own memory; the result, a bytea, is the sums as boot.h has them.
 */
#ifndef GPUREG_BOOT_SUMS_H
#define GPUREG_BOOT_SUMS_H

#include "postgres.h"

#include "compute/resample/boot.h"
#include "rows/sums/ingest.h"

/* Arguments of gpu_boot_pass before the columns */
#define GR_BOOT_NPARAMS 5

/* Plans the passes; ERROR if the query has more columns than an aggregate can have arguments. */
extern GrPlan *gr_boot_plan(const GrIngest *ingest);

/* Makes one: adds to sums. */
extern void gr_boot_run(const GrIngest *ingest, const GrPlan *plan, const GrBasis *basis, const GrBootPass *pass,
						double *sums);

#endif							/* GPUREG_BOOT_SUMS_H */
