/*
 * remote_check.h: checks whether the server can carry out a command, by the server's own state. remote_server.c calls
 * it first.
 */
#ifndef GPUREG_REMOTE_CHECK_H
#define GPUREG_REMOTE_CHECK_H

#include "compute/remote/remote.h"

/*
 * True if command and arguments, both the server's own copies, are valid for the server's present object: a sink
 * that sums or keeps, a factorization, a projection, or none. Only checks that arrays fit the bulk area; the
 * functions that carry the command out check their contents. Otherwise fails with GR_INVALID. Wrong arguments of
 * DERIVE, READ and STORE, whose GR_INVALID means that rows are gone, fail with GR_DEVICE_FAILED; an unknown command
 * or object or a wrong flag always fails with GR_INVALID.
 */
extern bool gr_remote_check(const GrRemoteServer *server, const GrRemoteCommand *command,
							const GrRemoteArguments *arguments, GrError *err);

/* True if op begins an object. op must be checked already. */
extern bool gr_remote_begins(GrRemoteOp op);

/*
 * True if n numbers of width bytes each, from offset on, lie in the server's area, and offset is a multiple of align.
 */
extern bool gr_remote_has(const GrRemoteServer *server, int area, uint64_t offset, int64_t n, size_t width,
						  size_t align);

#endif							/* GPUREG_REMOTE_CHECK_H */
