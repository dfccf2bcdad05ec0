/*
 * clock.h: the time that things take. PostgreSQL's timestamps go by the clock that is set, also while a statement runs,
 * so that waits and idle times by them would end at once or hours late.
 */
#ifndef GPUREG_CLOCK_H
#define GPUREG_CLOCK_H

#include "postgres.h"

#include "portability/instr_time.h"

/* Seconds on a clock that only goes forward. */
static inline double
gr_now(void)
{
	instr_time	now;

	INSTR_TIME_SET_CURRENT(now);
	return INSTR_TIME_GET_DOUBLE(now);
}

/* The same in ms, which all processes of the machine have in common: for what they write down for each other. */
static inline int64
gr_now_ms(void)
{
	return (int64) (gr_now() * 1000);
}

#endif							/* GPUREG_CLOCK_H */
