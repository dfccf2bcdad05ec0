/*
 * predict_plan.h: plans for statements that predict rows by a model from a table.
 */
#ifndef GPUREG_PREDICT_PLAN_H
#define GPUREG_PREDICT_PLAN_H

/* Installs the planner hook below; called once when the library is loaded. */
extern void gr_predict_plan_init(void);

#endif							/* GPUREG_PREDICT_PLAN_H */
