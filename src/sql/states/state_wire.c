/*
 * state_wire.c: the binary form of the SQL types gpu_ols_stats and gpu_logreg_step, for send and receive functions; see
 * state_io.c.
 */
#include "postgres.h"

#include "fmgr.h"
#include "lib/stringinfo.h"
#include "libpq/pqformat.h"

#include "compute/base/compute.h"
#include "compute/glm/glm.h"
#include "rows/state/families.h"
#include "rows/state/state.h"
#include "run/args.h"
#include "sql/states/state_lists.h"

/* Appends one byte, 1 if rows have weights, and the names of the columns, each with its final 0. */
static void
send_names(StringInfo buf, GrState *state)
{
	const char *name = gr_state_names(state);

	pq_sendbyte(buf, state->weighted);
	for (int k = 0; k <= state->nfeatures; k++)
	{
		pq_sendstring(buf, name);
		name += strlen(name) + 1;
		gr_poll_loop(k);
	}
}

static Datum
write_wire(FunctionCallInfo fcinfo, GrStateType type)
{
	GrState    *state = gr_state_settled(PG_GETARG_DATUM(0), type, NULL);
	int			version = gr_state_version_of(state);
	GrStateList		lists[GR_STATE_LISTS_MAX];
	int			nlists = gr_state_lists(state, version, lists);
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
	if (state->nnames > 0)
		send_names(&buf, state);
	for (const GrStateList *list = lists; list < lists + nlists; list++)
	{
		for (int64 k = 0; k < list->n; k++)
			pq_sendfloat8(&buf, *gr_state_number(list, k));
		for (int64 k = 0; list->marks != NULL && k < list->n; k++)
			pq_sendfloat8(&buf, list->marks[k]);
	}
	PG_RETURN_BYTEA_P(pq_endtypsend(&buf));
}

/* The part of a value's binary form that precedes its numbers. */
typedef struct WireHead
{
	int			version;
	int			nfeatures;
	int64		nrows;
	int64		nskipped;
	int			intercept;
	GrNamedFamily family;
	int			linear;
	bool		weighted;
	StringInfoData names;		/* names of a gpu_ols_stats's columns, laid out as in GrState */
} WireHead;

static void raise_wire(GrStateType type, const char *what) __attribute__((noreturn));

static void
raise_wire(GrStateType type, const char *what)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_BINARY_REPRESENTATION),
			 errmsg("invalid %s in external \"%s\" value", what, gr_state_type(type))));
}

/* Reads the weights' flag and the names of a gpu_ols_stats, in the server's encoding. */
static void
read_wire_names(StringInfo buf, WireHead *head)
{
	head->weighted = pq_getmsgbyte(buf) != 0;
	if (head->nfeatures < 0 || head->nfeatures > GR_MAX_FEATURES)
		raise_wire(GR_STATS, "length");
	initStringInfo(&head->names);
	for (int k = 0; k <= head->nfeatures; k++)
	{
		const char *name = pq_getmsgstring(buf);

		if (*name == '\0')
			raise_wire(GR_STATS, "name");
		appendBinaryStringInfo(&head->names, name, (int) strlen(name) + 1);
		gr_poll_loop(k);
	}
}

static WireHead
read_head(StringInfo buf, GrStateType type)
{
	WireHead	head = {.version = (int16) pq_getmsgint(buf, 2),.intercept = 1,.family = {GR_LOGISTIC}};
	int			family;
	int			link;
	int			quasi;

	gr_state_check_version(type, head.version, 1, gr_state_form_version(type));
	head.nfeatures = (int) pq_getmsgint(buf, 4);
	if (type == GR_STATS)
		head.nrows = pq_getmsgint64(buf);
	head.nskipped = pq_getmsgint64(buf);
	if (type == GR_STEP)
		head.intercept = pq_getmsgbyte(buf);
	head.weighted = type == GR_STATS && head.version == 3;
	if (type == GR_STATS && head.version > 3)
		read_wire_names(buf, &head);
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

/* Returns how many numbers follow the head. */
static Size
nlisted(const WireHead *head, GrStateType type)
{
	Size		t = gr_nterms(head->nfeatures);
	Size		nsums = gr_kind_nsums(gr_public_kind(type), head->nfeatures);
	GrFamily	family = head->family.distribution.family;

	/* shift, and log_constant if rows have weights */
	if (type == GR_STATS)
		return (head->version > 1 ? t : 0) + (head->weighted ? 1 : 0) + nsums;
	/* beta and its marks, theta, totals */
	return 2 * t + (gr_family(family)->has_theta ? 1 : 0) +
		(gr_has_totals(gr_plain_shape(head->nfeatures), (GrRowRules) {family}) ? GR_STATE_NTOTALS : 0) + nsums;
}

static Datum
read_wire(FunctionCallInfo fcinfo, GrStateType type)
{
	StringInfo	buf = (StringInfo) PG_GETARG_POINTER(0);
	WireHead	head = read_head(buf, type);
	GrState    *state;
	GrStateList		lists[GR_STATE_LISTS_MAX];
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
	if (head.names.len > 0)
		state = gr_state_named(state, head.names.data, head.names.len);
	state->weighted = head.weighted;
	nlists = gr_state_lists(state, head.version, lists);
	for (const GrStateList *list = lists; list < lists + nlists; list++)
	{
		for (int64 k = 0; k < list->n; k++)
			*gr_state_number(list, k) = pq_getmsgfloat8(buf);
		for (int64 k = 0; list->marks != NULL && k < list->n; k++)
			list->marks[k] = pq_getmsgfloat8(buf);
	}
	return gr_state_read_result(state);
}

GR_STATE_FUNCTION(gr_ols_stats_recv, read_wire, GR_STATS)
GR_STATE_FUNCTION(gr_ols_stats_send, write_wire, GR_STATS)
GR_STATE_FUNCTION(gr_logreg_step_recv, read_wire, GR_STEP)
GR_STATE_FUNCTION(gr_logreg_step_send, write_wire, GR_STEP)
