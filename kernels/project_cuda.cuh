/*
 * project_cuda.cuh: shared by project_cuda.cu and project_kept.cu: S, and the buffers that a session keeps.
 */
#ifndef GPUREG_PROJECT_CUDA_CUH
#define GPUREG_PROJECT_CUDA_CUH

#include "backend_cuda.cuh"
#include "project.cuh"

/* S on the device, with the memory that matrix points to */
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
	int			nusers;			/* jobs that use it */
	bool		ready;			/* drawn completely */
	bool		kept;			/* stays without users; else freed by its last user */
	uint64_t	last_use;
} ProjectKept;

/* A batch of vectors and its results, in pinned memory and on the device */
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
	size_t		vectors_nbytes; /* bytes of a slot's vectors */
	size_t		projected_nbytes;	/* bytes of a slot's results */
	size_t		tiles_nbytes;
	size_t		sums_nbytes;
} ProjectSizes;

/* Memory, streams and events of a job, besides S */
typedef struct ProjectBuffers
{
	ProjectSlot slots[GR_PROJECT_NSLOTS];
	float	   *tiles;
	double	   *sums;
	ProjectSizes sizes;			/* allocated sizes; 0: not allocated */
	cudaStream_t copy_stream;
	cudaStream_t kernel_stream;
	cudaStream_t result_stream;
} ProjectBuffers;

/* Kept by a session: every S on the device, and a job's buffers if they are small */
typedef struct ProjectStore
{
	int			device;
	ProjectKept *first;
	ProjectBuffers *buffers;
	uint64_t	clock;			/* source of last_use */
} ProjectStore;

/* A job's request for S */
typedef struct ProjectRequest
{
	GrSession  *session;
	const GrDraw *draw;
	int64_t		dim;
	bool		program;
	size_t		other_nbytes;	/* memory that the job takes besides S, for the limit */
	size_t		taken_nbytes;	/* part of other_nbytes that is allocated already */
	size_t		memory_limit;
	size_t		cache_nbytes;
	cudaStream_t stream;
	const GrHost *host;
} ProjectRequest;

/*
 * Sets *s to S, kept from an earlier job or drawn. *s is set before anything is acquired, and must be released also
 * after a failure. *drawn: true if S was drawn.
 */
extern bool gr_project_acquire(const ProjectRequest *request, ProjectKept **s, bool *drawn, GrError *err);
extern void gr_project_release(GrSession *session, ProjectKept *s);

/*
 * Checks that nbytes more can be allocated, and job_nbytes in all are within the limit. Frees unused S of other jobs if
 * needed. Fails with GR_DEVICE_MEMORY.
 */
extern bool gr_project_make_room(GrSession *session, size_t nbytes, size_t job_nbytes, size_t memory_limit,
								 GrError *err);

/* Frees every S, used or not. */
extern void gr_project_drop_all(ProjectStore *store);

/* Returns the S of a job, for the tests. */
extern const ProjectKept *gr_cuda_project_kept(const GrProject *project);

#endif							/* GPUREG_PROJECT_CUDA_CUH */
