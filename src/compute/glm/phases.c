/*
 * phases.c: the phases of a logistic fit in one table, and its beginning; see fit.h.
 */
#include "compute/glm/phases.h"

#include <string.h>

#include "compute/glm/mixing.h"
#include "compute/glm/terms.h"

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

/* Hands out parts of one allocation; with base NULL it only counts. */
typedef struct Arena
{
	char	   *base;
	size_t		used;
} Arena;

static void *
take(Arena *arena, size_t nbytes)
{
	void	   *p = arena->base == NULL ? NULL : arena->base + arena->used;

	arena->used += (nbytes + 15) & ~(size_t) 15;
	return p;
}

static double *
take_doubles(Arena *arena, size_t n)
{
	return take(arena, n * sizeof(double));
}

static bool
is_dense(const GrGlmOptions *options)
{
	return options->solver == GR_SOLVER_NEWTON || gr_nterms(options->shape.nfeatures) <= GR_GLM_DENSE_TERMS;
}

static void
lay_out_sandwich(Arena *arena, const GrGlmOptions *options, GrGlmFit *fit, GrGlmState *state)
{
	size_t		p = (size_t) options->shape.nfeatures;
	size_t		nterms = p + (options->intercept ? 1 : 0);
	size_t		triangle = (size_t) gr_triangle((int64_t) nterms);
	bool		clustered = gr_vcov_is_clustered(options->vcov);

	state->factor = gr_vcov_has_leverages(options->vcov) || options->firth || options->want_factor ?
		take_doubles(arena, (size_t) gr_triangle((int64_t) p + 1)) : NULL;
	state->middle = clustered ? take_doubles(arena, 2 * triangle) : NULL;
	state->total = clustered ? take_doubles(arena, 2 * triangle) : NULL;
	state->scores = clustered ? take_doubles(arena, nterms) : NULL;
	state->inverse = options->vcov != GR_VCOV_IID ? take_doubles(arena, nterms) : NULL;
	fit->variances = options->vcov != GR_VCOV_IID ? take(arena, nterms * sizeof(GrVarianceKind)) : NULL;
	state->product_row = options->vcov != GR_VCOV_IID ? take_doubles(arena, 2 * nterms) : NULL;
	state->hat = options->vcov == GR_VCOV_CR2 ? take_doubles(arena, 2 * nterms * nterms) : NULL;
	state->roots = options->vcov == GR_VCOV_CR2 ? take_doubles(arena, nterms) : NULL;
	fit->df = options->vcov == GR_VCOV_CR2 && options->l2 == 0 ? take_doubles(arena, nterms) : NULL;
	if (options->vcov == GR_VCOV_CR2 && options->l2 == 0)
	{
		double	   *memory = take_doubles(arena, gr_satterthwaite_size((int) nterms));

		if (memory != NULL)
			gr_satterthwaite_lay_out(&state->df, (int) nterms, memory);
	}
}

static void
lay_out(Arena *arena, const GrGlmOptions *options, GrGlmFit *fit, GrGlmState *state)
{
	size_t		p = (size_t) options->shape.nfeatures;
	size_t		nterms = p + (options->intercept ? 1 : 0);
	bool		dense = is_dense(options);

	fit->sums = take_doubles(arena, gr_pass_nsums(dense ? GR_PASS_EXACT : GR_PASS_GRADIENT, options->shape.nfeatures));
	fit->beta = take_doubles(arena, p + 1);
	fit->coef = take_doubles(arena, nterms);
	fit->vcov = dense ? take_doubles(arena, nterms * nterms) : NULL;
	fit->vcov_low = dense && options->vcov == GR_VCOV_IID && nterms <= GR_LOW_TERMS_MAX ?
		take_doubles(arena, (size_t) gr_triangle((int64_t) nterms)) : NULL;
	fit->separated = take(arena, nterms * sizeof(int));
	state->theta = take_doubles(arena, p + 1);
	state->theta_lo = take_doubles(arena, p + 1);
	state->theta_old = take_doubles(arena, p + 1);
	state->theta_limit = options->estimate_theta ? take_doubles(arena, p + 1) : NULL;
	state->delta = take_doubles(arena, p + 1);
	state->shift = take_doubles(arena, p);
	state->no_shift = take_doubles(arena, p);
	state->scale = take_doubles(arena, p + 1);
	state->length = take_doubles(arena, p + 1);
	state->spread = take_doubles(arena, p + 1);
	state->removed = take_doubles(arena, p + 1);
	state->faces = take_doubles(arena, GR_FACES_MAX * gr_face_size(options->shape.nfeatures));
	state->aliased = take(arena, nterms * sizeof(bool));
	state->frozen = take(arena, nterms * sizeof(bool));
	state->held = take(arena, nterms * sizeof(bool));
	state->collinear = take(arena, nterms * sizeof(bool));
	state->solution = take_doubles(arena, nterms);
	state->pivot = take_doubles(arena, nterms);
	state->least = take_doubles(arena, nterms);
	if (dense)
	{
		size_t		n = (size_t) gr_terms_nchanged_max(options);

		state->basis_coef = take_doubles(arena, n * (p + 1));
		state->changed = take(arena, n * sizeof(int));
	}
	state->triangle = dense ? take_doubles(arena, 2 * (size_t) gr_triangle((int64_t) nterms + 1)) : NULL;
	state->workspace = dense ? take(arena, gr_ols_workspace_nbytes((int) nterms)) : NULL;
	state->history = gr_mixing_nbytes(options) > 0 ? take(arena, gr_mixing_nbytes(options)) : NULL;
	state->edge_null = gr_edge_ndoubles(options) > 0 ? take_doubles(arena, gr_edge_ndoubles(options)) : NULL;
	fit->edge_terms = take(arena, nterms * sizeof(bool));
	lay_out_sandwich(arena, options, fit, state);
	state->memory = options->solver != GR_SOLVER_NEWTON ? take(arena, gr_descent_nbytes(options)) : NULL;
}

size_t
gr_glm_nbytes(const GrGlmOptions *options)
{
	Arena		arena = {NULL, 0};
	GrGlmFit fit;
	GrGlmState state;

	take(&arena, sizeof(GrGlmFit));
	take(&arena, sizeof(GrGlmState));
	lay_out(&arena, options, &fit, &state);
	return arena.used;
}

/* May passes be coarse? Not where all digits of the first one's matrix count, as in a linear regression's. */
static bool
begins_coarse(const GrGlmOptions *options)
{
	return options->can_be_coarse && options->solver == GR_SOLVER_NEWTON && !options->firth &&
		gr_nterms(options->shape.nfeatures) >= GR_COARSE_TERMS_MIN &&
		!(options->distribution.family == GR_GAUSSIAN && options->distribution.link == GR_IDENTITY);
}

GrGlmFit *
gr_glm_begin(void *memory, const GrGlmOptions *options)
{
	Arena		arena = {memory, 0};
	GrGlmFit *fit = take(&arena, sizeof(GrGlmFit));
	GrGlmState *state = take(&arena, sizeof(GrGlmState));
	size_t		full_nbytes = ((size_t) gr_nterms(options->shape.nfeatures)) * sizeof(double);

	memset(fit, 0, sizeof(*fit));
	memset(state, 0, sizeof(*state));
	lay_out(&arena, options, fit, state);
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
