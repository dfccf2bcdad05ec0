/*
 * backend_many.h: gr_backend_many, several devices of one machine as one.
 *
 * A session is one of each device. Rows are dealt to a sink of each (sink_many.h); random projection and solving are
 * the first one's. What can't be had of one device can't be had of any.
 */
#ifndef GPUREG_BACKEND_MANY_H
#define GPUREG_BACKEND_MANY_H

#include "compute/backend/backend.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What opens a session of gr_backend_many, over any devices and sinks; for the tests. */
extern bool gr_many_open(GrSession **session, const GrDeviceOps *device, const GrSinkOps *sink,
						 const GrOpenOptions *options, GrError *err);

#ifdef __cplusplus
}
#endif
#endif							/* GPUREG_BACKEND_MANY_H */
