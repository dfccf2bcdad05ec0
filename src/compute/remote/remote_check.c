/*
 * remote_check.c: checks the commands of a server's channel; see remote_check.h.
 *
 * A table lists each command with the kind of object that it needs and the function that checks its arguments. A
 * command outside the table cannot be carried out, and a command for a sink that keeps rows never reaches one that sums
 * them.
 */
#include "compute/remote/remote_check.h"

#include "compute/backend/valid.h"
#include "compute/remote/remote_wire.h"

/* Requirement on the object that a command names */
typedef enum Wanted
{
	ANYTHING,
	NEW,						/* the command begins the object; an object of that number ends first */
	A_SINK,
	A_SUM,
	ROWS,						/* a sink that keeps rows and does not stay */
	STAYING_ROWS,
	A_FACTOR,
	A_PROJECT
} Wanted;

typedef struct Checked
{
	const GrRemoteServer *server;
	const GrRemoteCommand *command;
	const GrRemoteArguments *arguments;
	const GrServed *served;		/* the command's object */
} Checked;

bool
gr_remote_has(const GrRemoteServer *server, int area, uint64_t offset, int64_t n, size_t width, size_t align)
{
	size_t		nbytes;

	if (area < 0 || area >= GR_REMOTE_AREAS || server->areas[area] == NULL)
		return false;
	nbytes = server->area_nbytes[area];
	return n >= 0 && offset % align == 0 && offset <= nbytes && (uint64_t) n <= (nbytes - offset) / width;
}

/* Fails with GR_INVALID and a message that names the command. Always returns false. */
static bool
refuse(const Checked *c, const char *what, GrError *err)
{
	return gr_fail(err, GR_INVALID, 0, "the device service cannot carry out command %d: %s", (int) c->command->op,
				   what);
}

/* True if the bytes counted by wire fit the bulk area. */
static bool
fits(const Checked *c, GrRemoteWire wire, GrError *err)
{
	const GrRemoteWire *bulk = &c->server->bulk;

	return (bulk->at != NULL && wire.nbytes <= bulk->limit) || refuse(c, "its arrays do not fit", err);
}

/*
 * Sinks
 */

static bool
check_begin(const Checked *c, GrError *err)
{
	return gr_sink_options_valid(&c->arguments->sink, err);
}

static bool
check_send(const Checked *c, GrError *err)
{
	const GrRemoteCommand *command = c->command;
	GrRowShape	shape = c->served->options.shape;

	return (gr_bool_valid(&command->counts) &&
			gr_remote_has(c->server, command->area, command->offset, command->n, gr_row_nbytes(shape),
						  shape.single ? sizeof(float) : sizeof(double))) ||
		refuse(c, "there are no such rows", err);
}

static bool
check_restart(const Checked *c, GrError *err)
{
	GrRemoteWire wire = {0};

	(void) gr_wire_doubles(&wire, gr_nterms(c->served->options.shape.nfeatures));
	return fits(c, wire, err);
}

static bool
check_finish(const Checked *c, GrError *err)
{
	int64_t		nsums = gr_triangle(gr_norder(c->served->options.shape.nfeatures));

	return (c->command->n >= 0 && c->command->n < nsums && c->server->bulk.limit >= GR_WIRE_GRAM_LEAST) ||
		refuse(c, "there are no such sums", err);
}

/* Checks only the size. The request is checked once the server has copied it; see request.h. */
static bool
check_sums(const Checked *c, GrError *err)
{
	return (c->arguments->n >= 0 && (size_t) c->arguments->n <= c->server->bulk.limit) ||
		refuse(c, "its request does not fit", err);
}

static bool
check_change(const Checked *c, GrError *err)
{
	GrBasis		basis = c->arguments->basis;
	GrRemoteWire wire = {0};

	basis.changed = NULL;
	if (!gr_basis_valid(&basis, c->served->options.shape, err))
		return false;
	(void) gr_wire_basis(&wire, &basis);
	return fits(c, wire, err);
}

static bool
check_ascend(const Checked *c, GrError *err)
{
	GrRemoteWire wire = {0};

	if (!gr_ascent_valid(&c->arguments->ascent, err))
		return false;
	(void) gr_wire_ascent(&wire, c->served->options.shape);
	return c->server->backend->sink->ascend == NULL ? refuse(c, "there is no gradient ascent", err) :
		fits(c, wire, err);
}

/* Changes GR_INVALID, which for DERIVE and READ means that the rows are gone, to GR_DEVICE_FAILED. Returns ok. */
static bool
not_invalid(bool ok, GrError *err)
{
	if (!ok && err->status == GR_INVALID)
		err->status = GR_DEVICE_FAILED;
	return ok;
}

static bool
check_derive(const Checked *c, GrError *err)
{
	const GrRemoteArguments *arguments = c->arguments;
	bool		ok = gr_sink_options_valid(&arguments->sink, err) && gr_rules_valid(&arguments->rules, err);

	if (ok && (arguments->sink.kind != GR_SINK_KEEP || arguments->sink.stays || arguments->n < 0 ||
			   (size_t) arguments->n > c->server->bulk.limit))
		ok = refuse(c, "there is no derivation", err);
	return not_invalid(ok, err);
}

/* arguments->n: bytes of the rows' description */
static bool
check_store(const Checked *c, GrError *err)
{
	return (c->arguments->n >= 0 && (size_t) c->arguments->n <= GR_REQUEST_NBYTES_MAX) ||
		not_invalid(refuse(c, "there is no such description", err), err);
}

static bool
check_read(const Checked *c, GrError *err)
{
	return (c->command->n >= 0 && (size_t) c->command->n <= c->server->bulk.limit / sizeof(double)) ||
		not_invalid(refuse(c, "so many rows do not fit", err), err);
}

/*
 * Factors and projects
 */

static bool
check_factor(const Checked *c, GrError *err)
{
	GrRemoteWire wire = {0};

	if (!gr_factor_job_valid(&c->arguments->factor, err))
		return false;
	(void) gr_wire_factor(&wire, &c->arguments->factor);
	return fits(c, wire, err);
}

static bool
check_inverse(const Checked *c, GrError *err)
{
	GrRemoteWire wire = {0};

	(void) gr_wire_inverse(&wire, c->served->nterms);
	return (c->served->can_invert && c->arguments->divisor > 0) ? fits(c, wire, err) :
		refuse(c, "no inverse was asked for", err);
}

/* True if the area has room for a batch of capacity vectors and the projections of GR_PROJECT_NSLOTS batches. */
static bool
has_batches(const Checked *c, int area, int64_t dim, int64_t k, int64_t capacity)
{
	return gr_remote_has(c->server, area, 0, capacity, (size_t) (dim + GR_PROJECT_NSLOTS * k) * sizeof(float), 1);
}

static bool
check_project(const Checked *c, GrError *err)
{
	const GrRemoteArguments *arguments = c->arguments;

	if (!gr_project_valid(&arguments->project, &arguments->draw, err))
		return false;
	return (arguments->n >= 1 &&
			has_batches(c, arguments->area, arguments->project.dim, arguments->draw.k, arguments->n)) ||
		refuse(c, "there is no area for its vectors", err);
}

static bool
check_submit(const Checked *c, GrError *err)
{
	const GrServed *served = c->served;

	return (c->command->n >= 0 && c->command->n <= served->capacity && served->nsubmitted < GR_PROJECT_NSLOTS &&
			has_batches(c, served->area, served->dim, served->k, served->capacity)) ||
		refuse(c, "there is no such batch", err);
}

static bool
check_take(const Checked *c, GrError *err)
{
	const GrServed *served = c->served;

	return (c->command->n >= 0 && c->command->n < GR_PROJECT_NSLOTS && served->nsubmitted > 0 &&
			has_batches(c, served->area, served->dim, served->k, served->capacity)) ||
		refuse(c, "no batch was submitted", err);
}

/* All commands */
static const struct
{
	bool		there;
	Wanted		wanted;
	bool		(*check) (const Checked *c, GrError *err);	/* NULL: only the object is checked */
}			commands[] = {
	[GR_REMOTE_BEGIN] = {true, NEW, check_begin},
	[GR_REMOTE_SEND] = {true, A_SINK, check_send},
	[GR_REMOTE_RESTART] = {true, A_SUM, check_restart},
	[GR_REMOTE_FINISH] = {true, A_SUM, check_finish},
	[GR_REMOTE_SUMS] = {true, ROWS, check_sums},
	[GR_REMOTE_CHANGE] = {true, ROWS, check_change},
	[GR_REMOTE_CAN_ASCEND] = {true, ROWS, NULL},
	[GR_REMOTE_ASCEND] = {true, ROWS, check_ascend},
	[GR_REMOTE_FACTOR] = {true, NEW, check_factor},
	[GR_REMOTE_INVERSE] = {true, A_FACTOR, check_inverse},
	[GR_REMOTE_PROJECT] = {true, NEW, check_project},
	[GR_REMOTE_SUBMIT] = {true, A_PROJECT, check_submit},
	[GR_REMOTE_TAKE] = {true, A_PROJECT, check_take},
	[GR_REMOTE_STORE] = {true, STAYING_ROWS, check_store},
	[GR_REMOTE_DERIVE] = {true, NEW, check_derive},
	[GR_REMOTE_READ] = {true, ANYTHING, check_read},
	[GR_REMOTE_END] = {true, ANYTHING, NULL}
};

#define NCOMMANDS ((int) (sizeof(commands) / sizeof(commands[0])))

static bool
is_wanted(const GrServed *served, Wanted wanted)
{
	bool		is_sink = served->object != NULL && served->kind == GR_REMOTE_BEGIN;
	bool		keeps = is_sink && served->options.kind == GR_SINK_KEEP;

	switch (wanted)
	{
		case ANYTHING:
		case NEW:
			return true;
		case A_SINK:
			return is_sink;
		case A_SUM:
			return is_sink && !keeps;
		case ROWS:
			return keeps && !served->options.stays;
		case STAYING_ROWS:
			return keeps && served->options.stays;
		case A_FACTOR:
			return served->object != NULL && served->kind == GR_REMOTE_FACTOR;
		case A_PROJECT:
			return served->object != NULL && served->kind == GR_REMOTE_PROJECT;
	}
	return false;
}

bool
gr_remote_begins(GrRemoteOp op)
{
	return commands[op].wanted == NEW;
}

bool
gr_remote_check(const GrRemoteServer *server, const GrRemoteCommand *command, const GrRemoteArguments *arguments,
				GrError *err)
{
	Checked		c = {.server = server,.command = command,.arguments = arguments};

	if ((int) command->op < 0 || (int) command->op >= NCOMMANDS || !commands[command->op].there)
		return gr_fail(err, GR_INVALID, 0, "the device service has no command %d", (int) command->op);
	if (command->object < 0 || command->object >= GR_REMOTE_OBJECTS)
		return refuse(&c, "there is no such object", err);
	c.served = &server->objects[command->object];
	if (!is_wanted(c.served, commands[command->op].wanted))
		return refuse(&c, "the object is of another kind", err);
	if (command->op != GR_REMOTE_SEND && !gr_bool_valid(&arguments->flag))
		return refuse(&c, "its flag is invalid", err);
	return commands[command->op].check == NULL || commands[command->op].check(&c, err);
}
