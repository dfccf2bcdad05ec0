/*
 * model.h: the SQL composite type gpu_model.
 */
#ifndef GPUREG_MODEL_H
#define GPUREG_MODEL_H

#include "postgres.h"

#include <math.h>

#include "access/tupdesc.h"
#include "fmgr.h"
#include "utils/array.h"

#include "compute/base/compute.h"
#include "compute/dist/family.h"
#include "compute/linear/ols.h"
#include "sql/model/model_extras.h"

/* The term of that name, if it is the first */
#define GR_INTERCEPT "(intercept)"

/* A gpu_model in C. NaN stands for NULL in coef and vcov. */
typedef struct GrModel
{
	GrDistribution distribution;
	bool		quasi;			/* the family is R's quasibinomial or quasipoisson */
	double		l2;				/* the penalty; in SQL a part of the method where it isn't 0 */
	bool		firth;			/* Firth's is another, likewise */
	bool		iv;				/* two-stage least squares, likewise: the deviances are what y - X b leaves, squared */
	bool		net;			/* an elastic net's is another, likewise, of these: */
	double		net_alpha;
	double		net_lambda;
	/*
	 * The standard error of the negative binomial theta, infinite where that is; NaN: there is none. 0: theta wasn't
	 * estimated, and is no parameter. In SQL a part of the method
	 */
	double		theta_error;
	int			nterms;
	bool		intercept;		/* the first term is the intercept */
	const char **terms;			/* nterms; NULL in a model being built: (intercept), x1, x2, ... */
	double	   *coef;			/* nterms */
	double	   *vcov;			/* nterms x nterms; NULL where it wasn't computed */
	/* packed triangle: what rounding left of vcov, set by a fit; NULL: not known. In extras of a model that was read */
	double	   *vcov_low;
	int		   *separated;		/* nterms; 1 or -1: no finite estimate, it runs off to that infinity; NULL: all 0 */
	int64		nrows;
	int64		nskipped;
	int			rank;
	int64		df_residual;
	double		deviance;
	double		null_deviance;
	double		log_lik;		/* NaN: not known, or there is none */
	int			iterations;
	bool		converged;
	const char *device;
	double		dispersion;		/* the factor of the variance, which vcov has in it; NaN: not known */
	const char *vcov_type;		/* what vcov is: "iid", "HC1"; NULL: iid */
	double		df_inference;	/* of t, by which estimates are tested; INFINITY: by the normal distribution */
	const GrTermMoves *moves;	/* for gr_model_solve(); NULL: none */
	const char *design;			/* how terms are made of columns, see design.h; NULL or "": each is one */
	GrModelExtras extras;		/* what it remembers beside its fields; in SQL in front of the design */
} GrModel;

/* What a prediction wants of a gpu_model, where it lies in the argument: it is read for each row. */
typedef struct GrPredictor
{
	GrLink		link;
	bool		intercept;		/* the first term is the intercept */
	int			nfeatures;
	ArrayType  *terms;			/* any texts, none NULL; the intercept, if there is one, and a feature each */
	const double *coef;			/* of the terms; those that aren't NULL alone, which follow one another */
	const bits8 *nulls;			/* of coef; NULL: none is */
	GrString	design;			/* how features are made of columns; "": each is one */
	GrString	offsets;		/* name of the column of offsets, or GR_UNNAMED_OFFSETS; bytes NULL: there are none */
	GrString	vcov_low;		/* low halves as text; bytes NULL: the model has none. See gr_read_low() */
	/* The rest is set by gr_cached_predictor() alone. */
	uint64		serial;			/* number of this model among those that the call has read; 0: not a cached one */
	const double *dense;		/* coefficients of all terms, 0 for NULL; NULL: one of them is not finite */
} GrPredictor;

/* True if a prediction needs an offset. */
static inline bool
gr_has_offsets(const GrPredictor *model)
{
	return model->offsets.bytes != NULL;
}

/* True if two names are the same, or both are none (bytes NULL). */
static inline bool
gr_same_name(GrString a, GrString b)
{
	return (a.bytes == NULL) == (b.bytes == NULL) && a.nbytes == b.nbytes &&
		(a.nbytes == 0 || memcmp(a.bytes, b.bytes, a.nbytes) == 0);
}

/* What the error of a prediction wants beside that */
typedef struct GrPredictorError
{
	GrDistribution distribution;
	double		l2;
	bool		robust;			/* the covariances are made of residuals, not iid */
	bool		iv;				/* ... of the regressors' projections */
	const double *vcov;			/* terms x terms, NaN for NULL; NULL: there is none */
	double		dispersion;		/* NaN: not known */
	double		df_inference;
	const double *df;			/* of each term, NaN for terms without; NULL: df_inference */
} GrPredictorError;

/* The coefficient of term k, to which *at points unless it is NULL; as NaN if it is. The terms one after another */
static inline double
gr_next_coef(const GrPredictor *model, int k, const double **at)
{
	return model->nulls != NULL && (model->nulls[k / 8] & (1 << (k % 8))) == 0 ? (double) NAN : *(*at)++;
}

/*
 * Reads what a prediction needs of a model, which anyone may have made: its numbers may be any. The predictor points
 * into header and into memory of the current context. error: NULL, or receives what standard errors need. ERROR if the
 * value is not a model.
 */
extern void gr_open_predictor(HeapTupleHeader header, GrPredictor *predictor, GrPredictorError *error);

/* True if two models have the same fields as far as gr_open_predictor() without error reads them. */
extern bool gr_predicts_alike(HeapTupleHeader a, HeapTupleHeader b);

/* True if the covariances are made of residuals, and not iid. */
static inline bool
gr_model_is_robust(const GrModel *model)
{
	return model->vcov_type != NULL && strcmp(model->vcov_type, "iid") != 0;
}

/* Degrees of freedom by which term k is tested; NaN if it has none */
extern double gr_model_df(const GrModel *model, int k);

/*
 * The least degrees of freedom of the terms that are used, for a combination of their coefficients; df: of each of
 * nterms terms, or NULL. Returns df_inference if no term that is used has its own.
 */
extern double gr_least_df(const double *df, double df_inference, const bool *used, int nterms);

/* The model as a datum of the composite type that the calling SQL function returns. */
extern Datum gr_model_datum(FunctionCallInfo fcinfo, const GrModel *model);

/* The same as a row of this type, which must be gpu_model's: where a model is a field of something. */
extern Datum gr_model_row(TupleDesc tupdesc, const GrModel *model);

/* The coefficients as a float8[]. */
extern ArrayType *gr_model_coefficients(const GrModel *model);

/* Names the terms: NULL becomes x1, x2, ... names: nfeatures of them, or NULL. */
extern void gr_model_name_terms(GrModel *model, const char *const *names);

/* The name of a term. */
extern const char *gr_model_term(const GrModel *model, int k);

/* How much of a model is read */
typedef enum GrModelParts
{
	GR_MODEL_SUMS,				/* without separated; vcov where there is an l2, or it is robust */
	GR_MODEL_ALL
} GrModelParts;

/*
 * Reads an argument, which is anyone's to make and not NULL; ERROR if it is no model. Sizes go together then, rank and
 * degrees of freedom are any number, and so is what coef and vcov hold. What isn't wanted is NULL; device is left out.
 */
extern void gr_read_model(FunctionCallInfo fcinfo, int argument, GrModel *model, GrModelParts parts);

/* The terms' places in the order of their names, those of one name in their own; and the first not before the name */
extern int *gr_model_sort_terms(const GrModel *model);
extern int	gr_model_find_term(const GrModel *model, const int *sorted, const char *name);

/* Argument 0, a model, with other names of its terms and of those that are separated: the caller's result */
extern Datum gr_model_rename(FunctionCallInfo fcinfo, ArrayType *terms, ArrayType *separated);

/* The factor of the variance: the model's own, or what its family says; NaN where neither does */
extern double gr_model_dispersion(const GrModel *model);

/* Multiplies the covariances, and what rounding left of them, by the dispersion. */
extern void gr_model_disperse(GrModel *model);

/* A sum of squares over its degrees of freedom; NaN where there are none */
static inline double
gr_model_mean_square(double sum, double df)
{
	/* it must not lose digits below float8's range, where the sum of squares is within it */
	double		unit = sum > 0 && sum < 1e-280 ? 0x1p200 : 1.0;

	return df > 0 ? sum * unit / df / unit : NAN;
}

/*
 * Solves gram for a model. names: as in gr_raise_columns(). model->moves and model->l2 are heeded, the latter with the
 * covariances that gpu_glm_fit() has: the dispersion times the inverse of the penalised X'X. The arrays are allocated
 * in the current context; want_vcov false leaves vcov NULL.
 */
extern void gr_model_solve(GrModel *model, const GrGram *gram, bool intercept, const char *const *names,
						   bool want_vcov, const GrSolver *solver);

#endif							/* GPUREG_MODEL_H */
