/*
 * ordinal_fit.h: fits an ordinal regression by maximum likelihood, by Newton's method with the observed information.
 * sql/classes/fn_ordinal.c calls gr_ordinal_begin() first, then makes fit->pass and hands the sums to
 * gr_ordinal_advance() until fit->done.
 *
 * The first pass gives the shares of the classes, and with them the thresholds of the fit without slopes. Steps are
 * halved while the likelihood falls or thresholds are not ascending. Below 1e-7 standard errors an exact pass gives the
 * last step and the information.
 */
#ifndef GPUREG_ORDINAL_FIT_H
#define GPUREG_ORDINAL_FIT_H

#include "compute/base/arena.h"
#include "compute/classes/classes_pass.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct GrOrdinalOptions
{
	GrRowShape	shape;			/* shape of the rows, without offsets */
	int			nclasses;		/* K */
	const double *values;		/* K responses in the order of the classes, see GrMultinomPass */
	GrLink		link;			/* logit, probit or cloglog */
	bool		counts;			/* weights are frequencies */
	int			max_iter;
	double		tol;			/* longest last step of a converged fit, in standard errors */
} GrOrdinalOptions;

typedef struct GrOrdinalState GrOrdinalState;

typedef struct GrOrdinalFit
{
	/* the request to the caller */
	bool		done;
	GrMultinomPass pass;
	GrDD	   *sums;			/* receives the sums of pass */

	/* the result; parameters are the thresholds between the classes that have rows, then the slopes */
	int			nclasses;		/* number of classes that have rows */
	bool	   *present;		/* for each class of the options: it has rows */
	int			nparameters;
	int			rank;			/* parameters that are not collinear */
	double	   *coef;			/* NaN: collinear */
	double	   *vcov;			/* square, NaN for collinear parameters */
	double		nrows;			/* rows; with frequencies, their sum */
	double		log_likelihood;
	double		null_log_likelihood;
	int			iterations;
	bool		converged;
	bool		slow;			/* steps shrank slowly at the end, as with separation */

	GrOrdinalState *state;
} GrOrdinalFit;

/* Returns the size of a fit in bytes. */
extern size_t gr_ordinal_nbytes(const GrOrdinalOptions *options);

/* Sets up a fit in memory of gr_ordinal_nbytes() bytes. options->values must live as long. */
extern GrOrdinalFit *gr_ordinal_begin(void *memory, const GrOrdinalOptions *options);

/* Takes the sums of fit->pass. Fails as gr_multinom_advance() does. */
extern bool gr_ordinal_advance(GrOrdinalFit *fit, const GrHost *host, GrError *err);

#ifdef __cplusplus
}
#endif
#endif							/* GPUREG_ORDINAL_FIT_H */
