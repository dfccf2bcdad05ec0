/*
 * glm_fit.h: fits of generalised linear models by maximum likelihood, with an optional ridge penalty.
 * src/sql/glm/glm_fit.c calls gr_glm_begin() first, then answers requests until GR_GLM_DONE.
 *
 * The fit requests and the caller answers: gr_glm_next() says which pass over the rows (glm.h) is next, the caller
 * makes the pass wherever the rows are, and gr_glm_advance() takes the sums. The same code thus serves rows in memory,
 * on a device, in a file, or in a query that runs once per pass.
 *
 * The default solver is Newton's (iteratively reweighted least squares) from beta = 0 or options.start, with step
 * halving. The pass at 0 and the last passes sum in double-double (EXACT), the others in float8 (FAST). The length of a
 * step is the Newton decrement, sqrt(g' H^-1 g): standard errors of the estimate, whatever the scale of the columns.
 * The fit ends when the length is below 1e-13, or, with many rows, when a longer step does not change the Hessian.
 * Estimates and standard errors, from the Hessian of the same pass, are then right to all digits.
 *
 * The fit minimises deviance / 2 + l2 / 2 sum of b_j^2. The intercept is not penalised.
 *
 * Separation (Albert and Anderson 1984): there is no maximum if a direction d has (2 y - 1) (1, x)' d >= 0 for all rows
 * and > 0 for some. If estimates diverge, their direction is rounded to one that is exactly 0 on the rows where it is
 * nearly 0. The direction is checked against every row in double-double, with a bound of the error, and reported only
 * if it passes. The fit then goes on over the rows on which the direction is 0 (the limiting conditional model, Geyer
 * 2009), until the remaining model has a maximum.
 */
#ifndef GPUREG_COMPUTE_GLM_FIT_H
#define GPUREG_COMPUTE_GLM_FIT_H

#include "compute/dist/family.h"
#include "compute/glm/glm.h"
#include "compute/linalg/basis.h"
#include "compute/linalg/solver.h"
#include "compute/linear/ols.h"
#include "compute/linear/variance.h"
#include "compute/linear/vcov.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Limit of terms up to which every solver forms the Hessian. Beyond, only Newton's does; others give no covariances. */
#define GR_GLM_DENSE_TERMS 2000

typedef enum GrGlmSolver
{
	GR_SOLVER_NEWTON,
	GR_SOLVER_GD,				/* gradient ascent: beta += rate * gradient, the batch update */
	GR_SOLVER_LBFGS				/* limited-memory BFGS, Nocedal 1980 */
} GrGlmSolver;

typedef struct GrGlmOptions
{
	GrRowShape	shape;			/* shape of the rows, which are not single */
	GrDistribution distribution;
	bool		estimate_theta;	/* negative binomial: estimate theta (negbin.h), ignore the distribution's */
	GrWeighting weighting;		/* meaning of the weights, if rows have them */
	const GrRowTotals *totals;	/* totals of the rows, known once the first pass is made, see gr_has_totals(); NULL:
								 * there are none */
	bool		skip_null;		/* the null deviance is not computed if it needs passes of its own */
	bool		intercept;
	double		l2;				/* ridge penalty, >= 0 */
	int			max_iter;		/* limit of updates of beta, >= 1 */
	double		tol;			/* longest last step, in standard errors, > 0 */
	GrGlmSolver solver;
	double		learning_rate;	/* GD: rate of the classic batch update in the features' units; NaN: descent.c
								 * chooses steps */
	bool		can_ascend;		/* the caller can answer GR_GLM_ASCEND */
	bool		can_change;		/* the caller can answer GR_GLM_CHANGE */
	bool		can_be_coarse;	/* passes may be coarse; on the CPU, where they take a tenth of the time; see
								 * measure.h */
	int			leave_out;		/* 1 + a term that gets no coefficient, as if it were collinear; 0: none */
	const GrSolver *linear_solver;	/* solves Newton's steps for many terms; NULL: solved here; see ols.h */
	bool		firth;			/* logistic regression with Firth's (1993) penalty; see firth.h */
	GrVcov		vcov;			/* kind of covariances; solvers that form no Hessian give none */
	int			ncluster_columns;	/* columns that define clusters: 1 or 2 if vcov is clustered */
	/*
	 * Linear map from the rows' terms to the reported terms, or NULL. Requires an intercept, l2 == 0 and no learning
	 * rate.
	 */
	const GrTermMoves *moves;
	const double *start;		/* Newton: first beta to try, see gr_glm_take_start(); NULL: beta = 0 */
	double		start_theta;	/* with start and estimate_theta: first theta to try, see gr_glm_start_theta() */
	const double *start_shift;	/* with start, replaces the pass at 0; see gr_glm_take_shift(); NULL: none */
	bool		want_factor;	/* with vcov iid: return the triangle that a bootstrap needs; see boot_fit.h */
	bool		is_sample;		/* the fit gives a start for another fit: its last pass need not be EXACT */
	bool		is_fold;		/* a fit of a cross-validation: ends when the next step would be rounding error */
} GrGlmOptions;

typedef enum GrGlmWant
{
	GR_GLM_PASS,				/* make fit->pass, adding to fit->sums, which are cleared */
	GR_GLM_CHANGE,			/* change the rows by fit->basis, for all passes from now on */
	/*
	 * Sum over the rows of each cluster, see scores.h, at fit->pass and fit->pass_lo. Pass each to
	 * gr_glm_add_cluster(), or their middle to gr_glm_take_clusters(). Rows share a cluster if they agree in the first
	 * cluster column (fit->way 0), in the second (1), or in both (2).
	 */
	GR_GLM_CLUSTERS,
	GR_GLM_ASCEND,			/* do fit->ascent on fit->beta; set fit->ascended and fit->ascent_converged */
	GR_GLM_DONE
} GrGlmWant;

typedef struct GrGlmState GrGlmState;
typedef struct GrGlmFit GrGlmFit;

typedef bool GrPhaseFunction(GrGlmFit *fit, const GrHost *host, GrError *err);

/* Fits of more terms do not keep the inverse that leverages need beside a sandwich estimate. */
#define GR_BREAD_TERMS_MAX 128

/* A fit. Arrays are of terms: the intercept if there is one, then the features. */
struct GrGlmFit
{
	/* the request to the caller */
	GrGlmWant	want;
	GrPhaseFunction *take;		/* takes the answer; NULL at the end */
	GrPass		pass;
	double	   *sums;
	GrAscent	ascent;
	GrBasis    *basis;			/* NULL: the rows are unchanged */
	double	   *beta;			/* coefficients of (1, x), where x are the features after any change */
	int64_t		ascended;
	bool		ascent_converged;
	/* the request GR_GLM_CLUSTERS */
	int			way;			/* cluster columns: 0, 1 or 2, see GrGlmWant */
	const double *pass_lo;		/* low halves of pass.beta */
	int64_t		nclusters_met;	/* clusters added for this way */

	/* the result, valid at GR_GLM_DONE */
	int			nterms;
	int			rank;
	int64_t		nrows;			/* number of rows, or the sum of their frequencies */
	int64_t		df_residual;	/* nrows - rank */
	double	   *coef;			/* nterms; NaN for an aliased term (but not with GD at a given rate); finite but far
								 * out for a separated term */
	/*
	 * nterms x nterms: the inverse of the Hessian or a sandwich estimate; NaN for aliased and separated terms; NULL if
	 * it was not formed
	 */
	double	   *vcov;
	double	   *vcov_low;		/* packed triangle: low halves of an iid vcov; NULL with many terms */
	/*
	 * Packed triangle: (X'WX)^-1 of a fit with a sandwich estimate, for leverages; NaN for terms that are left out.
	 * NULL if vcov is iid, with a penalty, or with more than GR_BREAD_TERMS_MAX terms. have_bread: it was computed.
	 */
	double	   *bread;
	bool		have_bread;
	/*
	 * Covariances are vcov times 2^vcov_exponent and, if iid, times the dispersion. Multiply all three at once, as two
	 * of them may leave float8's range. 0 unless responses are far from 1; see response_unit.h.
	 */
	int			vcov_exponent;
	GrVarianceKind *variances;	/* nterms: judgement of the variances of a sandwich estimate; NULL without one */
	int			nunknown;		/* number of variances that are zero or negative */
	bool		perfect;		/* residuals are only rounding error */
	/*
	 * nterms: CR2 without l2: degrees of freedom of each variance, the lesser of two ways; NaN for terms that are left
	 * out; otherwise NULL
	 */
	double	   *df;
	int64_t		nclusters;		/* number of clusters, CR0 to CR2; the lesser of two ways; 0: not counted */
	int64_t		nwithout_score; /* HC2 and HC3: rows with a leverage of 1; if there are any, vcov is NaN */
	int64_t		nedge;			/* rows whose mean is 0, at the edge of the link's domain; see edge.h */
	bool	   *edge_terms;		/* nterms: if nedge > 0, terms that are not 0 in all rows at the edge */
	int		   *separated;		/* nterms: 1 or -1 if the estimate diverges to that infinity, else 0; or
								 * GR_EITHER_SIGN */
	int			nseparated;
	bool		ambiguous;		/* several directions separate, so that a sign may be that of only one of them; see
								 * gr_glm_asks_sign() */
	int64_t		nlimit;			/* rows that no direction separates: nrows without separation, 0 if complete */
	double		deviance;		/* deviance; its limit with separation */
	double		pearson;		/* sum of squared Pearson residuals if the last pass was EXACT; else NaN */
	double		null_deviance;	/* null deviance; NaN: not requested */
	double		theta;			/* theta of the negative binomial distribution */
	double		theta_error;	/* standard error of an estimated theta, for known beta; NaN: none */
	double		log_likelihood;	/* log-likelihood at an estimated theta */
	bool		theta_runs_off;	/* theta grows without bound: the distribution is Poisson */
	int			iterations;		/* updates of beta over these rows, counting the start at options.start */
	bool		converged;
	bool		unmovable;		/* a move from a separated term, or to a collinear one: no other member is valid */
	/* reasons why a fit has not converged and further iterations are useless: */
	bool		imprecise;		/* rounding leaves fewer than eight digits of an estimate */
	bool		collinear;		/* the variance of that estimate is inflated by other terms */
	bool		unsolved;		/* rows' weights left float8's range */
	bool		stalled;		/* L-BFGS or gradient descent came nowhere near an estimate */

	GrGlmState *state;
};

/* Value in separated: no finite estimate, and directions of separation of the same rows move the term either way. */
#define GR_EITHER_SIGN 2

/* Returns the size of a fit in bytes, aligned as malloc() does. Huge for thousands of features with Newton's solver. */
extern size_t gr_glm_nbytes(const GrGlmOptions *options);

/* Sets up a fit in memory of gr_glm_nbytes() bytes. The caller frees memory after use. */
extern GrGlmFit *gr_glm_begin(void *memory, const GrGlmOptions *options);

/* Returns what the fit requests. */
static inline GrGlmWant
gr_glm_next(const GrGlmFit *fit)
{
	return fit->want;
}

/*
 * Takes the answer to the request. Fails with GR_ONE_CLASS, GR_OUT_OF_RANGE (where: the column of a row), GR_INVALID
 * (no rows) and GR_CANCELED.
 */
static inline bool
gr_glm_advance(GrGlmFit *fit, const GrHost *host, GrError *err)
{
	return fit->take == NULL || fit->take(fit, host, err);
}

/* Returns the kind of the requested covariances. */
extern GrVcov gr_fit_vcov(const GrGlmFit *fit);

/* Adds the sums of a cluster, see scores.h; with the Hessian for CR2. Fails with GR_CANCELED. */
extern bool gr_glm_add_cluster(GrGlmFit *fit, const double *sums, const GrHost *host, GrError *err);

/*
 * Takes all n clusters of a way at once, instead of gr_glm_add_cluster() for each; not for CR2. middle: sum of score
 * score' over the clusters, a packed triangle of (1, x - shift); pearson: sum of squared Pearson residuals. Both come
 * from request/cluster_middle.h.
 */
extern void gr_glm_take_clusters(GrGlmFit *fit, int64_t n, GrDDConstVector middle, GrDD pearson);

/*
 * Sign of a separated term. A term has a sign if all directions that separate as many rows as possible move it to the
 * same side; without the term fewer rows can then be separated. gr_glm_asks_sign() is true if that is to be tested for
 * term k of an ambiguous fit. gr_glm_without() returns the options of the fit that tests it. gr_glm_tell_sign() takes
 * that fit, and marks the term GR_EITHER_SIGN unless it has a sign.
 */
extern bool gr_glm_asks_sign(const GrGlmFit *fit, int k);
extern GrGlmOptions gr_glm_without(const GrGlmOptions *options, int k);
extern void gr_glm_tell_sign(GrGlmFit *fit, int k, const GrGlmFit *without);

/*
 * Start of a fit over many rows, from a fit over a sample. gr_glm_uses_start() is true if the fit would use a start.
 * gr_glm_sample() returns the options of the sample's fit. share: the sample's share of the rows.
 */
extern bool gr_glm_uses_start(const GrGlmOptions *options);
extern GrGlmOptions gr_glm_sample(const GrGlmOptions *options, double share);

/* True if a direction of separation has been found. A fit of a sample can then stop. */
extern bool gr_glm_is_separated(const GrGlmFit *fit);

/*
 * Writes the start: coefficients of (1, x), NaN for aliased terms. Returns false if the sample's fit, which may have
 * been stopped early, gives none that is worth a pass.
 */
extern bool gr_glm_take_start(const GrGlmFit *sample, double *start);

/*
 * Writes the start and the shift (nfeatures) if the sample replaces the pass at 0 of the whole: no term is collinear or
 * nearly so. The fit of the whole then begins at the start, and returns to 0 if its own sums contradict. Returns false
 * if the sample does not suffice.
 */
extern bool gr_glm_take_shift(const GrGlmFit *sample, double *start, double *shift);

/* Returns the theta of a sample for which gr_glm_take_shift() is true. */
static inline double
gr_glm_start_theta(const GrGlmFit *sample)
{
	return sample->theta;
}

/*
 * A single Newton step, from the sums of an EXACT pass at beta without faces or shift, which may be linear. Members up
 * to l2 are input. coef becomes the next beta (nterms), vcov the inverse of the Hessian at beta; deviance,
 * null_deviance, pearson, rank and nrows are those of the pass. workspace: gr_glm_step_nbytes() bytes.
 */
typedef struct GrGlmStep
{
	/* input */
	GrDistribution distribution;
	bool		linear;
	int			nfeatures;
	bool		intercept;
	double		l2;				/* >= 0 */

	int			nterms;
	int			rank;
	int64_t		nrows;
	double	   *coef;
	double	   *vcov;
	double	   *vcov_low;		/* packed triangle as in GrOlsFit; NULL: not wanted */
	double		deviance;		/* NaN for a linear pass */
	double		null_deviance;	/* NaN if there is no formula for it */
	double		pearson;		/* sum of squared Pearson residuals; NaN for a linear pass */
	bool		perfect;		/* residuals are only rounding error */
	double		decrement;		/* length of the step in standard errors, for a dispersion of 1 */
	double		rounding;		/* length of a step that is only rounding error, in the same unit */
	double		unit;			/* square root of the dispersion if it is estimated, else 1 */
	bool		lacks_digits;	/* rounding leaves fewer than eight digits of a coefficient */
} GrGlmStep;

/* Returns the bytes of workspace for gr_glm_step(). */
extern size_t gr_glm_step_nbytes(int nfeatures);

/*
 * Computes a step from beta (nterms of (1, x), NaN for aliased terms). Adds the penalty l2 to sums. Returns false with
 * err if the response cannot be fitted, numbers are out of range, or host cancels.
 */
extern bool gr_glm_step(GrGlmStep *step, const double *beta, double *sums, void *workspace, const GrHost *host,
						GrError *err);

/*
 * True if the step is the last one: it is at most tol long and leaves eight digits or more. With a tol of at most
 * 1e-10, standard errors do not change either, except by rounding.
 */
extern bool gr_glm_step_is_last(const GrGlmStep *step, double tol);

#ifdef __cplusplus
}
#endif
#endif							/* GPUREG_COMPUTE_GLM_FIT_H */
