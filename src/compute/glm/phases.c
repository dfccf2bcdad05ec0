/* phases.c: the table of a fit's phases, and how a fit begins; see fit.h. */
#include "compute/glm/phases.h"

#include <string.h>

#include "compute/base/arena.h"
#include "compute/glm/mixing.h"
#include "compute/glm/terms.h"
#include "compute/linalg/congruence.h"

static const GrPhase phases[] = {
	[GR_PHASE_ZERO] = {GR_GLM_PASS, NULL, gr_zero_take},
	[GR_PHASE_CHANGE] = {GR_GLM_CHANGE, NULL, gr_change_take},
	[GR_PHASE_START] = {GR_GLM_PASS, gr_start_enter, gr_start_take},
	[GR_PHASE_ITERATE] = {GR_GLM_PASS, gr_iterate_enter, gr_iterate_take},
	[GR_PHASE_THETA] = {GR_GLM_PASS, gr_theta_enter, gr_theta_take},
	[GR_PHASE_EDGE] = {GR_GLM_PASS, gr_edge_enter, gr_edge_take},
	[GR_PHASE_CLASSIFY] = {GR_GLM_PASS, gr_classify_enter, gr_classify_take},
	[GR_PHASE_VERIFY] = {GR_GLM_PASS, gr_verify_enter, gr_verify_take},
	[GR_PHASE_DESCENT] = {GR_GLM_PASS, gr_descent_enter, gr_descent_take},
	[GR_PHASE_SHIFTED] = {GR_GLM_PASS, NULL, gr_shifted_take},
	[GR_PHASE_ASCEND] = {GR_GLM_ASCEND, NULL, gr_ascend_take},
	[GR_PHASE_LAST] = {GR_GLM_PASS, NULL, gr_last_take},
	[GR_PHASE_PLACE] = {GR_GLM_PASS, gr_place_enter, gr_place_take},
	[GR_PHASE_SCORES] = {GR_GLM_PASS, gr_sandwich_enter, gr_scores_take},
	[GR_PHASE_CLUSTERS] = {GR_GLM_CLUSTERS, NULL, gr_clusters_take},
	[GR_PHASE_LIKELIHOOD] = {GR_GLM_PASS, gr_likelihood_enter, gr_likelihood_take},
	[GR_PHASE_NULL] = {GR_GLM_PASS, gr_null_enter, gr_null_take},
	[GR_PHASE_DONE] = {GR_GLM_DONE, gr_done_enter, NULL},
};

/*
 * Memory
 */

static bool
is_dense(const GrGlmOptions *options)
{
	return options->solver == GR_SOLVER_NEWTON || gr_nterms(options->shape.nfeatures) <= GR_GLM_DENSE_TERMS;
}

static void
carve_sandwich(GrArena *arena, const GrGlmOptions *options, GrGlmFit *fit, GrGlmState *state)
{
	int64_t		p = options->shape.nfeatures;
	int64_t		nterms = p + (options->intercept ? 1 : 0);
	int64_t		triangle = gr_triangle(nterms);
	bool		clustered = gr_vcov_is_clustered(options->vcov);

	state->factor = gr_vcov_has_leverages(options->vcov) || options->firth || options->want_factor ?
		gr_carve_doubles(arena, gr_triangle(p + 1)) : NULL;
	if (clustered)
		state->middle = gr_gram_carve(arena, (int) nterms - 1);
	state->panels = clustered ? gr_carve(arena, gr_gram_scratch_nbytes(gr_plain_shape((int) nterms - 1))) : NULL;
	state->total = clustered ? gr_carve_doubles(arena, 2 * triangle) : NULL;
	state->scores = clustered ? gr_carve_doubles(arena, nterms * GR_GRAM_CHUNK_NROWS) : NULL;
	state->inverse = options->vcov != GR_VCOV_IID ? gr_carve_doubles(arena, nterms) : NULL;
	fit->variances = options->vcov != GR_VCOV_IID ? gr_carve(arena, (size_t) nterms * sizeof(GrVarianceKind)) : NULL;
	state->product = options->vcov != GR_VCOV_IID ? gr_carve_doubles(arena, gr_congruence_ndoubles(nterms)) : NULL;
	state->hat = options->vcov == GR_VCOV_CR2 ? gr_carve_doubles(arena, 2 * nterms * nterms) : NULL;
	state->roots = options->vcov == GR_VCOV_CR2 ? gr_carve_doubles(arena, nterms) : NULL;
	fit->df = options->vcov == GR_VCOV_CR2 && options->l2 == 0 ? gr_carve_doubles(arena, nterms) : NULL;
	if (options->vcov == GR_VCOV_CR2 && options->l2 == 0)
		gr_satterthwaite_carve(&state->df, (int) nterms, arena);
}

static void
carve_fit(GrArena *arena, const GrGlmOptions *options, GrGlmFit *fit, GrGlmState *state)
{
	int64_t		p = options->shape.nfeatures;
	int64_t		nterms = p + (options->intercept ? 1 : 0);
	bool		dense = is_dense(options);

	fit->sums = gr_carve_doubles(arena, gr_pass_nsums(dense ? GR_PASS_EXACT : GR_PASS_GRADIENT,
													  options->shape.nfeatures));
	fit->beta = gr_carve_doubles(arena, p + 1);
	fit->coef = gr_carve_doubles(arena, nterms);
	fit->vcov = dense ? gr_carve_doubles(arena, nterms * nterms) : NULL;
	fit->vcov_low = dense && options->vcov == GR_VCOV_IID && nterms <= GR_LOW_TERMS_MAX ?
		gr_carve_doubles(arena, gr_triangle(nterms)) : NULL;
	fit->bread = dense && options->vcov != GR_VCOV_IID && options->l2 == 0 && nterms <= GR_BREAD_TERMS_MAX ?
		gr_carve_doubles(arena, gr_triangle(nterms)) : NULL;
	fit->separated = gr_carve_ints(arena, nterms);
	state->theta = gr_carve_doubles(arena, p + 1);
	state->theta_lo = gr_carve_doubles(arena, p + 1);
	state->theta_old = gr_carve_doubles(arena, p + 1);
	state->theta_limit = options->estimate_theta ? gr_carve_doubles(arena, p + 1) : NULL;
	state->delta = gr_carve_doubles(arena, p + 1);
	state->shift = gr_carve_doubles(arena, p);
	state->no_shift = gr_carve_doubles(arena, p);
	state->scale = gr_carve_doubles(arena, p + 1);
	state->length = gr_carve_doubles(arena, p + 1);
	state->spread = gr_carve_doubles(arena, p + 1);
	state->removed = gr_carve_doubles(arena, p + 1);
	state->faces = gr_carve_doubles(arena, GR_FACES_MAX * gr_face_size(options->shape.nfeatures));
	state->aliased = gr_carve_bools(arena, nterms);
	state->frozen = gr_carve_bools(arena, nterms);
	state->held = gr_carve_bools(arena, nterms);
	state->collinear = gr_carve_bools(arena, nterms);
	state->solution = gr_carve_doubles(arena, nterms);
	state->pivot = gr_carve_doubles(arena, nterms);
	state->least = gr_carve_doubles(arena, nterms);
	if (dense)
	{
		int64_t		n = gr_terms_nchanged_max(options);

		state->basis_coef = gr_carve_doubles(arena, n * (p + 1));
		state->changed = gr_carve_ints(arena, n);
	}
	state->triangle = dense ? gr_carve_doubles(arena, 2 * gr_triangle(nterms + 1)) : NULL;
	state->workspace = dense ? gr_carve(arena, gr_normal_workspace_nbytes((int) nterms)) : NULL;
	state->history = gr_mixing_nbytes(options) > 0 ? gr_carve(arena, gr_mixing_nbytes(options)) : NULL;
	state->edge_null = gr_edge_ndoubles(options) > 0 ? gr_carve_doubles(arena, gr_edge_ndoubles(options)) : NULL;
	fit->edge_terms = gr_carve_bools(arena, nterms);
	carve_sandwich(arena, options, fit, state);
	state->memory = options->solver != GR_SOLVER_NEWTON ? gr_carve(arena, gr_descent_nbytes(options)) : NULL;
}

size_t
gr_glm_nbytes(const GrGlmOptions *options)
{
	GrArena		arena = {.base = NULL};
	GrGlmFit fit;
	GrGlmState state;

	gr_carve(&arena, sizeof(GrGlmFit));
	gr_carve(&arena, sizeof(GrGlmState));
	carve_fit(&arena, options, &fit, &state);
	return arena.used;
}

/* True if passes may be coarse. A linear regression needs all digits of its first matrix. */
static bool
begins_coarse(const GrGlmOptions *options)
{
	return options->can_be_coarse && options->solver == GR_SOLVER_NEWTON && !options->firth &&
		gr_nterms(options->shape.nfeatures) >= GR_COARSE_TERMS_MIN &&
		!gr_is_linear(options->distribution);
}

GrGlmFit *
gr_glm_begin(void *memory, const GrGlmOptions *options)
{
	GrArena		arena = {.base = memory};
	GrGlmFit *fit = gr_carve(&arena, sizeof(GrGlmFit));
	GrGlmState *state = gr_carve(&arena, sizeof(GrGlmState));
	size_t		full_nbytes = ((size_t) gr_nterms(options->shape.nfeatures)) * sizeof(double);

	memset(fit, 0, sizeof(*fit));
	memset(state, 0, sizeof(*state));
	carve_fit(&arena, options, fit, state);
	fit->state = state;
	state->phases = phases;
	fit->nterms = options->shape.nfeatures + (options->intercept ? 1 : 0);
	state->options = *options;
	state->nfull = gr_nterms(options->shape.nfeatures);
	state->first = options->intercept ? 0 : 1;
	state->dense = is_dense(options);
	state->coarse = begins_coarse(options);
	state->max_iter = options->max_iter;
	state->next_attempt = 5;
	gr_negbin_begin(fit);
	memset(state->theta, 0, full_nbytes);
	memset(state->theta_lo, 0, full_nbytes);
	memset(state->theta_old, 0, full_nbytes);
	memset(state->delta, 0, full_nbytes);
	memset(state->shift, 0, full_nbytes - sizeof(double));
	memset(state->no_shift, 0, full_nbytes - sizeof(double));
	memset(state->removed, 0, full_nbytes);
	memset(state->aliased, 0, (size_t) fit->nterms * sizeof(bool));
	memset(state->collinear, 0, (size_t) fit->nterms * sizeof(bool));
	if (options->leave_out > 0)
		state->aliased[options->leave_out - 1] = true;
	memset(fit->separated, 0, (size_t) fit->nterms * sizeof(int));
	if (!gr_start_begin(fit))
		gr_fit_ask(fit, GR_PHASE_ZERO, state->dense ? GR_PASS_EXACT : GR_PASS_GRADIENT);
	return fit;
}
