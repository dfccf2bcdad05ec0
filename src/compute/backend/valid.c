/*
 * valid.c: checks requests to a backend; see valid.h.
 */
#include "compute/backend/valid.h"

#include <math.h>
#include <string.h>

#include "compute/design/derivation.h"

/* Upper limit of the first rows of a triangle that a factorization skips: those of the ones and the intercept */
#define SKIP_MAX 2

bool
gr_rules_valid(const GrRowRules *rules, GrError *err)
{
	return ((unsigned) rules->family < GR_NFAMILIES && (unsigned) rules->weighting <= GR_FREQUENCIES) ||
		gr_fail(err, GR_INVALID, 0, "there are no rules for a family %d", (int) rules->family);
}

bool
gr_sink_options_valid(const GrSinkOptions *options, GrError *err)
{
	if (!gr_shape_valid(&options->shape, err))
		return false;
	if ((unsigned) options->kind > GR_SINK_KEEP || !gr_bool_valid(&options->stays))
		return gr_fail(err, GR_INVALID, 0, "there is no sink of kind %d", (int) options->kind);
	if (!(options->wait_s >= 0 && options->wait_s <= GR_WAIT_S_MAX))
		return gr_fail(err, GR_INVALID, 0, "a sink cannot wait for %g seconds", options->wait_s);
	if (options->stay.percent > 100)
		return gr_fail(err, GR_INVALID, 0, "rows cannot take %u percent of the memory", options->stay.percent);
	if (options->stays && (options->kind != GR_SINK_KEEP || options->shape.single))
		return gr_fail(err, GR_INVALID, 0, "rows of this kind cannot be kept");
	return (options->block_nbytes <= GR_REQUEST_NBYTES_MAX && options->expected_nbytes <= GR_REQUEST_NBYTES_MAX) ||
		gr_fail(err, GR_INVALID, 0, "a sink of %zu bytes", options->expected_nbytes);
}

bool
gr_basis_valid(const GrBasis *basis, GrRowShape shape, GrError *err)
{
	if (basis->nfeatures != shape.nfeatures || basis->nchanged < 0 || basis->nchanged > basis->nfeatures)
		return gr_fail(err, GR_INVALID, 0, "a basis of %d features, %d of them changed, for rows of %d",
					   basis->nfeatures, basis->nchanged, shape.nfeatures);
	for (int n = 0; n < basis->nchanged && basis->changed != NULL; n++)
		if (basis->changed[n] < (n == 0 ? 0 : basis->changed[n - 1] + 1) || basis->changed[n] >= basis->nfeatures)
			return gr_fail(err, GR_INVALID, 0, "a basis changes feature %d of %d", basis->changed[n],
						   basis->nfeatures);
	return true;
}

bool
gr_ascent_valid(const GrAscent *ascent, GrError *err)
{
	return (gr_bool_valid(&ascent->intercept) && gr_bool_valid(&ascent->single) && ascent->check_every >= 1 &&
			ascent->max_iter >= 0) ||
		gr_fail(err, GR_INVALID, 0, "gradient ascent of %lld iterations", (long long) ascent->max_iter);
}

bool
gr_factor_job_valid(const GrFactorJob *job, GrError *err)
{
	return (job->nterms >= 1 && job->nterms <= GR_MAX_FEATURES + 1 && job->skip >= 0 && job->skip <= SKIP_MAX &&
			(unsigned) job->rows <= GR_ROWS_PASS && gr_bool_valid(&job->right_hand_side) &&
			gr_bool_valid(&job->want_inverse)) ||
		gr_fail(err, GR_INVALID, 0, "a factorization of %d terms behind %d", job->nterms, job->skip);
}

bool
gr_project_valid(const GrProjectOptions *options, const GrDraw *draw, GrError *err)
{
	return (draw->k >= 1 && draw->density > 0 && draw->density <= 1 && options->dim >= 1 &&
			options->dim <= GR_MAX_DIM && options->nvectors >= 0 && options->block_nbytes <= GR_REQUEST_NBYTES_MAX) ||
		gr_fail(err, GR_INVALID, 0, "a projection of %lld numbers to %d", (long long) options->dim, (int) draw->k);
}
