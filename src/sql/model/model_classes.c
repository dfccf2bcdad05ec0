/*
 * model_classes.c: kinds of models, and the classes of their terms; see model_classes.h.
 */
#include "postgres.h"

#include "sql/model/model_classes.h"

GrModelKind
gr_kind_named(const char *family)
{
	for (int kind = 1; kind < GR_NKINDS; kind++)
		if (strcmp(family, gr_kind_family((GrModelKind) kind)) == 0)
			return (GrModelKind) kind;
	return GR_KIND_GLM;
}

void
gr_refuse_kind(GrModelKind kind)
{
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("the function is not available for a model of family %s", gr_kind_family(kind)),
			 kind == GR_KIND_CONDITIONAL ? errdetail("The model compares rows of a stratum, and has no intercept.") :
			 errhint("Use gpu_predict_probs() or gpu_predict_class() for predictions, and gpu_tidy(), gpu_glance(), "
					 "gpu_wald() or gpu_anova() for inference.")));
}

int
gr_predictor_terms(GrModelKind kind, int nterms, int nclasses, int *first)
{
	int			n = kind == GR_KIND_MULTINOM && nclasses >= 2 ? nterms / (nclasses - 1) : nterms - (nclasses - 1);

	*first = kind == GR_KIND_MULTINOM ? 0 : nclasses - 1;
	if (nclasses < 2 || n < 0 || (kind == GR_KIND_MULTINOM && (n < 1 || n * (nclasses - 1) != nterms)))
		gr_bad_model("Its classes and terms differ in number.");
	return n;
}

const char *
gr_term_of_class(const char *term, const char *class)
{
	Size		n = strlen(class);

	if (strncmp(term, class, n) != 0 || term[n] != ':')
		gr_bad_model("A term does not begin with its class.");
	return term + n + 1;
}

const char *
gr_class_of_term(const GrModelExtras *extras, const char *const *terms, int nterms, int k, const char **term)
{
	const char *class = extras->classes[1 + k / (nterms / (extras->nclasses - 1))];

	*term = gr_term_of_class(terms[k], class);
	return class;
}

void
gr_check_classes(GrModelKind kind, const GrModelExtras *extras, const char *const *terms, int nterms)
{
	const char *term;
	int			first;

	if (kind != GR_KIND_MULTINOM && kind != GR_KIND_ORDINAL)
		return;
	(void) gr_predictor_terms(kind, nterms, extras->nclasses, &first);
	for (int k = 0; kind == GR_KIND_MULTINOM && k < nterms; k++)
		(void) gr_class_of_term(extras, terms, nterms, k, &term);
}
