/*
 * glm.h: one pass over the rows of a generalised linear model.
 *
 * All that a fit does to rows is a pass: for each row its linear predictor eta, the mean mu, the weight w and the
 * residual r as glm_row.h has them (of a logistic regression mu = 1 / (1 + exp(-eta)), w = mu (1 - mu), r = y - mu),
 * and sums over these. What a pass takes is a GrPass, what it gives is a flat array of float8, so that partial sums of
 * threads, workers, partitions or devices merge by gr_pass_merge().
 *
 * Rows are those of row.h. The terms of a pass are z = (1, x_1 - shift_1, ..., x_p - shift_p),
 * and eta = z' beta. A model without an intercept has
 * beta[0] = 0 and leaves the sums of term 0 unused.
 */
#ifndef GPUREG_GLM_H
#define GPUREG_GLM_H

#include "compute/base/compute.h"
#include "compute/dist/family.h"
#include "compute/glm/face.h"
#include "compute/glm/measure.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Gradient ascent on the logistic log-likelihood, the classic batch update: beta += rate (X'(y - mu) - l2 (0, b)) */
typedef struct GrAscent
{
	bool		intercept;		/* else beta[0] stays as it is */
	bool		single;			/* compute in float4 */
	double		rate;
	double		l2;				/* lambda; the intercept is not penalised */
	const double *scale;		/* a term: done when |gradient_j| <= scale_j for all j ... */
	int64_t		check_every;	/* ... looked at after each this many iterations */
	int64_t		max_iter;
} GrAscent;

/* From so many terms on, passes may be coarse: below, it would be of little use. */
#define GR_COARSE_TERMS_MIN 48

/* The most faces of a pass: nested separations followed, each of which takes a term away */
#define GR_FACES_MAX 8

typedef enum GrPassKind
{
	/*
	 * eta in double-double, and the Gram matrix in double-double of (1, u, u z_1 .. u z_p, v), u = sqrt(w), v = r / u:
	 * X'WX and X'r to the last digit, good where they cancel. u and v come from gr_logistic_row().
	 */
	GR_PASS_EXACT,
	/* eta and the Hessian X'WX in float8, the gradient X'r compensated: for the iterations before the last */
	GR_PASS_FAST,
	/* as FAST, but of the Hessian only its first row and its diagonal: for solvers that don't form it */
	GR_PASS_GRADIENT,
	/*
	 * No beta. Along the direction of the last face, on which side of it each row is: with e = z' direction, in
	 * double-double, the margin of a row is (2 y - 1) e. Sums the Gram matrix of (1, 1, z, e) over the rows on the face
	 * and those on its wrong side.
	 */
	GR_PASS_FACE
} GrPassKind;

/*
 * Rows on a face. With nfaces > 0 only rows that lie on all the faces before the candidate's take part: EXACT leaves
 * out those off any of the nfaces, FACE those off any of the first nfaces - 1. A row is on face f if |z' f| <=
 * face_absolute[k] + face_relative * (sum of |f_j z_j|). Directions are in double-double, and the error of z' f is at
 * most gr_face_rounding() times that sum, so that the side that a row is on is certain where face_relative is no less.
 * FAST and GRADIENT know no faces.
 *
 * What a pass points to is copied by sink_many.c, where passes are made by several threads.
 */
typedef struct GrPass
{
	GrPassKind	kind;
	GrRowShape	shape;			/* of the rows, which are not single */
	GrDistribution distribution;
	const double *beta;			/* of z */
	const double *shift;		/* nfeatures; all 0 where the terms are the features themselves */
	int			nfaces;
	const double *faces;		/* nfaces directions in z: of each t high halves, then t low ones */
	const double *face_absolute;	/* nfaces */
	double		face_relative;
	/*
	 * EXACT, at beta = 0: rows as gr_first_row() has them, whose Newton step is a least-squares fit that comes near the
	 * estimate, however large offsets and responses are. There is no deviance. Of a logistic regression the mean is
	 * taken for linear in eta, 1/2 + eta / 4: w = 1/4, r = y - 1/2 - offset / 4. Of a linear regression without offsets
	 * the sums are those of the rows' own products, w z_i z_j, without u's rounding (gr_pass_is_weighted_gram()).
	 */
	bool		linear;
	GrMeasure	measure;
	double		edge;			/* of the measures of edge.h: a count, or a predictor; see GrMeasure */
	bool		counts;			/* rows with weights stand so many times each; see GrWeighting */
	/*
	 * A lower triangle C of t terms, packed, by which leverages are measured: a row's is u^2 times the squared length
	 * of C z. NULL unless the measure wants it
	 */
	const double *factor;
} GrPass;

/*
 * Is it the linear pass of a linear regression of weighted rows, with neither offsets, faces nor an exponent? Its sums
 * are the weighted Gram matrix of (1, x, y), each product exact: rounded to float8, a row of u z would lose as many
 * digits as the features' condition number has. Of row 0 of the sums there is only the number of rows, and the sum of
 * the responses may be left out.
 */
static inline bool
gr_pass_is_weighted_gram(const GrPass *pass)
{
	return pass->kind == GR_PASS_EXACT && pass->linear && pass->measure == GR_MEASURE_STEP && pass->nfaces == 0 &&
		gr_is_linear(pass->distribution) && pass->distribution.exponent == 0 && pass->shape.weight &&
		!pass->shape.offset;
}

/* The sums of a pass: this head, then what gr_pass_nsums() describes. All start as gr_pass_clear() leaves them. */
enum
{
	GR_SUM_NROWS,				/* rows that took part */
	GR_SUM_DEVIANCE_HI,			/* see GrGlmRow; not FACE */
	GR_SUM_DEVIANCE_LO,
	GR_SUM_MIN_MARGIN,			/* least gr_margin_of(), (2 y - 1) eta; not FACE */
	GR_SUM_NRIGHT,				/* FACE: rows off the face with a positive margin */
	GR_SUM_NWRONG,				/* FACE: ... with a negative one; HC2 and HC3: rows without a score */
	GR_SUM_MIN_RIGHT,			/* FACE: the least positive margin of those */
	/* the sum of y over those that took part, without 2^exponent; EXACT and GRADIENT; FACE: over the face */
	GR_SUM_NONES,
	GR_SUM_HEAD					/* length of the head */
};

/*
 * Where the parts behind the head begin, of t terms.
 *	 EXACT, FACE: hi[gr_triangle(t + 2)], lo[same]: the Gram matrix, packed as in compute.h; its row 0 is of the ones,
 *	              1 .. t of the terms, t + 1 of v (or e)
 *	 FAST:        gradient_hi[t], gradient_lo[t], hessian[gr_triangle(t)] packed
 *	 GRADIENT:    gradient_hi[t], gradient_lo[t], first[t] = sum w z_j, diagonal[t] = sum w z_j^2
 */
static inline size_t
gr_pass_nsums(GrPassKind kind, int nfeatures)
{
	size_t		t = (size_t) gr_nterms(nfeatures);

	switch (kind)
	{
		case GR_PASS_FAST:
			return GR_SUM_HEAD + 2 * t + (size_t) gr_triangle((int64_t) t);
		case GR_PASS_GRADIENT:
			return GR_SUM_HEAD + 4 * t;
		default:
			return GR_SUM_HEAD + 2 * (size_t) gr_triangle((int64_t) t + 2);
	}
}

static inline void
gr_pass_clear(GrPassKind kind, int nfeatures, double *sums)
{
	memset(sums, 0, gr_pass_nsums(kind, nfeatures) * sizeof(double));
	sums[GR_SUM_MIN_MARGIN] = INFINITY;
	sums[GR_SUM_MIN_RIGHT] = INFINITY;
}

/* sums += other, of the same pass */
extern void gr_pass_merge(GrPassKind kind, int nfeatures, double *sums, const double *other);

/*
 * The pass on the CPU: adds nrows rows to sums. Rows must be finite and their response 0 or 1. The result depends on
 * the rows and on how they are split over calls, and for EXACT and FACE not on the processor (beyond libm's exp and
 * log1p). A predictor that leaves float8's range on the wrong side, or is not a number, leaves the deviance not finite.
 * scratch: gr_pass_scratch_nbytes() bytes, aligned as float8.
 */
extern void gr_pass_add(const GrPass *pass, double *sums, const double *rows, int64_t nrows, double *scratch);
extern size_t gr_pass_scratch_nbytes(GrPassKind kind, GrRowShape shape);

/* The same, polling: false if the host asked to stop, and then the sums are of no use. */
extern bool gr_pass_add_polling(const GrPass *pass, double *sums, const double *rows, int64_t nrows, double *scratch,
								const GrHost *host);

struct GrArena;

/*
 * What gr_pass_add() makes of EXACT and FACE: glm_exact.c. The products of a coarse pass are left out. The scratch is
 * carved from arena, which begins on a cache line.
 */
extern bool gr_add_exact(const GrPass *pass, double *sums, const double *rows, int64_t nrows,
						 struct GrArena *arena, int max_lanes, GrPoll *poll);

/* Counts the scratch of gr_add_exact() in arena, whose base is NULL. */
extern void gr_exact_count(GrRowShape shape, struct GrArena *arena);

/* gr_pass_add() on vectors of at most max_lanes doubles (1, 2, 4 or 8), for the tests */
extern void gr_pass_add_lanes(const GrPass *pass, double *sums, const double *rows, int64_t nrows, double *scratch,
							  int max_lanes);

#ifdef __cplusplus
}
#endif
#endif							/* GPUREG_GLM_H */
