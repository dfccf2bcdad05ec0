/*
 * fuzz_state.c: values of gpu_ols_stats and gpu_logreg_step as text, as bytes of the wire, and as they lie in memory,
 * the form in which a function gets anyone's value. A value that is accepted must be well formed; its text and its
 * bytes must be accepted, with the same text; and it must merge with itself.
 *
 * The first byte chooses the type and the form.
 */
#include "backend.h"

#undef fprintf

#include "rows/state/state.h"

PGDLLEXPORT Datum gr_ols_stats_in(PG_FUNCTION_ARGS);
PGDLLEXPORT Datum gr_ols_stats_out(PG_FUNCTION_ARGS);
PGDLLEXPORT Datum gr_ols_stats_recv(PG_FUNCTION_ARGS);
PGDLLEXPORT Datum gr_ols_stats_send(PG_FUNCTION_ARGS);
PGDLLEXPORT Datum gr_logreg_step_in(PG_FUNCTION_ARGS);
PGDLLEXPORT Datum gr_logreg_step_out(PG_FUNCTION_ARGS);
PGDLLEXPORT Datum gr_logreg_step_recv(PG_FUNCTION_ARGS);
PGDLLEXPORT Datum gr_logreg_step_send(PG_FUNCTION_ARGS);

typedef struct Functions
{
	GrStateType type;
	PGFunction	in;
	PGFunction	out;
	PGFunction	recv;
	PGFunction	send;
} Functions;

static const Functions types[] = {
	{GR_STATS, gr_ols_stats_in, gr_ols_stats_out, gr_ols_stats_recv, gr_ols_stats_send},
	{GR_STEP, gr_logreg_step_in, gr_logreg_step_out, gr_logreg_step_recv, gr_logreg_step_send}
};

typedef enum Form
{
	TEXT,
	WIRE,
	MEMORY
} Form;

/* Makes the value that an input describes; ERROR if it is invalid. */
static GrState *
read_state(const Functions *f, Form form, const uint8_t *data, size_t size)
{
	GrState    *state;
	Datum		datum;

	if (form == TEXT)
		datum = call_function(f->in, CStringGetDatum(message_of(data, size)->data));
	else if (form == WIRE)
		datum = call_function(f->recv, PointerGetDatum(message_of(data, size)));
	else
	{
		size_t		length = size < VARHDRSZ ? VARHDRSZ : size;

		state = fuzz_copy(data, size);
		if (size < VARHDRSZ)
			state = fuzz_take(NULL, length);
		SET_VARSIZE(state, length);
		datum = PointerGetDatum(state);
	}
	/* prepares the value like a function its argument */
	return gr_state_settled(datum, f->type, NULL);
}

static const char *
text_of(const Functions *f, GrState *state)
{
	return DatumGetCString(call_function(f->out, PointerGetDatum(state)));
}

/* Checks that a value from text or wire is written and read back unchanged. */
static void
go_round(const Functions *f, GrState *state)
{
	const char *text = text_of(f, state);
	GrState    *again = (GrState *) DatumGetPointer(call_function(f->in, CStringGetDatum(text)));
	bytea	   *bytes;
	StringInfo	wire;

	/* prints the value of a finding */
	if (getenv("FUZZ_SHOW") != NULL)
		fprintf(stderr, "%s\n", text);
	must(gr_state_is_well_formed(again, f->type) && strcmp(text_of(f, again), text) == 0);
	if (state->internal)
		return;
	bytes = (bytea *) DatumGetPointer(call_function(f->send, PointerGetDatum(state)));
	wire = message_of(VARDATA(bytes), VARSIZE(bytes) - VARHDRSZ);
	again = (GrState *) DatumGetPointer(call_function(f->recv, PointerGetDatum(wire)));
	must(gr_state_is_well_formed(again, f->type) && strcmp(text_of(f, again), text) == 0);
}

/*
 * Does with a value all that a caller can; an ERROR is allowed. Returns the value merged with itself, or NULL.
 */
static GrState *
use_state(const Functions *f, GrState *state)
{
	const char **names = gr_state_column_names(state);
	GrState    *copy = gr_state_resize(state, 0);

	for (int k = 0; names != NULL && k <= state->nfeatures; k++)
		must(*names[k] != '\0');
	(void) text_of(f, state);
	if (state->nfeatures < 0)
		return NULL;
	gr_state_merge(copy, state);
	must(gr_state_is_well_formed(copy, f->type));
	return copy;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const Functions *f = &types[size > 0 ? data[0] % 2 : 0];
	Form		form = size > 0 ? (Form) (data[0] / 2 % 3) : TEXT;
	GrState    *volatile state = NULL;
	GrState    *volatile merged = NULL;

	fuzz_begin(size);
	backend_allowed = form == MEMORY ? ERRCODE_DATA_CORRUPTED : 0;
	if (!catch_error())
	{
		state = read_state(f, form, data + (size > 0), size - (size > 0));
		must(gr_state_is_well_formed(state, f->type));
	}
	if (state != NULL && form != MEMORY)
	{
		/* refusing a value that was accepted before is a finding */
		must(!catch_error());
		go_round(f, state);
	}
	if (state != NULL && !catch_error())
		merged = use_state(f, state);
	if (merged != NULL && form != MEMORY)
	{
		must(!catch_error());
		go_round(f, merged);
	}
	fuzz_end();
	return 0;
}
