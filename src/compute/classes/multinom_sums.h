/*
 * multinom_sums.h: sums over rows of a multinomial logistic regression, many rows at a time. multinom_fit.c asks for
 * them; the request GR_REQUEST_MULTINOM (compute/request) adds them up.
 *
 * A model of K classes has K - 1 linear predictors of t = nfeatures + 1 terms (1, x - shift) each, one for every class
 * but the first, the base, whose predictor is 0. Class k has the probability exp(eta_k) / (1 + sum of exp(eta)).
 *
 * Likelihood, gradient and the sums of GR_MULTINOM_START are as accurate as in double-double. Products of the Hessian
 * and of the middle are summed in float8 over GR_MULTINOM_ROWS rows, then in double-double; if the pass is exact, all
 * in double-double.
 */
#ifndef GPUREG_MULTINOM_SUMS_H
#define GPUREG_MULTINOM_SUMS_H

#include "compute/base/compute.h"
#include "compute/base/dd.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Rows that gr_multinom_sums_add() takes at once, at most; a multiple of 8 */
#define GR_MULTINOM_ROWS 256

/* Limits of a model: classes, and coefficients of all linear predictors together */
#define GR_MULTINOM_CLASSES_MAX 1000
#define GR_MULTINOM_TERMS_MAX 2000

/* Directions of separation that a fit finds, at most */
#define GR_MULTINOM_FACES_MAX 8

typedef enum GrMultinomMeasure
{
	GR_MULTINOM_START,			/* X'WX and X'Y, whatever beta is */
	GR_MULTINOM_STEP,			/* likelihood, gradient and information */
	GR_MULTINOM_MIDDLE,			/* the information's place has the middle of HC0: products of the rows' scores */
	GR_MULTINOM_SCORES,			/* likelihood and gradient, the sum of the scores */
	GR_MULTINOM_FACE,			/* counts of rows by the side of the direction beta on which they lie */
	GR_NMULTINOM_MEASURES
} GrMultinomMeasure;

typedef struct GrMultinomPass
{
	GrMultinomMeasure measure;
	GrRowShape	shape;			/* rows have no offsets */
	int			nclasses;		/* K: 2 .. GR_MULTINOM_CLASSES_MAX */
	const double *values;		/* K different responses: those of rows of class 0, the base, 1, ... */
	const double *beta;			/* (K - 1) x t */
	const double *shift;		/* nfeatures */
	int			nfaces;
	/*
	 * nfaces x (K - 1) x t: in a row whose class has a larger linear predictor along a face than class k has, by more
	 * than the face's absolute, class k has the probability 0.
	 */
	const double *faces;
	const double *face_absolute;	/* nfaces; in a FACE pass one more number: what beta's are compared with */
	bool		counts;			/* weights are frequencies */
	bool		exact;
} GrMultinomPass;

/* Members of the sums, GrDD; the classes' weights follow */
enum
{
	GR_MULTINOM_LOG_LIKELIHOOD,
	GR_MULTINOM_NROWS,			/* rows; with frequencies, their sum */
	GR_MULTINOM_UNKNOWN,		/* rows whose response is none of values; they are left out */
	GR_MULTINOM_AGAINST,		/* FACE: pairs of a row and a class on the wrong side */
	GR_MULTINOM_FURTHEST,		/* FACE: the largest absolute difference of linear predictors, a maximum */
	GR_MULTINOM_HEAD
};

/*
 * START: a gradient of K x t numbers, X'y of each class, and one triangle X'WX. STEP and MIDDLE: (K - 1) x t, and a
 * triangle of each pair of predictors: those of predictor j and 0 .. j follow those of the predictors before j. FACE: K
 * x K numbers of rows of class i for which class k is on the right side, off the face.
 */
static inline size_t
gr_multinom_gradient_at(int nclasses)
{
	return GR_MULTINOM_HEAD + (size_t) nclasses;
}

extern size_t gr_multinom_products_at(const GrMultinomPass *pass);

/* Returns the number of GrDD of the sums. */
extern size_t gr_multinom_nsums(const GrMultinomPass *pass);

/* Returns the number of float8 that gr_multinom_sums_add() needs as scratch. */
extern size_t gr_multinom_scratch(const GrMultinomPass *pass);

/* Adds nrows rows, at most GR_MULTINOM_ROWS, whose values are all finite. */
extern void gr_multinom_sums_add(const GrMultinomPass *pass, const double *rows, int nrows, double *scratch,
								 GrDD *sums);

/* Adds other, sums of the same pass, to sums. */
extern void gr_multinom_sums_merge(const GrMultinomPass *pass, GrDD *sums, const GrDD *other);

/* Returns the class of a response, or -1. */
static inline int
gr_multinom_class(const GrMultinomPass *pass, double response)
{
	for (int k = 0; k < pass->nclasses; k++)
		if (pass->values[k] == response)
			return k;
	return -1;
}

#ifdef __cplusplus
}
#endif
#endif							/* GPUREG_MULTINOM_SUMS_H */
