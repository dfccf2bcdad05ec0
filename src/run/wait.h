/*
 * wait.h: names of what processes wait for, as pg_stat_activity shows them.
 */
#ifndef GPUREG_WAIT_H
#define GPUREG_WAIT_H

#include "postgres.h"

typedef enum GrWait
{
	GR_WAIT_RING,				/* a process that reads rows, for a free block of a ring */
	GR_WAIT_EXCHANGE,			/* a process that scans, for other processes' groups */
	GR_WAIT_SERVICE,			/* a session, for a device service */
	GR_WAIT_SERVICE_IDLE,		/* a device service, for commands */
	GR_NWAITS
} GrWait;

/*
 * Returns the number of a wait, for WaitLatch() and the like. PostgreSQL before 17 shows all as "Extension". ERROR if
 * the server has no room for the name, which happens if extensions have made more than a hundred.
 */
extern uint32 gr_wait_event(GrWait wait);

#endif							/* GPUREG_WAIT_H */
