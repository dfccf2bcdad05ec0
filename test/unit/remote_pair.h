/*
 * remote_pair.h: a client and its server, a thread of the same process, so both see the same memory.
 */
#ifndef GPUREG_REMOTE_PAIR_H
#define GPUREG_REMOTE_PAIR_H

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "compute/backend/backend.h"
#include "compute/remote/remote.h"

/* A client, its server, and the server's thread */
typedef struct Pair
{
	GrChannel	channel;
	GrRemoteClient client;
	GrRemoteServer server;
	pthread_t	thread;
	int			nleased;		/* areas leased at this time */
	size_t		asked;			/* bytes asked for admission */
	size_t		released;		/* bytes released */
	bool		lost;
} Pair;

/* Leases a further area, whose memory is the same on both sides. */
static inline int
lease(GrRemoteClient *client, size_t nbytes)
{
	Pair	   *pair = client->owner;

	for (int a = 0; a < GR_REMOTE_AREAS; a++)
	{
		if (pair->channel.area_nbytes[a] != 0)
			continue;
		client->areas[a] = pair->server.areas[a] = malloc(nbytes);
		pair->channel.area_nbytes[a] = pair->server.area_nbytes[a] = nbytes;
		pair->nleased++;
		return a;
	}
	return -1;
}

static inline void
end_lease(GrRemoteClient *client, int area)
{
	Pair	   *pair = client->owner;

	free(client->areas[area]);
	client->areas[area] = pair->server.areas[area] = NULL;
	pair->channel.area_nbytes[area] = pair->server.area_nbytes[area] = 0;
	pair->nleased--;
}

static inline bool
admit(GrRemoteServer *server, const GrAdmission *wanted, const GrHost *host, double *waited_s, GrError *err)
{
	Pair	   *pair = server->owner;

	(void) host;
	*waited_s = 0;
	pair->asked += wanted->nbytes;
	return wanted->nbytes < ((size_t) 1 << 40) || gr_fail(err, GR_DEVICE_MEMORY, 0, "too much");
}

static inline void
release(GrRemoteServer *server, size_t nbytes, const GrStay *stay)
{
	(void) stay;
	((Pair *) server->owner)->released += nbytes;
}

static inline void
lost(GrRemoteServer *server, const GrError *err)
{
	(void) err;
	((Pair *) server->owner)->lost = true;
}

static inline void *
serve(void *arg)
{
	gr_remote_serve(&((Pair *) arg)->server);
	return NULL;
}

static inline Pair *
begin_pair(const GrBackend *backend)
{
	Pair	   *pair = calloc(1, sizeof(Pair));

	(void) gr_channel_begin(&pair->channel);
	pair->client = (GrRemoteClient) {.channel = &pair->channel,.lease = lease,.end_lease = end_lease,.owner = pair};
	pair->server = (GrRemoteServer) {
		.channel = &pair->channel,.backend = backend,.admit = admit,.release = release,.lost = lost,.owner = pair
	};
	pair->channel.bulk = lease(&pair->client, GR_REMOTE_BULK_NBYTES);
	(void) pthread_create(&pair->thread, NULL, serve, pair);
	return pair;
}

static inline void
end_pair(Pair *pair)
{
	gr_channel_close(&pair->channel);
	(void) pthread_join(pair->thread, NULL);
	for (int a = 0; a < GR_REMOTE_AREAS; a++)
		if (pair->channel.area_nbytes[a] != 0)
			end_lease(&pair->client, a);
	gr_channel_end(&pair->channel);
	free(pair);
}

#endif							/* GPUREG_REMOTE_PAIR_H */
