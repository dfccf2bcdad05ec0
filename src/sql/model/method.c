/*
 * method.c: writes and reads the field method of a gpu_model; see method.h.
 */
#include "postgres.h"

#include <math.h>

#include "common/shortest_dec.h"
#include "lib/stringinfo.h"
#include "utils/builtins.h"

#include "run/compat.h"
#include "sql/model/method.h"

#define THETA_ERROR "theta error"
#define IV "iv"
#define MIXED_REML "lmm (reml)"
#define MIXED_ML "lmm (ml)"
#define ELASTIC_NET " (elastic net)"

const char *
gr_kind_family(GrModelKind kind)
{
	static const char *const families[GR_NKINDS] = {NULL, "multinomial", "ordinal", "conditional"};

	return families[kind];
}

/* Returns the name of a model's kind or family for the method. */
static const char *
method_name(const GrMethod *method)
{
	static const char *const names[GR_NKINDS] = {
		NULL, "multinomial regression", "ordinal regression", "conditional logistic regression"
	};

	return method->kind == GR_KIND_GLM ? gr_family_method(method->distribution, method->quasi) : names[method->kind];
}

/* Appends " (what = number)", with the digits that read back as the same number. */
static void
append_part(StringInfo buf, const char *what, double number)
{
	char		digits[DOUBLE_SHORTEST_DECIMAL_LEN];

	double_to_shortest_decimal_buf(number, digits);
	appendStringInfo(buf, " (%s = %s)", what, digits);
}

text *
gr_method_text(const GrMethod *method)
{
	StringInfoData buf;
	text	   *result;

	initStringInfo(&buf);
	appendStringInfoString(&buf, method->iv ? IV :
						   method->mixed ? (method->reml ? MIXED_REML : MIXED_ML) : method_name(method));
	if (method->firth)
		appendStringInfoString(&buf, " (firth)");
	if (method->l2 != 0)
		append_part(&buf, "l2", method->l2);
	if (method->theta_error != 0)
		append_part(&buf, THETA_ERROR, method->theta_error);
	if (method->net)
	{
		appendStringInfoString(&buf, ELASTIC_NET);
		append_part(&buf, "alpha", method->alpha);
		append_part(&buf, "lambda", method->lambda);
	}
	result = cstring_to_text_with_len(buf.data, buf.len);
	pfree(buf.data);
	return result;
}

/* True if value is the n bytes of expected. */
static bool
is_text(const text *value, const char *expected, Size n)
{
	return VARSIZE_ANY_EXHDR(value) == n && memcmp(VARDATA_ANY(value), expected, n) == 0;
}

/* True if value is the text of this method. */
static bool
is_method_text(const text *value, const GrMethod *method)
{
	text	   *expected = gr_method_text(method);
	bool		same = is_text(value, VARDATA_ANY(expected), VARSIZE_ANY_EXHDR(expected));

	pfree(expected);
	return same;
}

/* Reads the number that append_part() wrote for what. Returns false if there is none. */
static bool
read_part(const char *parts, const char *what, double *number)
{
	const char *part = strstr(parts, psprintf(" (%s = ", what));

	if (part == NULL)
		return false;
	*number = strtod(part + strlen(what) + 5, NULL);
	return true;
}

/* Reads an elastic net's alpha and lambda, if parts has them. Returns false if no net can have them. */
static bool
read_net(const char *parts, GrMethod *method)
{
	method->net = strstr(parts, ELASTIC_NET) != NULL;
	if (!method->net)
		return true;
	return read_part(parts, "alpha", &method->alpha) && method->alpha >= 0 && method->alpha <= 1 &&
		read_part(parts, "lambda", &method->lambda) && method->lambda >= 0 && isfinite(method->lambda) &&
		method->l2 == 0 && !method->firth;
}

bool
gr_read_method(const text *value, GrMethod *method)
{
	const char *name = method_name(method);
	char	   *parts;

	method->l2 = method->theta_error = method->alpha = method->lambda = 0;
	method->firth = method->iv = method->net = method->mixed = method->reml = false;
	/* the common case, tested first because predictions read this field for each row */
	if (is_text(value, name, strlen(name)))
		return true;
	parts = text_to_cstring(value);
	method->iv = gr_is_linear(method->distribution) && strcmp(parts, IV) == 0;
	method->reml = gr_is_linear(method->distribution) && strcmp(parts, MIXED_REML) == 0;
	method->mixed = method->reml || (gr_is_linear(method->distribution) && strcmp(parts, MIXED_ML) == 0);
	method->firth = method->kind == GR_KIND_GLM && gr_is_logistic(method->distribution) && !method->quasi &&
		strstr(parts, " (firth)") != NULL;
	if (read_part(parts, "l2", &method->l2) && !(method->l2 > 0 && isfinite(method->l2)))
		return false;
	if (read_part(parts, THETA_ERROR, &method->theta_error) &&
		(!gr_family(method->distribution.family)->has_theta || method->theta_error <= 0))
		return false;
	if (!read_net(parts, method))
		return false;
	return is_method_text(value, method) && !(method->firth && method->l2 > 0);
}
