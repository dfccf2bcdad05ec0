/*
 * gram.h: a Gram matrix, the sums of products of (1, x, y) over rows, from which linear models are fitted.
 *
 * A column of values near 1e10 that differ by 1 has 10 digits in common with the ones. Their squares lose 20 of
 * double-double's 32 digits to the difference that regression is about; so a column whose values lie close together,
 * for their size, is summed about one of them: the matrix is that of (1, x - c_x, y - c_y), with a float8 c for each
 * column. See gram_shift.h for how c is chosen.
 *
 * Sums about different shifts, of workers or of stored states, are translated to one before they are added:
 *
 *	 sum (u_i + d_i)(u_j + d_j) = G_ij + d_i (S_j + n d_j) + S_i d_j, u = x - c, d = c - c', S = sum of u
 *
 * in double-double, whose rounding is 2^-100 or so of n d^2 there. As both shifts are among the data, n d^2 is of the
 * size of what the sums about either must be, or the column has the spread that makes a shift needless.
 */
#ifndef GPUREG_GRAM_H
#define GPUREG_GRAM_H

#include "compute/base/arena.h"
#include "compute/base/compute.h"
#include "compute/base/dd_dot.h"
#include "compute/linalg/gram_shift.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * A view: the numbers are the caller's, in whatever memory. A copy of the struct has the same numbers. Row 0 of the
 * triangle is the ones', rows 1 .. nfeatures the features', row nfeatures + 1 the response's.
 */
typedef struct GrGram
{
	double	   *hi;				/* packed triangle of gr_norder(nfeatures) rows, entry hi + lo in double-double */
	double	   *lo;
	double	   *shift;			/* nfeatures + 1: c of the features, then of the response; NULL: all are 0 */
	int			nfeatures;		/* 0 or more */
	int64_t		nobs;			/* observations: rows or, of frequencies, their sum */
	int64_t		nsummed;		/* rows, where nobs counts them more than once; 0: nobs */
	double		log_constant;	/* what the rows' weights add to the log-likelihood; see GrRowTotals */
} GrGram;

/* Entries of the triangle */
static inline int64_t
gr_gram_nentries(int nfeatures)
{
	return gr_triangle(gr_norder(nfeatures));
}

/* Doubles that a matrix takes: hi, lo and the shift */
static inline size_t
gr_gram_ndoubles(int nfeatures)
{
	return 2 * (size_t) gr_gram_nentries(nfeatures) + (size_t) gr_nterms(nfeatures);
}

/* A matrix over room for gr_gram_ndoubles() numbers, which are left as they are; all counts are 0. */
static inline GrGram
gr_gram_at(double *room, int nfeatures)
{
	int64_t		n = gr_gram_nentries(nfeatures);
	GrGram		gram = {0};

	gram.hi = room;
	gram.lo = room + n;
	gram.shift = room + 2 * n;
	gram.nfeatures = nfeatures;
	return gram;
}

/* gr_gram_at() over what is carved */
static inline GrGram
gr_gram_carve(GrArena *arena, int nfeatures)
{
	GrGram		gram = {0};

	gram.hi = gr_carve_doubles(arena, gr_gram_nentries(nfeatures));
	gram.lo = gr_carve_doubles(arena, gr_gram_nentries(nfeatures));
	gram.shift = gr_carve_doubles(arena, gr_nterms(nfeatures));
	gram.nfeatures = nfeatures;
	return gram;
}

/* Entry (i, j), j <= i */
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

/* The shift of a row of the triangle; that of the ones is 0. */
static inline double
gr_gram_shift_of(const GrGram *gram, int64_t row)
{
	return gram->shift == NULL || row == 0 ? 0.0 : gram->shift[row - 1];
}

/* The triangle, for functions of matrices in double-double */
static inline GrDDConstVector
gr_gram_triangle(const GrGram *gram)
{
	GrDDConstVector triangle = {gram->hi, gram->lo};

	return triangle;
}

/* True if a column's shift isn't 0. */
static inline bool
gr_gram_is_shifted(const GrGram *gram)
{
	return gram->shift != NULL && gr_shift_any(gram->shift, gram->nfeatures);
}

/* Makes gram the sums over no rows, about 0. */
extern void gr_gram_clear(GrGram *gram);

/* Copies numbers and counts; to must have room for as many features. Its shift may be NULL, and is left out then. */
extern void gr_gram_copy(GrGram *to, const GrGram *from);

/*
 * Makes to the sums of from about another shift; NULL: 0. to must have room for as many features, and memory of its
 * own; its shift may be NULL where it is 0. Counts are copied. Sums that overflow aren't finite. Returns false if the
 * host asked to stop, and then the sums are of no use.
 */
extern bool gr_gram_copy_about(GrGram *to, const GrGram *from, const double *shift, GrPoll *poll);

/*
 * Sums about gram's shift become sums about another; NULL: 0. Sums that overflow aren't finite. Returns false if the
 * host asked to stop, and then the sums are of no use.
 */
extern bool gr_gram_translate(GrGram *gram, const double *shift, GrPoll *poll);

/*
 * Adds the sums of other to those of gram, each about its own shift, and leaves the counts alone. The result's shift is
 * gram's own, less the columns for which other's is 0. Sums over no rows have any shift. Returns false if the host
 * asked to stop, and then the sums are of no use.
 */
extern bool gr_gram_merge(GrGram *gram, const GrGram *other, GrPoll *poll);

/*
 * Makes subset the matrix of some of gram's columns, to the bit. columns: subset->nfeatures + 1 places among
 * (x, y), from 0, in any order and more than once; the last one becomes the response. Products of two columns don't
 * depend on which others there are, as long as the rows are the same. Counts are copied. Returns false, and writes
 * nothing, if a place isn't one.
 */
extern bool gr_gram_subset(const GrGram *gram, const int *columns, GrGram *subset);

/*
 * Folds features that come in two parts. A power of a float8 has more digits than a float8: rows have it as a rounded
 * column u and a column v of what rounding left, and the sum of (u + v)(s + t) is that of four sums. So the matrix of
 * (1, x, v, y), with nlow rests v, becomes that of (1, x + v, y). rest_of[k], of each feature x_k: which of v is added
 * to it, from 0 on; -1: none. Returns false if the host asked to stop or there is no memory, and then the sums are of
 * no use.
 */
extern bool gr_gram_fold(GrGram *gram, const int *rest_of, int nlow, GrPoll *poll);

/*
 * The shift that a row of the triangle's column had better be summed about in another pass: 0, or where the column's
 * mean is further from 0 than far times its spread, about the mean, so rounded that most differences are exact.
 */
extern double gr_gram_better_shift(const GrGram *gram, int64_t row, double far);

/*
 * Fills shift, which may be gram's own, with gr_gram_better_shift() of the features. The response gets 0. Returns true
 * if one isn't 0.
 */
extern bool gr_gram_choose_shift(const GrGram *gram, double far, double *shift);

/*
 * Adds rows of that shape, of gram's features, less gram's shift; the counts are left alone. The result depends on the
 * rows and on how they are split over calls, not on the processor; hi and lo stay normalised. Overflow leaves entries
 * that are not finite. scratch has gr_gram_scratch_nbytes(shape) bytes. gr_gram_add() and these are the CPU backend's.
 */
extern void gr_gram_add(GrGram *gram, const double *rows, int64_t nrows, GrRowShape shape, double *scratch);

/* Rows of one call of the kernel, see kernels_cpu.h on why they are bounded, and the most lanes of its vectors */
#define GR_GRAM_CHUNK_NROWS 64
#define GR_GRAM_LANES_MAX 8

/* float8 of the panels of a chunk of rows, whatever the lanes */
static inline size_t
gr_gram_panels_size(GrRowShape shape)
{
	return ((size_t) gr_norder(shape.nfeatures) + GR_GRAM_LANES_MAX) * GR_GRAM_CHUNK_NROWS;
}

/* The panels, and for weighted rows two more sets */
static inline size_t
gr_gram_scratch_nbytes(GrRowShape shape)
{
	return (shape.weight ? 3 : 1) * gr_gram_panels_size(shape) * sizeof(double);
}

/* gr_gram_add() on vectors of at most max_lanes doubles (1, 4 or 8), for the tests. */
extern void gr_gram_add_lanes(GrGram *gram, const double *rows, int64_t nrows, GrRowShape shape, double *scratch,
							  int max_lanes);

/*
 * Returns the lanes that gr_gram_add() uses on this processor; the bits are the same with any. Short triangles waste
 * the lanes of long vectors: where these are worth two short ones, as on Intel's processors, they pay from a few
 * features on, elsewhere when strips are long.
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

/* gr_gram_add_lanes() that polls: false if the host asked to stop, and then the sums are of no use. */
extern bool gr_gram_add_polling(GrGram *gram, const double *rows, int64_t nrows, GrRowShape shape, double *scratch,
								int max_lanes, GrPoll *poll);

/* Sums of squares below this have lost digits: DBL_MIN * 2^110, below which low halves of exact products underflow. */
#define GR_LEAST_SQUARES 2.9e-275

/*
 * True if the sum of squares at that row of a packed triangle of norder rows is too small to have its digits: below
 * GR_LEAST_SQUARES, but not 0; or 0 where the column has other values than 0, whose squares underflowed. The column's
 * products with others tell that: they are no larger than such values give, and not 0.
 */
extern bool gr_packed_underflowed(GrDDConstVector triangle, int64_t norder, int64_t row);

/*
 * Entries of a packed triangle of norder rows, which need not be (1, x, y): to becomes the triangle of
 * the n rows that are named by number, in any order and more than once. The sums of an EXACT pass of the gaussian
 * family at 0, linear, are such a triangle, behind the head: of (1, 1, x, y). Returns false, and writes nothing, if a
 * number isn't one.
 */
extern bool gr_packed_subset(GrDDConstVector from, int norder, const int *rows, int n, GrDDVector to);

#ifdef __cplusplus
}
#endif
#endif							/* GPUREG_GRAM_H */
