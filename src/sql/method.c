/*
 * method.c: the field method of a gpu_model; see method.h.
 */
#include "postgres.h"

#include <math.h>

#include "common/shortest_dec.h"
#include "utils/builtins.h"

#include "sql/method.h"

text *
gr_method_text(const GrMethod *method)
{
	const char *name = gr_family_method(method->distribution, method->quasi);
	char		number[DOUBLE_SHORTEST_DECIMAL_LEN];

	if (method->firth)
		return cstring_to_text(psprintf("%s (firth)", name));
	if (method->l2 == 0)
		return cstring_to_text(name);
	double_to_shortest_decimal_buf(method->l2, number);
	return cstring_to_text(psprintf("%s (l2 = %s)", name, number));
}

static bool
is_text(const text *value, const char *expected, Size n)
{
	return VARSIZE_ANY_EXHDR(value) == n && memcmp(VARDATA_ANY(value), expected, n) == 0;
}

/* Is it what such a model is called? */
static bool
is_method_text(const text *value, const GrMethod *method)
{
	text	   *expected = gr_method_text(method);
	bool		same = is_text(value, VARDATA_ANY(expected), VARSIZE_ANY_EXHDR(expected));

	pfree(expected);
	return same;
}

bool
gr_read_method(const text *value, GrMethod *method)
{
	const char *name = gr_family_method(method->distribution, method->quasi);
	const char *penalty;

	method->l2 = 0;
	method->firth = false;
	/* read for each row of a prediction: most often that's all */
	if (is_text(value, name, strlen(name)))
		return true;
	penalty = strrchr(text_to_cstring(value), '(');
	if (penalty == NULL)
		return false;
	if (strcmp(penalty, "(firth)") == 0)
		method->firth = method->distribution.family == GR_BINOMIAL && method->distribution.link == GR_LOGIT &&
			!method->quasi;
	else if (strncmp(penalty, "(l2 = ", 6) == 0)
		method->l2 = strtod(penalty + 6, NULL);
	return (method->firth || (method->l2 > 0 && isfinite(method->l2))) && is_method_text(value, method);
}
