/*
 * request_ops.h: what a kind of request does with rows and sums on the CPU; see request.h and request_kinds.h.
 */
#ifndef GPUREG_REQUEST_OPS_H
#define GPUREG_REQUEST_OPS_H

#include "compute/request/request.h"

/* Numbers of float8 that the arrays have */
typedef struct GrRequestLayout
{
	size_t		n[GR_REQUEST_NARRAYS];
} GrRequestLayout;

/* Operations of a kind of request, for the sums of one group. NULL for lay_out: there are no arrays. */
typedef struct GrRequestOps
{
	const char *name;			/* for messages, such as "a pass" */
	GrRequestLayout (*lay_out) (const GrRequest *request);
	bool		(*valid) (const GrRequest *request, GrRowShape shape, GrError *err);
	size_t		(*nsums) (const GrRequest *request);
	void		(*clear) (const GrRequest *request, double *sums);	/* NULL: zeros */
	void		(*merge) (const GrRequest *request, double *sums, const double *other);	/* NULL: adds numbers */
	bool		(*add) (const GrRequest *request, double *sums, const double *rows, int64_t nrows, void *scratch,
						const GrHost *host);
	size_t		(*scratch_nbytes) (const GrRequest *request);	/* NULL: none */
	bool		(*sum_whole) (const GrRequest *request, const GrRowPieces *pieces, double *sums, const GrHost *host,
							  GrError *err);	/* NULL: rows are added in pieces */
	uint32_t	flags;			/* that may be set */
	bool		takes_keys;
	bool		polls;			/* add() asks the host by itself, however many rows there are */
	int			batch;			/* rows that are best added at once */
} GrRequestOps;

/* Rows that kernels like at a time */
#define GR_REQUEST_BATCH 256

/* The request's array k, or NULL */
static inline const double *
gr_request_array(const GrRequest *request, GrRequestArray k)
{
	return request->offsets[k] == 0 ? NULL : (const double *) ((const char *) request + request->offsets[k]);
}

#define GR_REQUEST_DECLARE(kind, operations, device) extern const GrRequestOps gr_request_ops_##operations;
GR_REQUEST_KINDS(GR_REQUEST_DECLARE)

#endif							/* GPUREG_REQUEST_OPS_H */
