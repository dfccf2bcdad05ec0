/*
 * clock.h: a clock for durations. PostgreSQL's timestamps follow the system clock, which may be set while a statement
 * runs: waits and idle times measured by them would end at once or hours late.
 */
#ifndef GPUREG_CLOCK_H
#define GPUREG_CLOCK_H

#include "postgres.h"

#include "portability/instr_time.h"

/* Returns seconds on a clock that only goes forward. */
static inline double
gr_now(void)
{
	instr_time	now;

	INSTR_TIME_SET_CURRENT(now);
	return INSTR_TIME_GET_DOUBLE(now);
}

/* Returns gr_now() in ms. All processes of the machine share this clock, and may store such times for each other. */
static inline int64
gr_now_ms(void)
{
	return (int64) (gr_now() * 1000);
}

#endif							/* GPUREG_CLOCK_H */
