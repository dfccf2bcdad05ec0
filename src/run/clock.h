/*
 * clock.h: the time that things take.
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

#endif							/* GPUREG_CLOCK_H */
