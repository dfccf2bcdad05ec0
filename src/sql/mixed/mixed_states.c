/*
 * mixed_states.c: fits a mixed model to stored states; see mixed_states.h.
 */
#include "postgres.h"

#include "sql/mixed/mixed_states.h"

static const double *
next_records(void *arg, int64 *n)
{
	return gr_cluster_reader_next(arg, n);
}

const char *
gr_mixed_states_fit(const GrMixedStates *mixed, const char *const *names, GrModel *model, const char **hint)
{
	GrStats		total;
	GrClusterReader reader;
	GrMixedInput input = {
		.nfixed = mixed->nfixed,.fixed = mixed->fixed,.response = mixed->response,.intercept = mixed->intercept,
		.columns_hint = names == NULL ? "gpu_ols_names() lists the columns of a state." :
		"Add the column to the fixed terms: random effects vary about its fixed effect.",
		.formula = mixed->formula,.reml = mixed->reml,.ncells = mixed->states->n,.next = next_records,.arg = &reader,
		.take_effects = mixed->take_effects,.effects_arg = mixed->effects_arg
	};
	const char *problem;

	gr_cluster_states_total(mixed->states, &total);
	gr_cluster_reader_begin(&reader, mixed->states);
	input.all = &total.gram;
	input.names = names != NULL ? names : total.names;
	for (int k = 0; k < mixed->formula->nterms && mixed->levels != NULL; k++)
	{
		input.levels[k] = mixed->levels->levels[k];
		input.nlevels[k] = mixed->levels->tables[k].n;
	}
	problem = gr_mixed_fit(&input, model, hint);
	model->nskipped = total.state->nskipped;
	return problem;
}
