/*
 * compute.h: errors, cancellation and packed triangles, shared by PostgreSQL's side, the statistics and the backends.
 *
 * Everything under src/compute and kernels includes this header; none of it knows PostgreSQL. Failure is a value: a
 * function that can fail takes a GrError, returns false and keeps the first failure. Nothing prints, throws, exits or
 * jumps. Long work polls GrHost for cancellation.
 *
 * row.h describes how rows lie in memory, backend.h what a backend offers.
 */
#ifndef GPUREG_COMPUTE_H
#define GPUREG_COMPUTE_H

#include <math.h>
#include <signal.h>
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
	GR_INVALID,					/* an argument is out of its domain; detail: which */
	GR_ONE_CLASS,				/* all responses are equal; value: the response */
	GR_NOT_BINARY,				/* a response is neither 0 nor 1; value: the response */
	GR_NOT_A_SHARE,				/* a response is not from 0 to 1; value: the response */
	GR_NEGATIVE_RESPONSE,		/* a response is negative; value: the response */
	GR_NOT_POSITIVE,			/* a response is not positive; value: the response */
	GR_ALL_ZERO,				/* every response is 0 */
	GR_NEGATIVE_WEIGHT,			/* a weight is negative; where: its column; value: the weight */
	GR_NOT_A_COUNT,				/* a frequency is not a count; where: its column; value: the frequency */
	GR_NOT_FINITE,				/* NaN or infinity in the input; where: the column */
	GR_OUT_OF_RANGE,			/* a sum of products left float8's range; where: the column */
	/* a result left float8's range; where: its column; value: the result; detail: its name */
	GR_RESULT_OUT_OF_RANGE,
	GR_CANCELED,				/* GrHost asked to stop */
	GR_NO_MEMORY,				/* out of host memory; bytes_needed, or 0 and a reason in detail */
	GR_NO_DEVICE,				/* no driver or no usable device */
	/* out of device memory; bytes_needed, bytes_free; bytes_needed 0: see detail; value: seconds waited */
	GR_DEVICE_MEMORY,
	GR_OVER_QUOTA,				/* an owner's share of a service's memory is used up; bytes_needed, bytes_free */
	GR_DEVICE_FAILED,			/* a device call failed */
	GR_DEVICE_LOST				/* a device call failed, and the process can't use the device again */
} GrStatus;

/* GrError.where holds a column as its 0-based position in a row (row.h), or as one of these values. */
#define GR_COLUMN_ONES (-1)		/* the column of ones: the intercept */
#define GR_NO_COLUMN (-2)		/* no column is at fault, or none is known */

typedef struct GrError
{
	GrStatus	status;
	int64_t		where;			/* depends on status; never a matrix row: convert with gr_column_of_row() */
	double		value;			/* depends on status */
	size_t		bytes_needed;
	size_t		bytes_free;
	char		detail[256];	/* reason in words; the driver's own message where it has one */
} GrError;

/* Records a failure in err unless err has one already. Always returns false. */
extern bool gr_fail(GrError *err, GrStatus status, int64_t where, const char *fmt,...)
#if defined(__GNUC__)
			__attribute__((format(printf, 4, 5)))
#endif
;

/* Bytes of the longest text of gr_describe_shortage(), including the final 0. */
#define GR_SHORTAGE_SIZE 256

/*
 * Writes the words for a GR_DEVICE_MEMORY or GR_OVER_QUOTA into text (size bytes, at least GR_SHORTAGE_SIZE): the bytes
 * needed and free, or err->detail if these are unknown, and how long the work has waited.
 */
extern void gr_describe_shortage(const GrError *err, char *text, size_t size);

/* Callbacks that the caller offers to long-running work. */
typedef struct GrHost
{
	bool		(*canceled) (void *arg);	/* true: stop soon; it never jumps, but may end the process */
	void	   *arg;
	const volatile sig_atomic_t *pending;	/* 0: canceled() has nothing to say, and isn't called; NULL: it may have */
} GrHost;

static inline bool
gr_canceled(const GrHost *host)
{
	if (host == NULL || host->canceled == NULL || (host->pending != NULL && *host->pending == 0))
		return false;
	return host->canceled(host->arg);
}

/* Work done since the host was last asked, in units of about a nanosecond. */
typedef struct GrPoll
{
	const GrHost *host;
	int64_t		work;
} GrPoll;

#define GR_POLL_WORK 2000000

/*
 * Adds work to the count and asks the host only once GR_POLL_WORK has accumulated. For loops whose turns are too short
 * to ask in each. True if the host asks to stop.
 */
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
 * G = sum over rows of z z', where z = (1, x_1 .. x_p, y) has q = p + 2 entries. The packed lower triangle holds
 * G[i][j], j <= i, at i (i + 1) / 2 + j, in two arrays of float8 whose sums hi[k] + lo[k] are the entries in
 * double-double. With a shift c, one float8 per column, z = (1, x - c_x, y - c_y); see gram_shift.h.
 */
static inline int64_t
gr_triangle(int64_t q)
{
	return q * (q + 1) / 2;
}

/* Meaning of the rows of a symmetric matrix, for errors that name a column. */
typedef enum GrMatrixRows
{
	GR_ROWS_UNNAMED,			/* rows do not stand for columns */
	GR_ROWS_ENTRIES,			/* (1, x, y) */
	GR_ROWS_TERMS,				/* (1, x), then the right-hand side, from the response */
	GR_ROWS_FEATURES,			/* x, then the right-hand side */
	GR_ROWS_PASS				/* (1, u, u x, v) as summed by an EXACT or FACE pass; see glm.h */
} GrMatrixRows;

/* Returns the column that a matrix row stands for. All errors about a matrix's column use it. */
static inline int64_t
gr_column_of_row(GrMatrixRows rows, int64_t row)
{
	int64_t		column = rows == GR_ROWS_FEATURES ? row : rows == GR_ROWS_PASS ? row - 2 : row - 1;

	if (rows == GR_ROWS_UNNAMED || row < 0)
		return GR_NO_COLUMN;
	return column < 0 ? GR_COLUMN_ONES : column;
}

/* Returns the index of entry (i, j), j <= i, in a packed triangle. */
static inline int64_t
gr_packed(int64_t i, int64_t j)
{
	return i * (i + 1) / 2 + j;
}

/*
 * True if all values of nrows rows of ncols columns are finite. Otherwise sets *column (0-based) to the column of the
 * first value that is not, in row order.
 */
extern bool gr_all_finite(const double *rows, int64_t nrows, int ncols, int *column);

/* Copies nrows single rows of this shape to wide as float8, gr_row_ncols(shape) numbers per row. */
extern void gr_widen_rows(const void *rows, int64_t nrows, GrRowShape shape, double *wide);

/*
 * True if the sums of squares of all features and the response are finite. Otherwise sets *column to the first column's
 * 0-based position in a row. hi: packed triangle of gr_norder(nfeatures).
 */
static inline bool
gr_gram_finite(const double *hi, int nfeatures, int *column)
{
	for (int64_t j = 1; j < gr_norder(nfeatures); j++)
	{
		if (!isfinite(hi[gr_packed(j, j)]))
		{
			*column = (int) (j - 1);
			return false;
		}
	}
	return true;
}

#ifdef __cplusplus
}
#endif
#endif							/* GPUREG_COMPUTE_H */
