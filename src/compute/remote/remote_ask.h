/*
 * remote_ask.h: what the client's tables are made of, remote_client.c and remote_project.c: commands, and the server's
 * objects.
 */
#ifndef GPUREG_REMOTE_ASK_H
#define GPUREG_REMOTE_ASK_H

#include "compute/remote/remote.h"

/*
 * Something of the server's. A client that has lost its server may have found another since: the number is another
 * object's then.
 */
typedef struct GrRemoteHandle
{
	uint64_t	connection;
	int			number;
} GrRemoteHandle;

/*
 * Has a command carried out and waits for that; object: its number, n: the command's own. False with the server's
 * error, or if the host asked to stop, or if there is no server any more
 */
extern bool gr_remote_ask(GrRemoteClient *client, GrRemoteOp op, int object, int64_t n, const GrHost *host,
						  GrError *err);

/* A number that no other object has; fails with GR_DEVICE_MEMORY */
extern bool gr_remote_take_object(GrRemoteClient *client, GrRemoteHandle *object, GrError *err);

/* Cannot fail: where the server doesn't answer, it has ended. */
extern void gr_remote_end_object(GrRemoteClient *client, GrRemoteHandle object);

/* Is it there, and has no send failed of which nobody was told? */
extern bool gr_remote_check_object(GrRemoteClient *client, GrRemoteHandle object, GrError *err);

extern const GrProjectorOps gr_remote_projector_ops;

#endif							/* GPUREG_REMOTE_ASK_H */
