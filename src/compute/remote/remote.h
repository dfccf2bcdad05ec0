/*
 * remote.h: a backend whose objects live elsewhere: in a server, a process that owns a device and serves many others,
 * or, in the tests, a thread.
 *
 * A client and its server share a channel, in memory that both have mapped, perhaps at different addresses. The client
 * writes commands into the channel's queue; the server's thread for that channel carries them out one after the other,
 * by the tables of a backend of its own. Rows are not copied: they are sent from areas, pieces of memory that both
 * have, and arrays of arguments and results go through one of those, the bulk area. Whoever makes channels and areas,
 * and starts servers, is the caller: src/run/service_*.c do it in PostgreSQL's shared memory.
 *
 * A client's functions are called by one thread at a time. The server believes nothing that a channel says: it copies a
 * command and its arguments, and checks them against the objects and areas that it has itself (remote_check.h), before
 * it carries the command out.
 */
#ifndef GPUREG_REMOTE_H
#define GPUREG_REMOTE_H

#include <semaphore.h>

#include "compute/backend/backend.h"
#include "compute/design/derive.h"
#include "compute/glm/glm.h"
#include "compute/linalg/basis.h"
#include "compute/project/draw.h"
#include "compute/project/projection.h"
#include "compute/request/request.h"

#define GR_REMOTE_AREAS 16
#define GR_REMOTE_OBJECTS 112	/* sinks, factors and projects of one client at a time: GR_FOLDS_MAX and some */
#define GR_REMOTE_COMMANDS 512	/* more than any ring has blocks */
#define GR_REMOTE_BULK_NBYTES ((size_t) 256 << 10)	/* least size of the bulk area: what a thread's calls need */

typedef enum GrRemoteOp
{
	GR_REMOTE_BEGIN,
	GR_REMOTE_SEND,				/* the only one that isn't answered */
	GR_REMOTE_RESTART,
	GR_REMOTE_FINISH,
	GR_REMOTE_SUMS,				/* of a request */
	GR_REMOTE_CHANGE,
	GR_REMOTE_CAN_ASCEND,
	GR_REMOTE_ASCEND,
	GR_REMOTE_FACTOR,
	GR_REMOTE_INVERSE,
	GR_REMOTE_PROJECT,
	GR_REMOTE_SUBMIT,
	GR_REMOTE_TAKE,
	GR_REMOTE_STORE,			/* a sink that stays */
	GR_REMOTE_DERIVE,			/* a sink, of rows that are stored or of another sink's */
	GR_REMOTE_READ,				/* of those, back; of no object */
	GR_REMOTE_END				/* of an object of any kind */
} GrRemoteOp;

typedef struct GrRemoteCommand
{
	GrRemoteOp	op;
	int			object;
	int			area;			/* SEND: where the rows are */
	bool		counts;			/* SEND: as a call; else the rest of the call's rows follows */
	uint64_t	offset;			/* SEND: in the area */
	int64_t		n;				/* SEND, READ: rows; SUBMIT: vectors; FINISH: the first sum that is wanted */
} GrRemoteCommand;

/* What a command that is answered takes and gives besides what is in the bulk area; pointers in it only say whether. */
typedef struct GrRemoteArguments
{
	GrSinkOptions sink;
	GrBasis		basis;
	GrAscent	ascent;
	GrFactorJob factor;
	GrProjectOptions project;
	GrDraw		draw;
	bool		flag;			/* RESTART: has a shift; CAN_ASCEND: single, and the answer; ASCEND: converged */
	/*
	 * SUMS: the request's bytes; ASCEND: iterations; PROJECT: vectors of a batch, in and out; TAKE: vectors; READ: the
	 * first row; STORE: bytes
	 */
	int64_t		n;
	int			area;			/* PROJECT: of its vectors and, behind a batch of those, projections */
	double		divisor;		/* INVERSE */
	uint64_t	stored;			/* STORE, DERIVE, READ: as what the rows are stored */
	int			from;			/* DERIVE: or of which object of the client's they are; -1: they are stored */
	GrRowRules	rules;			/* DERIVE; then n is the derivation's bytes, and flag whether a sink is wanted */
	GrDeriveCounts counts;		/* DERIVE, out */
} GrRemoteArguments;

/* What a client may read of an object at any time */
typedef struct GrRemoteObject
{
	int64_t		nread;			/* calls of send whose rows have been read */
	uint32_t	failed;			/* a send has: error says how */
	GrError		error;
	GrTimes		times;
} GrRemoteObject;

typedef struct GrChannel
{
	sem_t		requests;		/* posted for the server, */
	sem_t		replies;		/* and for the client where client_waits */
	uint32_t	client_waits;
	uint32_t	closing;		/* by the client, or on its behalf: the server ends all objects and returns */
	uint32_t	canceled;		/* the client's statement: what is under way fails with GR_CANCELED */
	uint32_t	server_gone;	/* gone_error says why */
	uint32_t	nobjects;		/* that the client has, */
	uint64_t	admitted_nbytes;	/* and the memory of their rows */
	uint64_t	nasked;			/* commands in the queue so far, */
	uint64_t	ndone;			/* and those carried out */
	GrRemoteCommand queue[GR_REMOTE_COMMANDS];
	GrRemoteArguments arguments;
	GrError		reply;			/* of the last command that is answered */
	GrRemoteObject objects[GR_REMOTE_OBJECTS];
	size_t		area_nbytes[GR_REMOTE_AREAS];	/* 0: there is none */
	int			bulk;			/* the area of arguments and results */
	GrError		gone_error;
} GrChannel;

/* False if there can be no semaphores. gr_channel_end(): nobody uses it any more. */
extern bool gr_channel_begin(GrChannel *channel);
extern void gr_channel_end(GrChannel *channel);

/* A device's call that never returns is not the client's: it waits so long for what it has canceled, and then goes. */
#define GR_REMOTE_PATIENCE_S 10.0

/*
 * The client's side: a GrSession of gr_backend_remote, which its owner fills in.
 */
typedef struct GrRemoteClient
{
	GrChannel  *channel;
	char	   *areas[GR_REMOTE_AREAS]; /* here; NULL: none */
	uint64_t	connection;		/* the caller's number of it: objects of another, which has ended, are no more */
	bool		used[GR_REMOTE_OBJECTS];
	uint32_t	stopping;		/* set by another thread: what waits for the server is canceled */
	double		patience_s;		/* for a server that was canceled; 0: GR_REMOTE_PATIENCE_S */
	uint32_t	given_up;		/* it took longer: nothing is asked of it any more, on this connection */
	GrDeviceInfo info;			/* of the server's device */
	/*
	 * A further area, of at least so many bytes: its number, or -1 where that can't be had, in this thread at least.
	 * And: it goes. NULL: there are no further ones
	 */
	int			(*lease) (struct GrRemoteClient *client, size_t nbytes);
	void		(*end_lease) (struct GrRemoteClient *client, int area);
	void	   *owner;			/* theirs */
} GrRemoteClient;

/* Rows that aren't in an area are copied through the bulk area. device has describe() alone: others open and close. */
extern const GrBackend gr_backend_remote;
extern const GrBackend gr_backend_remote_cpu;	/* the server's backend is the CPU: without a solver, as that one is */

/*
 * Of a sink that stays: its rows become the server's, as number id, which nothing there has. Nothing but its end may be
 * asked of it afterwards. description_nbytes: memory elsewhere that the rows' description takes as long as they stay,
 * which is admitted with theirs.
 */
extern bool gr_remote_store(GrSink *sink, uint64_t id, size_t description_nbytes, GrError *err);

/*
 * derive() of the sink that is stored as number id. options: its expected_nbytes are what the derived rows may take.
 * With GR_INVALID where nothing is stored as that any more.
 */
extern bool gr_remote_derive(GrRemoteClient *client, uint64_t id, const GrDeriveTask *task, const GrHost *host,
							 GrError *err);

/*
 * read() of the sink that is stored as number id, which has so many columns: *rows are nrows rows from number first on,
 * in memory that stays as it is until the client asks for anything else. With GR_INVALID likewise
 */
extern bool gr_remote_read(GrRemoteClient *client, uint64_t id, int ncolumns, int64_t first, int64_t nrows,
						   const double **rows, const GrHost *host, GrError *err);

/* Tells the server to end all the client's objects and its thread; doesn't wait for it. */
extern void gr_channel_close(GrChannel *channel);

/*
 * For both sides: arrays of arguments and results stand one after the other in the bulk area, in the order in which
 * both ask for them here.
 */
typedef struct GrRemoteWire
{
	char	   *at;				/* NULL: only counts */
	size_t		nbytes;			/* used so far */
	size_t		limit;
} GrRemoteWire;

/* Room for so many bytes, aligned; NULL where it only counts, or where there is none left */
static inline void *
gr_wire(GrRemoteWire *wire, size_t nbytes)
{
	size_t		from = wire->nbytes;

	/* a size beyond all memory must not wrap around */
	if (nbytes > SIZE_MAX / 4 || from > SIZE_MAX / 4)
		wire->nbytes = SIZE_MAX / 2;
	else
		wire->nbytes += (nbytes + 63) / 64 * 64;
	return wire->at == NULL || wire->nbytes > wire->limit ? NULL : wire->at + from;
}

/*
 * The server's side
 */
typedef struct GrServed
{
	GrRemoteOp	kind;			/* BEGIN, FACTOR or PROJECT */
	void	   *object;			/* the backend's; NULL: none */
	GrSinkOptions options;		/* BEGIN: what it was begun with */
	int64_t		ncalls;			/* of the backend's send */
	int64_t		ncounted;		/* of the client's */
	int64_t		nread;			/* of the backend's calls */
	int64_t		nrows;			/* BEGIN: sent */
	int64_t		nterms;			/* FACTOR */
	bool		can_invert;		/* FACTOR: INVERSE may come, once */
	int			area;			/* PROJECT: of its vectors and projections */
	int64_t		dim;			/* PROJECT: numbers of a vector, */
	int64_t		k;				/* and of its projection */
	int64_t		capacity;		/* vectors of a batch */
	int			nsubmitted;		/* PROJECT: batches, and not taken */
	size_t		admitted;		/* bytes */
	double		waited_s;
	double	   *sums;			/* SUM: hi, then lo, of which the client has got the first pieces; or NULL */
} GrServed;

/* Rows that are stored, while somebody uses them */
typedef struct GrRemoteStored
{
	GrSink	   *sink;
	int			ncolumns;
	void	   *owner;			/* the store's */
} GrRemoteStored;

/* Where rows stay that outlive their client, of all clients: each function may be called by several threads at once. */
typedef struct GrRemoteStore
{
	GrSession  *session;		/* of the backend, that sinks which stay are of; NULL on the CPU */
	/*
	 * Takes over a sink that stays: its rows and their description take nbytes, which were admitted for the owner.
	 * False with an error: it didn't
	 */
	bool		(*put) (uint64_t id, GrSink *sink, int ncolumns, size_t nbytes, uint32_t owner, GrError *err);
	/* For one at a time, waiting for the others, polling host; false with GR_INVALID or GR_CANCELED. And back */
	bool		(*take) (uint64_t id, GrRemoteStored *stored, const GrHost *host, GrError *err);
	void		(*give_back) (const GrRemoteStored *stored);
} GrRemoteStore;

/* Memory that a sink asks the server for */
typedef struct GrAdmission
{
	size_t		nbytes;
	double		wait_s;			/* seconds to wait for memory that others give back */
	const GrStay *stay;			/* the rows stay, as this says; NULL: they go with the client's work */
} GrAdmission;

typedef struct GrRemoteServer
{
	GrChannel  *channel;
	const GrBackend *backend;
	GrSession  *session;		/* of the backend; NULL on the CPU */
	char	   *areas[GR_REMOTE_AREAS]; /* here, set before a command names them */
	size_t		area_nbytes[GR_REMOTE_AREAS];	/* set before areas */
	GrServed	objects[GR_REMOTE_OBJECTS];
	GrRemoteArguments arguments;	/* of the present command: a copy that no other process can write to */
	GrRemoteWire bulk;			/* the command's bulk area; at is NULL if there is none */
	GrProjectionCache *cache;	/* the CPU's */
	const GrRemoteStore *store; /* NULL: nothing stays */
	/*
	 * True if a sink may take the memory that it wants; waits for it as long as wanted says, polling host, and sets
	 * *waited_s. False with GR_DEVICE_MEMORY, GR_OVER_QUOTA or GR_CANCELED. NULL: no one asks
	 */
	bool		(*admit) (struct GrRemoteServer *server, const GrAdmission *wanted, const GrHost *host,
						  double *waited_s, GrError *err);
	/* Gives nbytes back that were admitted with this stay. */
	void		(*release) (struct GrRemoteServer *server, size_t nbytes, const GrStay *stay);
	/* the backend has lost its device; called by the thread that met it */
	void		(*lost) (struct GrRemoteServer *server, const GrError *err);
	void	   *owner;
	bool		told;			/* lost() was called */
	GrHost		host;			/* what objects are given: set by gr_remote_serve() */
} GrRemoteServer;

/* Serves the channel until it is closed, and then ends all its objects; to be called by a thread of its own. */
extern void gr_remote_serve(GrRemoteServer *server);

/*
 * Parts of gr_remote_serve(), for tests: carries out one command, which must be the server's own copy, and ends all
 * objects. server->host must be set.
 */
extern void gr_remote_serve_command(GrRemoteServer *server, const GrRemoteCommand *command);
extern void gr_remote_end_all(GrRemoteServer *server);

/* Has objects, as far as another thread can tell */
extern bool gr_remote_is_busy(const GrRemoteServer *server);

/* The server goes: the client's calls fail with this error from now on. */
extern void gr_channel_abandon(GrChannel *channel, const GrError *err);

#endif							/* GPUREG_REMOTE_H */
