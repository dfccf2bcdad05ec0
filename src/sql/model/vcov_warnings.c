/*
 * vcov_warnings.c: warnings about standard errors that a fit cannot give; see vcov_warnings.h.
 */
#include "postgres.h"

#include "access/xact.h"
#include "common/hashfn.h"
#include "lib/stringinfo.h"

#include "sql/model/vcov_warnings.h"

/* Largest number of terms that a message names */
#define NAMES_MAX 10

/* Number of different messages per statement that are remembered. Further ones may be repeated. */
#define SAID_MAX 32

/* True if the running statement has not given this message yet; a fit per group would repeat it per group. */
static bool
is_new(const char *text)
{
	static TimestampTz statement = 0;
	static int	nsaid = 0;
	static uint64 said[SAID_MAX];
	uint64		hash = hash_bytes_extended((const unsigned char *) text, strlen(text), 0);

	if (statement != GetCurrentStatementStartTimestamp())
		nsaid = 0;
	statement = GetCurrentStatementStartTimestamp();
	for (int k = 0; k < nsaid; k++)
		if (said[k] == hash)
			return false;
	if (nsaid < SAID_MAX)
		said[nsaid++] = hash;
	return true;
}

/* Returns the names of the terms of a kind, or NULL if there are none. */
static char *
name_terms(const GrModel *model, const GrVarianceKind *kinds, GrVarianceKind kind)
{
	StringInfoData names;
	int			n = 0;

	initStringInfo(&names);
	for (int k = 0; k < model->nterms; k++)
	{
		if (kinds[k] != kind)
			continue;
		if (n < NAMES_MAX)
			appendStringInfo(&names, "%s%s", n > 0 ? ", " : "", gr_model_term(model, k));
		n++;
	}
	if (n > NAMES_MAX)
		appendStringInfo(&names, " and %d others", n - NAMES_MAX);
	return n > 0 ? names.data : NULL;
}

static int
hint_at_zero(GrVcovRemedy remedy)
{
	switch (remedy)
	{
		case GR_VCOV_OF_ROWS:
			return errhint("Leave these terms out: every row that their coefficients depend on is fitted exactly.");
		case GR_VCOV_OF_CLUSTERS:
			return errhint("Name a column of smaller clusters, or use vcov => 'HC1': the scores of these terms cancel "
						   "out within each cluster.");
		case GR_VCOV_OF_TWO_WAYS:
			return errhint("Name only one of the two columns in clusters.");
		case GR_VCOV_OF_STATES:
			return errhint("Aggregate one state for each of smaller clusters: the scores of these terms cancel out "
						   "within each cluster.");
		default:
			return errhint("Use a model that is clustered by one of the two columns.");
	}
}

void
gr_warn_of_perfect_fit(void)
{
	if (is_new("perfect"))
		ereport(WARNING,
				(errmsg("the fit is perfect: its standard errors are NULL"),
				 errdetail("The residuals are zero except for rounding error."),
				 errhint("Leave out terms that determine the response.")));
}

void
gr_warn_of_variances(const GrModel *model, const GrVarianceKind *kinds, bool perfect, GrVcovRemedy remedy)
{
	char	   *zero = perfect ? NULL : name_terms(model, kinds, GR_VARIANCE_ZERO);
	char	   *negative = name_terms(model, kinds, GR_VARIANCE_NEGATIVE);

	if (perfect)
		gr_warn_of_perfect_fit();
	if (zero != NULL && is_new(psprintf("zero %d %s", remedy, zero)))
		ereport(WARNING,
				(errmsg("the variances of some coefficients are zero: their standard errors are NULL"),
				 errdetail("Terms: %s.", zero),
				 hint_at_zero(remedy)));
	if (negative != NULL && is_new(psprintf("negative %d %s", remedy, negative)))
		ereport(WARNING,
				(errmsg("the variances of some coefficients are negative: their standard errors are NULL"),
				 errdetail("Terms: %s. With two-way clustering a variance is a difference, which can be negative.",
						   negative),
				 remedy == GR_VCOV_OF_MODELS ? errhint("Use a model that is clustered by one of the two columns.") :
				 errhint("Name only one of the two columns in clusters.")));
}
