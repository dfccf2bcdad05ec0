/*
 * launched.h: counts the parallel workers that a plan launched. query.c calls it after each run.
 */
#ifndef GPUREG_LAUNCHED_H
#define GPUREG_LAUNCHED_H

#include "postgres.h"

#include "nodes/execnodes.h"

/* Returns the number of workers that the topmost Gather nodes of a tree that has run launched. */
extern int	gr_launched_workers(PlanState *state);

#endif							/* GPUREG_LAUNCHED_H */
