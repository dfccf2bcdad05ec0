/*
 * remote_serve.c: carries out a server's factorizations and projections; see remote_serve.h.
 */
#include "compute/remote/remote_serve.h"

#include <string.h>

#include "compute/remote/remote_wire.h"

bool
gr_serve_factor(GrRemoteServer *server, const GrRemoteCommand *command, const GrHost *host, GrError *err)
{
	GrServed   *served = &server->objects[command->object];
	GrFactorJob job = server->arguments.factor;
	GrRemoteWire wire = server->bulk;
	GrWireFactor w = gr_wire_factor(&wire, &job);
	GrFactor   *factor = NULL;
	bool		ok;

	served->kind = GR_REMOTE_FACTOR;
	served->nterms = job.nterms;
	served->can_invert = job.want_inverse;
	if (!gr_wire_fits(&wire, err))
		return false;
	/* make bools of bytes that the client may have set to anything */
	for (int k = 0; k < job.nterms; k++)
		((unsigned char *) w.aliased)[k] = ((unsigned char *) w.aliased)[k] != 0;
	job.hi = w.hi;
	job.lo = w.lo;
	job.scale = w.scale;
	job.least_pivot = w.least_pivot;
	job.aliased = w.aliased;
	job.d_hi = w.d_hi;
	job.d_lo = w.d_lo;
	job.row_hi = w.row_hi;
	job.row_lo = w.row_lo;
	job.coef_hi = w.coef_hi;
	job.coef_lo = w.coef_lo;
	if (server->backend->solver == NULL)
		return gr_fail(err, GR_DEVICE_MEMORY, 0, "the device service has no solver");
	ok = server->backend->solver->begin(server->session, &job, &factor, host, err);
	served->object = factor;
	return ok;
}

bool
gr_serve_inverse(GrRemoteServer *server, const GrRemoteCommand *command, const GrHost *host, GrError *err)
{
	GrServed   *served = &server->objects[command->object];
	GrRemoteWire wire = server->bulk;
	GrWireInverse w = gr_wire_inverse(&wire, served->nterms);

	served->can_invert = false;
	return gr_wire_fits(&wire, err) &&
		server->backend->solver->inverse(served->object, (GrDDConstVector) {w.w_hi, w.w_lo}, server->arguments.divisor,
										 w.inverse, host, err);
}

/* Computes the draw's tables again instead of using the client's, since their counts are used as limits. */
bool
gr_serve_project(GrRemoteServer *server, const GrRemoteCommand *command, const GrHost *host, GrError *err)
{
	const GrRemoteArguments *arguments = &server->arguments;
	GrServed   *served = &server->objects[command->object];
	GrProjectOptions options = arguments->project;
	GrProject  *project = NULL;
	GrDraw		draw;
	float	   *vectors;
	int64_t		capacity = 0;
	bool		ok;

	served->kind = GR_REMOTE_PROJECT;
	served->dim = options.dim;
	served->k = arguments->draw.k;
	served->area = arguments->area;
	if (!gr_draw_init(&draw, arguments->draw.k, arguments->draw.seed, arguments->draw.density, err))
		return false;
	options.draw = &draw;
	if (server->session == NULL && server->cache == NULL)
		server->cache = gr_projection_cache_create();
	options.cache = server->cache;
	if (server->session == NULL && server->cache == NULL)
		return gr_fail(err, GR_NO_MEMORY, 0, "vectors");
	ok = server->backend->projector->begin(server->session, &options, host, &project, err);
	served->object = project;
	if (!ok || !server->backend->projector->block(project, &vectors, &capacity, err))
		return false;
	served->capacity = arguments->n < capacity ? arguments->n : capacity;
	server->channel->arguments.n = served->capacity;
	return true;
}

/* Returns the address of the client's vectors (slot -1) or of the projections of batch slot. */
static float *
project_area(GrRemoteServer *server, const GrServed *served, int64_t slot)
{
	float	   *vectors = (float *) server->areas[served->area];

	return slot < 0 ? vectors : vectors + served->capacity * (served->dim + slot * served->k);
}

bool
gr_serve_submit(GrRemoteServer *server, const GrRemoteCommand *command, const GrHost *host, GrError *err)
{
	GrServed   *served = &server->objects[command->object];
	float	   *vectors;
	int64_t		capacity;

	if (!server->backend->projector->block(served->object, &vectors, &capacity, err))
		return false;
	if (command->n > capacity)
		return gr_fail(err, GR_DEVICE_FAILED, 0, "a batch of %lld vectors", (long long) command->n);
	memcpy(vectors, project_area(server, served, -1), (size_t) command->n * (size_t) served->dim * sizeof(float));
	if (!server->backend->projector->submit(served->object, command->n, host, err))
		return false;
	served->nsubmitted++;
	return true;
}

bool
gr_serve_take(GrRemoteServer *server, const GrRemoteCommand *command, GrError *err)
{
	GrServed   *served = &server->objects[command->object];
	const float *projected;
	int64_t		nvectors;

	if (!server->backend->projector->take(served->object, &projected, &nvectors, err))
		return false;
	served->nsubmitted--;
	memcpy(project_area(server, served, command->n), projected, (size_t) nvectors * (size_t) served->k * sizeof(float));
	server->channel->arguments.n = nvectors;
	return true;
}
