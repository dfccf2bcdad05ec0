/*
 * backend_many.c: a backend that uses several devices as one; see backend_many.h.
 */
#include "compute/backend/backend_many.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compute/backend/sink_many.h"

struct GrSession
{
	GrParts		parts;			/* must be first: gr_sink_many takes the session as a GrParts */
	const GrDeviceOps *device;	/* table of each device */
	GrDeviceInfo info;			/* description of all devices together */
};

/* Session of the first device, which alone projects, solves and pins memory */
static GrSession *
first_of(GrSession *session)
{
	return session->parts.sessions[0];
}

/*
 * Devices
 */

static bool
many_present(void)
{
	return gr_backend_cuda.device->present();
}

static bool
many_count(int *ndevices, GrError *err)
{
	return gr_backend_cuda.device->count(ndevices, err);
}

static bool
many_list(GrDeviceInfo *devices, int max, int *ndevices, GrError *err)
{
	return gr_backend_cuda.device->list(devices, max, ndevices, err);
}

/* Describes all devices in s->info, under the number of the first one. */
static void
describe_all(GrSession *s)
{
	bool		alike = true;

	s->info = *s->device->describe(first_of(s));
	s->info.nbeside = s->parts.n - 1;
	for (int i = 1; i < s->parts.n; i++)
	{
		const GrDeviceInfo *other = s->device->describe(s->parts.sessions[i]);

		alike = alike && strcmp(other->name, s->info.name) == 0;
		s->info.memory_total += other->memory_total;
		s->info.memory_free += other->memory_free;
	}
	if (s->parts.n > 1)
	{
		const char *name = s->device->describe(first_of(s))->name;

		if (alike)
			snprintf(s->info.name, sizeof(s->info.name), "%d x %.200s", s->parts.n, name);
		else
			snprintf(s->info.name, sizeof(s->info.name), "%.200s and others", name);
	}
}

/* Opens one device's session. The detail of the first failure names the device. */
static bool
open_one(GrSession *s, int device_id, bool serves_many, GrError *err)
{
	GrOpenOptions options = {.device_id = device_id,.serves_many = serves_many};
	GrError		own = {0};

	/* counted before it is opened, so that a half-opened session is closed */
	s->parts.n++;
	if (s->device->open(&s->parts.sessions[s->parts.n - 1], &options, &own))
		return true;
	if (err->status == GR_OK)
	{
		*err = own;
		snprintf(err->detail, sizeof(err->detail), "GPU %d: %.200s", device_id, own.detail);
	}
	return false;
}

bool
gr_many_open(GrSession **session, const GrDeviceOps *device, const GrSinkOps *sink, const GrOpenOptions *options,
			 GrError *err)
{
	GrSession  *s = calloc(1, sizeof(GrSession));
	int			ndevices = 1;

	*session = s;
	if (s == NULL)
		return gr_fail(err, GR_NO_MEMORY, 0, "a device session");
	s->device = device;
	s->parts.ops = sink;
	if (options->device_id != GR_ALL_DEVICES)
	{
		s->parts.n = 1;
		if (!device->open(&s->parts.sessions[0], options, err))
			return false;
	}
	else if (!device->count(&ndevices, err))
		return false;
	else if (ndevices > GR_PARTS_MAX)
		return gr_fail(err, GR_NO_DEVICE, 0, "%d devices are more than the %d that one computation can use", ndevices,
					   GR_PARTS_MAX);
	while (s->parts.n < ndevices)
		if (!open_one(s, s->parts.n, options->serves_many, err))
			return false;
	describe_all(s);
	return true;
}

static bool
many_open(GrSession **session, const GrOpenOptions *options, GrError *err)
{
	return gr_many_open(session, gr_backend_cuda.device, gr_backend_cuda.sink, options, err);
}

static void
many_close(GrSession *session)
{
	if (session == NULL)
		return;
	while (session->parts.n > 0)
		session->device->close(session->parts.sessions[--session->parts.n]);
	free(session);
}

static const GrDeviceInfo *
many_describe(const GrSession *session)
{
	return &session->info;
}

static bool
many_pin(GrSession *session, void *memory, size_t nbytes, GrError *err)
{
	return session->device->pin(first_of(session), memory, nbytes, err);
}

static void
many_unpin(GrSession *session, void *memory)
{
	session->device->unpin(first_of(session), memory);
}

/*
 * Projection and solving by the first device. Projects and factors are gr_backend_cuda's.
 */

static bool
many_project_begin(GrSession *session, const GrProjectOptions *options, const GrHost *host, GrProject **project,
				   GrError *err)
{
	return gr_backend_cuda.projector->begin(first_of(session), options, host, project, err);
}

static bool
many_project_block(GrProject *project, float **vectors, int64_t *capacity, GrError *err)
{
	return gr_backend_cuda.projector->block(project, vectors, capacity, err);
}

static bool
many_project_submit(GrProject *project, int64_t nvectors, const GrHost *host, GrError *err)
{
	return gr_backend_cuda.projector->submit(project, nvectors, host, err);
}

static bool
many_project_take(GrProject *project, const float **projected, int64_t *nvectors, GrError *err)
{
	return gr_backend_cuda.projector->take(project, projected, nvectors, err);
}

static void
many_project_times(const GrProject *project, GrTimes *times)
{
	gr_backend_cuda.projector->times(project, times);
}

static void
many_project_end(GrProject *project)
{
	gr_backend_cuda.projector->end(project);
}

static bool
many_factor_begin(GrSession *session, const GrFactorJob *job, GrFactor **factor, const GrHost *host, GrError *err)
{
	return gr_backend_cuda.solver->begin(first_of(session), job, factor, host, err);
}

static bool
many_factor_inverse(GrFactor *factor, GrDDConstVector w, double divisor, double *inverse,
					const GrHost *host, GrError *err)
{
	return gr_backend_cuda.solver->inverse(factor, w, divisor, inverse, host, err);
}

static void
many_factor_end(GrFactor *factor)
{
	gr_backend_cuda.solver->end(factor);
}

static const GrDeviceOps device_ops = {
	.present = many_present,
	.count = many_count,
	.list = many_list,
	.open = many_open,
	.close = many_close,
	.describe = many_describe,
	.pin = many_pin,
	.unpin = many_unpin
};

static const GrProjectorOps projector_ops = {
	.begin = many_project_begin,
	.block = many_project_block,
	.submit = many_project_submit,
	.take = many_project_take,
	.times = many_project_times,
	.end = many_project_end
};

static const GrSolverOps solver_ops = {
	.begin = many_factor_begin,
	.inverse = many_factor_inverse,
	.end = many_factor_end
};

const GrBackend gr_backend_many = {
	.name = "gpu",.device = &device_ops,.sink = &gr_sink_many,.projector = &projector_ops,.solver = &solver_ops
};
