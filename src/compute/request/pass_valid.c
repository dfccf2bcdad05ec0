/*
 * pass_valid.c: checks passes, bootstraps and sums of clusters; see pass_valid.h.
 */
#include "compute/request/pass_valid.h"

#include <math.h>
#include <string.h>

#include "compute/design/derivation.h"
#include "compute/resample/boot_draw.h"

bool
gr_bool_valid(const bool *flag)
{
	unsigned char byte;

	memcpy(&byte, flag, 1);
	return byte <= 1;
}

bool
gr_shape_valid(const GrRowShape *shape, GrError *err)
{
	return (gr_bool_valid(&shape->single) && gr_bool_valid(&shape->weight) && gr_bool_valid(&shape->offset) &&
			gr_bool_valid(&shape->key) && gr_bool_valid(&shape->second_key) && (shape->key || !shape->second_key) &&
			shape->nfeatures >= 0 && shape->nfeatures < GR_ROW_NCOLS_MAX) ||
		gr_fail(err, GR_INVALID, 0, "there are no rows of %d features", shape->nfeatures);
}

bool
gr_rows_are_of(const GrRowShape *of_pass, GrRowShape shape, GrError *err)
{
	return gr_shape_valid(of_pass, err) &&
		(gr_same_shape(*of_pass, gr_wide_shape(shape)) ||
		 gr_fail(err, GR_INVALID, 0, "a pass of %d features over other rows, of %d", of_pass->nfeatures,
				 shape.nfeatures));
}

bool
gr_distribution_valid(const GrDistribution *distribution, GrError *err)
{
	GrFamily	family = distribution->family;
	GrLink		link = distribution->link;

	if ((unsigned) family >= GR_NFAMILIES || (unsigned) link >= GR_NLINKS || !gr_family_has_link(family, link))
		return gr_fail(err, GR_INVALID, 0, "there is no family %d with link %d", (int) family, (int) link);
	if (distribution->exponent < (gr_family(family)->has_exponent ? -GR_EXPONENT_MAX : 0) ||
		distribution->exponent > (gr_family(family)->has_exponent ? GR_EXPONENT_MAX : 0))
		return gr_fail(err, GR_INVALID, 0, "the response's exponent cannot be %d", distribution->exponent);
	return (gr_family(family)->has_theta ? distribution->theta > 0 && isfinite(distribution->theta) :
			distribution->theta == 0) ||
		gr_fail(err, GR_INVALID, 0, "theta cannot be %g", distribution->theta);
}

/* True if a pass of this kind may measure that: a coarse one has room only where there are many terms. */
static bool
is_measured(const GrPass *pass)
{
	if ((unsigned) pass->kind > GR_PASS_FACE || (unsigned) pass->measure >= GR_NMEASURES)
		return false;
	if (pass->measure == GR_MEASURE_COARSE_STEP && gr_nterms(pass->shape.nfeatures) < GR_COARSE_TERMS_MIN)
		return false;
	return pass->kind == GR_PASS_EXACT || pass->measure == GR_MEASURE_STEP;
}

bool
gr_pass_valid(const GrPass *pass, GrRowShape shape, GrError *err)
{
	bool		has_factor;

	if (!gr_rows_are_of(&pass->shape, shape, err) || !gr_distribution_valid(&pass->distribution, err))
		return false;
	if (!is_measured(pass) || !gr_bool_valid(&pass->linear) || !gr_bool_valid(&pass->counts))
		return gr_fail(err, GR_INVALID, 0, "there is no pass of kind %d that measures %d", (int) pass->kind,
					   (int) pass->measure);
	if (pass->nfaces < (pass->kind == GR_PASS_FACE ? 1 : 0) || pass->nfaces > GR_FACES_MAX ||
		(pass->nfaces > 0 && (pass->faces == NULL || pass->face_absolute == NULL)))
		return gr_fail(err, GR_INVALID, 0, "a pass of kind %d along %d faces", (int) pass->kind, pass->nfaces);
	has_factor = pass->kind == GR_PASS_EXACT && gr_measure_has_factor(pass->measure);
	return ((pass->beta != NULL || pass->kind == GR_PASS_FACE) && pass->shift != NULL &&
			(pass->factor != NULL || !has_factor)) ||
		gr_fail(err, GR_INVALID, 0, "a pass of kind %d lacks an array", (int) pass->kind);
}

/* True if there are these replicates, and the pass has what tells where each is, or signs. */
static bool
are_replicates(const GrBootPass *pass)
{
	int			group = pass->flips ? GR_BOOT_LANES : 4;

	if (pass->nreps == 0)
		return pass->steps == NULL && !pass->flips && pass->influence != NULL && pass->ninfluence >= 1 &&
			pass->ninfluence <= gr_nterms(GR_ROW_NCOLS_MAX);
	return pass->nreps > 0 && pass->nreps <= GR_BOOT_REPS_MAX && pass->first >= 0 && pass->first <= GR_BOOT_REPS_MAX &&
		pass->first % group == 0 && !(pass->flips && pass->steps != NULL);
}

bool
gr_boot_valid(const GrBootPass *pass, GrRowShape shape, GrError *err)
{
	if (!gr_rows_are_of(&pass->shape, shape, err) || !gr_distribution_valid(&pass->distribution, err))
		return false;
	if (!pass->shape.key)
		return gr_fail(err, GR_INVALID, 0, "a bootstrap of rows without keys");
	if (pass->nactive < 1 || pass->nactive > gr_nterms(pass->shape.nfeatures) || pass->nactive > GR_BOOT_TERMS_MAX)
		return gr_fail(err, GR_INVALID, 0, "a bootstrap of %d terms of %d", pass->nactive,
					   gr_nterms(pass->shape.nfeatures));
	if (!gr_bool_valid(&pass->flips) || !are_replicates(pass))
		return gr_fail(err, GR_INVALID, 0, "a bootstrap of %d replicates from number %lld on", pass->nreps,
					   (long long) pass->first);
	return (pass->beta != NULL && pass->beta_lo != NULL && pass->shift != NULL && pass->factor != NULL) ||
		gr_fail(err, GR_INVALID, 0, "a bootstrap lacks an array");
}

bool
gr_scores_valid(const GrScores *scores, GrRowShape shape, GrError *err)
{
	if (!gr_rows_are_of(&scores->shape, shape, err) || !gr_distribution_valid(&scores->distribution, err))
		return false;
	return (scores->beta != NULL && scores->beta_lo != NULL && scores->shift != NULL) ||
		gr_fail(err, GR_INVALID, 0, "sums of scores lack an array");
}

bool
gr_clusters_valid(const GrClusterPass *pass, GrRowShape shape, GrError *err)
{
	const GrRowShape *keys = &pass->scores.shape;

	if (!gr_scores_valid(&pass->scores, shape, err))
		return false;
	return ((unsigned) pass->way < GR_NWAYS && keys->key && (pass->way == GR_WAY_FIRST || keys->second_key)) ||
		gr_fail(err, GR_INVALID, 0, "rows have no keys of clusters of way %d", (int) pass->way);
}
