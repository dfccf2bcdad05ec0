/*
 * gram.h: a Gram matrix, the sums of products of (1, x, y) over rows, from which linear models are fitted. Sinks and
 * aggregate states begin with gr_gram_clear() and add rows with gr_gram_add().
 *
 * A column of values near 1e10 that differ by 1 has 10 digits in common with the ones. Squares of its values spend 20
 * of double-double's 32 digits on those, and regression is about the difference. A column whose values lie close
 * together, for their size, is therefore summed about one of them: the matrix is that of (1, x - c_x, y - c_y), with a
 * float8 c per column. See gram_shift.h for the choice of c.
 *
 * Sums about different shifts, from workers or stored states, are translated to one shift before they are added:
 *
 * sum (u_i + d_i)(u_j + d_j) = G_ij + d_i (S_j + n d_j) + S_i d_j, u = x - c, d = c - c', S = sum of u
 *
 * in double-double, with a rounding error of about 2^-100 n d^2. As both shifts are among the data, n d^2 is of the
 * size of the sums about either shift, or else the column has so large a spread that it needs no shift.
 */
#ifndef GPUREG_GRAM_H
#define GPUREG_GRAM_H

#include <string.h>

#include "compute/base/arena.h"
#include "compute/base/compute.h"
#include "compute/base/dd_dot.h"
#include "compute/linalg/gram_shift.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * A view of numbers that the caller owns. A copy of the struct shares the numbers. Row 0 of the triangle is that of the
 * ones, rows 1 .. nfeatures are the features', row nfeatures + 1 is the response's.
 */
typedef struct GrGram
{
	double	   *hi;				/* packed triangle of gr_norder(nfeatures) rows, entries hi + lo in double-double */
	double	   *lo;
	double	   *shift;			/* nfeatures + 1: c of the features, then of the response; NULL: all 0 */
	int			nfeatures;		/* 0 or more */
	int64_t		nobs;			/* number of observations: rows, or the sum of their frequencies */
	int64_t		nsummed;		/* number of rows if nobs is a sum of frequencies; 0: nobs */
	double		log_constant;	/* part of the log-likelihood that comes from the rows' weights; see GrRowTotals */
} GrGram;

/* Returns the number of entries of the triangle. */
static inline int64_t
gr_gram_nentries(int nfeatures)
{
	return gr_triangle(gr_norder(nfeatures));
}

/* Returns the number of doubles of a matrix: hi, lo and the shift. */
static inline size_t
gr_gram_ndoubles(int nfeatures)
{
	return 2 * (size_t) gr_gram_nentries(nfeatures) + (size_t) gr_nterms(nfeatures);
}

/* Returns a matrix over room, gr_gram_ndoubles() numbers, which are kept. Counts are 0. */
static inline GrGram
gr_gram_at(double *room, int nfeatures)
{
	int64_t		n = gr_gram_nentries(nfeatures);
	GrGram		gram;

	memset(&gram, 0, sizeof(gram));
	gram.hi = room;
	gram.lo = room + n;
	gram.shift = room + 2 * n;
	gram.nfeatures = nfeatures;
	return gram;
}

/* Like gr_gram_at(), with memory carved from arena. */
static inline GrGram
gr_gram_carve(GrArena *arena, int nfeatures)
{
	GrGram		gram;

	memset(&gram, 0, sizeof(gram));
	gram.hi = gr_carve_doubles(arena, gr_gram_nentries(nfeatures));
	gram.lo = gr_carve_doubles(arena, gr_gram_nentries(nfeatures));
	gram.shift = gr_carve_doubles(arena, gr_nterms(nfeatures));
	gram.nfeatures = nfeatures;
	return gram;
}

/* Returns entry (i, j), j <= i. */
static inline GrDD
gr_gram_entry(const GrGram *gram, int64_t i, int64_t j)
{
	int64_t		k = gr_packed(i, j);
	GrDD		entry = {gram->hi[k], gram->lo[k]};

	return entry;
}

static inline void
gr_gram_set(GrGram *gram, int64_t i, int64_t j, GrDD entry)
{
	int64_t		k = gr_packed(i, j);

	gram->hi[k] = entry.hi;
	gram->lo[k] = entry.lo;
}

/* Returns the shift of a row of the triangle; 0 for the ones. */
static inline double
gr_gram_shift_of(const GrGram *gram, int64_t row)
{
	return gram->shift == NULL || row == 0 ? 0.0 : gram->shift[row - 1];
}

/* Returns the triangle, for functions of matrices in double-double. */
static inline GrDDConstVector
gr_gram_triangle(const GrGram *gram)
{
	GrDDConstVector triangle = {gram->hi, gram->lo};

	return triangle;
}

/* True if the shift of some column is not 0. */
static inline bool
gr_gram_is_shifted(const GrGram *gram)
{
	return gram->shift != NULL && gr_shift_any(gram->shift, gram->nfeatures);
}

/* Sets gram to the sums over no rows, about 0. */
extern void gr_gram_clear(GrGram *gram);

/* Copies numbers and counts. to must have room for as many features. If to->shift is NULL, the shift is not copied. */
extern void gr_gram_copy(GrGram *to, const GrGram *from);

/*
 * Sets to to the sums of from about another shift; NULL: 0. to must have room for as many features, and its own memory;
 * to->shift may be NULL if the new shift is 0. Copies counts. Sums that overflow are not finite. Returns false if the
 * host asked to stop; the sums are then unusable.
 */
extern bool gr_gram_copy_about(GrGram *to, const GrGram *from, const double *shift, GrPoll *poll);

/*
 * Translates gram to another shift; NULL: 0. Sums that overflow are not finite. Returns false if the host asked to
 * stop; the sums are then unusable.
 */
extern bool gr_gram_translate(GrGram *gram, const double *shift, GrPoll *poll);

/*
 * Adds the sums of other to gram, each about its own shift, and keeps gram's counts. The resulting shift is gram's,
 * except 0 for columns for which other's is 0. Sums over no rows fit any shift. Returns false if the host asked to
 * stop; the sums are then unusable.
 */
extern bool gr_gram_merge(GrGram *gram, const GrGram *other, GrPoll *poll);

/*
 * Sets subset to the matrix of some of gram's columns, to the bit. columns: subset->nfeatures + 1 indexes in (x, y),
 * from 0, in any order, with repetitions; the last is the response. Products of two columns do not depend on the other
 * columns, for the same rows. Copies counts. Returns false and writes nothing if an index is out of range.
 */
extern bool gr_gram_subset(const GrGram *gram, const int *columns, GrGram *subset);

/*
 * Folds features that come in two parts. A power of a float8 has more digits than a float8: rows store a rounded column
 * u and a column v of the rest, and the sum of (u + v)(s + t) is the sum of four entries. The matrix of (1, x, v, y),
 * with nlow rests v, becomes that of (1, x + v, y). rest_of[k]: index from 0 of the rest that is added to feature x_k;
 * -1: none. Returns false if the host asked to stop or memory is short; the sums are then unusable.
 */
extern bool gr_gram_fold(GrGram *gram, const int *rest_of, int nlow, GrPoll *poll);

/*
 * Returns the best shift for another pass over a row's column: 0, or if the mean is more than far spreads from 0, the
 * mean, rounded so that most differences are exact.
 */
extern double gr_gram_better_shift(const GrGram *gram, int64_t row, double far);

/*
 * Sets shift, which may be gram's own, to gr_gram_better_shift() of the features, and to 0 for the response. Returns
 * true if some shift is not 0.
 */
extern bool gr_gram_choose_shift(const GrGram *gram, double far, double *shift);

/*
 * Adds rows minus gram's shift; the counts stay. The result depends on the rows and on their division into calls, not
 * on the processor; hi and lo stay normalised. Overflow leaves entries that are not finite. scratch:
 * gr_gram_scratch_nbytes(shape) bytes. Implemented by the CPU backend, like the functions below.
 */
extern void gr_gram_add(GrGram *gram, const double *rows, int64_t nrows, GrRowShape shape, double *scratch);

/* Rows of a call of the kernel, bounded for the reasons in kernels_cpu.h, and the limit of lanes of its vectors. */
#define GR_GRAM_CHUNK_NROWS 64
#define GR_GRAM_LANES_MAX 8

/* Returns the float8 of the panels of a chunk of rows, for any number of lanes. */
static inline size_t
gr_gram_panels_size(GrRowShape shape)
{
	return ((size_t) gr_norder(shape.nfeatures) + GR_GRAM_LANES_MAX) * GR_GRAM_CHUNK_NROWS;
}

/* Returns the bytes of the panels, and of two more sets of panels for weighted rows. */
static inline size_t
gr_gram_scratch_nbytes(GrRowShape shape)
{
	return (shape.weight ? 3 : 1) * gr_gram_panels_size(shape) * sizeof(double);
}

/* Like gr_gram_add(), with vectors of at most max_lanes doubles (1, 4 or 8); for tests. */
extern void gr_gram_add_lanes(GrGram *gram, const double *rows, int64_t nrows, GrRowShape shape, double *scratch,
							  int max_lanes);

/*
 * Returns the lanes of gr_gram_add() on this processor; they do not change the bits. Short triangles waste the lanes of
 * long vectors. On Intel's processors, where a long vector is as fast as a short one, long vectors pay from a few
 * features on; on others only when strips are long.
 */
static inline int
gr_gram_lanes(int nfeatures)
{
#if defined(__x86_64__) && defined(__GNUC__)
	if (__builtin_cpu_is("intel"))
		return nfeatures < 4 ? 4 : GR_GRAM_LANES_MAX;
#endif
	return nfeatures < 14 ? 4 : GR_GRAM_LANES_MAX;
}

/* Like gr_gram_add_lanes(), but polls. Returns false if the host asked to stop; the sums are then unusable. */
extern bool gr_gram_add_polling(GrGram *gram, const double *rows, int64_t nrows, GrRowShape shape, double *scratch,
								int max_lanes, GrPoll *poll);

/* Sums of squares below this have lost digits: DBL_MIN * 2^110, as low halves of exact products then underflow. */
#define GR_LEAST_SQUARES 2.9e-275

/*
 * True if the sum of squares of a row of a packed triangle of norder rows has lost digits: it is below GR_LEAST_SQUARES
 * but not 0, or it is 0 because the squares of nonzero values underflowed. The latter shows in the column's products
 * with others, which are then not 0.
 */
extern bool gr_packed_underflowed(GrDDConstVector triangle, int64_t norder, int64_t row);

/*
 * Copies entries of a packed triangle of norder rows, of any columns: to becomes the triangle of the n rows with the
 * numbers in rows, in any order, with repetitions. For example the sums of a linear EXACT pass of the gaussian family
 * at 0 are such a triangle behind their head, of (1, 1, x, y). Returns false and writes nothing if a number is out of
 * range.
 */
extern bool gr_packed_subset(GrDDConstVector from, int norder, const int *rows, int n, GrDDVector to);

#ifdef __cplusplus
}
#endif
#endif							/* GPUREG_GRAM_H */
