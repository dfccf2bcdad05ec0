/*
 * rewrite.h: turns calls over array_agg into aggregates. The planner calls rewrite.c; _PG_init() defines its setting.
 */
#ifndef GPUREG_REWRITE_H
#define GPUREG_REWRITE_H

#include "postgres.h"

/* Setting gpureg.enable_rewrite */
extern bool gr_enable_rewrite;

#endif							/* GPUREG_REWRITE_H */
