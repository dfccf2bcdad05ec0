/*
 * compute.h: what the PostgreSQL side, the statistics and the backends share: errors, cancel, packed triangles.
 *
 * Nothing below this line knows PostgreSQL. Failure is a value: every function that can fail takes a GrError, returns
 * false and keeps the first failure. Nothing prints, throws, exits or jumps. Long work polls GrHost for cancel.
 *
 * How rows lie in memory is row.h's; what a backend offers, backend.h's.
 */
#ifndef GPUREG_COMPUTE_H
#define GPUREG_COMPUTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "compute/base/row.h"

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
	GR_NEGATIVE_RESPONSE,		/* a response is negative; likewise */
	GR_NOT_POSITIVE,			/* a response is not positive; likewise */
	GR_ALL_ZERO,				/* every response is 0 */
	GR_NEGATIVE_WEIGHT,			/* where: the column; value: it */
	GR_NOT_A_COUNT,				/* a frequency; likewise */
	GR_NOT_FINITE,				/* NaN or infinity in the input; where: the column */
	GR_OUT_OF_RANGE,			/* a sum of products left float8's range; where: the column */
	GR_RESULT_OUT_OF_RANGE,		/* a result did; where: its column; value: it; detail: what */
	GR_CANCELED,				/* GrHost asked to stop */
	GR_NO_MEMORY,				/* host memory; bytes_needed, or 0 and for what in detail */
	GR_NO_DEVICE,				/* no driver or no usable device */
	/* bytes_needed, bytes_free are set; bytes_needed 0: neither is known, see detail; value: seconds of waiting */
	GR_DEVICE_MEMORY,
	GR_OVER_QUOTA,				/* an owner's share of a service's memory; bytes_needed, bytes_free are set */
	GR_DEVICE_FAILED,			/* a device call failed */
	GR_DEVICE_LOST				/* likewise, and the process can't use the device again */
} GrStatus;

/* A column in GrError's where is its 0-based place in a row (row.h), or one of these. */
#define GR_COLUMN_ONES (-1)		/* the column of ones, the intercept's */
#define GR_NO_COLUMN (-2)		/* no column is known to be at fault */

typedef struct GrError
{
	GrStatus	status;
	int64_t		where;			/* meaning depends on status; never a row of a matrix: see gr_column_of_row() */
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

/*
 * Describes a GR_DEVICE_MEMORY or GR_OVER_QUOTA for a person: the bytes needed and free, or what failed where these are
 * unknown, and how long the work has waited for them.
 */
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
 * G = sum over rows of z z', z = (1, x_1 .. x_p, y), q = p + 2 entries. The packed lower triangle holds G[i][j], j <=
 * i, at i (i + 1) / 2 + j, as two arrays of float8 whose sums hi[k] + lo[k] are the entries in double-double. With a
 * shift c, a float8 a column, z = (1, x - c_x, y - c_y); see gram_shift.h.
 */
static inline int64_t
gr_triangle(int64_t q)
{
	return q * (q + 1) / 2;
}

/* Meaning of the rows of a symmetric matrix */
typedef enum GrMatrixRows
{
	GR_ROWS_UNNAMED,			/* nothing that has a column */
	GR_ROWS_ENTRIES,			/* (1, x, y) */
	GR_ROWS_TERMS,				/* (1, x), and the right-hand side, which is the response's */
	GR_ROWS_FEATURES,			/* x, and the right-hand side */
	GR_ROWS_PASS				/* (1, u, u x, v), as an EXACT or FACE pass sums them; see glm.h */
} GrMatrixRows;

/* Returns the column that a row of a matrix stands for. All errors that name a column found in a matrix use it. */
static inline int64_t
gr_column_of_row(GrMatrixRows rows, int64_t row)
{
	int64_t		column = rows == GR_ROWS_FEATURES ? row : rows == GR_ROWS_PASS ? row - 2 : row - 1;

	if (rows == GR_ROWS_UNNAMED || row < 0)
		return GR_NO_COLUMN;
	return column < 0 ? GR_COLUMN_ONES : column;
}

/* Where entry (i, j), j <= i, of a packed triangle is */
static inline int64_t
gr_packed(int64_t i, int64_t j)
{
	return i * (i + 1) / 2 + j;
}

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
