/*
 * state_lists.h: what the text and the wire of gpu_ols_stats and gpu_logreg_step have in common: versions, and the
 * numbers of a state as lists. state_io.c says what the forms are.
 */
#ifndef GPUREG_STATE_LISTS_H
#define GPUREG_STATE_LISTS_H

#include "postgres.h"

#include "fmgr.h"

#include "rows/state/state.h"

/* Numbers of a state, as the text and the wire have them */
typedef struct GrStateList
{
	const char *key;
	int64		n;
	double	   *values;
	double	   *others;			/* or NULL: every second number is from here */
	double	   *marks;			/* or NULL: 1 where the text has null instead of the number, else 0 */
	double		null;			/* what null is read as; NaN: there is none */
	bool		any;			/* may they be NaN and infinite? As strings then */
} GrStateList;

#define GR_STATE_LISTS_MAX 5

/* How many there are. version: of the text or the wire */
extern int	gr_state_lists(GrState *state, int version, GrStateList *list);

/* Of a gpu_logreg_step: its text and wire name no distribution then */
static inline bool
gr_state_is_logit(const GrState *state)
{
	return state->family == GR_BINOMIAL && state->link == GR_LOGIT;
}

static inline double *
gr_state_number(const GrStateList *list, int64 k)
{
	if (list->others == NULL)
		return &list->values[k];
	return &(k % 2 == 0 ? list->values : list->others)[k / 2];
}

/* The newest version of the text and of the wire */
extern int	gr_state_form_version(GrStateType type);

/* The one that a state is written in: the oldest that has all of it */
extern int	gr_state_version_of(const GrState *state);

/* The value that was read; ERROR if no rows can have summed to it. */
extern Datum gr_state_read_result(GrState *state);

#endif							/* GPUREG_STATE_LISTS_H */
