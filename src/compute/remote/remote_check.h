/*
 * remote_check.h: whether a command that reaches a server can be carried out, by what the server has itself.
 */
#ifndef GPUREG_REMOTE_CHECK_H
#define GPUREG_REMOTE_CHECK_H

#include "compute/remote/remote.h"

/*
 * True if the command, with these arguments, is one for what the server's object is at present: a sink that sums or
 * keeps, a factorisation, a projection or nothing yet. Command and arguments are the server's own copies. Nothing of
 * the arrays in the bulk area is looked at, but that they fit: what they hold is checked by who carries the command
 * out. False with GR_INVALID, or with GR_DEVICE_FAILED where GR_INVALID says that rows are gone.
 */
extern bool gr_remote_check(const GrRemoteServer *server, const GrRemoteCommand *command,
							const GrRemoteArguments *arguments, GrError *err);

/* True if a command that was checked begins an object. */
extern bool gr_remote_begins(GrRemoteOp op);

/* True if n numbers of `width` bytes each, from offset on, are within the server's area, at a multiple of `align`. */
extern bool gr_remote_has(const GrRemoteServer *server, int area, uint64_t offset, int64_t n, size_t width,
						  size_t align);

#endif							/* GPUREG_REMOTE_CHECK_H */
