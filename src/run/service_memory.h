/*
 * service_memory.h: limits the memory that a device service gives to clients for their rows. A client that asks for
 * more than is left waits until other clients release memory, or computes elsewhere. Each owner of rows that stay has a
 * quota.
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

/*
 * Implement GrRemoteServer.admit() and release(), for the threads of all clients. gr_memory_admit() grants wanted's
 * memory, or waits for it for at most wanted->wait_s, and sets *waited_s to the seconds waited. Returns false with
 * *err if the memory isn't free then, exceeds the owner's quota, or host cancels the wait.
 */
extern bool gr_memory_admit(GrRemoteServer *server, const GrAdmission *wanted, const GrHost *host, double *waited_s,
							GrError *err);
extern void gr_memory_release(GrRemoteServer *server, size_t nbytes, const GrStay *stay);

#endif							/* GPUREG_SERVICE_MEMORY_H */
