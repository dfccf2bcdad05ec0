/*
 * rewrite.h: calls over arrays that array_agg makes, which the planner turns into aggregates.
 */
#ifndef GPUREG_REWRITE_H
#define GPUREG_REWRITE_H

#include "postgres.h"

/* The setting gpureg.enable_rewrite */
extern bool gr_enable_rewrite;

#endif							/* GPUREG_REWRITE_H */
