/*
 * method.h: writes and reads the field method of a gpu_model. Besides the kind of model it holds what no other field of
 * the type has room for: the penalty and the standard error of an estimated theta. model.c is the only caller.
 */
#ifndef GPUREG_METHOD_H
#define GPUREG_METHOD_H

#include "postgres.h"

#include "compute/dist/family.h"

/* Kinds of models that differ in what their coefficients mean */
typedef enum GrModelKind
{
	GR_KIND_GLM,				/* linear and generalised linear models: one linear predictor */
	GR_KIND_MULTINOM,			/* a linear predictor for each class but the base */
	GR_KIND_ORDINAL,			/* thresholds between classes, then one linear predictor without an intercept */
	GR_KIND_CONDITIONAL,		/* one linear predictor without an intercept, within strata */
	GR_NKINDS
} GrModelKind;

/* Returns the family by which a gpu_model names a kind, such as "multinomial"; NULL for GR_KIND_GLM. */
extern const char *gr_kind_family(GrModelKind kind);

/* Contents of the field */
typedef struct GrMethod
{
	GrModelKind kind;
	GrDistribution distribution;
	bool		quasi;			/* the family is R's quasibinomial or quasipoisson */
	double		l2;				/* ridge penalty, >= 0 */
	bool		firth;			/* Firth's penalty */
	bool		iv;				/* linear model, by two-stage least squares */
	bool		mixed;			/* linear mixed model, by REML or, unless reml is true, by ML */
	bool		reml;
	double		theta_error;	/* standard error of theta; see GrModel */
	bool		net;			/* elastic net, with these alpha and lambda: */
	double		alpha;			/* 0 .. 1 */
	double		lambda;			/* >= 0 */
} GrMethod;

/*
 * Returns the field's text in the current memory context. Examples: "logistic regression", "logistic regression (l2 =
 * 0.1)", "logistic regression (firth)", "glm (theta error = 0.2)", "iv", "lmm (reml)", "ols (elastic net) (alpha = 1)
 * (lambda = 0.1)".
 */
extern text *gr_method_text(const GrMethod *method);

/* True if the text is just the family's name for the method, as for most models. */
static inline bool
gr_method_is_plain(const GrMethod *method)
{
	return !method->iv && !method->mixed && !method->firth && !method->net && method->l2 == 0 &&
		method->theta_error == 0;
}

/* Reads value into method, whose kind, distribution and quasi must be set. Returns false if value does not fit them. */
extern bool gr_read_method(const text *value, GrMethod *method);

#endif							/* GPUREG_METHOD_H */
