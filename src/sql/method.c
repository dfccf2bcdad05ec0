/*
 * method.c: the field method of a gpu_model; see method.h.
 */
#include "postgres.h"

#include <math.h>

#include "common/shortest_dec.h"
#include "utils/builtins.h"

#include "sql/method.h"

text *
gr_method_of(const GrModel *model)
{
	const char *name = gr_family_method(model->distribution, model->quasi);
	char		number[DOUBLE_SHORTEST_DECIMAL_LEN];

	if (model->firth)
		return cstring_to_text(psprintf("%s (firth)", name));
	if (model->l2 == 0)
		return cstring_to_text(name);
	double_to_shortest_decimal_buf(model->l2, number);
	return cstring_to_text(psprintf("%s (l2 = %s)", name, number));
}

static bool
is_text(const text *value, const char *expected, Size n)
{
	return VARSIZE_ANY_EXHDR(value) == n && memcmp(VARDATA_ANY(value), expected, n) == 0;
}

/* Is it what such a model is called? */
static bool
is_method_of(const text *method, const GrModel *model)
{
	text	   *expected = gr_method_of(model);
	bool		same = is_text(method, VARDATA_ANY(expected), VARSIZE_ANY_EXHDR(expected));

	pfree(expected);
	return same;
}

bool
gr_read_method(const text *method, GrModel *model)
{
	const char *name = gr_family_method(model->distribution, model->quasi);
	const char *penalty;

	model->l2 = 0;
	model->firth = false;
	/* read for each row of a prediction: most often that's all */
	if (is_text(method, name, strlen(name)))
		return true;
	penalty = strrchr(text_to_cstring(method), '(');
	if (penalty == NULL)
		return false;
	if (strcmp(penalty, "(firth)") == 0)
		model->firth = model->distribution.family == GR_BINOMIAL && model->distribution.link == GR_LOGIT &&
			!model->quasi;
	else if (strncmp(penalty, "(l2 = ", 6) == 0)
		model->l2 = strtod(penalty + 6, NULL);
	return (model->firth || (model->l2 > 0 && isfinite(model->l2))) && is_method_of(method, model);
}
