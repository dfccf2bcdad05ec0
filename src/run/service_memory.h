/*
 * service_memory.h: how a device service gives out memory for rows: who asks for more than is left waits for others, or
 * goes elsewhere; and what the rows of one owner may take that stay.
 */
#ifndef GPUREG_SERVICE_MEMORY_H
#define GPUREG_SERVICE_MEMORY_H

#include "postgres.h"

#include "compute/remote/remote.h"

/*
 * Sets how much may be given out: what the device has free, or gpureg.service_memory. Memory that was given out already
 * stays so. device_limits: no setting makes it more than nbytes_free allows.
 */
extern void gr_memory_set_total(uint64 nbytes_free, bool device_limits);

/* GrRemoteServer.admit() and release(), for the threads of all clients */
extern bool gr_memory_admit(GrRemoteServer *server, const GrAdmission *wanted, const GrHost *host, double *waited_s,
							GrError *err);
extern void gr_memory_release(GrRemoteServer *server, size_t nbytes, const GrStay *stay);

#endif							/* GPUREG_SERVICE_MEMORY_H */
