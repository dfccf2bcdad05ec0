/*
 * wait.c: names of what processes wait for; see wait.h.
 */
#include "postgres.h"

#include "utils/wait_event.h"

#include "run/compat.h"
#include "run/wait.h"

static const char *const names[GR_NWAITS] = {
	[GR_WAIT_RING] = "GpuregRing",
	[GR_WAIT_EXCHANGE] = "GpuregExchange",
	[GR_WAIT_SERVICE] = "GpuregService",
	[GR_WAIT_SERVICE_IDLE] = "GpuregServiceIdle"
};

uint32
gr_wait_event(GrWait wait)
{
	static uint32 events[GR_NWAITS];

	/* the server looks a name up under a lock, so each process does it once */
	if (events[wait] == 0)
		events[wait] = gr_new_wait_event(names[wait]);
	return events[wait];
}
