/*
 * service_memory.h: how a device service gives out memory for rows. A client that asks for more than is left waits for
 * others, or computes elsewhere. Rows that stay are limited by owner.
 */
#ifndef GPUREG_SERVICE_MEMORY_H
#define GPUREG_SERVICE_MEMORY_H

#include "postgres.h"

#include "compute/remote/remote.h"

/*
 * Sets how much may be given out: a share of nbytes_free, or gpureg.service_memory. Memory that was given out already
 * is not taken back. device_limits: gpureg.service_memory cannot exceed what nbytes_free allows.
 */
extern void gr_memory_set_total(uint64 nbytes_free, bool device_limits);

/* Implement GrRemoteServer.admit() and release(), for the threads of all clients. */
extern bool gr_memory_admit(GrRemoteServer *server, const GrAdmission *wanted, const GrHost *host, double *waited_s,
							GrError *err);
extern void gr_memory_release(GrRemoteServer *server, size_t nbytes, const GrStay *stay);

#endif							/* GPUREG_SERVICE_MEMORY_H */
