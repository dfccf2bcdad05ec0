/*
 * backend_cuda.cuh: shared by the files of the CUDA backend: the session, the sinks, and the recording of failures.
 */
#ifndef GPUREG_BACKEND_CUDA_CUH
#define GPUREG_BACKEND_CUDA_CUH

#include "glm_step.cuh"
#include "gram.cuh"
#include "memory.cuh"

#include "compute/backend/backend.h"
#include "compute/request/request.h"

#include <signal.h>

#define GR_PARTIALS_NBYTES ((size_t) 256 << 20) /* most memory for copies of partial sums; more would gain nothing */
#define GR_NSLOTS 3				/* blocks of rows under way */
#define GR_SENDS 16				/* groups of sends under way */
#define GR_SINGLE_NBYTES ((size_t) 1 << 20) /* bytes of single rows widened at a time */
#define GR_URGENT_NBYTES ((size_t) 64 << 20)	/* most rows of an urgent sink */

struct GrSession
{
	GrDeviceInfo info;
	bool		counted;		/* counted among the open sessions of its device */
	bool		lost;			/* the device can only be used again by a new process */
	struct ProjectStore *projects;	/* kept by random projection; see project_cuda.cuh */
};

/* Sends in quick succession, which share events */
typedef struct SendGroup
{
	cudaEvent_t begin;			/* around the first send, whose copies are timed */
	cudaEvent_t end;
	cudaEvent_t read;			/* recorded after the last send of several */
	int64_t		nsends;			/* sends of the sink up to the end of this group; set when the group is closed */
	int64_t		first_nbytes;	/* bytes of the first send */
	int64_t		before_nbytes;	/* bytes copied before this group */
	int64_t		nbytes;			/* bytes of the group */
	bool		several;
} SendGroup;

/* Rows on their way to the device; see sends.cuh. */
typedef struct Sends
{
	GrSession  *session;
	GrRowShape	shape;			/* shape of the rows as sent; on the device all are float8 */
	bool		urgent;			/* the stream's copies and thread blocks take precedence */
	cudaStream_t stream;
	SendGroup	groups[GR_SENDS];
	int64_t		ngroups;		/* closed groups so far */
	int64_t		ngroups_read;	/* closed groups whose rows are read and times taken */
	int64_t		nsends;			/* sends so far */
	int64_t		ngrouped;		/* sends in closed groups */
	int64_t		nread;			/* sends that are read */
	int64_t		last_ns;		/* time of the last send */
	float	   *narrow;			/* single rows on the device */
	int64_t		nbytes;			/* bytes copied */
	double		copy_s;
} Sends;

/* Common part of the two kinds of sinks */
struct GrSink
{
	GrSinkKind	kind;
	GrSession  *session;
	GrRowShape	shape;			/* shape of the rows on the device */
	bool		urgent;			/* the sink's streams take precedence */
	Sends		sends;
	cudaStream_t kernel_stream;
	double		kernel_s;
};

/* A block of rows to be summed */
typedef struct Slot
{
	double	   *device;
	cudaEvent_t copy_end;
	cudaEvent_t kernel_begin;
	cudaEvent_t kernel_end;
	bool		busy;			/* a kernel was launched whose time is not yet taken */
} Slot;

struct GramSink : GrSink
{
	GramPlan	plan;
	int64_t		capacity;		/* rows per block */
	size_t		block_nbytes;	/* bytes of a block */
	Slot		slots[GR_NSLOTS];
	int			filling;		/* slot that takes rows */
	int64_t		nfilled;		/* rows in that slot */
	double2    *partials;
	double	   *shift;			/* shifts of the features and the response; follows the partials */
	bool		shifted;		/* subtract shift from the rows */
	double	   *transfer;		/* pinned memory for results */
	size_t		transfer_nbytes;
};

/* Rows on the device, row-major. capacity is a multiple of GLM_TILE. All chunks but the last are full. */
typedef struct RowsChunk
{
	double	   *rows;
	int64_t		capacity;
	int64_t		nrows;
} RowsChunk;

/*
 * Offsets of the parts of a pass's memory, in float8. The parts before scratch are zeroed when a pass starts:
 *
 *   records | columns | matrix | scratch
 */
typedef struct RowsWork
{
	size_t		records;		/* sums per warp: a head, or all sums (fused) */
	size_t		columns;		/* sums of columns, per split */
	size_t		matrix;			/* partial sums of the matrix */
	size_t		scratch;		/* weights of a step's rows, or weighted rows */
	size_t		end;
} RowsWork;

#define GR_CHUNKS_MAX 1024

struct RowsSink : GrSink
{
	int64_t		nrows;
	RowsChunk	chunks[GR_CHUNKS_MAX];
	int			nchunks;
	size_t		chunk_nbytes;	/* bytes of the next chunk */
	size_t		memory_limit;	/* 0: no limit */
	size_t		nbytes;			/* device memory allocated */

	GlmPlan		plan;
	GramPlan	gram;			/* plan for the transformed rows of EXACT and FACE */
	size_t		gram_budget;	/* bytes, as planned */
	size_t		scratch_nbytes;
	double	   *work;
	double	   *terms;			/* beta, then shift */
	double	   *faces;			/* the faces, then face_absolute */
	size_t		faces_nbytes;
	double	   *factor;			/* triangle that leverages are computed with, in GlmTerms' layout */
	size_t		factor_nbytes;
	double	   *result;			/* sums on their way back, on the device */
	double	   *transfer;		/* sums on their way back, in pinned memory */
	double		pending_s;		/* estimated work since the host was last asked */
	cudaEvent_t pass_begin;
	cudaEvent_t pass_end;
};

/*
 * Blocks all signals while it lives. The driver starts threads, which inherit the mask; signals for the server must not
 * arrive there.
 */
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
 * Records a failed CUDA call with the driver's message, and clears the runtime's error so that it is not reported
 * again. Always returns false. what: the call, in words; nbytes: bytes requested, or 0.
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

		/* without a context the free memory is unknown, and the detail has to do */
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

/* Makes the enclosing function return false if the call fails. */
#define GR_CUDA(err, call, what) \
	do { \
		cudaError_t gr_code_ = (call); \
		if (gr_code_ != cudaSuccess) \
			return gr_cuda_fail((err), gr_code_, 0, (what)); \
	} while (0)

/* Records a failed CUDA call, and marks the session as lost if the error is sticky. Always returns false. */
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

/* Opens a kind of sink. session and shape are set; all other members are zero. */
extern bool gr_cuda_gram_open(GramSink *gram, const GrSinkOptions *options, GrError *err);
extern bool gr_cuda_rows_open(RowsSink *rows, const GrSinkOptions *options, GrError *err);

/* Copies rows to the device, within a send. */
extern bool gr_cuda_gram_add(GramSink *gram, const void *rows, int64_t nrows, GrError *err);
extern bool gr_cuda_rows_add(RowsSink *rows, const void *block, int64_t nrows, GrError *err);

/* Makes a KEEP sink one of nrows rows, in chunks as if they had been sent. The caller must write the rows. */
extern bool gr_cuda_rows_resize(RowsSink *rows, int64_t nrows, GrError *err);

/* Derives rows of `from` by d into `into` or, if into is NULL, only counts them; see GrSinkOps.derive. */
extern bool gr_cuda_rows_derive(RowsSink *from, const GrDerivation *d, GrRowRules rules, RowsSink *into,
								GrDeriveCounts *counts, const GrHost *host, GrError *err);

/* Reads rows back as they are kept; see GrSinkOps.read. */
extern bool gr_cuda_rows_read(GrSink *sink, int64_t first, int64_t nrows, double *rows, GrError *err);

/*
 * True if the sums of pass follow from the Gram matrix of the rows as they lie. gr_cuda_rows_linear() then computes
 * them, in EXACT's layout. shift: the features' shifts and a 0 for the response, on the device; on the host they are
 * still in the sink's transfer, after beta.
 */
extern bool gr_cuda_rows_are_linear(const RowsSink *rows, const GrPass *pass);
extern bool gr_cuda_rows_linear(RowsSink *rows, const GrPass *pass, const double *shift, double *sums,
								const GrHost *host, GrError *err);

/* Frees what a kind of sink has opened. Its streams must be idle. */
extern void gr_cuda_gram_free(GramSink *gram);
extern void gr_cuda_rows_free(RowsSink *rows);

/* Functions of the backend's tables; backend.h documents them. */
extern bool gr_cuda_gram_restart(GrSink *sink, const double *shift, GrError *err);
extern bool gr_cuda_gram_finish(GrSink *sink, GrDDVector triangle, GrError *err);
/* Launchers of the sums of requests, one per kind in request_kinds.h. */
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

/* Functions of the projector's table; backend.h documents them. */
extern bool gr_cuda_project_begin(GrSession *session, const GrProjectOptions *options, const GrHost *host,
								  GrProject **project, GrError *err);
extern bool gr_cuda_project_block(GrProject *project, float **vectors, int64_t *capacity, GrError *err);
extern bool gr_cuda_project_submit(GrProject *project, int64_t nvectors, const GrHost *host, GrError *err);
extern bool gr_cuda_project_take(GrProject *project, const float **projected, int64_t *nvectors, GrError *err);
extern void gr_cuda_project_times(const GrProject *project, GrTimes *times);
extern void gr_cuda_project_end(GrProject *project);

/* Functions of the solver's table; solver.h documents them. */
extern bool gr_cuda_factor_begin(GrSession *session, const GrFactorJob *job, GrFactor **factor, const GrHost *host,
								 GrError *err);
extern bool gr_cuda_factor_inverse(GrFactor *factor, GrDDConstVector w, double divisor,
								   double *inverse, const GrHost *host, GrError *err);
extern void gr_cuda_factor_end(GrFactor *factor);

/* Frees what random projection keeps in the session. */
extern void gr_cuda_project_forget(GrSession *session);

#endif							/* GPUREG_BACKEND_CUDA_CUH */
