/*
 * multinom_fit.h: fits a multinomial logistic regression by maximum likelihood, with an optional ridge penalty, by
 * Newton's method. sql/classes/fn_multinom.c calls gr_multinom_begin() first, then makes fit->pass and hands the sums
 * to gr_multinom_advance() until fit->done.
 *
 * The first pass sums X'WX and X'Y in double-double: the information at the fit of the intercepts alone is a Kronecker
 * product of X'WX, so that it gives the first step, the shift of the columns and the collinear ones. Steps are halved
 * while the likelihood falls. The length of a step is the Newton decrement, in standard errors. Below 1e-7 an exact
 * pass gives the last step and the information.
 *
 * Separation (Albert and Anderson 1984): there is no maximum if a direction d has d'(x_y - x_k) >= 0 for all rows,
 * their classes y and all other classes k, and > 0 for some; x_k stands for x in the predictor of class k. Where steps
 * shrink slowly, the last step is such a direction but for rounding. It is checked against every row and class. If it
 * passes, the fit goes on with the classes that the direction leaves possible in each row.
 */
#ifndef GPUREG_MULTINOM_FIT_H
#define GPUREG_MULTINOM_FIT_H

#include "compute/base/arena.h"
#include "compute/classes/multinom_sums.h"
#include "compute/linear/vcov.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct GrMultinomOptions
{
	GrRowShape	shape;			/* shape of the rows, without offsets */
	int			nclasses;		/* K */
	const double *values;		/* K responses, see GrMultinomPass */
	bool		intercept;
	bool		counts;			/* weights are frequencies */
	double		l2;				/* ridge penalty of the slopes, >= 0 */
	int			max_iter;
	double		tol;			/* longest last step of a converged fit, in standard errors */
	GrVcov		vcov;			/* iid, HC0, HC1, CR0 or CR1 */
} GrMultinomOptions;

typedef struct GrMultinomState GrMultinomState;

typedef struct GrMultinomFit
{
	/* the request to the caller */
	bool		done;
	bool		wants_clusters; /* sum fit->pass, of scores, over each cluster, for gr_multinom_add_cluster() */
	GrMultinomPass pass;
	GrDD	   *sums;			/* receives the sums of pass */

	/* the result */
	int			nclasses;		/* number of classes that have rows */
	bool	   *present;		/* for each class of the options: it has rows */
	double	   *weights;		/* nclasses: weights of the classes that have rows */
	int			nterms;			/* terms of each linear predictor */
	int			rank;			/* terms that are not collinear */
	double	   *coef;			/* (nclasses - 1) x nterms; NaN: collinear */
	double	   *vcov;			/* square; NaN for terms without a finite estimate */
	int		   *separated;		/* as coef: 1 or -1 if the estimate diverges, 2 if the sign is unknown, else 0 */
	int			nseparated;
	double	   *apart;			/* nclasses x nclasses: rows of class i that a direction sets apart from class k */
	double		nrows;			/* rows; with frequencies, their sum */
	double		log_likelihood; /* with separation its limit */
	double		null_log_likelihood;
	int			iterations;
	int64_t		nclusters;
	bool		converged;
	bool		slow;			/* steps shrank slowly at the end, as with separation */

	GrMultinomState *state;
} GrMultinomFit;

/* Returns the size of a fit in bytes. */
extern size_t gr_multinom_nbytes(const GrMultinomOptions *options);

/* Sets up a fit in memory of gr_multinom_nbytes() bytes. options->values must live as long. */
extern GrMultinomFit *gr_multinom_begin(void *memory, const GrMultinomOptions *options);

/*
 * Takes the sums of fit->pass. Fails with GR_ONE_CLASS (value: the class, counted from 0), GR_OUT_OF_RANGE, GR_INVALID
 * (no rows; or detail: rows have other responses) and GR_CANCELED.
 */
extern bool gr_multinom_advance(GrMultinomFit *fit, const GrHost *host, GrError *err);

/* Adds the scores of a cluster: the gradient in sums of fit->pass. */
extern void gr_multinom_add_cluster(GrMultinomFit *fit, const GrDD *sums);

#ifdef __cplusplus
}
#endif
#endif							/* GPUREG_MULTINOM_FIT_H */
