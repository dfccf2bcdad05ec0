/*
 * state_lists.h: the parts that the text (state_io.c) and the binary form (state_wire.c) of gpu_ols_stats and
 * gpu_logreg_step share: versions, and a state's numbers as lists. The two files are the only callers; state_io.c
 * describes the forms.
 */
#ifndef GPUREG_STATE_LISTS_H
#define GPUREG_STATE_LISTS_H

#include "postgres.h"

#include "fmgr.h"

#include "rows/state/state.h"

/* A list of n numbers of a state, as it is in the text and in the binary form. Points into the state. */
typedef struct GrStateList
{
	const char *key;			/* name of the list in the text */
	int64		n;				/* number of items */
	double	   *values;			/* items, or every other one if others is not NULL */
	double	   *others;			/* NULL, or: odd-numbered items are here, even-numbered ones in values */
	double	   *marks;			/* NULL, or n flags: 1 if the text has null instead of the number, else 0 */
	double		null;			/* number that null stands for; NaN: null is not allowed */
	bool		any;			/* numbers may be NaN or infinite; the text has these as strings */
} GrStateList;

#define GR_STATE_LISTS_MAX 5

/* Fills list with a state's lists, in the order of the form's version. Returns their number. */
extern int	gr_state_lists(GrState *state, int version, GrStateList *list);

/* True if a gpu_logreg_step has the binomial family and the logit link, which its text does not name. */
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

/* Returns the newest version of the text and of the binary form. */
extern int	gr_state_form_version(GrStateType type);

/* Returns the version in which a state is written: the oldest that can hold it. */
extern int	gr_state_version_of(const GrState *state);

/* Checks a state that was just read and returns it as a datum. Raises an ERROR if no rows can have its sums. */
extern Datum gr_state_read_result(GrState *state);

#endif							/* GPUREG_STATE_LISTS_H */
