/*
 * remote_ask.h: commands and object numbers of a client, shared by remote_client.c and remote_project.c.
 */
#ifndef GPUREG_REMOTE_ASK_H
#define GPUREG_REMOTE_ASK_H

#include "compute/remote/remote.h"

/* An object of the server. On a later connection the number may be another object's. */
typedef struct GrRemoteHandle
{
	uint64_t	connection;
	int			number;
} GrRemoteHandle;

/*
 * Posts a command and waits until it is carried out. n: GrRemoteCommand.n. Returns false with the server's error, if
 * the host asked to stop, or if the server is gone.
 */
extern bool gr_remote_ask(GrRemoteClient *client, GrRemoteOp op, int object, int64_t n, const GrHost *host,
						  GrError *err);

/* Reserves an unused object number. Fails with GR_DEVICE_MEMORY, or GR_DEVICE_FAILED if the server is gone. */
extern bool gr_remote_take_object(GrRemoteClient *client, GrRemoteHandle *object, GrError *err);

/* Ends an object of the server. Cannot fail: a server that does not answer has ended. */
extern void gr_remote_end_object(GrRemoteClient *client, GrRemoteHandle object);

/* True if the object exists and none of its sends has failed. */
extern bool gr_remote_check_object(GrRemoteClient *client, GrRemoteHandle object, GrError *err);

extern const GrProjectorOps gr_remote_projector_ops;

#endif							/* GPUREG_REMOTE_ASK_H */
