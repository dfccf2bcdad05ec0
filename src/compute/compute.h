/*
 * compute.h: the contract between the PostgreSQL side, the statistics and the backends.
 *
 * Nothing below this line knows PostgreSQL. Failure is a value: every function that can fail takes a GrError, returns
 * false and keeps the first failure. Nothing prints, throws, exits or jumps. Long work polls GrHost for cancel.
 *
 * How rows lie in memory is row.h's.
 */
#ifndef GPUREG_COMPUTE_H
#define GPUREG_COMPUTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "compute/row.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The most features a model can have: its Gram matrix must fit a 1 GB value (11,583 terms), with room for the rest. */
#define GR_MAX_FEATURES 10000

typedef enum GrStatus
{
	GR_OK = 0,
	GR_INVALID,					/* an argument is out of its domain; where: which */
	GR_ONE_CLASS,				/* every response is the same; value: it */
	GR_NOT_BINARY,				/* a response is neither 0 nor 1; value: it */
	GR_NOT_A_SHARE,				/* a response is not from 0 to 1; value: it */
	GR_NEGATIVE_WEIGHT,			/* where: the column; value: it */
	GR_NOT_A_COUNT,				/* a frequency; likewise */
	GR_NOT_FINITE,				/* NaN or infinity in the input; where: the column, 0-based */
	GR_OUT_OF_RANGE,			/* a sum of products left float8's range; where: the column, 0-based */
	GR_RESULT_OUT_OF_RANGE,		/* a result did; where: its column, 0-based, or -1, the ones; value: what it came to; detail: what */
	GR_CANCELED,				/* GrHost asked to stop */
	GR_NO_MEMORY,				/* host memory; bytes_needed, or 0 and for what in detail */
	GR_NO_DEVICE,				/* no driver or no usable device */
	GR_DEVICE_MEMORY,			/* bytes_needed, bytes_free are set; bytes_needed 0: neither is known, see detail */
	GR_DEVICE_FAILED,			/* a device call failed */
	GR_DEVICE_LOST				/* likewise, and the process can't use the device again */
} GrStatus;

typedef struct GrError
{
	GrStatus	status;
	int64_t		where;			/* meaning depends on status */
	double		value;			/* likewise */
	size_t		bytes_needed;
	size_t		bytes_free;
	char		detail[256];	/* what failed, for a person: the driver's own words where it spoke */
} GrError;

/* Records a failure unless one is recorded already; always returns false. */
extern bool gr_fail(GrError *err, GrStatus status, int64_t where, const char *fmt,...)
#if defined(__GNUC__)
			__attribute__((format(printf, 4, 5)))
#endif
;

/* Room for the longest of them, the final 0 included */
#define GR_SHORTAGE_SIZE 256

/* Of a GR_DEVICE_MEMORY, for a person: what is needed and what is free, or, where that isn't known, what failed. */
extern void gr_describe_shortage(const GrError *err, char *text, size_t size);

/* What the caller offers to long-running work. */
typedef struct GrHost
{
	bool		(*canceled) (void *arg);	/* true: stop as soon as possible. Never jumps, but may end the process. */
	void	   *arg;
} GrHost;

static inline bool
gr_canceled(const GrHost *host)
{
	return host != NULL && host->canceled != NULL && host->canceled(host->arg);
}

/* Work done since the host was last asked, in units of about a nanosecond. */
typedef struct GrPoll
{
	const GrHost *host;
	int64_t		work;
} GrPoll;

#define GR_POLL_WORK 2000000

/* Counts work of a loop too short to ask at each turn; asks when there is enough of it. */
static inline bool
gr_poll(GrPoll *poll, int64_t work)
{
	poll->work += work;
	if (poll->work < GR_POLL_WORK)
		return false;
	poll->work = 0;
	return gr_canceled(poll->host);
}

/*
 * Gram matrices
 *
 * G = sum over rows of z z', z = (1, x_1 .. x_p, y), q = p + 2 entries. The packed lower triangle holds G[i][j], j <= i,
 * at i (i + 1) / 2 + j, as two arrays of float8 whose sums hi[k] + lo[k] are the entries in double-double. With a shift c, a float8 a
 * column, z = (1, x - c_x, y - c_y); see gram_shift.h.
 */
static inline int64_t
gr_triangle(int64_t q)
{
	return q * (q + 1) / 2;
}

typedef struct GrDeviceInfo
{
	int			id;
	char		name[256];
	int			major;			/* compute capability */
	int			minor;
	size_t		memory_total;	/* bytes */
	size_t		memory_free;	/* bytes */
	char		driver[32];		/* the newest CUDA version the driver supports, as in "13.0" */
} GrDeviceInfo;

typedef struct GrOpenOptions
{
	int			device_id;		/* -1: the one with most free memory */
} GrOpenOptions;

typedef struct GrGramOptions
{
	GrRowShape	shape;			/* of the rows that come; products are weighted where they have weights */
	size_t		block_nbytes;	/* rows summed up at a time on a device; rounded to at least one row */
	size_t		memory_limit;	/* device memory this job may take, bytes; 0: no limit but the device's */
	const GrHost *host;			/* polled by gram_send on the CPU, for which it computes; may be NULL */
} GrGramOptions;

typedef struct GrGramTimes
{
	int64_t		bytes_to_device;
	double		copy_s;
	double		kernel_s;
} GrGramTimes;

/*
 * Rows that stay on the backend for as many passes as a fit wants; see glm.h.
 */
typedef struct GrRowsOptions
{
	GrRowShape	shape;			/* of the rows that come; they stay as float8 */
	size_t		memory_limit;	/* memory the rows and the passes may take, bytes; 0: no limit but the machine's */
} GrRowsOptions;

typedef GrGramTimes GrRowsTimes;

/* Gradient ascent on logistic regression's log-likelihood: beta += rate (X'(y - mu) - l2 (0, b)), the classic batch update. */
typedef struct GrAscent
{
	bool		intercept;		/* else beta[0] stays as it is */
	bool		single;			/* compute in float4 */
	double		rate;
	double		l2;				/* lambda; the intercept is not penalised */
	const double *scale;		/* nfeatures + 1: done when |gradient_j| <= scale_j for all j ... */
	int64_t		check_every;	/* ... looked at after each this many iterations */
	int64_t		max_iter;
} GrAscent;

/*
 * Random projection of vectors of one length, batch by batch; see projection.h for the numbers, which are the same on every backend.
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

typedef struct GrPass GrPass;
typedef struct GrBasis GrBasis;
typedef struct GrSession GrSession; /* one backend opened: a device context, or nothing on the CPU */
typedef struct GrGram GrGram;	/* one Gram matrix being summed */
typedef struct GrRows GrRows;	/* rows kept */
typedef struct GrProject GrProject; /* vectors being projected */
typedef struct GrFactor GrFactor;	/* a factorised matrix */

/*
 * A factorisation S A S = L D L' in double-double of a matrix of m = nterms terms and a last row, the response's; see ols.h, whose rules
 * it follows: which terms are aliased, and which sums are exactly 0.
 */
typedef struct GrFactorJob
{
	const double *hi;			/* A: packed triangle of skip + m + 1 rows, of which the first skip rows and columns are passed over */
	const double *lo;
	int			skip;
	int			nterms;			/* m: 1 .. GR_MAX_FEATURES + 1 */
	bool		right_hand_side;	/* the last row's diagonal entry counts as 0, whatever it is */
	const double *scale;		/* m + 1 powers of two: the diagonal of S */
	const double *least_pivot;	/* m: a term is aliased unless its pivot is above this */
	double		noise;			/* a sum not above this share of its terms' magnitudes is 0 */
	bool		want_inverse;	/* factor_inverse will be called */
	size_t		memory_limit;	/* device memory this job may take, bytes; 0: no limit but the device's */

	bool	   *aliased;		/* m; in: those to leave out; out: and those found to be collinear */
	double	   *d_hi;			/* m + 1, out: D */
	double	   *d_lo;
	double	   *row_hi;			/* m, out: the last row of L, z' */
	double	   *row_lo;
	double	   *coef_hi;		/* m, out: b in L' b = z, scaled as A is; 0 for aliased terms */
	double	   *coef_lo;
} GrFactorJob;

/*
 * A backend is one const table. A session is opened once and lives as long as its owner; a Gram job belongs to the
 * statement. close and gram_end accept NULL and half-opened objects and cannot fail. *session and *gram are set before
 * anything is acquired, so an owner that is registered first always sees what there is to release.
 */
typedef struct GrBackend
{
	const char *name;			/* "cpu" or "gpu" */

	/* Fills up to max entries, sets *ndevices. No device is not an error: *ndevices = 0 and err->detail says why. */
	bool		(*list) (GrDeviceInfo *devices, int max, int *ndevices, GrError *err);

	bool		(*open) (GrSession **session, const GrOpenOptions *options, GrError *err);
	void		(*close) (GrSession *session);
	/* the device that was opened; "cpu" has no memory figures */
	const GrDeviceInfo *(*describe) (const GrSession *session);

	/* Could there be a device at all? Cheap: opens nothing. */
	bool		(*present) (void);

	/* Memory that rows will be sent from; without it sending is slower. It must be whole pages and stay until unpin. */
	bool		(*pin) (GrSession *session, void *memory, size_t nbytes, GrError *err);
	void		(*unpin) (GrSession *session, void *memory);

	/* Sums of 0, of rows without a shift. */
	bool		(*gram_begin) (GrSession *session, const GrGramOptions *options, GrGram **gram, GrError *err);
	/* Begins anew, of rows less shift (nfeatures + 1 values; NULL: none): before the first gram_send, or after gram_finish. */
	bool		(*gram_restart) (GrGram *gram, const double *shift, GrError *err);

	/* Adds rows, which must be finite. May return before they are read: they stay as they are until gram_sent() counts them. */
	bool		(*gram_send) (GrGram *gram, const void *rows, int64_t nrows, GrError *err);
	/* How many calls' rows have been read so far, which happens in order. wait: first waits for the oldest that isn't. */
	bool		(*gram_sent) (GrGram *gram, bool wait, int64_t *ncalls, GrError *err);
	/* Waits, and writes the packed triangle of q = nfeatures + 2. Entries that overflowed are not finite. */
	bool		(*gram_finish) (GrGram *gram, double *hi, double *lo, GrGramTimes *times, GrError *err);
	void		(*gram_end) (GrGram *gram);

	/*
	 * Rows that stay; they are sent as in a Gram job. rows_send fails with GR_NO_MEMORY or GR_DEVICE_MEMORY when there is no room
	 * for more (within memory_limit, the passes' own needs included); the rows are then lost.
	 */
	bool		(*rows_begin) (GrSession *session, const GrRowsOptions *options, GrRows **rows, GrError *err);
	bool		(*rows_send) (GrRows *rows, const void *block, int64_t nrows, GrError *err);
	bool		(*rows_sent) (GrRows *rows, bool wait, int64_t *ncalls, GrError *err);
	/* One pass over all of them; adds to sums, which gr_pass_clear() has prepared. Polls host between launches or blocks. */
	bool		(*rows_pass) (GrRows *rows, const GrPass *pass, double *sums, const GrHost *host, GrError *err);
	/* Changes the rows by a basis, basis.h, once, before the first pass that is to see them so. */
	bool		(*rows_change) (GrRows *rows, const GrBasis *basis, const GrHost *host, GrError *err);
	/*
	 * Gradient ascent without leaving the backend: updates beta (nfeatures + 1, of (1, x)), and sets *iterations (those
	 * done) and *converged. rows_can_ascend says whether the backend has it for these rows; if not, the caller makes passes.
	 */
	bool		(*rows_can_ascend) (const GrRows *rows, bool single);
	bool		(*rows_ascend) (GrRows *rows, const GrAscent *ascent, double *beta, int64_t *iterations, bool *converged,
								const GrHost *host, GrError *err);
	void		(*rows_times) (const GrRows *rows, GrRowsTimes *times);
	void		(*rows_end) (GrRows *rows);

	/*
	 * Random projection. project_begin draws S unless it is kept from an earlier job, polling host. project_block hands out room for
	 * *capacity vectors of dim float4; project_submit takes the first nvectors of them, which must be finite, and may return before the
	 * work is done. project_take waits for the oldest batch submitted and not yet taken, and points to its nvectors x k results, which
	 * stay until the next project_block. No more than GR_PROJECT_NSLOTS batches may be submitted and not taken, nor any block be
	 * asked for while that many are.
	 */
	bool		(*project_begin) (GrSession *session, const GrProjectOptions *options, const GrHost *host,
								  GrProject **project, GrError *err);
	bool		(*project_block) (GrProject *project, float **vectors, int64_t *capacity, GrError *err);
	bool		(*project_submit) (GrProject *project, int64_t nvectors, const GrHost *host, GrError *err);
	bool		(*project_take) (GrProject *project, const float **projected, int64_t *nvectors, GrError *err);
	/* bytes, and the seconds of copies and of kernels: those of the batches taken, and of drawing S */
	void		(*project_times) (const GrProject *project, GrGramTimes *times);
	void		(*project_end) (GrProject *project);

	/*
	 * The solve for many terms; NULL where the backend leaves it to ols.c. factor_begin factorises and fills what is out in job; fails with
	 * GR_OUT_OF_RANGE (where: the row of A less one) at the first entry that isn't finite. factor_inverse writes the symmetric m x m matrix
	 * T inv(L)' W inv(L) T, W being diagonal in double-double (0 for aliased terms) and T = S / divisor, a power of two; NaN in the rows
	 * and columns of aliased terms; it may be called once. Both poll host. factor_end accepts NULL and half-begun factors and cannot fail.
	 */
	bool		(*factor_begin) (GrSession *session, const GrFactorJob *job, GrFactor **factor, const GrHost *host, GrError *err);
	bool		(*factor_inverse) (GrFactor *factor, const double *w_hi, const double *w_lo, double divisor, double *inverse,
								   const GrHost *host, GrError *err);
	void		(*factor_end) (GrFactor *factor);
} GrBackend;

/* Where ols.c may have its matrices factorised; a NULL pointer in its place: by itself. */
typedef struct GrSolver
{
	const GrBackend *backend;
	GrSession  *session;		/* open */
	size_t		memory_limit;	/* device memory a solve may take, bytes; 0: no limit but the device's */
	int			min_terms;		/* fewer are solved on the CPU; 0: from where on the device is faster */
} GrSolver;

extern const GrBackend gr_backend_cpu;
extern const GrBackend gr_backend_cuda; /* without nvcc: a table whose open() says there is no device */

/*
 * The CPU's Gram primitive by itself, for the aggregates: adds nrows rows, less shift (nfeatures + 1 values; NULL: none), to a packed
 * triangle. The result depends on the rows and on how they are split over calls, not on the processor; hi and lo stay normalised.
 * Overflow leaves entries that are not finite. scratch has gr_gram_scratch_nbytes(nfeatures) bytes.
 */
extern void gr_gram_add(double *hi, double *lo, const double *rows, int64_t nrows, GrRowShape shape, const double *shift,
						double *scratch);
extern size_t gr_gram_scratch_nbytes(GrRowShape shape);

/* The same on vectors of at most max_lanes doubles (1, 4 or 8), for the tests. */
extern void gr_gram_add_lanes(double *hi, double *lo, const double *rows, int64_t nrows, GrRowShape shape,
							  const double *shift, double *scratch, int max_lanes);

/* The lanes that gr_gram_add() uses: AVX-512 pays when strips are long; short triangles waste its lanes. */
static inline int
gr_gram_lanes(int nfeatures)
{
	return nfeatures < 14 ? 4 : 8;
}

/* The same, polling: false if the host asked to stop, and then the sums are of no use. */
extern bool gr_gram_add_polling(double *hi, double *lo, const double *rows, int64_t nrows, GrRowShape shape,
								const double *shift, double *scratch, int max_lanes, GrPoll *poll);

/* hi + lo += hi2 + lo2, n entries. */
extern void gr_gram_merge(double *hi, double *lo, const double *hi2, const double *lo2, int64_t n);

/* True if all are finite; else *column (0-based, < ncols) is that of the first value that isn't, row by row. */
extern bool gr_all_finite(const double *rows, int64_t nrows, int ncols, int *column);

/* Single rows of this shape as float8 */
extern void gr_widen_rows(const void *rows, int64_t nrows, GrRowShape shape, double *wide);

/* False if a column's sum of squares isn't finite; *column is then its place in a row, 0-based. */
extern bool gr_gram_finite(const double *hi, int nfeatures, int *column);

#ifdef __cplusplus
}
#endif
#endif							/* GPUREG_COMPUTE_H */
