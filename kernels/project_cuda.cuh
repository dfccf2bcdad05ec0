/*
 * project_cuda.cuh: what project_kept.cu and project_cuda.cu share: S and the buffers that a session keeps.
 */
#ifndef GPUREG_PROJECT_CUDA_CUH
#define GPUREG_PROJECT_CUDA_CUH

#include "backend_cuda.cuh"
#include "project.cuh"

/* S on the device, with the memory that its matrix points to. */
typedef struct ProjectKept
{
	struct ProjectKept *next;
	GrDraw		draw;
	int64_t		dim;
	ProjectMatrix matrix;
	int64_t    *row_start;
	uint32_t   *entries;
	int64_t    *segment_start;
	uint32_t   *program_start;
	uint2	   *program;
	size_t		nbytes;
	int			nusers;			/* jobs */
	bool		ready;			/* drawn */
	bool		kept;			/* else it goes with its last user */
	uint64_t	last_use;
} ProjectKept;

/* A batch: its vectors and its results, pinned and on the device. */
typedef struct ProjectSlot
{
	float	   *vectors;
	float	   *projected;
	float	   *device_vectors;
	float	   *device_projected;
	int64_t		nvectors;
	cudaEvent_t copy_begin;
	cudaEvent_t copy_end;
	cudaEvent_t kernel_begin;
	cudaEvent_t kernel_end;
	cudaEvent_t result_begin;
	cudaEvent_t result_end;
} ProjectSlot;

typedef struct ProjectSizes
{
	size_t		vectors_nbytes; /* of a slot */
	size_t		projected_nbytes;	/* likewise */
	size_t		tiles_nbytes;
	size_t		sums_nbytes;
} ProjectSizes;

/* What a job works with besides S. */
typedef struct ProjectBuffers
{
	ProjectSlot slots[GR_PROJECT_NSLOTS];
	float	   *tiles;
	double	   *sums;
	ProjectSizes sizes;			/* as allocated; 0 where nothing is */
	cudaStream_t copy_stream;
	cudaStream_t kernel_stream;
	cudaStream_t result_stream;
} ProjectBuffers;

/* What a session keeps: every S there is, and a job's buffers if they were small. */
typedef struct ProjectStore
{
	int			device;
	ProjectKept *first;
	ProjectBuffers *buffers;
	uint64_t	clock;			/* of last_use */
} ProjectStore;

/* What a job wants of S. */
typedef struct ProjectRequest
{
	GrSession  *session;
	const GrDraw *draw;
	int64_t		dim;
	bool		program;
	size_t		other_nbytes;	/* what the job takes besides, for the limit */
	size_t		taken_nbytes;	/* ... of which so much is allocated already */
	size_t		memory_limit;
	size_t		cache_nbytes;
	cudaStream_t stream;
	const GrHost *host;
} ProjectRequest;

/*
 * S, kept from an earlier job or drawn. *s is set before anything is acquired and must be released, also after a
 * failure. *drawn: whether it was drawn.
 */
extern bool gr_project_acquire(const ProjectRequest *request, ProjectKept **s, bool *drawn, GrError *err);
extern void gr_project_release(GrSession *session, ProjectKept *s);

/*
 * Whether nbytes more can be had, with job_nbytes in all within the limit; gives up S of other jobs that nobody uses
 * for it.
 */
extern bool gr_project_make_room(GrSession *session, size_t nbytes, size_t job_nbytes, size_t memory_limit,
								 GrError *err);

/* Frees every S, whoever uses it. */
extern void gr_project_drop_all(ProjectStore *store);

/* What a job works with, for the tests. */
extern const ProjectKept *gr_cuda_project_kept(const GrProject *project);

#endif							/* GPUREG_PROJECT_CUDA_CUH */
