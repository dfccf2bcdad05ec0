/*
 * remote.h: a backend whose objects live in a server: a process that owns a device and serves many others or, in the
 * tests, a thread. The device service (src/run/service_*.c) makes servers and clients; sessions use the client's
 * tables.
 *
 * A client and its server share a channel in memory that both have mapped, perhaps at different addresses:
 *
 *   client  -- commands -->  channel.queue  -->  server's thread for the channel  -->  tables of its own backend
 *   client  <-- replies, object states, times --  channel
 *
 * The client writes commands into the queue; the server carries them out one after the other. Rows are not copied: they
 * are sent from areas, blocks of memory that both have mapped. Arrays of arguments and results go through one of these,
 * the bulk area. The caller makes channels and areas and starts servers: in PostgreSQL's shared memory, by service_*.c.
 *
 * A client's functions must be called by one thread at a time. The server trusts nothing in a channel: it copies a
 * command and its arguments, and checks them against its own objects and areas (remote_check.h) before it carries the
 * command out.
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
#define GR_REMOTE_OBJECTS 112	/* most sinks, factors and projects of a client at a time: GR_FOLDS_MAX and some more */
#define GR_REMOTE_COMMANDS 512	/* length of the queue; more than any ring has blocks */
#define GR_REMOTE_BULK_NBYTES ((size_t) 256 << 10)	/* least bulk area; enough for threads */

typedef enum GrRemoteOp
{
	GR_REMOTE_BEGIN,
	GR_REMOTE_SEND,				/* the only command without a reply */
	GR_REMOTE_RESTART,
	GR_REMOTE_FINISH,
	GR_REMOTE_SUMS,				/* sums of a request */
	GR_REMOTE_CHANGE,
	GR_REMOTE_CAN_ASCEND,
	GR_REMOTE_ASCEND,
	GR_REMOTE_FACTOR,
	GR_REMOTE_INVERSE,
	GR_REMOTE_PROJECT,
	GR_REMOTE_SUBMIT,
	GR_REMOTE_TAKE,
	GR_REMOTE_STORE,			/* gives a sink that stays to the store */
	GR_REMOTE_DERIVE,			/* makes a sink by deriving rows that are stored, or another sink's */
	GR_REMOTE_READ,				/* reads stored rows; names no object */
	GR_REMOTE_END				/* ends an object of any kind */
} GrRemoteOp;

typedef struct GrRemoteCommand
{
	GrRemoteOp	op;
	int			object;
	int			area;			/* SEND: area of the rows */
	/* SEND: the rows complete a call of the client's; false: more rows of the call follow */
	bool		counts;
	uint64_t	offset;			/* SEND: offset of the rows in the area */
	/* SEND, READ: rows; SUBMIT: vectors; TAKE: batch; FINISH: index of the first sum wanted */
	int64_t		n;
} GrRemoteCommand;

/* Arguments and results of a command with a reply, besides the bulk area's arrays. Pointers only tell if set. */
typedef struct GrRemoteArguments
{
	GrSinkOptions sink;
	GrBasis		basis;
	GrAscent	ascent;
	GrFactorJob factor;
	GrProjectOptions project;
	GrDraw		draw;
	/* RESTART: has a shift; CAN_ASCEND: single, then the answer; ASCEND: converged; DERIVE: a sink is wanted */
	bool		flag;
	/*
	 * SUMS: bytes of the request; ASCEND: iterations; PROJECT: vectors of a batch, in and out; TAKE: vectors; READ:
	 * first row; STORE: bytes of the description; DERIVE: bytes of the derivation
	 */
	int64_t		n;
	int			area;			/* PROJECT: area of a batch of vectors, followed by projections */
	double		divisor;		/* INVERSE */
	uint64_t	stored;			/* STORE, DERIVE, READ: number under which the rows are stored */
	int			from;			/* DERIVE: the client's object to derive from; -1: the stored rows */
	GrRowRules	rules;			/* DERIVE */
	GrDeriveCounts counts;		/* DERIVE, result */
} GrRemoteArguments;

/* State of an object that the client may read at any time */
typedef struct GrRemoteObject
{
	int64_t		nread;			/* calls of send whose rows have been read */
	uint32_t	failed;			/* a send has failed; error says why */
	GrError		error;
	GrTimes		times;
} GrRemoteObject;

typedef struct GrChannel
{
	sem_t		requests;		/* wakes the server */
	sem_t		replies;		/* wakes the client if client_waits is set */
	uint32_t	client_waits;
	uint32_t	closing;		/* set by the client or on its behalf: the server ends all objects and returns */
	/* set if the client's statement is canceled: the present command fails with GR_CANCELED */
	uint32_t	canceled;
	uint32_t	server_gone;	/* the server has ended; gone_error says why */
	uint32_t	nobjects;		/* objects that the client has */
	uint64_t	admitted_nbytes;	/* memory admitted for the client's rows */
	uint64_t	nasked;			/* commands put into the queue so far */
	uint64_t	ndone;			/* commands carried out so far */
	GrRemoteCommand queue[GR_REMOTE_COMMANDS];
	GrRemoteArguments arguments;
	GrError		reply;			/* error of the last command with a reply */
	GrRemoteObject objects[GR_REMOTE_OBJECTS];
	size_t		area_nbytes[GR_REMOTE_AREAS];	/* 0: no such area */
	int			bulk;			/* the area of arguments and results */
	GrError		gone_error;
} GrChannel;

/*
 * Initialises a channel. Returns false if semaphores cannot be made. gr_channel_end() frees these; nobody may use the
 * channel any more.
 */
extern bool gr_channel_begin(GrChannel *channel);
extern void gr_channel_end(GrChannel *channel);

/*
 * Seconds that a client waits for a command that it has canceled. A call of a device may never return; the client then
 * gives the server up.
 */
#define GR_REMOTE_PATIENCE_S 10.0

/* The client's side: a GrSession of gr_backend_remote, filled in by its owner */
typedef struct GrRemoteClient
{
	GrChannel  *channel;
	char	   *areas[GR_REMOTE_AREAS]; /* address of each area in this process; NULL: none */
	/* number of the connection, given by the owner; objects of an earlier connection are gone */
	uint64_t	connection;
	bool		used[GR_REMOTE_OBJECTS];
	uint32_t	stopping;		/* set by another thread: waits for the server are canceled */
	double		patience_s;		/* seconds to wait for a canceled server; 0: GR_REMOTE_PATIENCE_S */
	uint32_t	given_up;		/* the server took longer: this connection is no longer used */
	GrDeviceInfo info;			/* description of the server's device */
	/*
	 * lease returns the number of a further area of at least nbytes, or -1 if there is none, or none for this thread;
	 * end_lease gives it back. NULL: there are no further areas.
	 */
	int			(*lease) (struct GrRemoteClient *client, size_t nbytes);
	void		(*end_lease) (struct GrRemoteClient *client, int area);
	void	   *owner;			/* the owner's, for the callbacks */
} GrRemoteClient;

/*
 * Backend of a client. Rows outside all areas are copied through the bulk area. Of its device table only describe() is
 * set, as the owner opens and closes.
 */
extern const GrBackend gr_backend_remote;
extern const GrBackend gr_backend_remote_cpu;	/* for a server whose backend is the CPU, which has no solver */

/*
 * Moves the rows of a sink that stays to the server's store, under number id, which must be unused. Afterwards the sink
 * may only be ended. description_nbytes: memory that the rows' description takes elsewhere while they stay; it is
 * admitted along with theirs.
 */
extern bool gr_remote_store(GrSink *sink, uint64_t id, size_t description_nbytes, GrError *err);

/*
 * derive() of the rows stored under number id. options: expected_nbytes is the memory that derived rows may take. Fails
 * with GR_INVALID if nothing is stored under id any more.
 */
extern bool gr_remote_derive(GrRemoteClient *client, uint64_t id, const GrDeriveTask *task, const GrHost *host,
							 GrError *err);

/*
 * read() of the rows stored under number id, which have ncolumns columns: sets *rows to nrows rows from number first
 * on, in memory that is valid until the client's next command. Fails with GR_INVALID if nothing is stored under id any
 * more.
 */
extern bool gr_remote_read(GrRemoteClient *client, uint64_t id, int ncolumns, int64_t first, int64_t nrows,
						   const double **rows, const GrHost *host, GrError *err);

/* Tells the server's thread to end all objects of the client and return. Does not wait for it. */
extern void gr_channel_close(GrChannel *channel);

/*
 * Position in the bulk area. Arrays of arguments and results follow each other there, in the order in which client and
 * server call gr_wire().
 */
typedef struct GrRemoteWire
{
	char	   *at;				/* NULL: only count */
	size_t		nbytes;			/* used so far */
	size_t		limit;
} GrRemoteWire;

/* Returns room for nbytes, aligned to 64 bytes; NULL if wire only counts, or there is no room left. */
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

/* The server's side: an object */
typedef struct GrServed
{
	GrRemoteOp	kind;			/* BEGIN, FACTOR or PROJECT */
	void	   *object;			/* the backend's object; NULL: none */
	GrSinkOptions options;		/* BEGIN: options at its beginning */
	int64_t		ncalls;			/* calls of the backend's send */
	int64_t		ncounted;		/* calls of the client's */
	int64_t		nread;			/* calls of the backend's whose rows have been read */
	int64_t		nrows;			/* BEGIN: rows sent */
	int64_t		nterms;			/* FACTOR */
	bool		can_invert;		/* FACTOR: INVERSE may follow, once */
	int			area;			/* PROJECT: area of its vectors and projections */
	int64_t		dim;			/* PROJECT: elements of a vector */
	int64_t		k;				/* PROJECT: elements of a projection */
	int64_t		capacity;		/* PROJECT: vectors of a batch */
	int			nsubmitted;		/* PROJECT: batches submitted and not taken */
	size_t		admitted;		/* bytes of memory admitted */
	double		waited_s;
	double	   *sums;			/* BEGIN: hi, then lo, while the client fetches the sums piece by piece; else NULL */
} GrServed;

/* Stored rows while somebody uses them */
typedef struct GrRemoteStored
{
	GrSink	   *sink;
	int			ncolumns;
	void	   *owner;			/* the store's own */
} GrRemoteStored;

/* Store of rows that outlive their client, shared by all clients. Several threads may call each function at once. */
typedef struct GrRemoteStore
{
	GrSession  *session;		/* session for sinks that stay; NULL on the CPU */
	/*
	 * Takes over a sink that stays. nbytes, admitted for owner, cover its rows and their description. Returns false
	 * with an error if it does not take the sink.
	 */
	bool		(*put) (uint64_t id, GrSink *sink, int ncolumns, size_t nbytes, uint32_t owner, GrError *err);
	/*
	 * Takes the rows of number id for one user at a time, waits for other users, and polls host. Returns false with
	 * GR_INVALID or GR_CANCELED. give_back() ends the use.
	 */
	bool		(*take) (uint64_t id, GrRemoteStored *stored, const GrHost *host, GrError *err);
	void		(*give_back) (const GrRemoteStored *stored);
} GrRemoteStore;

/* Memory that a sink asks the server for */
typedef struct GrAdmission
{
	size_t		nbytes;
	double		wait_s;			/* seconds to wait for memory in use by others */
	const GrStay *stay;			/* set if the rows stay; NULL: they end with the client's work */
} GrAdmission;

typedef struct GrRemoteServer
{
	GrChannel  *channel;
	const GrBackend *backend;
	GrSession  *session;		/* session of the backend; NULL on the CPU */
	char	   *areas[GR_REMOTE_AREAS]; /* addresses in this process; set before a command names the area */
	size_t		area_nbytes[GR_REMOTE_AREAS];	/* set before areas */
	GrServed	objects[GR_REMOTE_OBJECTS];
	GrRemoteArguments arguments;	/* the present command's, copied where no other process can write */
	GrRemoteWire bulk;			/* bulk area of the present command; at is NULL if there is none */
	GrProjectionCache *cache;	/* projections of the CPU backend */
	const GrRemoteStore *store; /* NULL: no rows can stay */
	/*
	 * Admits memory for a sink. Waits for it as wanted says, polls host, and sets *waited_s. Returns false with
	 * GR_DEVICE_MEMORY, GR_OVER_QUOTA or GR_CANCELED. NULL: memory is not admitted.
	 */
	bool		(*admit) (struct GrRemoteServer *server, const GrAdmission *wanted, const GrHost *host,
						  double *waited_s, GrError *err);
	/* Gives back nbytes that were admitted with this stay. */
	void		(*release) (struct GrRemoteServer *server, size_t nbytes, const GrStay *stay);
	/* Called once, by the thread that notices it, if the backend has lost its device. */
	void		(*lost) (struct GrRemoteServer *server, const GrError *err);
	void	   *owner;
	bool		told;			/* lost() was called */
	GrHost		host;			/* the objects' host, set by gr_remote_serve() */
} GrRemoteServer;

/* Serves the channel until it is closed, and then ends all its objects. Call it in a thread of its own. */
extern void gr_remote_serve(GrRemoteServer *server);

/*
 * Parts of gr_remote_serve(), for tests: carries out one command, which must be the server's own copy; ends all
 * objects. server->host must be set.
 */
extern void gr_remote_serve_command(GrRemoteServer *server, const GrRemoteCommand *command);
extern void gr_remote_end_all(GrRemoteServer *server);

/* True if the server seems to have objects, as far as another thread can tell. */
extern bool gr_remote_is_busy(const GrRemoteServer *server);

/* Ends the server for the client, whose calls fail with err from now on. */
extern void gr_channel_abandon(GrChannel *channel, const GrError *err);

#endif							/* GPUREG_REMOTE_H */
