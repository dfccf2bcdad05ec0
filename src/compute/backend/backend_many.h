/*
 * backend_many.h: gr_backend_many, a backend that uses several devices of one machine as one.
 *
 * A session has one session of each device. Rows are dealt to one sink per device (sink_many.h). The first device does
 * random projection and solving. A call fails if it fails on one device.
 */
#ifndef GPUREG_BACKEND_MANY_H
#define GPUREG_BACKEND_MANY_H

#include "compute/backend/backend.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Opens a session like gr_backend_many's, over any tables of devices and sinks; for unit tests. */
extern bool gr_many_open(GrSession **session, const GrDeviceOps *device, const GrSinkOps *sink,
						 const GrOpenOptions *options, GrError *err);

#ifdef __cplusplus
}
#endif
#endif							/* GPUREG_BACKEND_MANY_H */
