/*
 * glm.h: one pass over the rows of a generalised linear model. A fit (glm_fit.h) requests passes; sinks and the passes
 * over kept rows make them with gr_pass_add().
 *
 * A pass computes for each row its linear predictor eta, mean mu, weight w and residual r as defined in glm_row.h (for
 * a logistic regression mu = 1 / (1 + exp(-eta)), w = mu (1 - mu), r = y - mu), and sums over rows. The input is a
 * GrPass. The result is a flat array of float8, so that partial sums of threads, workers, partitions or devices merge
 * by gr_pass_merge().
 *
 * Rows are those of row.h. The terms of a pass are z = (1, x_1 - shift_1, ..., x_p - shift_p), and eta = z' beta. A
 * model without an intercept has beta[0] = 0 and does not use the sums of term 0.
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

/* Gradient ascent on the logistic log-likelihood, by the classic batch update beta += rate (X'(y - mu) - l2 (0, b)). */
typedef struct GrAscent
{
	bool		intercept;		/* false: beta[0] stays as it is */
	bool		single;			/* compute in float4 */
	double		rate;
	double		l2;				/* ridge penalty lambda; the intercept is not penalised */
	const double *scale;		/* nfeatures + 1; converged if |gradient_j| <= scale_j for all j */
	int64_t		check_every;	/* iterations between checks for convergence */
	int64_t		max_iter;
} GrAscent;

/* Number of terms from which passes may be coarse. With fewer terms coarse passes save little time. */
#define GR_COARSE_TERMS_MIN 48

/* Limit of the faces of a pass, which are nested separations. Each takes away a term. */
#define GR_FACES_MAX 8

typedef enum GrPassKind
{
	/*
	 * eta and the Gram matrix of (1, u, u z_1 .. u z_p, v) in double-double, with u = sqrt(w) and v = r / u. Gives X'WX
	 * and X'r to the last digit, even where sums cancel. u and v come from GrGlmRow.
	 */
	GR_PASS_EXACT,
	/* eta and the Hessian X'WX in float8, the gradient X'r compensated; for all iterations but the last */
	GR_PASS_FAST,
	/* like FAST, but only the first row and the diagonal of the Hessian; for solvers without a Hessian */
	GR_PASS_GRADIENT,
	/*
	 * Side of the last face on which each row lies. beta is not used. With e = z' direction in double-double, the
	 * margin of a row is (2 y - 1) e. Sums the Gram matrix of (1, 1, z, e) over the rows on the face and those on its
	 * wrong side.
	 */
	GR_PASS_FACE,
	/*
	 * FAST with observed weights for negative binomial rows with the log link, and the derivatives of the
	 * log-likelihood by log(theta), for Newton's steps of beta and theta at once. The deviance is -2 times the
	 * log-likelihood. Only the CPU makes such passes. The number is that of its request, which follows the others.
	 */
	GR_PASS_JOINT = 9
} GrPassKind;

/* True for FAST passes, JOINT or not. */
static inline bool
gr_pass_is_fast(GrPassKind kind)
{
	return kind == GR_PASS_FAST || kind == GR_PASS_JOINT;
}

/*
 * A pass over the rows. With nfaces > 0 only rows on the faces take part: on all nfaces for EXACT, on the first nfaces
 * - 1 for FACE, whose last face is the candidate. FAST and GRADIENT ignore faces. A row is on face f if
 * |z' f| <= face_absolute[f] + face_relative * (sum of |f_j z_j|).
 *
 * Directions are in double-double, and the error of z' f is at most gr_face_rounding() times that sum. The side of a
 * row is therefore certain if face_relative is at least gr_face_rounding().
 *
 * sink_many.c copies what a pass points to, as several threads make passes.
 */
typedef struct GrPass
{
	GrPassKind	kind;
	GrRowShape	shape;			/* shape of the rows, which are not single */
	GrDistribution distribution;
	const double *beta;			/* coefficients of z */
	const double *shift;		/* nfeatures; all 0 where the terms are the features themselves */
	int			nfaces;
	const double *faces;		/* nfaces directions in z, each of t high halves, then t low ones */
	const double *face_absolute;	/* nfaces tolerances */
	double		face_relative;
	/*
	 * An EXACT pass at beta = 0 over rows as gr_first_row() returns them. Its Newton step is a least-squares fit near
	 * the estimate, however large offsets and responses are. There is no deviance. For a logistic regression the mean
	 * is linear in eta, 1/2 + eta / 4: w = 1/4, r = y - 1/2 - offset / 4. For a linear regression without offsets the
	 * sums are those of the products w z_i z_j, without the rounding of u (gr_pass_is_weighted_gram()).
	 */
	bool		linear;
	GrMeasure	measure;
	double		edge;			/* parameter of the measures of edge.h: a count or a predictor; see GrMeasure */
	bool		counts;			/* weights are frequencies; see GrWeighting */
	/*
	 * GR_MEASURE_SCORES of GR_COARSE_TERMS_MIN terms or more: products of scores may be summed in float8, as the CPU
	 * does. Other sums than the products of z are then left out.
	 */
	bool		coarse;
	/*
	 * Packed lower triangle C of t terms for leverages: the leverage of a row is u^2 times the squared length of C z.
	 * NULL unless the measure needs leverages.
	 */
	const double *factor;
} GrPass;

/*
 * True for the linear pass of a linear regression of weighted rows without offsets, faces and exponent. Its sums are
 * the weighted Gram matrix of (1, x, y) with exact products: rounding u z to float8 would lose as many digits as the
 * condition number of the features has. Row 0 of the sums holds only the number of rows, and may lack the sum of the
 * responses.
 */
static inline bool
gr_pass_is_weighted_gram(const GrPass *pass)
{
	return pass->kind == GR_PASS_EXACT && pass->linear && pass->measure == GR_MEASURE_STEP && pass->nfaces == 0 &&
		gr_is_linear(pass->distribution) && pass->distribution.exponent == 0 && pass->shape.weight &&
		!pass->shape.offset;
}

/*
 * Head of the sums of a pass. The parts described at gr_pass_nsums() follow. gr_pass_clear() sets the initial values.
 */
enum
{
	GR_SUM_NROWS,				/* rows that took part */
	GR_SUM_DEVIANCE_HI,			/* deviance, see GrGlmRow; not FACE */
	GR_SUM_DEVIANCE_LO,
	GR_SUM_MIN_MARGIN,			/* least gr_margin_of(), (2 y - 1) eta; not FACE */
	GR_SUM_NRIGHT,				/* FACE: rows off the face with a positive margin */
	GR_SUM_NWRONG,				/* FACE: rows off the face with a negative margin; HC2 and HC3: rows without a score */
	GR_SUM_MIN_RIGHT,			/* FACE: the least positive margin of rows off the face */
	/* sum of y over the rows that took part, without 2^exponent; EXACT and GRADIENT; FACE: over rows on the face */
	GR_SUM_NONES,
	GR_SUM_HEAD					/* length of the head */
};

/*
 * Returns the number of sums of a pass. Parts behind the head, for t terms:
 *	 EXACT, FACE: hi[gr_triangle(t + 2)], lo[same]: the Gram matrix, packed as in compute.h; its row 0 is of the ones,
 *	              1 .. t of the terms, t + 1 of v (or e)
 *	 FAST:        gradient_hi[t], gradient_lo[t], hessian[gr_triangle(t)] packed
 *	 JOINT:       those of FAST, then cross[t], score, curvature, losses: the derivatives of the log-likelihood by
 *	              beta and log(theta), theta and theta^2 times the first and second one by theta, and
 *	              gr_waiting_loss()
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
		case GR_PASS_JOINT:
			return gr_pass_nsums(GR_PASS_FAST, nfeatures) + t + 3;
		case GR_PASS_GRADIENT:
			return GR_SUM_HEAD + 4 * t;
		default:
			return GR_SUM_HEAD + 2 * (size_t) gr_triangle((int64_t) t + 2);
	}
}

/* Returns the index of a JOINT pass's cross; score, curvature and losses follow. */
static inline size_t
gr_pass_cross_at(int nfeatures)
{
	return gr_pass_nsums(GR_PASS_FAST, nfeatures);
}

static inline void
gr_pass_clear(GrPassKind kind, int nfeatures, double *sums)
{
	memset(sums, 0, gr_pass_nsums(kind, nfeatures) * sizeof(double));
	sums[GR_SUM_MIN_MARGIN] = INFINITY;
	sums[GR_SUM_MIN_RIGHT] = INFINITY;
}

/* Adds other to sums, both of the same kind of pass. */
extern void gr_pass_merge(GrPassKind kind, int nfeatures, double *sums, const double *other);

/*
 * Makes a pass on the CPU: adds nrows rows to sums. Rows must be finite and valid for the family. The result depends on
 * the rows and their division into calls. For EXACT and FACE it does not depend on the processor, except by libm's exp
 * and log1p. If a predictor is NaN or leaves float8's range on the wrong side, the deviance is not finite. scratch:
 * gr_pass_scratch_nbytes() bytes, aligned as float8.
 */
extern void gr_pass_add(const GrPass *pass, double *sums, const double *rows, int64_t nrows, double *scratch);
extern size_t gr_pass_scratch_nbytes(GrPassKind kind, GrRowShape shape);

/* Like gr_pass_add(), but polls host. Returns false if the host asked to stop; sums are then unusable. */
extern bool gr_pass_add_polling(const GrPass *pass, double *sums, const double *rows, int64_t nrows, double *scratch,
								const GrHost *host);

struct GrArena;

/*
 * Does the work of gr_pass_add() for EXACT and FACE, without the products of a coarse pass. Carves its scratch from
 * arena, which begins on a cache line. Returns false if canceled.
 */
extern bool gr_add_exact(const GrPass *pass, double *sums, const double *rows, int64_t nrows,
						 struct GrArena *arena, int max_lanes, GrPoll *poll);

/* Like gr_add_exact(), but writes the root u of each row's weight to roots in place of adding products. */
extern bool gr_add_roots(const GrPass *pass, double *sums, const double *rows, int64_t nrows, double *roots,
						 struct GrArena *arena, int max_lanes, GrPoll *poll);

/* Counts the scratch of gr_add_exact() in arena, whose base is NULL. */
extern void gr_exact_count(GrRowShape shape, struct GrArena *arena);

/* Like gr_pass_add(), with vectors of at most max_lanes doubles (1, 2, 4 or 8); for tests. */
extern void gr_pass_add_lanes(const GrPass *pass, double *sums, const double *rows, int64_t nrows, double *scratch,
							  int max_lanes);

#ifdef __cplusplus
}
#endif
#endif							/* GPUREG_GLM_H */
