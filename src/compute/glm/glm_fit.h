/*
 * glm_fit.h: logistic regression, by maximum likelihood, with an optional ridge penalty.
 *
 * The fit asks and the caller answers: gr_glm_next() says which pass over the rows (glm.h) it wants, the caller
 * makes the pass wherever the rows are, and gr_glm_advance() takes the sums. So the same code serves rows in memory,
 * on a device, in a file, or in a query that is run once a pass.
 *
 * The default solver is Newton's (iteratively reweighted least squares) from beta = 0, or from options.start, with step
 * halving. Its pass at 0 and its last ones sum in double-double (EXACT), those between in float8 (FAST). A step's
 * length is measured by the Newton decrement, the square root of g' H^-1 g: in standard errors of the estimate,
 * whatever the scale of the columns. The fit ends when that is below 1e-13, so that estimates are right to all digits,
 * and the standard errors, from the Hessian of that same pass, too; or, where there are so many rows that a longer step
 * leaves the Hessian as it is, then.
 *
 * It minimises deviance / 2 + l2 / 2 sum of b_j^2, the intercept not penalised.
 *
 * Separation (Albert and Anderson 1984): there is no maximum if a direction d has (2 y - 1) (1, x)' d >= 0 for all rows
 * and > 0 for some. When estimates run off, the direction in which they do is rounded to one that is exactly 0 on the
 * rows where it is nearly so, and checked against every row in double-double, with a bound of the error: only a
 * direction that passes is reported. The fit then goes on over the rows on which it is 0 (the limiting conditional
 * model, Geyer 2009), until what is left has a maximum.
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

/* Up to so many terms every solver forms the Hessian; beyond, only Newton's, and others give no covariances. */
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
	const GrRowTotals *totals;	/* see gr_has_totals(): known once the first pass is made; NULL: there are none */
	bool		skip_null;		/* the null deviance isn't wanted, where it takes passes of its own */
	bool		intercept;
	double		l2;				/* >= 0 */
	int			max_iter;		/* >= 1: updates of beta */
	double		tol;			/* > 0: longest last step, in standard errors */
	GrGlmSolver solver;
	double		learning_rate;	/* GD: of the classic batch update in the features' units; NaN: as descent.c chooses */
	bool		can_ascend;		/* the caller can answer GR_GLM_ASCEND */
	bool		can_change;		/* the caller can answer GR_GLM_CHANGE */
	bool		can_be_coarse;	/* so may passes be: on the CPU, where they take a tenth of the time; see measure.h */
	int			leave_out;		/* 1 + a term that is to have no coefficient, as if it were collinear; 0: none */
	const GrSolver *linear_solver;	/* where Newton's steps for many terms are solved; NULL: here; see ols.h */
	bool		firth;			/* a logistic regression's, with Firth's (1993) penalty; see firth.h */
	GrVcov		vcov;			/* kind of covariances; solvers that form no Hessian give none */
	int			ncluster_columns;	/* by which rows are in clusters: 1 or 2 where vcov is of clusters */
	/*
	 * Linear map from the rows' terms to the reported terms, or NULL. Requires an intercept, l2 == 0 and no learning
	 * rate.
	 */
	const GrTermMoves *moves;
	const double *start;		/* Newton: where to try to begin; see gr_glm_take_start(); NULL: nowhere but at 0 */
	const double *start_shift;	/* with start, replaces the pass at 0; see gr_glm_take_shift(); NULL: no */
	bool		want_factor;	/* with vcov iid: the triangle by which a bootstrap takes rows; see boot_fit.h */
	bool		is_sample;		/* the fit is to say where another one starts: its last pass need not be EXACT */
	bool		is_fold;		/* a fit of a cross-validation: it ends where the next step would be rounding */
} GrGlmOptions;

typedef enum GrGlmWant
{
	GR_GLM_PASS,				/* make fit->pass, adding to fit->sums, which are cleared */
	GR_GLM_CHANGE,			/* change the rows by fit->basis, for all passes from now on */
	/*
	 * make the sums of each cluster's rows, see scores.h, about fit->pass and fit->pass_lo, and give them to
	 * gr_glm_add_cluster(), or their middle to gr_glm_take_clusters(). fit->way: rows are in one where they have the
	 * same in the first cluster column, 0, or in the second, 1, or in both, 2
	 */
	GR_GLM_CLUSTERS,
	GR_GLM_ASCEND,			/* do fit->ascent on fit->beta; set fit->ascended and fit->ascent_converged */
	GR_GLM_DONE
} GrGlmWant;

typedef struct GrGlmState GrGlmState;
typedef struct GrGlmFit GrGlmFit;

typedef bool GrPhaseFunction(GrGlmFit *fit, const GrHost *host, GrError *err);

/* A fit. Arrays are of terms: the intercept if there is one, then the features. */
struct GrGlmFit
{
	/* the request to the caller */
	GrGlmWant	want;
	GrPhaseFunction *take;		/* takes what was asked for; NULL: it is the end */
	GrPass		pass;
	double	   *sums;
	GrAscent	ascent;
	GrBasis    *basis;			/* NULL: the rows are as they came */
	double	   *beta;			/* coefficients of (1, x), x being the rows after any change */
	int64_t		ascended;
	bool		ascent_converged;
	/* the request GR_GLM_CLUSTERS */
	int			way;			/* which cluster columns: 0, 1 or 2, see GrGlmWant */
	const double *pass_lo;		/* low halves of pass.beta */
	int64_t		nclusters_met;	/* clusters added for this way */

	/* the result, once done */
	int			nterms;
	int			rank;
	int64_t		nrows;			/* or the sum of their frequencies */
	int64_t		df_residual;	/* nrows - rank */
	double	   *coef;			/* nterms; NaN for an aliased term, but for GD at a given rate; a finite point far out
								 * for a separated one */
	/*
	 * nterms x nterms: the inverse of the Hessian, or a sandwich estimate; NaN for aliased and separated terms; NULL if
	 * it wasn't formed
	 */
	double	   *vcov;
	double	   *vcov_low;		/* packed triangle: what rounding left of an iid vcov; NULL: of few terms alone */
	/*
	 * vcov is to be multiplied by 2^vcov_exponent and, if it is iid, by the dispersion: at once, as one of the three by
	 * itself may take it out of range. 0 but for responses far from 1; see response_unit.h
	 */
	int			vcov_exponent;
	GrVarianceKind *variances;	/* nterms: of a sandwich estimate, what its variances are; NULL where there is none */
	int			nunknown;		/* how many of them are zero or negative */
	bool		perfect;		/* there are no residuals but rounding */
	/*
	 * nterms: of CR2 without l2, the degrees of freedom of each variance, and of two ways the fewer; NaN for terms that
	 * are left out; NULL where there are none
	 */
	double	   *df;
	int64_t		nclusters;		/* number of clusters, CR0 to CR2; the fewer of two ways; 0: not counted */
	int64_t		nwithout_score; /* HC2 and HC3: rows with a leverage of 1; if there are any, vcov is NaN */
	int64_t		nedge;			/* rows whose mean is 0, at the edge of what the link allows; see edge.h */
	bool	   *edge_terms;		/* nterms; if there are any: which terms aren't 0 in all of them */
	int		   *separated;		/* nterms; 1 or -1 if the estimate runs off to that infinity, else 0; GR_EITHER_SIGN */
	int			nseparated;
	bool		ambiguous;		/* several directions separate: a sign may be that of the one that was met, see
								 * gr_glm_asks_sign() */
	int64_t		nlimit;			/* rows that no direction of separation separates: nrows where there is none, 0 where
								 * it is complete */
	double		deviance;		/* in the limit, where there is separation */
	double		pearson;		/* the sum of squared Pearson residuals, where the last pass was EXACT; else NaN */
	double		null_deviance;	/* NaN where it wasn't wanted */
	double		theta;			/* the negative binomial distribution's; where it was estimated: */
	double		theta_error;	/* standard error of an estimated theta, for known beta; NaN: none */
	double		log_likelihood;	/* log-likelihood at an estimated theta */
	bool		theta_runs_off;	/* theta grows without bound: the distribution is Poisson's */
	int			iterations;		/* updates of beta over these rows; to begin at options.start is the first of them */
	bool		converged;
	bool		unmovable;		/* a move from a separated term, or to a collinear one: all else is of no use */
	/* why it has not converged, and more iterations would be of no use: */
	bool		imprecise;		/* rounding leaves fewer than eight digits of an estimate */
	bool		collinear;		/* that estimate's variance is inflated by other terms */
	bool		unsolved;		/* rows' weights left float8's range */
	bool		stalled;		/* L-BFGS or gradient descent came nowhere near an estimate */

	GrGlmState *state;
};

/* In separated: no finite estimate, but directions of separation of the same rows move the term either way. */
#define GR_EITHER_SIGN 2

/* Bytes of memory for a fit, aligned as malloc() does; huge for thousands of features with Newton's solver. */
extern size_t gr_glm_nbytes(const GrGlmOptions *options);

/* Sets up a fit in memory of that many bytes, which the caller frees after use. */
extern GrGlmFit *gr_glm_begin(void *memory, const GrGlmOptions *options);

/* What the fit asks for */
static inline GrGlmWant
gr_glm_next(const GrGlmFit *fit)
{
	return fit->want;
}

/*
 * Takes what was asked for. Fails with GR_ONE_CLASS, GR_OUT_OF_RANGE (where: the column of a row), GR_INVALID (no rows)
 * and GR_CANCELED.
 */
static inline bool
gr_glm_advance(GrGlmFit *fit, const GrHost *host, GrError *err)
{
	return fit->take == NULL || fit->take(fit, host, err);
}

/* The covariances that were asked for */
extern GrVcov gr_fit_vcov(const GrGlmFit *fit);

/* A cluster's sums, as scores.h has them; with the Hessian, for CR2. Fails with GR_CANCELED. */
extern bool gr_glm_add_cluster(GrGlmFit *fit, const double *sums, const GrHost *host, GrError *err);

/*
 * Takes all n clusters of a way at once, in place of gr_glm_add_cluster() for each; not for CR2. middle: the sum of
 * score score' over the clusters, a packed triangle of (1, x - shift); pearson: the sum of squared Pearson residuals.
 * request/cluster_middle.h makes them.
 */
extern void gr_glm_take_clusters(GrGlmFit *fit, int64_t n, GrDDConstVector middle, GrDD pearson);

/*
 * A separated term has a sign if all directions that separate as many rows as can be separated move it to that side,
 * which is to say that without the term fewer rows can. Whether that is to be asked of term k of an ambiguous fit; the
 * options of a fit to ask by; and, after that one: marks the term as one of either sign, unless it was found to have
 * its own.
 */
extern bool gr_glm_asks_sign(const GrGlmFit *fit, int k);
extern GrGlmOptions gr_glm_without(const GrGlmOptions *options, int k);
extern void gr_glm_tell_sign(GrGlmFit *fit, int k, const GrGlmFit *without);

/*
 * A start for a fit over many rows, from a fit over few of them, the sample. Whether the fit would use one; and the
 * options of the sample's fit, where the sample is that share of the rows.
 */
extern bool gr_glm_uses_start(const GrGlmOptions *options);
extern GrGlmOptions gr_glm_sample(const GrGlmOptions *options, double share);

/* Whether a direction of separation has been found: then a sample need not be gone on with. */
extern bool gr_glm_is_separated(const GrGlmFit *fit);

/*
 * Writes the start, coefficients of (1, x), NaN for aliased terms; false if the sample's fit, which may
 * have been broken off, gives none that is worth a pass.
 */
extern bool gr_glm_take_start(const GrGlmFit *sample, double *start);

/*
 * Writes the start and the shift, one entry for each feature, if the sample tells all that the pass at 0 of the whole
 * is made for: no term is collinear, or nearly so. The fit of the whole then begins at the start, and goes back to 0 if
 * its own sums say otherwise. Returns false if the sample does not tell that.
 */
extern bool gr_glm_take_shift(const GrGlmFit *sample, double *start, double *shift);

/*
 * The last Newton step by itself, from the sums of an EXACT pass at beta without faces or shift, which may be linear:
 * coef becomes the next beta (nterms as above), vcov the inverse of the Hessian at beta; deviance, null_deviance,
 * pearson, rank and nrows are those of the pass, and decrement the length of the step in standard errors. workspace:
 * gr_glm_step_nbytes() bytes.
 */
typedef struct GrGlmStep
{
	/* given */
	GrDistribution distribution;
	bool		linear;
	int			nfeatures;
	bool		intercept;
	double		l2;				/* 0 or more */

	int			nterms;
	int			rank;
	int64_t		nrows;
	double	   *coef;
	double	   *vcov;
	double	   *vcov_low;		/* packed triangle, as GrOlsFit's; NULL: not wanted */
	double		deviance;		/* NaN of a linear pass */
	double		null_deviance;	/* NaN where no formula has it */
	double		pearson;		/* the sum of squared Pearson residuals; NaN of a linear pass */
	bool		perfect;		/* there are no residuals but rounding */
	double		decrement;		/* length of the step in standard errors, for a dispersion of 1 */
	double		rounding;		/* how long rounding alone may make a step, likewise */
	double		unit;			/* root of the dispersion if that is estimated, else 1 */
	bool		lacks_digits;	/* rounding leaves fewer than eight digits of a coefficient */
} GrGlmStep;

extern size_t gr_glm_step_nbytes(int nfeatures);
extern bool gr_glm_step(GrGlmStep *step, const double *beta, double *sums, void *workspace, const GrHost *host,
						GrError *err);

/*
 * Whether the step, at most tol long, is the last one: with a tol of 1e-10 or less it leaves the standard errors as
 * they are, too, as far as rounding lets it; and not where rounding leaves less than eight digits.
 */
extern bool gr_glm_step_is_last(const GrGlmStep *step, double tol);

#ifdef __cplusplus
}
#endif
#endif							/* GPUREG_COMPUTE_GLM_FIT_H */
