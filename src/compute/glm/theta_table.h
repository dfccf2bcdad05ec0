/*
 * theta_table.h: what rows with small counts add to the derivatives by theta, looked up by count. Passes of a theta use
 * one table per thread, which is filled as counts occur.
 */
#ifndef GPUREG_THETA_TABLE_H
#define GPUREG_THETA_TABLE_H

#include <stdbool.h>

#include "compute/glm/negbin_row.h"

/* Counts below this are looked up. */
#define GR_THETA_NCOUNTS 128

typedef struct GrThetaTable
{
	double		theta;			/* 0: empty */
	bool		known[GR_THETA_NCOUNTS];
	GrThetaCount count[GR_THETA_NCOUNTS];
	double		loss[GR_THETA_NCOUNTS]; /* gr_waiting_loss() */
} GrThetaTable;

/* Returns the thread's table, emptied if it was of another theta. theta: > 0. */
extern GrThetaTable *gr_theta_table(double theta);

/* Returns gr_theta_count() of y >= 0, and sets *loss to gr_waiting_loss(). */
static inline GrThetaCount
gr_theta_table_count(GrThetaTable *table, double y, double *loss)
{
	int			k = y >= 0.0 && y < GR_THETA_NCOUNTS ? (int) y : 0;

	if (y != (double) k)
	{
		*loss = gr_waiting_loss(y, table->theta);
		return gr_theta_count(y, table->theta);
	}
	if (!table->known[k])
	{
		table->count[k] = gr_theta_count(y, table->theta);
		table->loss[k] = gr_waiting_loss(y, table->theta);
		table->known[k] = true;
	}
	*loss = table->loss[k];
	return table->count[k];
}

#endif							/* GPUREG_THETA_TABLE_H */
