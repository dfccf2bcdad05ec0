/*
 * backend.h: what the CPU and a device offer: small const tables of functions, one for each kind of object.
 *
 * Objects (sessions, sinks, projects, factors) are set before anything is acquired for them, so that an owner that is
 * registered first always sees what there is to release. close and end accept NULL and half-opened objects and cannot
 * fail. An object's functions may be called by different threads, one at a time; sinks of one session at the same time.
 */
#ifndef GPUREG_BACKEND_H
#define GPUREG_BACKEND_H

#include "compute/base/compute.h"
#include "compute/base/dd_dot.h"
#include "compute/dist/family.h"
#include "compute/linalg/solver.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct GrAscent GrAscent;	/* glm.h */
typedef struct GrBasis GrBasis; /* basis.h */
typedef struct GrDerivation GrDerivation;	/* derive.h */
typedef struct GrDeriveCounts GrDeriveCounts;
typedef struct GrRequest GrRequest; /* request.h */
typedef struct GrSink GrSink;	/* rows being summed up, or kept */
typedef struct GrProject GrProject; /* vectors being projected */

/* What an object did so far. The seconds are those of copies to and from a device, and of computing. */
typedef struct GrTimes
{
	int64_t		bytes_to_device;
	double		copy_s;
	double		kernel_s;
	double		waited_s;		/* for others' memory, in a device service */
} GrTimes;

/*
 * Devices. A session is opened once and lives as long as its owner; everything else on a device belongs to a session,
 * which must outlive it.
 */
typedef struct GrDeviceInfo
{
	int			id;
	char		name[256];
	int			major;			/* compute capability */
	int			minor;
	size_t		memory_total;	/* bytes */
	size_t		memory_free;	/* bytes */
	char		driver[32];		/* the newest CUDA version the driver supports, as in "13.0" */
	int			nbeside;		/* of a session of several devices: id + 1 .. id + nbeside are its others */
} GrDeviceInfo;

#define GR_ALL_DEVICES (-2)

typedef struct GrOpenOptions
{
	int			device_id;		/* -1: the one with most free memory; gr_backend_many: GR_ALL_DEVICES, too */
	bool		serves_many;	/* the process serves many sessions: it may keep more memory between computations */
} GrOpenOptions;

typedef struct GrDeviceOps
{
	/* Could there be a device at all? Cheap: opens nothing. */
	bool		(*present) (void);
	/* How many there are, numbered from 0; fails where there is none. Opens nothing. */
	bool		(*count) (int *ndevices, GrError *err);
	/* Fills up to max entries, sets *ndevices. No device is not an error: *ndevices = 0 and err->detail says why. */
	bool		(*list) (GrDeviceInfo *devices, int max, int *ndevices, GrError *err);
	bool		(*open) (GrSession **session, const GrOpenOptions *options, GrError *err);

	/* Of a session: NULL where none can be opened */
	void		(*close) (GrSession *session);
	const GrDeviceInfo *(*describe) (const GrSession *session);
	/*
	 * Memory that rows will be sent from, for this device and all others; without it sending is slower. It must be
	 * whole pages and stay until unpin.
	 */
	bool		(*pin) (GrSession *session, void *memory, size_t nbytes, GrError *err);
	void		(*unpin) (GrSession *session, void *memory);
} GrDeviceOps;

/*
 * Sinks: rows are sent to one, and it sums them up into a Gram matrix, or keeps them for passes.
 */
typedef enum GrSinkKind
{
	GR_SINK_SUM,				/* into the Gram matrix of (1, x, y), less a shift; see compute.h and gram_shift.h */
	GR_SINK_KEEP				/* as float8, for as many passes as a fit wants; see glm.h */
} GrSinkKind;

/* Rows that are to stay in a device service: whose they are. See GrSinkOptions.stays */
typedef struct GrStay
{
	uint32_t	owner;			/* for the service, a number; rows of one owner share a quota */
	uint32_t	percent;		/* quota of the owner's rows, in percent of the service's memory; 100: none */
	uint64_t	replaces;		/* stored rows of the owner, which go when these come and don't count; 0: none */
} GrStay;

typedef struct GrSinkOptions
{
	GrRowShape	shape;			/* of the rows that come; products are weighted where they have weights */
	GrSinkKind	kind;
	size_t		block_nbytes;	/* SUM: rows summed up at a time on a device; rounded to at least one row */
	/*
	 * what the sink may take, bytes; 0: no limit but the machine's. On the CPU, KEEP alone heeds it, for its rows; on a
	 * device, passes are counted too.
	 */
	size_t		memory_limit;
	/* KEEP: of all the rows that are to come, as far as is known: what a service admits by, and a device puts first */
	size_t		expected_nbytes;
	double		wait_s;			/* seconds that begin waits for memory that others have, before GR_DEVICE_MEMORY */
	const GrHost *host;			/* polled by begin, and, where it sums on the CPU, by send; may be NULL */
	bool		stays;			/* KEEP, in a device service: it may be stored there; see gr_remote_store() */
	GrStay		stay;			/* where it stays */
} GrSinkOptions;

/* What derive() makes. counts: are set, the totals too. derived NULL: no sink is made; rows are counted and checked. */
typedef struct GrDeriveTask
{
	const GrDerivation *derivation; /* valid for the rows that are here (gr_derivation_valid()) */
	GrRowRules	rules;
	const GrSinkOptions *options;	/* its memory_limit counts; the shape is gr_derived_shape() */
	GrSink	  **derived;
	GrDeriveCounts *counts;
} GrDeriveTask;

typedef struct GrSinkOps
{
	bool		(*begin) (GrSession *session, const GrSinkOptions *options, GrSink **sink, GrError *err);

	/*
	 * Takes rows, which must be finite; of a KEEP that rows are only derived from, NULLs may be NaN. May return before
	 * they are read: they stay as they are until sent() counts the call. KEEP fails with GR_NO_MEMORY or
	 * GR_DEVICE_MEMORY when there is no room for more (within memory_limit, the passes' own needs included); the rows
	 * are then lost.
	 */
	bool		(*send) (GrSink *sink, const void *rows, int64_t nrows, GrError *err);
	/* How many calls' rows have been read so far, in order. wait: first waits for the oldest that isn't. */
	bool		(*sent) (GrSink *sink, bool wait, int64_t *ncalls, GrError *err);

	/*
	 * SUM: begins anew, of rows less shift (the features' and the response's; NULL: none), where no rows are under way:
	 * before the first send, or after finish.
	 */
	bool		(*restart) (GrSink *sink, const double *shift, GrError *err);
	/* SUM: waits, and writes the packed triangle. Entries that overflowed are not finite. */
	bool		(*finish) (GrSink *sink, GrDDVector triangle, GrError *err);

	/*
	 * KEEP: adds all rows to the sums of a request, which gr_request_clear() has prepared; see request.h. Fails with
	 * GR_INVALID if the request is not one over such rows. Polls host on the way.
	 */
	bool		(*sums) (GrSink *sink, const GrRequest *request, double *sums, const GrHost *host, GrError *err);
	/* KEEP: changes the rows by a basis, once, before the first pass that is to see them so. */
	bool		(*change) (GrSink *sink, const GrBasis *basis, const GrHost *host, GrError *err);
	/*
	 * KEEP: gradient ascent without leaving the backend: updates beta (of (1, x)), and sets *iterations (those done)
	 * and *converged. can_ascend says whether the backend has it for these rows; if not, and where both are NULL, the
	 * caller makes passes.
	 */
	bool		(*can_ascend) (const GrSink *sink, bool single);
	bool		(*ascend) (GrSink *sink, const GrAscent *ascent, double *beta, int64_t *iterations, bool *converged,
						   const GrHost *host, GrError *err);

	/*
	 * KEEP: makes another sink of the same session, of kind KEEP, of the rows that a derivation makes of those kept
	 * here; see derive.h for which rows those are. They lie in it as if they had been sent, so that passes over them
	 * have the same bits. Fails as gr_derived_valid() does, and as begin and send do, with *task->derived then the
	 * caller's to end. Polls host. The rows here stay as they are, and rows may be sent afterwards.
	 */
	bool		(*derive) (GrSink *sink, const GrDeriveTask *task, const GrHost *host, GrError *err);

	/*
	 * KEEP, once all that was sent has been read: writes rows first .. first + nrows - 1 as they are kept, in the order
	 * in which they were sent, as float8. Fails with GR_INVALID if there are no such rows. NULL: not to be had
	 */
	bool		(*read) (GrSink *sink, int64_t first, int64_t nrows, double *rows, GrError *err);

	/* All that was sent is counted once finish or a pass has waited for it. */
	void		(*times) (const GrSink *sink, GrTimes *times);
	void		(*end) (GrSink *sink);
} GrSinkOps;

/*
 * Projectors: random projection of vectors of one length, batch by batch; see projection.h for the numbers, which are
 * the same on every backend.
 */
#define GR_MAX_DIM INT32_MAX	/* columns of S, for dense vectors */
#define GR_PROJECT_NSLOTS 2		/* batches under way at a time */

typedef struct GrProjectOptions
{
	const struct GrDraw *draw;	/* S; copied */
	int64_t		dim;			/* length of a vector, 1 .. GR_MAX_DIM */
	int64_t		nvectors;		/* that will come, if known; 0 if not */
	size_t		block_nbytes;	/* size of the batches wanted; rounded to at least one vector */
	size_t		memory_limit;	/* device memory this job may take, S included, bytes; 0: no limit but the device's */
	size_t		cache_nbytes;	/* what S may take to be kept for later jobs */
	struct GrProjectionCache *cache;	/* where the CPU keeps S; a device keeps it in its session */
} GrProjectOptions;

typedef struct GrProjectorOps
{
	/* Draws S unless it is kept from an earlier job, polling host. */
	bool		(*begin) (GrSession *session, const GrProjectOptions *options, const GrHost *host, GrProject **project,
						  GrError *err);
	/*
	 * block hands out room for *capacity vectors of dim float4; submit takes the first nvectors of them, which must be
	 * finite, and may return before the work is done. take waits for the oldest batch submitted and not yet taken, and
	 * points to its nvectors x k results, which stay until the next block. No more than GR_PROJECT_NSLOTS batches may
	 * be submitted and not taken, nor any block be asked for while that many are.
	 */
	bool		(*block) (GrProject *project, float **vectors, int64_t *capacity, GrError *err);
	bool		(*submit) (GrProject *project, int64_t nvectors, const GrHost *host, GrError *err);
	bool		(*take) (GrProject *project, const float **projected, int64_t *nvectors, GrError *err);
	/* Those of the batches taken, and of drawing S. */
	void		(*times) (const GrProject *project, GrTimes *times);
	void		(*end) (GrProject *project);
} GrProjectorOps;

typedef struct GrBackend
{
	const char *name;			/* "cpu" or "gpu" */
	const GrDeviceOps *device;	/* NULL: the CPU, which needs no session */
	/* the others are NULL where the device table has no session to open */
	const GrSinkOps *sink;
	const GrProjectorOps *projector;
	const GrSolverOps *solver;	/* NULL on the CPU: ols.c solves by itself */
} GrBackend;

extern const GrBackend gr_backend_cpu;
extern const GrBackend gr_backend_cuda; /* without nvcc: a device table whose open() says that there is no device */
extern const GrBackend gr_backend_many; /* several of gr_backend_cuda's devices as one; see backend_many.h */

#ifdef __cplusplus
}
#endif
#endif							/* GPUREG_BACKEND_H */
