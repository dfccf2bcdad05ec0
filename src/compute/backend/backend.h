/*
 * backend.h: interface of the backends (CPU and device): a const table of functions for each kind of object.
 *
 * open and begin set the caller's pointer (session, sink, project, factor) before they acquire anything for the object.
 * An owner that is registered first can therefore release a half-opened object. close and end accept NULL and
 * half-opened objects and cannot fail. Different threads may call an object's functions, one thread at a time. Sinks of
 * one session may be used at the same time.
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

/* Work of an object so far: bytes and seconds of copies to and from a device, and seconds of computing. */
typedef struct GrTimes
{
	int64_t		bytes_to_device;
	double		copy_s;
	double		kernel_s;
	double		waited_s;		/* seconds waited for memory that other clients hold, in a device service */
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
	int			nbeside;		/* a session of several devices also has the devices id + 1 .. id + nbeside; else 0 */
} GrDeviceInfo;

#define GR_ALL_DEVICES (-2)

typedef struct GrOpenOptions
{
	int			device_id;		/* -1: the device with most free memory; GR_ALL_DEVICES: gr_backend_many only */
	bool		serves_many;	/* the process serves many sessions: it may keep more memory between computations */
} GrOpenOptions;

typedef struct GrDeviceOps
{
	/* True if the machine may have a device. Cheap: opens nothing. */
	bool		(*present) (void);
	/* Sets *ndevices to the number of devices, numbered from 0. Fails if there is no device. Opens nothing. */
	bool		(*count) (int *ndevices, GrError *err);
	/* Fills up to max entries, sets *ndevices. Without a device returns true, *ndevices = 0 and the reason in err. */
	bool		(*list) (GrDeviceInfo *devices, int max, int *ndevices, GrError *err);
	bool		(*open) (GrSession **session, const GrOpenOptions *options, GrError *err);

	/* Functions of a session. NULL if the backend cannot open one. */
	void		(*close) (GrSession *session);
	const GrDeviceInfo *(*describe) (const GrSession *session);
	/*
	 * Pins memory from which rows will be sent, for this device and all others: sending from it is faster. memory must
	 * consist of whole pages and stay allocated until unpin.
	 */
	bool		(*pin) (GrSession *session, void *memory, size_t nbytes, GrError *err);
	void		(*unpin) (GrSession *session, void *memory);
} GrDeviceOps;

/*
 * Sinks: a sink takes the rows sent to it and sums them into a Gram matrix, or keeps them for passes.
 */
typedef enum GrSinkKind
{
	GR_SINK_SUM,				/* sums rows into the Gram matrix of (1, x, y) less a shift; see gram_shift.h */
	GR_SINK_KEEP				/* keeps rows as float8 for any number of passes; see glm.h */
} GrSinkKind;

/* Owner and quota of rows that stay in a device service; see GrSinkOptions.stays */
typedef struct GrStay
{
	uint32_t	owner;			/* number of the owner; rows of one owner share a quota */
	uint32_t	percent;		/* quota of the owner's rows, in percent of the service's memory; 100: no quota */
	uint64_t	replaces;		/* stored rows of the owner that these rows replace; they don't count; 0: none */
} GrStay;

typedef struct GrSinkOptions
{
	GrRowShape	shape;			/* shape of the rows sent; products are weighted if rows have weights */
	GrSinkKind	kind;
	size_t		block_nbytes;	/* SUM: rows summed up at a time on a device; rounded to at least one row */
	/*
	 * limit of the sink's memory, bytes; 0: no limit but the machine's. On the CPU it limits the rows of KEEP alone; on
	 * a device it includes the memory of passes.
	 */
	size_t		memory_limit;
	/* KEEP: expected size of all rows, bytes; a service admits the sink by it, a device allocates as much first */
	size_t		expected_nbytes;
	double		wait_s;			/* seconds that begin waits for memory others hold before GR_DEVICE_MEMORY */
	const GrHost *host;			/* polled by begin, and by send if it sums on the CPU; may be NULL */
	bool		stays;			/* KEEP in a device service: the rows may be stored; see gr_remote_store() */
	GrStay		stay;			/* used if stays */
} GrSinkOptions;

/* Arguments of derive(). If derived is NULL, no sink is made: rows are only checked and counted. */
typedef struct GrDeriveTask
{
	const GrDerivation *derivation; /* valid for the sink's rows: gr_derivation_valid() */
	GrRowRules	rules;
	const GrSinkOptions *options;	/* kind and shape are ignored: KEEP, gr_derived_shape() */
	GrSink	  **derived;
	GrDeriveCounts *counts;		/* out: counts and totals */
} GrDeriveTask;

typedef struct GrSinkOps
{
	bool		(*begin) (GrSession *session, const GrSinkOptions *options, GrSink **sink, GrError *err);

	/*
	 * Takes nrows rows, which must be finite; if rows are only derived from a KEEP sink, its NULLs may be NaN. send may
	 * return before it has read the rows: the caller leaves them unchanged until sent() counts the call. KEEP fails
	 * with GR_NO_MEMORY or GR_DEVICE_MEMORY if the rows do not fit (memory_limit includes the memory of passes on a
	 * device); the rows are then lost.
	 */
	bool		(*send) (GrSink *sink, const void *rows, int64_t nrows, GrError *err);
	/* Sets *ncalls to the calls of send whose rows have been read, in order. wait: waits for the oldest unread call. */
	bool		(*sent) (GrSink *sink, bool wait, int64_t *ncalls, GrError *err);

	/*
	 * SUM: begins new sums, of rows less shift (one number per feature, then the response's; NULL: no shift). Called
	 * before the first send or after finish, when no rows are under way.
	 */
	bool		(*restart) (GrSink *sink, const double *shift, GrError *err);
	/* SUM: waits for all rows and writes the packed triangle. Entries that overflowed are not finite. */
	bool		(*finish) (GrSink *sink, GrDDVector triangle, GrError *err);

	/*
	 * KEEP: adds all rows to the sums of request, which gr_request_clear() has prepared; see request.h. Fails with
	 * GR_INVALID if request is not valid for rows of this shape. Polls host.
	 */
	bool		(*sums) (GrSink *sink, const GrRequest *request, double *sums, const GrHost *host, GrError *err);
	/* KEEP: changes the kept rows by basis, once, before the first pass over the changed rows. */
	bool		(*change) (GrSink *sink, const GrBasis *basis, const GrHost *host, GrError *err);
	/*
	 * KEEP: gradient ascent within the backend: updates beta, the coefficients of (1, x), and sets *iterations (done)
	 * and *converged. can_ascend: true if the backend can ascend over these rows. If it cannot, or both functions are
	 * NULL, the caller makes passes.
	 */
	bool		(*can_ascend) (const GrSink *sink, bool single);
	bool		(*ascend) (GrSink *sink, const GrAscent *ascent, double *beta, int64_t *iterations, bool *converged,
						   const GrHost *host, GrError *err);

	/*
	 * KEEP: makes another KEEP sink of the same session with the rows derived from this sink's rows; see derive.h.
	 * Passes over the derived rows give the bits that they would give if the rows had been sent. Fails as
	 * gr_derived_valid(), begin and send do; the caller ends *task->derived then, too. Polls host. This sink's rows
	 * do not change, and more rows may be sent to it.
	 */
	bool		(*derive) (GrSink *sink, const GrDeriveTask *task, const GrHost *host, GrError *err);

	/*
	 * KEEP: writes the kept rows first .. first + nrows - 1 as float8, in the order in which they were sent. All rows
	 * sent must have been read. Fails with GR_INVALID if the sink lacks such rows. NULL if a backend cannot read.
	 */
	bool		(*read) (GrSink *sink, int64_t first, int64_t nrows, double *rows, GrError *err);

	/* Sets *times. Includes all rows sent once finish or a pass has waited for them. */
	void		(*times) (const GrSink *sink, GrTimes *times);
	void		(*end) (GrSink *sink);
} GrSinkOps;

/*
 * Projectors: random projection of vectors of one length, batch by batch. Results have the same bits on every backend;
 * see projection.h.
 */
#define GR_MAX_DIM INT32_MAX	/* columns of S, for dense vectors */
#define GR_PROJECT_NSLOTS 2		/* batches under way at a time */

typedef struct GrProjectOptions
{
	const struct GrDraw *draw;	/* S; copied */
	int64_t		dim;			/* length of a vector, 1 .. GR_MAX_DIM */
	int64_t		nvectors;		/* expected vectors; 0: not known */
	size_t		block_nbytes;	/* size of a batch; rounded to at least one vector */
	size_t		memory_limit;	/* limit of the job's device memory, S included, bytes; 0: the device's */
	size_t		cache_nbytes;	/* S is kept for later jobs if it is not larger than this */
	struct GrProjectionCache *cache;	/* cache of S on the CPU; a device keeps S in its session */
} GrProjectOptions;

typedef struct GrProjectorOps
{
	/* Draws S unless it is kept from an earlier job, polling host. */
	bool		(*begin) (GrSession *session, const GrProjectOptions *options, const GrHost *host, GrProject **project,
						  GrError *err);
	/*
	 * block hands out memory for *capacity vectors of dim float4. submit takes the first nvectors of them, which must
	 * be finite, and may return before the work is done. take waits for the oldest batch not yet taken and points
	 * *projected to its nvectors x k results, which stay until the next block. At most GR_PROJECT_NSLOTS batches may be
	 * submitted and not taken; block fails then.
	 */
	bool		(*block) (GrProject *project, float **vectors, int64_t *capacity, GrError *err);
	bool		(*submit) (GrProject *project, int64_t nvectors, const GrHost *host, GrError *err);
	bool		(*take) (GrProject *project, const float **projected, int64_t *nvectors, GrError *err);
	/* Sets *times: those of the batches taken, and of drawing S. */
	void		(*times) (const GrProject *project, GrTimes *times);
	void		(*end) (GrProject *project);
} GrProjectorOps;

typedef struct GrBackend
{
	const char *name;			/* "cpu" or "gpu" */
	const GrDeviceOps *device;	/* NULL: the CPU, which needs no session */
	/* sink, projector and solver are NULL if the device table cannot open a session */
	const GrSinkOps *sink;
	const GrProjectorOps *projector;
	const GrSolverOps *solver;	/* NULL on the CPU: ols.c solves there */
} GrBackend;

extern const GrBackend gr_backend_cpu;
extern const GrBackend gr_backend_cuda; /* in a build without nvcc, open() fails with GR_NO_DEVICE */
extern const GrBackend gr_backend_many; /* several of gr_backend_cuda's devices as one; see backend_many.h */

#ifdef __cplusplus
}
#endif
#endif							/* GPUREG_BACKEND_H */
