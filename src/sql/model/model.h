/*
 * model.h: the SQL composite type gpu_model, as a C struct. Fits fill a GrModel and return it with gr_model_datum().
 * Functions that take a model read it with gr_read_model(); predictions, which get it for each row, read only part of
 * it with gr_open_predictor().
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
#include "sql/model/method.h"
#include "sql/model/model_classes.h"
#include "sql/model/model_extras.h"

/* Name of the first term if it is the intercept. */
#define GR_INTERCEPT "(intercept)"

/*
 * A gpu_model in C. NaN stands for NULL in coef and vcov. l2, firth, iv, mixed, reml, net and theta_error are parts of
 * the SQL field method.
 */
typedef struct GrModel
{
	GrModelKind kind;			/* other kinds than GR_KIND_GLM have classes, see extras */
	GrDistribution distribution;
	bool		quasi;			/* the family is R's quasibinomial or quasipoisson */
	double		l2;				/* ridge penalty; 0: none */
	bool		firth;			/* Firth's penalty */
	bool		iv;				/* two-stage least squares: the deviance is the sum of squares of y - X b */
	bool		mixed;			/* linear mixed model: the deviance is the REML criterion or -2 log L */
	bool		reml;			/* mixed: by REML, not ML */
	bool		net;			/* elastic net, with these alpha and lambda: */
	double		net_alpha;
	double		net_lambda;
	/*
	 * Standard error of an estimated negative binomial theta: infinite if theta is, NaN if it is not known, 0 if theta
	 * was not estimated.
	 */
	double		theta_error;
	int			nterms;			/* number of terms */
	bool		intercept;		/* the first term is the intercept */
	const char **terms;			/* nterms names; NULL in a model being built: (intercept), x1, x2, ... */
	double	   *coef;			/* nterms coefficients; NaN: aliased */
	double	   *vcov;			/* nterms x nterms; NULL if it was not computed */
	/*
	 * Low halves of vcov, a packed triangle, set by a fit; NULL: not known. A model that was read has them in extras.
	 */
	double	   *vcov_low;
	/* nterms: 1 or -1 if the estimate diverges to plus or minus infinity, else 0; NULL: all 0 */
	int		   *separated;
	int64		nrows;			/* number of observations; frequencies count */
	int64		nskipped;		/* rows that were skipped because of a NULL */
	int			rank;			/* terms that are not aliased */
	int64		df_residual;	/* nrows less rank */
	double		deviance;		/* a linear model's is the residual sum of squares */
	double		null_deviance;	/* deviance of the model without slopes */
	double		log_lik;		/* NaN: not known, or the fit has no likelihood */
	int			iterations;
	bool		converged;
	const char *device;			/* place of the fit, such as "cpu" */
	double		dispersion;		/* factor of the variance, which vcov includes; NaN: not known */
	const char *vcov_type;		/* type of vcov, such as "iid" or "HC1"; NULL: iid */
	double		df_inference;	/* degrees of freedom of tests by t; INFINITY: by the normal distribution */
	const GrTermMoves *moves;	/* passed to gr_model_solve(); NULL: none */
	const char *design;			/* rules that make terms of columns, see design.h; NULL or "": each term is a column */
	GrModelExtras extras;		/* further records of the model; in SQL at the beginning of the field design */
} GrModel;

/* The fields of a gpu_model that a prediction needs. It points into the argument, because it is read for each row. */
typedef struct GrPredictor
{
	GrLink		link;
	bool		intercept;		/* the first term is the intercept */
	int			nfeatures;		/* number of terms without the intercept */
	ArrayType  *terms;			/* names without NULL: the intercept's, if there is one, then one per feature */
	const double *coef;			/* coefficients that are not NULL, in order of the terms */
	const uint8 *nulls;			/* null bitmap of coef; NULL: no coefficient is NULL */
	GrString	design;			/* rules that make features of columns; "": each feature is a column */
	GrString	offsets;		/* name of the column of offsets, or GR_UNNAMED_OFFSETS; bytes NULL: no offsets */
	GrString	vcov_low;		/* low halves as text; bytes NULL: the model has none. See gr_read_low() */
	/* A model of classes, which gr_open_class_predictor() reads; terms and features are those of one predictor. */
	GrModelKind kind;
	int			nclasses;		/* 0: the model has no classes */
	const char **classes;		/* labels */
	const double *class_coef;	/* all coefficients, 0 for NULL */
	/* Only gr_cached_predictor() sets these: */
	uint64		serial;			/* number of this model among those that the call has read, from 1; 0: not cached */
	const double *dense;		/* coefficients of all terms, 0 for NULL; NULL: a coefficient is not finite */
} GrPredictor;

/* True if a prediction needs an offset. */
static inline bool
gr_has_offsets(const GrPredictor *model)
{
	return model->offsets.bytes != NULL;
}

/* True if two names are equal, or both are missing (bytes NULL). */
static inline bool
gr_same_name(GrString a, GrString b)
{
	return (a.bytes == NULL) == (b.bytes == NULL) && a.nbytes == b.nbytes &&
		(a.nbytes == 0 || memcmp(a.bytes, b.bytes, a.nbytes) == 0);
}

/* Further fields of a gpu_model, which the standard error of a prediction needs. */
typedef struct GrPredictorError
{
	GrDistribution distribution;
	double		l2;				/* ridge penalty; 0: none */
	bool		robust;			/* vcov is made from residuals, not iid */
	GrString	bread;			/* (X'WX)^-1 of a robust model, see gr_read_bread(); bytes NULL: not known */
	bool		iv;				/* vcov is that of two-stage least squares */
	bool		mixed;			/* the model has random effects */
	const double *vcov;			/* terms x terms, NaN for NULL; NULL: the model has none */
	double		dispersion;		/* NaN: not known */
	double		df_inference;
	const double *df;			/* degrees of freedom of each term, NaN: none; NULL: all have df_inference */
} GrPredictorError;

/*
 * Returns the coefficient of term k, or NaN if it is NULL. Call it for k = 0, 1, ...; *at begins at model->coef and is
 * advanced past each coefficient that is not NULL.
 */
static inline double
gr_next_coef(const GrPredictor *model, int k, const double **at)
{
	return model->nulls != NULL && (model->nulls[k / 8] & (1 << (k % 8))) == 0 ? (double) NAN : *(*at)++;
}

/*
 * Reads what a prediction needs from a model. The predictor points into header and into memory of the current context.
 * error: receives what standard errors need; NULL: not wanted. Raises an ERROR if the value is not a model; its numbers
 * are not checked, because a user may have made it.
 */
extern void gr_open_predictor(HeapTupleHeader header, GrPredictor *predictor, GrPredictorError *error);

/*
 * Replaces the covariances of a robust model by (X'WX)^-1 and its dispersion by 1, if the model has that matrix: the
 * errors are then those of an iid model, as leverages need them.
 */
extern void gr_errors_of_leverages(GrPredictor *predictor, GrPredictorError *error);

/* Like gr_open_predictor() without error, for a multinomial or ordinal model. Raises an ERROR for other models. */
extern void gr_open_class_predictor(HeapTupleHeader header, GrPredictor *predictor);

/* True if two models agree in the fields that gr_open_predictor() reads without error. */
extern bool gr_predicts_alike(HeapTupleHeader a, HeapTupleHeader b);

/* True if the covariances are made from residuals, and not iid. */
static inline bool
gr_model_is_robust(const GrModel *model)
{
	return model->vcov_type != NULL && strcmp(model->vcov_type, "iid") != 0;
}

/* Returns the degrees of freedom by which term k is tested, or NaN if it has none. */
static inline double
gr_model_df(const GrModel *model, int k)
{
	return model->extras.df == NULL ? model->df_inference : model->extras.df[k];
}

/*
 * Returns the least degrees of freedom of the terms with used[k], for a test of a combination of them. df: nterms
 * values, NaN: none; or NULL. Returns df_inference if no used term has its own.
 */
static inline double
gr_least_df(const double *df, double df_inference, const bool *used, int nterms)
{
	double		least = INFINITY;
	bool		any = false;

	for (int k = 0; df != NULL && k < nterms; k++)
		if (used[k] && !isnan(df[k]))
		{
			least = fmin(least, df[k]);
			any = true;
		}
	return any ? least : df_inference;
}

/* Returns the model as a datum of the composite type that the calling SQL function returns. */
extern Datum gr_model_datum(FunctionCallInfo fcinfo, const GrModel *model);

/* Returns the model as a row of type tupdesc, which must be gpu_model's. For results in which a model is a field. */
extern Datum gr_model_row(TupleDesc tupdesc, const GrModel *model);

/* Returns the coefficients as a float8[], NULL for NaN. */
extern ArrayType *gr_model_coefficients(const GrModel *model);

/* Sets model->terms from names, nfeatures of them. If names is NULL, terms are called x1, x2, ... */
extern void gr_model_name_terms(GrModel *model, const char *const *names);

/* Returns the name of term k. */
extern const char *gr_model_term(const GrModel *model, int k);

/* Parts of a model to read */
typedef enum GrModelParts
{
	GR_MODEL_SUMS,				/* all but separated; vcov only if the model has an l2 or is robust */
	GR_MODEL_ALL
} GrModelParts;

/*
 * Reads argument number `argument`, which is not NULL, into model. A user may have made the value: raises an ERROR if
 * it is not a model or its arrays differ in size; rank, degrees of freedom, coef and vcov may hold any numbers. Parts
 * that are not wanted become NULL; device is not set.
 */
extern void gr_read_model(FunctionCallInfo fcinfo, int argument, GrModel *model, GrModelParts parts);

/* Like gr_read_model(), which raises an ERROR for kinds other than GR_KIND_GLM. */
extern void gr_read_any_model(FunctionCallInfo fcinfo, int argument, GrModel *model, GrModelParts parts);

/* Returns the name of the family, such as "binomial" or "multinomial". */
static inline const char *
gr_model_family(const GrModel *model)
{
	return model->kind != GR_KIND_GLM ? gr_kind_family(model->kind) :
		gr_family_name(model->distribution.family, model->quasi);
}

/*
 * Returns the class to which term k belongs, and sets *term to the term's name without the class; NULL if the term
 * belongs to no class.
 */
static inline const char *
gr_model_class(const GrModel *model, int k, const char **term)
{
	*term = model->terms[k];
	return model->kind != GR_KIND_MULTINOM ? NULL :
		gr_class_of_term(&model->extras, model->terms, model->nterms, k, term);
}

/* True if term k is an intercept, of any class, or a threshold. */
static inline bool
gr_model_is_intercept(const GrModel *model, int k)
{
	const char *term;

	if (model->kind == GR_KIND_ORDINAL)
		return k < model->extras.nclasses - 1;
	return gr_model_class(model, k, &term) != NULL ? strcmp(term, GR_INTERCEPT) == 0 : k == 0 && model->intercept;
}

/*
 * gr_model_sort_terms() returns the numbers of the terms, ordered by name and then by number. gr_model_find_term()
 * returns the first position in sorted whose name is not less than name, or nterms.
 */
extern int *gr_model_sort_terms(const GrModel *model);
extern int	gr_model_find_term(const GrModel *model, const int *sorted, const char *name);

/* Returns argument 0, a model, with other names of its terms and of its separated terms, as the caller's result. */
extern Datum gr_model_rename(FunctionCallInfo fcinfo, ArrayType *terms, ArrayType *separated);

/* Returns the factor of the variance: the model's own, else the family's; NaN if neither has one. */
extern double gr_model_dispersion(const GrModel *model);

/* Multiplies vcov and its low halves by the dispersion. */
extern void gr_model_disperse(GrModel *model);

/* Returns a sum of squares over its degrees of freedom, or NaN if df is not positive. */
static inline double
gr_model_mean_square(double sum, double df)
{
	/* scaling keeps the digits of quotients below float8's normal range */
	double		unit = sum > 0 && sum < 1e-280 ? 0x1p200 : 1.0;

	return df > 0 ? sum * unit / df / unit : NAN;
}

/*
 * Solves the sums in gram and fills model's terms, estimates and statistics; arrays lie in the current context. Applies
 * model->moves and model->l2; with an l2, vcov is the dispersion times the inverse of the penalised X'X, as in
 * gpu_glm_fit(). names: as in gr_raise_columns(). want_vcov false leaves vcov NULL.
 */
extern void gr_model_solve(GrModel *model, const GrGram *gram, bool intercept, const char *const *names,
						   bool want_vcov, const GrSolver *solver);

#endif							/* GPUREG_MODEL_H */
