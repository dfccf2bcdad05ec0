/*
 * backend_cuda.cuh: what the backend's files share: the session, the sinks, and how failures are recorded.
 */
#ifndef GPUREG_BACKEND_CUDA_CUH
#define GPUREG_BACKEND_CUDA_CUH

#include "glm_step.cuh"
#include "gram.cuh"
#include "memory.cuh"

#include "compute/backend/backend.h"
#include "compute/request/request.h"

#include <signal.h>

#define GR_PARTIALS_NBYTES ((size_t) 256 << 20) /* more splits than this holds would gain nothing */
#define GR_NSLOTS 3				/* row blocks in flight */
#define GR_SENDS 16				/* groups of calls under way whose rows are not all read */
#define GR_SINGLE_NBYTES ((size_t) 1 << 20) /* single rows made float8 at a time */
#define GR_URGENT_NBYTES ((size_t) 64 << 20)	/* rows that are so few don't wait behind those of larger sinks */

struct GrSession
{
	GrDeviceInfo info;
	bool		counted;		/* among the sessions open on its device */
	bool		lost;			/* a failure that only a new process gets over */
	struct ProjectStore *projects;	/* what random projection keeps; see project_cuda.cuh */
};

/* Calls that follow one another closely, noted by the same events */
typedef struct SendGroup
{
	cudaEvent_t begin;			/* around the first of them, whose copies are timed */
	cudaEvent_t end;
	cudaEvent_t read;			/* behind the last, where it isn't the first */
	int64_t		nsends;			/* of the sink so far, with these; not yet known of the open group */
	int64_t		first_nbytes;	/* of the timed one */
	int64_t		before_nbytes;	/* copied before this group */
	int64_t		nbytes;			/* of all */
	bool		several;
} SendGroup;

/* Rows on their way to the device; see sends.cuh. */
typedef struct Sends
{
	GrSession  *session;
	GrRowShape	shape;			/* of the rows as they come; on the device all are float8 */
	bool		urgent;			/* the stream's thread blocks and copies go first */
	cudaStream_t stream;
	SendGroup	groups[GR_SENDS];
	int64_t		ngroups;		/* so far, the open one not among them */
	int64_t		ngroups_read;	/* of them, whose rows are read and times taken */
	int64_t		nsends;			/* so far */
	int64_t		ngrouped;		/* of them, in closed groups */
	int64_t		nread;			/* of them, read */
	int64_t		last_ns;		/* when the last of them was sent */
	float	   *narrow;			/* single rows on the device */
	int64_t		nbytes;			/* copied */
	double		copy_s;
} Sends;

/* A sink of either kind */
struct GrSink
{
	GrSinkKind	kind;
	GrSession  *session;
	GrRowShape	shape;			/* of the rows on the device */
	bool		urgent;			/* its streams are */
	Sends		sends;
	cudaStream_t kernel_stream;
	double		kernel_s;
};

/* A block of rows that are being summed up */
typedef struct Slot
{
	double	   *device;
	cudaEvent_t copy_end;
	cudaEvent_t kernel_begin;
	cudaEvent_t kernel_end;
	bool		busy;			/* summed up, and the time not yet taken */
} Slot;

struct GramSink : GrSink
{
	GramPlan	plan;
	int64_t		capacity;		/* rows a block */
	size_t		block_nbytes;	/* memory of a block */
	Slot		slots[GR_NSLOTS];
	int			filling;		/* the slot that takes rows */
	int64_t		nfilled;		/* rows in it */
	double2    *partials;
	double	   *shift;			/* of the features and the response; behind the partials */
	bool		shifted;		/* rows are summed less shift */
	double	   *transfer;		/* pinned: the result on its way back */
	size_t		transfer_nbytes;
};

/* Rows on the device, row-major; capacity is a multiple of GLM_TILE, and all chunks but the last are full. */
typedef struct RowsChunk
{
	double	   *rows;
	int64_t		capacity;
	int64_t		nrows;
} RowsChunk;

/* Where the parts of the passes' memory begin, in float8; what lies before scratch is zeroed when a pass starts. */
typedef struct RowsWork
{
	size_t		records;		/* a warp's head, or all its sums (fused) */
	size_t		columns;		/* sums of columns, a split each */
	size_t		matrix;			/* partial sums of the matrix */
	size_t		scratch;		/* a few rows' weights, or weighted rows */
	size_t		end;
} RowsWork;

#define GR_CHUNKS_MAX 1024

struct RowsSink : GrSink
{
	int64_t		nrows;
	RowsChunk	chunks[GR_CHUNKS_MAX];
	int			nchunks;
	size_t		chunk_nbytes;	/* size of the next one */
	size_t		memory_limit;	/* 0: none */
	size_t		nbytes;			/* device memory taken */

	GlmPlan		plan;
	GramPlan	gram;			/* of EXACT's and FACE's rows */
	size_t		gram_budget;	/* bytes, as planned */
	size_t		scratch_nbytes;
	double	   *work;
	double	   *terms;			/* beta, then shift */
	double	   *faces;			/* the faces, then their face_absolute */
	size_t		faces_nbytes;
	double	   *factor;			/* by which leverages are measured, as GlmTerms has it */
	size_t		factor_nbytes;
	double	   *result;			/* sums on their way back: on the device, */
	double	   *transfer;		/* ... and pinned */
	double		pending_s;		/* estimated work since the host was last asked */
	cudaEvent_t pass_begin;
	cudaEvent_t pass_end;
};

/* The driver starts threads, which inherit this thread's mask: the server's signals must not arrive there. */
class SignalsBlocked
{
public:
	SignalsBlocked()
	{
		sigset_t	all;

		sigfillset(&all);
		blocked = pthread_sigmask(SIG_SETMASK, &all, &saved) == 0;
	}
	~SignalsBlocked()
	{
		if (blocked)
			pthread_sigmask(SIG_SETMASK, &saved, NULL);
	}
	SignalsBlocked(const SignalsBlocked &) = delete;
	SignalsBlocked &operator=(const SignalsBlocked &) = delete;

private:
	sigset_t	saved;
	bool		blocked;
};

/*
 * Records a failed call in the driver's own words, and takes it off the run time's record so that it isn't reported
 * again; always returns false. what: the call, for a person; nbytes: what was asked for, 0 if that isn't known.
 */
static inline bool
gr_cuda_fail(GrError *err, cudaError_t code, size_t nbytes, const char *what)
{
	GrStatus	status = gr_cuda_status(code);
	bool		first = err->status == GR_OK;

	(void) cudaGetLastError();
	gr_fail(err, status, 0, "%s: %s", what, cudaGetErrorString(code));
	if (first && status == GR_DEVICE_MEMORY && nbytes > 0)
	{
		size_t		nbytes_free = 0;
		size_t		nbytes_total = 0;
		int			device = 0;

		/* without a context there is no telling what is free: then the detail has to do */
		if (cudaGetDevice(&device) == cudaSuccess && device < GR_DEVICES_MAX &&
			gr_memory_info(device, &nbytes_free, &nbytes_total) == cudaSuccess)
		{
			err->bytes_needed = nbytes;
			err->bytes_free = nbytes_free;
		}
		else
			(void) cudaGetLastError();
	}
	return false;
}

/* Returns false from the function around it when the call fails. */
#define GR_CUDA(err, call, what) \
	do { \
		cudaError_t gr_code_ = (call); \
		if (gr_code_ != cudaSuccess) \
			return gr_cuda_fail((err), gr_code_, 0, (what)); \
	} while (0)

/* Records a failure, and that the session is lost if it is of that kind; always returns false. */
static inline bool
session_fail(GrSession *session, GrError *err, cudaError_t code, size_t nbytes, const char *what)
{
	if (gr_cuda_is_sticky(code))
		session->lost = true;
	return gr_cuda_fail(err, code, nbytes, what);
}

#define SESSION_CUDA(session, err, call, what) \
	do { \
		cudaError_t code_ = (call); \
		if (code_ != cudaSuccess) \
			return session_fail((session), (err), code_, 0, (what)); \
	} while (0)

/* Opens what a kind of sink needs, in one that has its session and shape and is zeros else. */
extern bool gr_cuda_gram_open(GramSink *gram, const GrSinkOptions *options, GrError *err);
extern bool gr_cuda_rows_open(RowsSink *rows, const GrSinkOptions *options, GrError *err);

/* Copies rows, within a send. */
extern bool gr_cuda_gram_add(GramSink *gram, const void *rows, int64_t nrows, GrError *err);
extern bool gr_cuda_rows_add(RowsSink *rows, const void *block, int64_t nrows, GrError *err);

/* KEEP: becomes one of nrows rows, in chunks as if these had been sent; what they are is the caller's to write. */
extern bool gr_cuda_rows_resize(RowsSink *rows, int64_t nrows, GrError *err);

/* The rows of another sink by a derivation of those here, or, without one, their counts alone; see derive() */
extern bool gr_cuda_rows_derive(RowsSink *from, const GrDerivation *d, GrRowRules rules, RowsSink *into,
								GrDeriveCounts *counts, const GrHost *host, GrError *err);

/* Rows as they are kept, on their way back; see read() */
extern bool gr_cuda_rows_read(GrSink *sink, int64_t first, int64_t nrows, double *rows, GrError *err);

/*
 * A pass at 0 that the rows' own Gram matrix tells: is this one, and its sums, as EXACT has them. shift: of the
 * features and, 0, of the response, on the device; on the host they are still in the sink's transfer, behind beta.
 */
extern bool gr_cuda_rows_are_linear(const RowsSink *rows, const GrPass *pass);
extern bool gr_cuda_rows_linear(RowsSink *rows, const GrPass *pass, const double *shift, double *sums,
								const GrHost *host, GrError *err);

/* What the kind has opened, the streams being idle. */
extern void gr_cuda_gram_free(GramSink *gram);
extern void gr_cuda_rows_free(RowsSink *rows);

/* The tables' functions for one kind of sink; backend.h has their contracts. */
extern bool gr_cuda_gram_restart(GrSink *sink, const double *shift, GrError *err);
extern bool gr_cuda_gram_finish(GrSink *sink, GrDDVector triangle, GrError *err);
/* Launchers of the sums of requests: one for each kind in request_kinds.h */
#define GR_CUDA_SUMS_DECLARE(kind, operations, device) \
	extern bool gr_cuda_sums_##device(GrSink *sink, const GrRequest *request, double *sums, const GrHost *host, \
									  GrError *err);
GR_REQUEST_KINDS(GR_CUDA_SUMS_DECLARE)

extern bool gr_cuda_rows_pass(GrSink *sink, const GrPass *pass, double *sums, const GrHost *host, GrError *err);
extern bool gr_cuda_rows_boot(GrSink *sink, const GrBootPass *pass, double *sums, const GrHost *host, GrError *err);
extern bool gr_cuda_rows_clusters(GrSink *sink, const GrClusterPass *pass, double *sums, const GrHost *host,
								  GrError *err);
extern bool gr_cuda_rows_change(GrSink *sink, const GrBasis *basis, const GrHost *host, GrError *err);
extern bool gr_cuda_rows_can_ascend(const GrSink *sink, bool single);
extern bool gr_cuda_rows_ascend(GrSink *sink, const GrAscent *ascent, double *beta, int64_t *iterations,
								bool *converged, const GrHost *host, GrError *err);

/* Likewise, for random projection. */
extern bool gr_cuda_project_begin(GrSession *session, const GrProjectOptions *options, const GrHost *host,
								  GrProject **project, GrError *err);
extern bool gr_cuda_project_block(GrProject *project, float **vectors, int64_t *capacity, GrError *err);
extern bool gr_cuda_project_submit(GrProject *project, int64_t nvectors, const GrHost *host, GrError *err);
extern bool gr_cuda_project_take(GrProject *project, const float **projected, int64_t *nvectors, GrError *err);
extern void gr_cuda_project_times(const GrProject *project, GrTimes *times);
extern void gr_cuda_project_end(GrProject *project);

/* Likewise, for the solve. */
extern bool gr_cuda_factor_begin(GrSession *session, const GrFactorJob *job, GrFactor **factor, const GrHost *host,
								 GrError *err);
extern bool gr_cuda_factor_inverse(GrFactor *factor, GrDDConstVector w, double divisor,
								   double *inverse, const GrHost *host, GrError *err);
extern void gr_cuda_factor_end(GrFactor *factor);

/* Frees what random projection keeps in the session. */
extern void gr_cuda_project_forget(GrSession *session);

#endif							/* GPUREG_BACKEND_CUDA_CUH */
