/*
 * model_classes.h: kinds of models, and the classes of their terms. model.c reads models by these functions; model.h
 * has those that other files call.
 */
#ifndef GPUREG_MODEL_CLASSES_H
#define GPUREG_MODEL_CLASSES_H

#include "postgres.h"

#include "sql/model/method.h"
#include "sql/model/model_extras.h"

/* Returns the kind of a family's name, see gr_kind_family(); GR_KIND_GLM for all other names. */
extern GrModelKind gr_kind_named(const char *family);

/* Raises an ERROR: a function of one linear predictor was called with a model of another kind. */
extern void gr_refuse_kind(GrModelKind kind) __attribute__((noreturn));

/*
 * Returns the number of terms of a predictor in a model of nterms terms and nclasses classes, and sets *first to the
 * first term of the first predictor. Raises an ERROR if the numbers do not fit.
 */
extern int	gr_predictor_terms(GrModelKind kind, int nterms, int nclasses, int *first);

/* Returns the name of a term without its class, which precedes it. Raises an ERROR if it does not. */
extern const char *gr_term_of_class(const char *term, const char *class);

/* Returns the class of term k of a multinomial model, and sets *term to the term's name without the class. */
extern const char *gr_class_of_term(const GrModelExtras *extras, const char *const *terms, int nterms, int k,
									const char **term);

/* Raises an ERROR if classes and terms of a model do not fit. */
extern void gr_check_classes(GrModelKind kind, const GrModelExtras *extras, const char *const *terms, int nterms);

#endif							/* GPUREG_MODEL_CLASSES_H */
