/*
 * grams.c: Gram matrices in PostgreSQL's memory contexts; see grams.h.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "run/args.h"
#include "run/grams.h"
#include "run/raise.h"

GrGram
gr_gram_make(int nfeatures)
{
	return gr_gram_at(palloc_extended(gr_gram_ndoubles(nfeatures) * sizeof(double), MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO),
					  nfeatures);
}

GrGram
gr_gram_duplicate(const GrGram *gram)
{
	GrGram		copy = gr_gram_at(palloc_extended(gr_gram_ndoubles(gram->nfeatures) * sizeof(double),
												  MCXT_ALLOC_HUGE), gram->nfeatures);

	gr_gram_copy(&copy, gram);
	return copy;
}

static int64
rows_of(const GrGram *gram)
{
	return gram->nsummed > 0 ? gram->nsummed : gram->nobs;
}

void
gr_gram_join(GrGram *gram, const GrGram *other)
{
	GrPoll		poll = {.host = &gr_host};
	int64		rows;

	CHECK_FOR_INTERRUPTS();
	if (!gr_gram_merge(gram, other, &poll))
		gr_gram_raise_canceled();
	rows = rows_of(gram);
	gr_add_count(&rows, rows_of(other));
	gr_add_count(&gram->nobs, other->nobs);
	gram->nsummed = rows;
	gram->log_constant += other->log_constant;
}

void
gr_gram_raise_canceled(void)
{
	GrError		err = {0};

	(void) gr_fail(&err, GR_CANCELED, 0, "Gram matrix");
	gr_raise(&err);
	pg_unreachable();
}
