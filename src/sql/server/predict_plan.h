/*
 * predict_plan.h: better plans for statements that predict the rows of a table by a model. Only _PG_init() calls it.
 */
#ifndef GPUREG_PREDICT_PLAN_H
#define GPUREG_PREDICT_PLAN_H

/* Installs the planner hook when the library is loaded. */
extern void gr_predict_plan_init(void);

#endif							/* GPUREG_PREDICT_PLAN_H */
