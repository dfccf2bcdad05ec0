/*
 * state_io.c: text input and output of gpu_ols_stats and gpu_logreg_step. state_wire.c has their binary form.
 *
 * The text is JSON with members in a fixed order. Numbers have as many digits as give back the same float8, whatever
 * extra_float_digits is:
 *
 *	 {"version":2,"features":p,"rows":n,"skipped":k,"shift":[c,...],"gram":[hi,lo,hi,lo,...]}
 *	 {"version":3,"features":p,"rows":n,"skipped":k,"weights":[s],"shift":[c,...],"gram":[hi,lo,hi,lo,...]}
 *	 {"version":4,"features":p,"rows":n,"skipped":k,"names":["y","x",...],["weights":[s],]"shift":...}
 *	 {"version":1,"features":p,"skipped":k,"intercept":1,"beta":[...],"head":[...],"gram":[...]}
 *	 {"version":2,"features":p,"skipped":k,"intercept":1,"family":"poisson","link":"log","linear":0,["theta":[d],]
 *	 "beta":[...],"head":[...],["totals":[...],]"gram":[...]}
 *
 * gpu_ols_stats (the first three lines): version 1 has no shift. Version 3 is for rows with weights, the sum of whose
 * logarithms is 2 s. Version 4 has the names of the columns, the response's first.
 * gpu_logreg_step: beta has p + 1 numbers, null for a term that is fixed. head and gram are the sums of glm.h; null
 * stands for infinity. Before the first complete row, features is -1 and the lists are empty. Version 2 is for other
 * families than the logistic regression's, and never without rows. It has linear as in glm.h, theta for negative
 * binomial regressions only, and totals (GrRowTotals) if there are any. The binary form has the same numbers in the
 * same order, but flags for fixed terms instead of null, and numbers for families and links.
 *
 * A pass of gpu_logreg_fit() has no binary form. Its text includes the request to the rows:
 *
 *	 {"version":1,"features":p,"skipped":k,"pass":kind,["roles":b,]["family":g,"link":l,]"faces":f,"changed":c,
 *	 "rows":n,"workers":w,"relative":[r],["theta":[d],]"request":[...],"sums":[...]}
 *
 * b is a sum: 1 for weights, 2 for offsets, 4 for frequencies, 8 for a linear pass, and 16 times the measure. It is
 * left out if it is 0. g, l and d are the numbers of the family and link, and theta; they are left out for logistic
 * regressions. Numbers in the lists may be "NaN", "Infinity" and "-Infinity".
 */
#include "postgres.h"

#include <math.h>

#include "common/shortest_dec.h"
#include "fmgr.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "utils/json.h"

#include "compute/base/compute.h"
#include "compute/glm/glm.h"
#include "rows/state/families.h"
#include "rows/state/state.h"
#include "run/args.h"
#include "sql/states/state_lists.h"

static void
append_number(StringInfo buf, const GrStateList *list, int64 k)
{
	double		value = *gr_state_number(list, k);
	char		text[DOUBLE_SHORTEST_DECIMAL_LEN];

	double_to_shortest_decimal_buf(value, text);
	if ((list->marks != NULL && list->marks[k] == 1) || (!isfinite(value) && !list->any))
		appendStringInfoString(buf, "null");
	else
		appendStringInfo(buf, isfinite(value) ? "%s" : "\"%s\"", text);
}

/* Returns the number that stands for a pass's roles in the text. */
static int
roles_of(const GrState *state)
{
	return state->weight + 2 * state->offset + 4 * (state->weighting == GR_FREQUENCIES) + 8 * state->linear +
		16 * state->measure;
}

/* Appends "names":[...]. */
static void
append_names(StringInfo buf, GrState *state)
{
	const char *name = gr_state_names(state);

	appendStringInfoString(buf, ",\"names\":[");
	for (int k = 0; k <= state->nfeatures; k++)
	{
		if (k > 0)
			appendStringInfoChar(buf, ',');
		escape_json(buf, name);
		name += strlen(name) + 1;
		gr_poll_loop(k);
	}
	appendStringInfoChar(buf, ']');
}

static Datum
write_text(FunctionCallInfo fcinfo, GrStateType type)
{
	GrState    *state = gr_state_settled(PG_GETARG_DATUM(0), type, NULL);
	int			version = gr_state_version_of(state);
	GrStateList		lists[GR_STATE_LISTS_MAX];
	int			nlists = gr_state_lists(state, version, lists);
	StringInfoData buf;

	initStringInfo(&buf);
	appendStringInfo(&buf, "{\"version\":%d,\"features\":%d", version, state->nfeatures);
	if (type == GR_STATS)
		appendStringInfo(&buf, ",\"rows\":" INT64_FORMAT, state->nrows);
	appendStringInfo(&buf, ",\"skipped\":" INT64_FORMAT, state->nskipped);
	if (state->nnames > 0)
		append_names(&buf, state);
	if (state->internal)
	{
		appendStringInfo(&buf, ",\"pass\":%d", state->kind);
		if (roles_of(state) != 0)
			appendStringInfo(&buf, ",\"roles\":%d", roles_of(state));
		if (!gr_state_is_logit(state))
			appendStringInfo(&buf, ",\"family\":%d,\"link\":%d", state->family, state->link);
		appendStringInfo(&buf, ",\"faces\":%d,\"changed\":%d,\"rows\":" INT64_FORMAT ",\"workers\":%d", state->nfaces,
						 state->nchanged, state->nrows, state->nworkers);
	}
	else if (type == GR_STEP)
		appendStringInfo(&buf, ",\"intercept\":%d", state->intercept);
	if (type == GR_STEP && version > 1)
		appendStringInfo(&buf, ",\"family\":\"%s\",\"link\":\"%s\",\"linear\":%d",
						 gr_family_name((GrFamily) state->family, state->quasi), gr_link_name((GrLink) state->link),
						 state->linear);
	for (const GrStateList *list = lists; list < lists + nlists; list++)
	{
		appendStringInfo(&buf, ",\"%s\":[", list->key);
		for (int64 k = 0; k < list->n; k++)
		{
			if (k > 0)
				appendStringInfoChar(&buf, ',');
			append_number(&buf, list, k);
			if ((k & 0xfff) == 0)
				CHECK_FOR_INTERRUPTS();
		}
		appendStringInfoChar(&buf, ']');
	}
	appendStringInfoChar(&buf, '}');
	PG_RETURN_CSTRING(buf.data);
}

/* A reader over the text of a state. Functions that take one raise an ERROR if the text is malformed. */
typedef struct Reader
{
	const char *type;
	const char *string;
	const char *at;
} Reader;

static void raise_syntax(const Reader *reader) __attribute__((noreturn));

static void
raise_syntax(const Reader *reader)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_TEXT_REPRESENTATION),
			 errmsg("invalid input syntax for type %s: \"%.64s\"", reader->type, reader->string),
			 errhint("Use only text that the output function of %s wrote.",
					 reader->type)));
}

static void
skip_space(Reader *reader)
{
	while (*reader->at == ' ' || *reader->at == '\t' || *reader->at == '\n' || *reader->at == '\r')
		reader->at++;
}

/* Reads one token of the fixed syntax, and the white space around it. */
static void
expect(Reader *reader, const char *token)
{
	skip_space(reader);
	if (strncmp(reader->at, token, strlen(token)) != 0)
		raise_syntax(reader);
	reader->at += strlen(token);
	skip_space(reader);
}

/* Reads `before`, then "key": */
static void
expect_key(Reader *reader, const char *before, const char *key)
{
	char		token[32];

	snprintf(token, sizeof(token), "\"%s\"", key);
	expect(reader, before);
	expect(reader, token);
	expect(reader, ":");
}

/* Reads `before`, then "key":value, an integer in min .. max. */
static int64
read_integer(Reader *reader, const char *before, const char *key, int64 min, int64 max)
{
	char	   *end;
	int64		value;

	expect_key(reader, before, key);
	errno = 0;
	value = strtoll(reader->at, &end, 10);
	if (end == reader->at || errno != 0 || value < min || value > max)
		raise_syntax(reader);
	reader->at = end;
	skip_space(reader);
	return value;
}

/* Reads `before`, then "key":"name". Raises an ERROR unless the name fits into size bytes. */
static void
read_name(Reader *reader, const char *before, const char *key, char *name, Size size)
{
	Size		length;

	expect_key(reader, before, key);
	expect(reader, "\"");
	length = strcspn(reader->at, "\"");
	if (length >= size || reader->at[length] == '\0')
		raise_syntax(reader);
	memcpy(name, reader->at, length);
	name[length] = '\0';
	reader->at += length;
	expect(reader, "\"");
}

/* Reads what follows a backslash in a JSON string, as escape_json() writes it. Returns the character. */
static char
read_escape(Reader *reader)
{
	static const char escapes[] = "\"\"\\\\b\bf\fn\nr\rt\t";

	if (*reader->at == 'u' && strspn(reader->at + 1, "0123456789abcdef") >= 4)
	{
		const char	digits[] = {reader->at[1], reader->at[2], reader->at[3], reader->at[4], '\0'};
		long		code = strtol(digits, NULL, 16);

		if (code < 1 || code >= ' ')
			raise_syntax(reader);
		reader->at += 5;
		return (char) code;
	}
	for (const char *escape = escapes; *reader->at != '\0' && *escape != '\0'; escape += 2)
		if (*reader->at == *escape)
		{
			reader->at++;
			return escape[1];
		}
	raise_syntax(reader);
}

/* Appends a JSON string that is not empty to buf, with its final 0. */
static void
read_string(Reader *reader, StringInfo buf)
{
	int			begin = buf->len;

	expect(reader, "\"");
	/* white space that expect() skipped belongs to the string */
	while (reader->at[-1] != '"')
		reader->at--;
	while (*reader->at != '"')
	{
		if (*reader->at == '\0')
			raise_syntax(reader);
		if (*reader->at != '\\')
			appendStringInfoCharMacro(buf, *reader->at++);
		else
		{
			reader->at++;
			appendStringInfoCharMacro(buf, read_escape(reader));
		}
		if ((buf->len & 0xffff) == 0)
			CHECK_FOR_INTERRUPTS();
	}
	expect(reader, "\"");
	if (buf->len == begin)
		raise_syntax(reader);
	appendStringInfoChar(buf, '\0');
}

/* Reads "names":[...] for a state whose nfeatures is set. Returns the state with the names. */
static GrState *
read_names(Reader *reader, GrState *state)
{
	StringInfoData buf;

	if (state->nfeatures < 0)
		raise_syntax(reader);
	initStringInfo(&buf);
	expect_key(reader, ",", "names");
	expect(reader, "[");
	for (int k = 0; k <= state->nfeatures; k++)
	{
		if (k > 0)
			expect(reader, ",");
		read_string(reader, &buf);
	}
	expect(reader, "]");
	return gr_state_named(state, buf.data, buf.len);
}

/* Reads a finite number or, if any is true, also a quoted one that is not finite. */
static double
read_number(Reader *reader, bool any)
{
	bool		quoted = any && *reader->at == '"';
	const char *at = quoted ? reader->at + 1 : reader->at;
	char	   *end;
	double		value = strtod(at, &end);

	/* strtod() would also accept "inf", "nan" and hexadecimal numbers */
	if (end == at || isfinite(value) == quoted || (quoted && *end != '"') ||
		(!quoted && (strchr("-0123456789", *at) == NULL || memchr(at, 'x', end - at) != NULL ||
					 memchr(at, 'X', end - at) != NULL)))
		raise_syntax(reader);
	reader->at = quoted ? end + 1 : end;
	skip_space(reader);
	return value;
}

static void
read_list(Reader *reader, const GrStateList *list)
{
	expect_key(reader, ",", list->key);
	expect(reader, "[");
	for (int64 k = 0; k < list->n; k++)
	{
		if (k > 0)
			expect(reader, ",");
		if (*reader->at == 'n' && !isnan(list->null))
		{
			expect(reader, "null");
			*gr_state_number(list, k) = list->null;
			if (list->marks != NULL)
				list->marks[k] = 1;
		}
		else
			*gr_state_number(list, k) = read_number(reader, list->any);
		if ((k & 0xfff) == 0)
			CHECK_FOR_INTERRUPTS();
	}
	expect(reader, "]");
}

/*
 * Raises an ERROR if the rest of the text is too short for nnumbers numbers of at least two bytes each. Called before
 * memory for them is allocated.
 */
static void
check_room(const Reader *reader, Size nnumbers)
{
	if (nnumbers * 2 > strlen(reader->at) + 1)
		raise_syntax(reader);
}

/* Reads the text of a pass from "pass" up to its lists, and returns a state for them. */
static GrState *
read_pass(Reader *reader, int nfeatures)
{
	GrPassKind	kind = (GrPassKind) read_integer(reader, "", "pass", GR_PASS_EXACT, GR_PASS_JOINT);
	bool		has_roles = strncmp(reader->at, ",\"roles\"", 8) == 0;
	int			roles = has_roles ? (int) read_integer(reader, ",", "roles", 0, 16 * GR_NMEASURES - 1) : 0;
	bool		has_family = strncmp(reader->at, ",\"family\"", 9) == 0;
	int			family = has_family ? (int) read_integer(reader, ",", "family", GR_GAUSSIAN, GR_NFAMILIES - 1) :
		GR_BINOMIAL;
	int			link = has_family ? (int) read_integer(reader, ",", "link", 0, GR_NLINKS - 1) : GR_LOGIT;
	int			nfaces = (int) read_integer(reader, ",", "faces", 0, GR_MAX_FACES);
	int			nchanged = (int) read_integer(reader, ",", "changed", 0, Max(nfeatures, 0));
	GrMeasure	measure = (GrMeasure) (roles / 16);
	const GrState head = {
		.type = GR_STEP,.kind = (int8) kind,.nfeatures = nfeatures,.nfaces = (int16) nfaces,
		.nchanged = (int16) nchanged,.intercept = 1,.internal = 1,.weight = (roles & 1) != 0,
		.offset = (roles & 2) != 0,.weighting = (roles & 4) != 0 ? GR_FREQUENCIES : GR_PRIOR_WEIGHTS,
		.linear = (roles & 8) != 0,.family = (int8) family,.link = (int8) link,.measure = measure
	};
	Size		nfactor = nfeatures >= 0 && gr_measure_has_factor(measure) ? gr_triangle(gr_nterms(nfeatures)) : 0;
	GrState    *state;

	if (nfeatures < 0 || !gr_family_has_link((GrFamily) family, (GrLink) link))
		raise_syntax(reader);
	check_room(reader, gr_kind_nsums(kind, nfeatures) + (Size) (2 * nfaces + nchanged) * (Size) gr_nterms(nfeatures) +
			   nfactor);
	state = gr_state_clear(gr_state_create_like(&head, 0));
	state->nrows = read_integer(reader, ",", "rows", 0, PG_INT64_MAX);
	state->nworkers = (int16) read_integer(reader, ",", "workers", 0, PG_INT16_MAX);
	return state;
}

/* Reads "family", "link" and "linear" of a step of version 2, and returns a state for its lists. */
static GrState *
read_family(Reader *reader, int nfeatures)
{
	GrNamedFamily named = {{0}};
	char		family[32];
	char		link[32];
	GrState    *state;

	read_name(reader, ",", "family", family, sizeof(family));
	read_name(reader, ",", "link", link, sizeof(link));
	if (nfeatures < 0 || !gr_family_named(family, &named.distribution.family, &named.quasi) ||
		!gr_link_named(link, &named.distribution.link) ||
		!gr_family_has_link(named.distribution.family, named.distribution.link))
		raise_syntax(reader);
	state = gr_state_create_step(named.distribution, named.quasi, nfeatures, 0);
	state->linear = (int8) read_integer(reader, ",", "linear", 0, 1);
	return state;
}

/* Reads the text of a value that is not a pass, after its counts and up to its lists. Returns a state for the lists. */
static GrState *
read_public(Reader *reader, GrStateType type, int version, int nfeatures)
{
	int			intercept;
	GrState    *state;

	check_room(reader, gr_kind_nsums(gr_public_kind(type), nfeatures));
	if (type == GR_STATS)
		return gr_state_create(type, nfeatures, 0);
	intercept = (int) read_integer(reader, "", "intercept", 0, 1);
	state = version > 1 ? read_family(reader, nfeatures) : gr_state_create(type, nfeatures, 0);
	state->intercept = (int8) intercept;
	return state;
}

static Datum
read_text(FunctionCallInfo fcinfo, GrStateType type)
{
	const char *string = PG_GETARG_CSTRING(0);
	Reader		reader = {gr_state_type(type), string, string};
	int			version = (int) read_integer(&reader, "{", "version", 0, PG_INT32_MAX);
	int64		nrows = 0;
	int64		nskipped;
	int			nfeatures;
	GrState    *state;
	GrStateList		lists[GR_STATE_LISTS_MAX];
	int			nlists;

	gr_state_check_version(type, version, 1, gr_state_form_version(type));
	nfeatures = (int) read_integer(&reader, ",", "features", -1, GR_MAX_FEATURES);
	if (type == GR_STATS)
		nrows = read_integer(&reader, ",", "rows", 0, PG_INT64_MAX);
	nskipped = read_integer(&reader, ",", "skipped", 0, PG_INT64_MAX);
	if (type == GR_STEP)
		expect(&reader, ",");
	if (type == GR_STEP && version == 1 && strncmp(reader.at, "\"pass\"", 6) == 0)
		state = read_pass(&reader, nfeatures);
	else
	{
		state = read_public(&reader, type, version, nfeatures);
		state->nrows = nrows;
	}
	state->nskipped = nskipped;
	if (type == GR_STATS && version > 3)
		state = read_names(&reader, state);
	state->weighted = type == GR_STATS && (version == 3 || strncmp(reader.at, ",\"weights\"", 10) == 0);
	nlists = gr_state_lists(state, version, lists);
	for (const GrStateList *list = lists; list < lists + nlists; list++)
		read_list(&reader, list);
	expect(&reader, "}");
	if (*reader.at != '\0')
		raise_syntax(&reader);
	return gr_state_read_result(state);
}

GR_STATE_FUNCTION(gr_ols_stats_in, read_text, GR_STATS)
GR_STATE_FUNCTION(gr_ols_stats_out, write_text, GR_STATS)
GR_STATE_FUNCTION(gr_logreg_step_in, read_text, GR_STEP)
GR_STATE_FUNCTION(gr_logreg_step_out, write_text, GR_STEP)
