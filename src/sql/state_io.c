/*
 * state_io.c: input and output of the SQL types gpu_ols_stats and gpu_logreg_step.
 *
 * The text is JSON with a fixed frame, and every number has the digits that give back the same float8, whatever
 * extra_float_digits says:
 *
 *	 {"version":2,"features":p,"rows":n,"skipped":k,"shift":[c,...],"gram":[hi,lo,hi,lo,...]}
 *	 {"version":3,"features":p,"rows":n,"skipped":k,"weights":[s],"shift":[c,...],"gram":[hi,lo,hi,lo,...]}
 *	 {"version":1,"features":p,"skipped":k,"intercept":1,"beta":[...],"head":[...],"gram":[...]}
 *	 {"version":2,"features":p,"skipped":k,"intercept":1,"family":"poisson","link":"log","linear":0,["theta":[d],]
 *	 "beta":[...],"head":[...],["totals":[...],]"gram":[...]}
 *
 * gpu_ols_stats: version 1 has no shift, version 3 is of rows with weights, whose logarithms come to 2 s.
 * gpu_logreg_step: beta has p + 1 numbers, null for a term that stays out; head and gram are the sums as glm.h has
 * them, null standing for infinity. Features are -1, and the lists empty, before the first complete row. Version 2 is
 * of other families than the logistic regression's, and never without rows: linear as in GrPass, theta of a negative
 * binomial one alone, totals as GrRowTotals, where there are some. On the wire there are the same numbers in the same
 * order, with marks of their own for the terms that stay out, and numbers for names.
 *
 * A pass of gpu_logreg_fit() has a text alone, with all that is asked of the rows:
 *
 *	 {"version":1,"features":p,"skipped":k,"pass":kind,["roles":b,]["family":g,"link":l,]"faces":f,"changed":c,"rows":n,
 *	 "workers":w,"relative":[r],["theta":[d],]"request":[...],"sums":[...]}
 *
 * b: 1 for weights, 2 for offsets, 4 for frequencies, 8 for a linear pass, 16 times its measure, or their sum, if it
 * isn't 0. g, l, d: its
 * distribution, where that isn't a logistic regression's. Its numbers may be "NaN", "Infinity" and "-Infinity".
 */
#include "postgres.h"

#include <float.h>
#include <math.h>

#include "common/shortest_dec.h"
#include "fmgr.h"
#include "lib/stringinfo.h"
#include "libpq/pqformat.h"
#include "miscadmin.h"

#include "compute/compute.h"
#include "compute/glm.h"
#include "rows/families.h"
#include "rows/state.h"
#include "run/args.h"

/* Of the text and of the wire's bytes */
#define STATS_VERSION 3			/* 2 where no row has a weight */
#define STEP_VERSION 2			/* 1 of a logistic regression's, and of a pass */

/*
 * Numbers of a state, as the text and the wire have them
 */
typedef struct List
{
	const char *key;
	int64		n;
	double	   *values;
	double	   *others;			/* or NULL: every second number is from here */
	double	   *marks;			/* or NULL: 1 where the text has null instead of the number, else 0 */
	double		null;			/* what null is read as; NaN: there is none */
	bool		any;			/* may they be NaN and infinite? As strings then */
} List;

#define MAX_LISTS 5

static bool
is_logistic(const GrState *state)
{
	return state->family == GR_BINOMIAL && state->link == GR_LOGIT;
}

/* How many there are. version: of the text or the wire */
static int
list_numbers(GrState *state, int version, List *list)
{
	int64		t = gr_state_nterms(state);
	int64		ngram = 2 * gr_state_triangle(state);
	int			n = 0;

	if (state->type == GR_STATS)
	{
		if (version > 2)
			list[n++] = (List) {"weights", 1, &state->log_constant,.null = NAN};
		if (version > 1)
			list[n++] = (List) {"shift", t, gr_state_shift(state),.null = NAN};
		list[n++] = (List) {"gram", ngram, gr_state_hi(state), gr_state_lo(state),.null = NAN};
		return n;
	}
	if (state->internal)
	{
		list[n++] = (List) {"relative", 1, &state->face_relative,.null = NAN,.any = true};
		if (!is_logistic(state))
			list[n++] = (List) {"theta", 1, &state->theta,.null = NAN,.any = true};
		list[n++] = (List) {"request", gr_state_sums(state) - state->data, state->data,.null = NAN,.any = true};
		/* and, right behind them, the totals */
		list[n++] = (List) {"sums", gr_kind_nsums(state->kind, state->nfeatures) + gr_state_ntotals(state),
			gr_state_sums(state),.null = NAN,.any = true};
		return n;
	}
	if (state->family == GR_NEGATIVE_BINOMIAL)
		list[n++] = (List) {"theta", 1, &state->theta,.null = NAN};
	list[n++] = (List) {"beta", t, gr_state_beta(state),.marks = gr_state_fixed(state)};
	list[n++] = (List) {"head", t > 0 ? GR_SUM_HEAD : 0, gr_state_sums(state),.null = INFINITY};
	if (gr_state_ntotals(state) > 0)
		list[n++] = (List) {"totals", gr_state_ntotals(state), &gr_state_totals(state)->weights,.null = NAN};
	list[n++] = (List) {"gram", ngram, gr_state_hi(state),.null = NAN};
	return n;
}

static inline double *
number(const List *list, int64 k)
{
	if (list->others == NULL)
		return &list->values[k];
	return &(k % 2 == 0 ? list->values : list->others)[k / 2];
}

/* The newest */
static int
text_version(GrStateType type)
{
	return type == GR_STATS ? STATS_VERSION : STEP_VERSION;
}

/* The one that a state is written in: the oldest that has all of it */
static int
version_of(const GrState *state)
{
	if (state->type == GR_STATS)
		return state->weighted ? STATS_VERSION : STATS_VERSION - 1;
	return state->internal || gr_state_is_logistic(state) ? STEP_VERSION - 1 : STEP_VERSION;
}

/*
 * Could the numbers have come from rows? Entries of a Gram matrix are checked one by one and against their diagonal
 * (Cauchy and Schwarz); a matrix that passes and still isn't one of cross products is met by the solver as collinear
 * terms.
 */
static bool
is_of_rows(GrState *state)
{
	double	   *hi = gr_state_hi(state);
	double	   *lo = gr_state_lo(state);
	bool		ok = state->weighted ? hi[0] > 0 : hi[0] == (double) state->nrows || hi[0] +
		lo[0] == (double) state->nrows;

	for (int64 i = 0; ok && i < gr_norder(state->nfeatures); i++)
	{
		double		dii = hi[i * (i + 1) / 2 + i];

		CHECK_FOR_INTERRUPTS();
		for (int64 j = 0; ok && j <= i; j++)
		{
			int64		k = i * (i + 1) / 2 + j;
			double		djj = hi[j * (j + 1) / 2 + j];

			ok = isfinite(hi[k]) && isfinite(lo[k]) && hi[k] + lo[k] == hi[k] &&
				fabs(hi[k]) <= sqrt(dii) * sqrt(djj) * (1 + 1e-14) + DBL_MIN;
		}
	}
	for (int64 j = 0; ok && j <= state->nfeatures; j++)
		ok = isfinite(gr_state_shift(state)[j]);
	return ok;
}

/* What a sum of responses and, beside it, the totals can be */
static bool
are_of_a_family(GrState *state)
{
	const double *sums = gr_state_sums(state);
	double		n = sums[GR_SUM_NROWS];
	double		ones = sums[GR_SUM_NONES];
	const GrRowTotals *totals = gr_state_ntotals(state) > 0 ? gr_state_totals(state) : NULL;

	if (totals != NULL && !(totals->weights == n && isfinite(totals->ones) && isfinite(totals->nshares) &&
							isfinite(totals->log_constant) && isfinite(totals->log_constant_lo)))
		return false;
	switch (state->family)
	{
		case GR_GAUSSIAN:
			return isfinite(ones);
		case GR_BINOMIAL:
			return ones >= 0 && ones <= n && ones == floor(ones);
		default:
			return ones >= 0 && isfinite(ones);
	}
}

/* The same of a Newton step */
static bool
is_of_a_step(GrState *state)
{
	double	   *sums = gr_state_sums(state);
	double	   *hi = gr_state_hi(state);
	double		n = sums[GR_SUM_NROWS];
	int64		t = gr_state_nterms(state);
	/* a deviance that is 0 but for rounding may be on either side of it where logarithms are subtracted */
	bool		ok = n >= 0 && n <= GR_PASS_ROWS_MAX && n == floor(n) && are_of_a_family(state) &&
		(sums[GR_SUM_DEVIANCE_HI] >= 0 || !gr_state_is_logistic(state)) &&
		!isnan(sums[GR_SUM_DEVIANCE_HI]) && !isnan(sums[GR_SUM_MIN_MARGIN]) && hi[0] == n;

	for (int64 k = 0; ok && k < t; k++)
		ok = isfinite(gr_state_beta(state)[k]) && (gr_state_fixed(state)[k] == 0 || gr_state_fixed(state)[k] == 1);
	for (int64 k = 0; ok && k < 2 * gr_state_triangle(state); k++)
	{
		ok = isfinite(hi[k]);
		gr_poll_loop(k);
	}
	for (int64 k = 1; ok && k <= t + 1; k++)
		ok = hi[k * (k + 1) / 2 + k] >= 0;
	return ok;
}

/* The value that was read; ERROR if no rows can have summed to it. */
static Datum
read_result(GrState *state)
{
	bool		is_step = state->type == GR_STEP;
	bool		ok = state->nrows >= 0 && state->nskipped >= 0;

	if (state->nfeatures < 0)
		ok &= state->nrows == 0;
	else if (state->internal)
		ok &= gr_state_is_well_formed(state, GR_STEP);
	else if (ok)
		ok = is_step ? gr_state_is_well_formed(state, GR_STEP) && is_of_a_step(state) : is_of_rows(state);
	if (!ok)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_TEXT_REPRESENTATION),
				 errmsg("invalid value for type %s", gr_state_type((GrStateType) state->type)),
				 errdetail("Its sums cannot come from any rows.")));
	if (is_step && state->nfeatures >= 0 && !state->internal)
		state->nrows = (int64) gr_state_sums(state)[GR_SUM_NROWS];
	PG_RETURN_POINTER(state);
}

/*
 * Text
 */

static void
append_number(StringInfo buf, const List *list, int64 k)
{
	double		value = *number(list, k);
	char		text[DOUBLE_SHORTEST_DECIMAL_LEN];

	double_to_shortest_decimal_buf(value, text);
	if ((list->marks != NULL && list->marks[k] == 1) || (!isfinite(value) && !list->any))
		appendStringInfoString(buf, "null");
	else
		appendStringInfo(buf, isfinite(value) ? "%s" : "\"%s\"", text);
}

/* What the text of a pass says of its rows */
static int
roles_of(const GrState *state)
{
	return state->weight + 2 * state->offset + 4 * (state->weighting == GR_FREQUENCIES) + 8 * state->linear +
		16 * state->measure;
}

static Datum
write_text(FunctionCallInfo fcinfo, GrStateType type)
{
	GrState    *state = gr_state_settled(PG_GETARG_DATUM(0), type, NULL);
	int			version = version_of(state);
	List		lists[MAX_LISTS];
	int			nlists = list_numbers(state, version, lists);
	StringInfoData buf;

	initStringInfo(&buf);
	appendStringInfo(&buf, "{\"version\":%d,\"features\":%d", version, state->nfeatures);
	if (type == GR_STATS)
		appendStringInfo(&buf, ",\"rows\":" INT64_FORMAT, state->nrows);
	appendStringInfo(&buf, ",\"skipped\":" INT64_FORMAT, state->nskipped);
	if (state->internal)
	{
		appendStringInfo(&buf, ",\"pass\":%d", state->kind);
		if (roles_of(state) != 0)
			appendStringInfo(&buf, ",\"roles\":%d", roles_of(state));
		if (!is_logistic(state))
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
	for (const List *list = lists; list < lists + nlists; list++)
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

/* A reader over the text of a value of the type; ERROR where the text isn't such a value. */
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
			 errhint("The text form of %s is what its output gives; it isn't meant to be written by hand.",
					 reader->type)));
}

static void
skip_space(Reader *reader)
{
	while (*reader->at == ' ' || *reader->at == '\t' || *reader->at == '\n' || *reader->at == '\r')
		reader->at++;
}

/* Reads one token of the fixed frame, and the white space around it. */
static void
expect(Reader *reader, const char *token)
{
	skip_space(reader);
	if (strncmp(reader->at, token, strlen(token)) != 0)
		raise_syntax(reader);
	reader->at += strlen(token);
	skip_space(reader);
}

/* Reads before"key": */
static void
expect_key(Reader *reader, const char *before, const char *key)
{
	char		token[32];

	snprintf(token, sizeof(token), "\"%s\"", key);
	expect(reader, before);
	expect(reader, token);
	expect(reader, ":");
}

/* Reads before"key":value */
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

/* Reads before"key":"name"; names of ours are short */
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

/* A finite number or, where it may be any, one that isn't, as a string */
static double
read_number(Reader *reader, bool any)
{
	bool		quoted = any && *reader->at == '"';
	const char *at = quoted ? reader->at + 1 : reader->at;
	char	   *end;
	double		value = strtod(at, &end);

	/* strtod() would take "inf", "nan" and hexadecimal too */
	if (end == at || isfinite(value) == quoted || (quoted && *end != '"') ||
		(!quoted && (strchr("-0123456789", *at) == NULL || memchr(at, 'x', end - at) != NULL ||
					 memchr(at, 'X', end - at) != NULL)))
		raise_syntax(reader);
	reader->at = quoted ? end + 1 : end;
	skip_space(reader);
	return value;
}

static void
read_list(Reader *reader, const List *list)
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
			*number(list, k) = list->null;
			if (list->marks != NULL)
				list->marks[k] = 1;
		}
		else
			*number(list, k) = read_number(reader, list->any);
		if ((k & 0xfff) == 0)
			CHECK_FOR_INTERRUPTS();
	}
	expect(reader, "]");
}

/*
 * ERROR if there is no room in the text for so many numbers, which take two bytes each at least: don't allocate for
 * more than it can hold.
 */
static void
check_room(const Reader *reader, Size nnumbers)
{
	if (nnumbers * 2 > strlen(reader->at) + 1)
		raise_syntax(reader);
}

/* What a pass has behind its counts, up to its lists */
static GrState *
read_pass(Reader *reader, int nfeatures)
{
	GrPassKind	kind = (GrPassKind) read_integer(reader, "", "pass", GR_PASS_EXACT, GR_PASS_FACE);
	bool		has_roles = strncmp(reader->at, ",\"roles\"", 8) == 0;
	int			roles = has_roles ? (int) read_integer(reader, ",", "roles", 0, 16 * GR_NMEASURES - 1) : 0;
	bool		has_family = strncmp(reader->at, ",\"family\"", 9) == 0;
	int			family = has_family ? (int) read_integer(reader, ",", "family", GR_GAUSSIAN, GR_NFAMILIES - 1) :
		GR_BINOMIAL;
	int			link = has_family ? (int) read_integer(reader, ",", "link", 0, GR_NLINKS - 1) : GR_LOGIT;
	int			nfaces = (int) read_integer(reader, ",", "faces", 0, GR_MAX_FACES);
	int			nchanged = (int) read_integer(reader, ",", "changed", 0, Max(nfeatures, 0));
	GrMeasure	measure = (GrMeasure) (roles / 16);
	GrPass		pass = {
		.kind = kind,.shape = {nfeatures, false, (roles & 1) != 0, (roles & 2) != 0, false},
		.distribution = {(GrFamily) family, (GrLink) link},.linear = (roles & 8) != 0,.measure = measure,
		.nfaces = nfaces
	};
	Size		nfactor = nfeatures >= 0 && gr_measure_has_factor(measure) ? gr_triangle(gr_nterms(nfeatures)) : 0;
	GrState    *state;

	if (nfeatures < 0 || !gr_family_has_link((GrFamily) family, (GrLink) link))
		raise_syntax(reader);
	check_room(reader, gr_kind_nsums(kind, nfeatures) + (Size) (nfaces + nchanged) * (Size) gr_nterms(nfeatures) +
			   nfactor);
	state = gr_state_create_pass(&pass, (roles & 4) != 0 ? GR_FREQUENCIES : GR_PRIOR_WEIGHTS, nchanged);
	state->nrows = read_integer(reader, ",", "rows", 0, PG_INT64_MAX);
	state->nworkers = (int16) read_integer(reader, ",", "workers", 0, PG_INT16_MAX);
	return state;
}

/* What a step of version 2 has behind its intercept, up to its lists: a state for them */
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

/* The same up to the lists, from the counts on */
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
	List		lists[MAX_LISTS];
	int			nlists;

	gr_state_check_version(type, version, 1, text_version(type));
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
	state->weighted = type == GR_STATS && version > 2;
	nlists = list_numbers(state, version, lists);
	for (const List *list = lists; list < lists + nlists; list++)
		read_list(&reader, list);
	expect(&reader, "}");
	if (*reader.at != '\0')
		raise_syntax(&reader);
	return read_result(state);
}

GR_STATE_FUNCTION(gr_ols_stats_in, read_text, GR_STATS)
GR_STATE_FUNCTION(gr_ols_stats_out, write_text, GR_STATS)
GR_STATE_FUNCTION(gr_logreg_step_in, read_text, GR_STEP)
GR_STATE_FUNCTION(gr_logreg_step_out, write_text, GR_STEP)

/*
 * The wire
 */

static Datum
write_wire(FunctionCallInfo fcinfo, GrStateType type)
{
	GrState    *state = gr_state_settled(PG_GETARG_DATUM(0), type, NULL);
	int			version = version_of(state);
	List		lists[MAX_LISTS];
	int			nlists = list_numbers(state, version, lists);
	StringInfoData buf;

	if (state->internal)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot send a gpu_logreg_step that gpu_logreg_fit uses within a statement")));
	pq_begintypsend(&buf);
	pq_sendint16(&buf, version);
	pq_sendint32(&buf, state->nfeatures);
	if (type == GR_STATS)
		pq_sendint64(&buf, state->nrows);
	pq_sendint64(&buf, state->nskipped);
	if (type == GR_STEP)
		pq_sendbyte(&buf, state->intercept);
	if (type == GR_STEP && version > 1)
	{
		pq_sendbyte(&buf, state->family);
		pq_sendbyte(&buf, state->link);
		pq_sendbyte(&buf, state->quasi);
		pq_sendbyte(&buf, state->linear);
	}
	for (const List *list = lists; list < lists + nlists; list++)
	{
		for (int64 k = 0; k < list->n; k++)
			pq_sendfloat8(&buf, *number(list, k));
		for (int64 k = 0; list->marks != NULL && k < list->n; k++)
			pq_sendfloat8(&buf, list->marks[k]);
	}
	PG_RETURN_BYTEA_P(pq_endtypsend(&buf));
}

/* What a value's bytes say of it before its numbers */
typedef struct WireHead
{
	int			version;
	int			nfeatures;
	int64		nrows;
	int64		nskipped;
	int			intercept;
	GrNamedFamily family;
	int			linear;
} WireHead;

static void raise_wire(GrStateType type, const char *what) __attribute__((noreturn));

static void
raise_wire(GrStateType type, const char *what)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_BINARY_REPRESENTATION),
			 errmsg("invalid %s in external \"%s\" value", what, gr_state_type(type))));
}

static WireHead
read_head(StringInfo buf, GrStateType type)
{
	WireHead	head = {.version = (int16) pq_getmsgint(buf, 2),.intercept = 1,.family = {GR_LOGISTIC}};
	int			family;
	int			link;
	int			quasi;

	gr_state_check_version(type, head.version, 1, text_version(type));
	head.nfeatures = (int) pq_getmsgint(buf, 4);
	if (type == GR_STATS)
		head.nrows = pq_getmsgint64(buf);
	head.nskipped = pq_getmsgint64(buf);
	if (type == GR_STEP)
		head.intercept = pq_getmsgbyte(buf);
	if (type == GR_STATS || head.version == 1)
		return head;
	family = pq_getmsgbyte(buf);
	link = pq_getmsgbyte(buf);
	quasi = pq_getmsgbyte(buf);
	head.linear = pq_getmsgbyte(buf);
	if (family >= GR_NFAMILIES || link >= GR_NLINKS || quasi > 1 || head.linear > 1 || head.nfeatures < 0 ||
		!gr_family_has_link((GrFamily) family, (GrLink) link))
		raise_wire(type, "family");
	head.family = (GrNamedFamily) {{(GrFamily) family, (GrLink) link, 0}, quasi == 1};
	return head;
}

/* How many numbers follow it */
static Size
nlisted(const WireHead *head, GrStateType type)
{
	Size		t = gr_nterms(head->nfeatures);
	Size		nsums = gr_kind_nsums(gr_public_kind(type), head->nfeatures);
	GrFamily	family = head->family.distribution.family;

	/* the shift and the number of the weights, where there are some */
	if (type == GR_STATS)
		return (head->version > 1 ? t : 0) + (head->version > 2 ? 1 : 0) + nsums;
	/* beta and its marks, theta, the totals */
	return 2 * t + (family == GR_NEGATIVE_BINOMIAL ? 1 : 0) +
		(gr_has_totals(gr_plain_shape(head->nfeatures), (GrRowRules) {family}) ?
		 sizeof(GrRowTotals) / sizeof(double) : 0) + nsums;
}

static Datum
read_wire(FunctionCallInfo fcinfo, GrStateType type)
{
	StringInfo	buf = (StringInfo) PG_GETARG_POINTER(0);
	WireHead	head = read_head(buf, type);
	GrState    *state;
	List		lists[MAX_LISTS];
	int			nlists;

	if (head.nfeatures < -1 || head.nfeatures > GR_MAX_FEATURES || head.intercept > 1 ||
		(Size) (buf->len - buf->cursor) != nlisted(&head, type) * sizeof(double))
		raise_wire(type, "length");
	state = type == GR_STATS || head.version == 1 ? gr_state_create(type, head.nfeatures, 0) :
		gr_state_create_step(head.family.distribution, head.family.quasi, head.nfeatures, 0);
	state->nrows = head.nrows;
	state->nskipped = head.nskipped;
	state->intercept = head.intercept;
	state->linear = head.linear;
	state->weighted = type == GR_STATS && head.version > 2;
	nlists = list_numbers(state, head.version, lists);
	for (const List *list = lists; list < lists + nlists; list++)
	{
		for (int64 k = 0; k < list->n; k++)
			*number(list, k) = pq_getmsgfloat8(buf);
		for (int64 k = 0; list->marks != NULL && k < list->n; k++)
			list->marks[k] = pq_getmsgfloat8(buf);
	}
	return read_result(state);
}

GR_STATE_FUNCTION(gr_ols_stats_recv, read_wire, GR_STATS)
GR_STATE_FUNCTION(gr_ols_stats_send, write_wire, GR_STATS)
GR_STATE_FUNCTION(gr_logreg_step_recv, read_wire, GR_STEP)
GR_STATE_FUNCTION(gr_logreg_step_send, write_wire, GR_STEP)
