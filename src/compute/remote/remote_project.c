/*
 * remote_project.c: the client's side of projections; see remote_client.c.
 *
 * A project leases an area, which holds one batch of vectors and the projections of as many batches as may be under
 * way:
 *
 *   capacity x dim vectors | capacity x k projections of slot 0 | ... of slot GR_PROJECT_NSLOTS - 1
 */
#include "compute/remote/remote.h"

#include <stdlib.h>

#include "compute/remote/remote_ask.h"

struct GrProject
{
	GrRemoteClient *client;
	GrRemoteHandle object;
	int			area;
	int64_t		dim;
	int64_t		k;
	int64_t		capacity;
	int			nsubmitted;		/* batches submitted and not taken */
	int			ntaken;
};

static bool
remote_project_begin(GrSession *session, const GrProjectOptions *options, const GrHost *host, GrProject **project,
					 GrError *err)
{
	GrRemoteClient *client = (GrRemoteClient *) session;
	GrRemoteArguments *arguments = &client->channel->arguments;
	size_t		larger = (size_t) (options->dim > options->draw->k ? options->dim : options->draw->k) * sizeof(float);
	size_t		all_nbytes = ((size_t) options->dim + GR_PROJECT_NSLOTS * (size_t) options->draw->k) * sizeof(float);
	GrProject  *p;

	*project = p = calloc(1, sizeof(GrProject));
	if (p == NULL)
		return gr_fail(err, GR_NO_MEMORY, 0, "vectors");
	p->client = client;
	p->object = (GrRemoteHandle) {client->connection, -1};
	p->dim = options->dim;
	p->k = options->draw->k;
	p->capacity = options->block_nbytes < larger ? 1 : (int64_t) (options->block_nbytes / larger);
	if (options->nvectors > 0 && p->capacity > options->nvectors)
		p->capacity = options->nvectors;
	p->area = client->lease == NULL ? -1 : client->lease(client, (size_t) p->capacity * all_nbytes);
	if (p->area < 0)
	{
		err->bytes_needed = (size_t) p->capacity * all_nbytes;
		return gr_fail(err, GR_NO_MEMORY, 0, "shared memory for the device service");
	}
	if (!gr_remote_take_object(client, &p->object, err))
		return false;
	arguments->project = *options;
	arguments->draw = *options->draw;
	arguments->n = p->capacity;
	arguments->area = p->area;
	if (!gr_remote_ask(client, GR_REMOTE_PROJECT, p->object.number, 0, host, err))
		return false;
	p->capacity = arguments->n;
	return true;
}

static bool
remote_project_block(GrProject *project, float **vectors, int64_t *capacity, GrError *err)
{
	if (project->nsubmitted == GR_PROJECT_NSLOTS)
		return gr_fail(err, GR_INVALID, 0, "no batch is free");
	if (!gr_remote_check_object(project->client, project->object, err))
		return false;
	*vectors = (float *) project->client->areas[project->area];
	*capacity = project->capacity;
	return true;
}

static bool
remote_project_submit(GrProject *project, int64_t nvectors, const GrHost *host, GrError *err)
{
	if (project->nsubmitted == GR_PROJECT_NSLOTS || nvectors < 0 || nvectors > project->capacity)
		return gr_fail(err, GR_INVALID, 0, "no batch of %lld vectors was handed out", (long long) nvectors);
	if (!gr_remote_check_object(project->client, project->object, err) ||
		!gr_remote_ask(project->client, GR_REMOTE_SUBMIT, project->object.number, nvectors, host, err))
		return false;
	project->nsubmitted++;
	return true;
}

static bool
remote_project_take(GrProject *project, const float **projected, int64_t *nvectors, GrError *err)
{
	const float *vectors = (const float *) project->client->areas[project->area];

	if (project->nsubmitted == 0)
		return gr_fail(err, GR_INVALID, 0, "no batch was submitted");
	if (!gr_remote_check_object(project->client, project->object, err) ||
		!gr_remote_ask(project->client, GR_REMOTE_TAKE, project->object.number, project->ntaken % GR_PROJECT_NSLOTS,
					   NULL, err))
		return false;
	*projected = vectors + project->capacity * (project->dim + project->ntaken % GR_PROJECT_NSLOTS * project->k);
	*nvectors = project->client->channel->arguments.n;
	project->nsubmitted--;
	project->ntaken++;
	return true;
}

static void
remote_project_times(const GrProject *project, GrTimes *times)
{
	*times = project->client->channel->objects[project->object.number].times;
}

static void
remote_project_end(GrProject *project)
{
	if (project == NULL)
		return;
	if (project->object.number >= 0)
		gr_remote_end_object(project->client, project->object);
	if (project->area >= 0 && project->object.connection == project->client->connection)
		project->client->end_lease(project->client, project->area);
	free(project);
}

const GrProjectorOps gr_remote_projector_ops = {
	.begin = remote_project_begin,
	.block = remote_project_block,
	.submit = remote_project_submit,
	.take = remote_project_take,
	.times = remote_project_times,
	.end = remote_project_end
};
