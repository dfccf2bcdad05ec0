/*
 * classes_pass.h: the pass over rows that a model of classes asks for, the layout of its sums, and the blocks of rows
 * in which multinom_sums.c and ordinal_sums.c make them.
 */
#ifndef GPUREG_CLASSES_PASS_H
#define GPUREG_CLASSES_PASS_H

#include "compute/base/compute.h"
#include "compute/base/dd.h"
#include "compute/dist/family.h"

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
	GR_MULTINOM_ORDINAL,		/* likelihood, gradient and information of an ordinal regression; see ordinal_sums.h */
	GR_NMULTINOM_MEASURES
} GrMultinomMeasure;

typedef struct GrMultinomPass
{
	GrMultinomMeasure measure;
	GrLink		link;			/* ORDINAL */
	GrRowShape	shape;			/* rows have no offsets */
	int			nclasses;		/* K: 2 .. GR_MULTINOM_CLASSES_MAX */
	const double *values;		/* K different responses: those of rows of class 0, the base, 1, ... */
	const double *beta;			/* (K - 1) x t; ORDINAL: nfeatures slopes, then K - 1 thresholds */
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

/*
 * Kernels for one processor, over blocks of at most GR_MULTINOM_ROWS rows, whose number n is a multiple of 8. Columns
 * are GR_MULTINOM_ROWS numbers apart; see multinom_cpu.h.
 */
typedef struct GrClassesKernels
{
	void		(*predict) (const double *beta, int nterms, const double *columns, int n, double *eta);
	void		(*add) (const double *column, const double *weight, int n, GrDD *sum);
	void		(*triangle) (const double *columns, int nterms, const double *weight, int n, bool exact, double *work,
							 GrDD *sums);
	void		(*softmax) (int k, const double *code, const double *prior, const double *kept, int n, double *eta,
							double *residual, double *ratio, double *work);
} GrClassesKernels;

/* Rows by column, and room for the kernels' results */
typedef struct GrClassesBlock
{
	const GrMultinomPass *pass;
	const GrClassesKernels *kernels;
	int			t;				/* number of terms */
	int			k;				/* number of classes */
	int			n;				/* number of rows, rounded up to a multiple of 8 by rows of weight 0 */
	double	   *terms;			/* t columns: ones, then features less their shift */
	double	   *code;			/* the row's class */
	double	   *prior;			/* prior weight; 0 in rows that fill up or are of no class */
	double	   *eta;			/* k - 1 columns: linear predictors, then probabilities */
	double	   *residual;		/* k - 1 columns */
	double	   *kept;			/* k columns: 1 where a class takes part */
	double	   *ratio;
	double	   *work;			/* k columns, and six more */
} GrClassesBlock;

static inline double *
gr_classes_column(double *columns, int j)
{
	return columns + (size_t) j * GR_MULTINOM_ROWS;
}

#ifdef __cplusplus
}
#endif
#endif							/* GPUREG_CLASSES_PASS_H */
