/*
 * remote_wire.h: the arrays that each command of remote.h takes and returns, and their order in the bulk area. The
 * client calls each function twice, to count and to write; the server calls it to find the arrays.
 */
#ifndef GPUREG_REMOTE_WIRE_H
#define GPUREG_REMOTE_WIRE_H

#include <string.h>

#include "compute/remote/remote.h"

static inline double *
gr_wire_doubles(GrRemoteWire *wire, int64_t n)
{
	return (double *) gr_wire(wire, (size_t) n * sizeof(double));
}

/* True if the command's arrays fit the bulk area. */
static inline bool
gr_wire_fits(const GrRemoteWire *wire, GrError *err)
{
	return (wire->at != NULL && wire->nbytes <= wire->limit) ||
		gr_fail(err, GR_DEVICE_FAILED, 0, "arguments of %zu bytes don't fit the channel's %zu", wire->nbytes,
				wire->limit);
}

/* Copies n numbers from `from` to into. Does nothing if one of the two is NULL, as while arguments are only counted. */
static inline void
gr_wire_put(double *into, const double *from, int64_t n)
{
	if (into != NULL && from != NULL)
		memcpy(into, from, (size_t) n * sizeof(double));
}

/* FINISH: a piece of the triangles hi and lo */
typedef struct GrWireGram
{
	double	   *hi;
	double	   *lo;
	int64_t		n;
} GrWireGram;

#define GR_WIRE_GRAM_LEAST 128	/* bytes of eight entries, hi and lo */

/* Returns the piece of nsums sums from index `from` on that fits the bulk area. */
static inline GrWireGram
gr_wire_gram(GrRemoteWire *wire, int64_t nsums, int64_t from)
{
	int64_t		room = (int64_t) (wire->limit / GR_WIRE_GRAM_LEAST * (GR_WIRE_GRAM_LEAST / 2 / sizeof(double)));
	GrWireGram	gram = {.n = nsums - from < room ? nsums - from : room};

	gram.hi = gr_wire_doubles(wire, gram.n);
	gram.lo = gr_wire_doubles(wire, gram.n);
	return gram;
}

/* SUMS: a request of nbytes bytes, followed by its sums */
typedef struct GrWireSums
{
	void	   *request;
	double	   *sums;
} GrWireSums;

static inline GrWireSums
gr_wire_sums(GrRemoteWire *wire, size_t nbytes, size_t nsums)
{
	GrWireSums	w;

	w.request = gr_wire(wire, nbytes);
	w.sums = gr_wire_doubles(wire, (int64_t) nsums);
	return w;
}

typedef struct GrWireBasis
{
	int		   *changed;
	double	   *coef;
} GrWireBasis;

static inline GrWireBasis
gr_wire_basis(GrRemoteWire *wire, const GrBasis *basis)
{
	GrWireBasis w;

	w.changed = (int *) gr_wire(wire, (size_t) basis->nchanged * sizeof(int));
	w.coef = gr_wire_doubles(wire, (int64_t) basis->nchanged * gr_nterms(basis->nfeatures));
	return w;
}

/* FACTOR: arrays in and out; see GrFactorJob. */
typedef struct GrWireFactor
{
	double	   *hi;
	double	   *lo;
	double	   *scale;
	double	   *least_pivot;
	bool	   *aliased;
	double	   *d_hi;
	double	   *d_lo;
	double	   *row_hi;
	double	   *row_lo;
	double	   *coef_hi;
	double	   *coef_lo;
} GrWireFactor;

static inline GrWireFactor
gr_wire_factor(GrRemoteWire *wire, const GrFactorJob *job)
{
	int64_t		m = job->nterms;
	int64_t		n = gr_triangle(job->skip + m + 1);
	GrWireFactor w;

	w.hi = gr_wire_doubles(wire, n);
	w.lo = gr_wire_doubles(wire, n);
	w.scale = gr_wire_doubles(wire, m + 1);
	w.least_pivot = gr_wire_doubles(wire, m);
	w.aliased = (bool *) gr_wire(wire, (size_t) m * sizeof(bool));
	w.d_hi = gr_wire_doubles(wire, m + 1);
	w.d_lo = gr_wire_doubles(wire, m + 1);
	w.row_hi = gr_wire_doubles(wire, m);
	w.row_lo = gr_wire_doubles(wire, m);
	w.coef_hi = gr_wire_doubles(wire, m);
	w.coef_lo = gr_wire_doubles(wire, m);
	return w;
}

typedef struct GrWireInverse
{
	double	   *w_hi;
	double	   *w_lo;
	double	   *inverse;
} GrWireInverse;

static inline GrWireInverse
gr_wire_inverse(GrRemoteWire *wire, int64_t nterms)
{
	GrWireInverse w;

	w.w_hi = gr_wire_doubles(wire, nterms);
	w.w_lo = gr_wire_doubles(wire, nterms);
	w.inverse = gr_wire_doubles(wire, nterms * nterms);
	return w;
}

typedef struct GrWireAscent
{
	double	   *scale;
	double	   *beta;
} GrWireAscent;

/*
 * Returns the places in the bulk area of the arrays of ASCEND, gr_nterms(shape.nfeatures) float8 each: scale, the
 * limits of the gradient (see GrAscent), and beta, the coefficients to begin at and, in the answer, to end at. NULL as
 * from gr_wire().
 */
static inline GrWireAscent
gr_wire_ascent(GrRemoteWire *wire, GrRowShape shape)
{
	GrWireAscent w;

	w.scale = gr_wire_doubles(wire, gr_nterms(shape.nfeatures));
	w.beta = gr_wire_doubles(wire, gr_nterms(shape.nfeatures));
	return w;
}

#endif							/* GPUREG_REMOTE_WIRE_H */
