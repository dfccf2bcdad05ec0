/*
 * method.h: the field method of a gpu_model: what the model is called, its penalty, and the error of an estimated
 * theta, for which the type has no other field.
 */
#ifndef GPUREG_METHOD_H
#define GPUREG_METHOD_H

#include "postgres.h"

#include "compute/dist/family.h"

/* What it tells */
typedef struct GrMethod
{
	GrDistribution distribution;
	bool		quasi;
	double		l2;				/* >= 0 */
	bool		firth;
	bool		iv;				/* linear, by two-stage least squares */
	double		theta_error;	/* see GrModel */
	bool		net;			/* an elastic net, of these: */
	double		alpha;			/* 0 .. 1 */
	double		lambda;			/* >= 0 */
} GrMethod;

/*
 * "logistic regression", "logistic regression (l2 = 0.1)", "logistic regression (firth)", "glm (theta error = 0.2)",
 * "iv", "ols (elastic net) (alpha = 1) (lambda = 0.1)"
 */
extern text *gr_method_text(const GrMethod *method);

/* True if the field is the family's method alone, as most are. */
static inline bool
gr_method_is_plain(const GrMethod *method)
{
	return !method->iv && !method->firth && !method->net && method->l2 == 0 && method->theta_error == 0;
}

/* Sets the penalty and the error, where the distribution is known; false if no such model is called that. */
extern bool gr_read_method(const text *value, GrMethod *method);

#endif							/* GPUREG_METHOD_H */
