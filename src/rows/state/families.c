/*
 * families.c: reads families and links from their names; see families.h.
 */
#include "postgres.h"

#include <math.h>

#include "lib/stringinfo.h"

#include "rows/state/families.h"

/* Lists the names name(0) to name(n - 1) as "a, b and c", without those that are NULL. */
static char *
list_names(const char *(*name) (int), int n)
{
	StringInfoData buf;
	int			last = n - 1;

	initStringInfo(&buf);
	while (last > 0 && name(last) == NULL)
		last--;
	for (int k = 0; k <= last; k++)
		if (name(k) != NULL)
			appendStringInfo(&buf, "%s%s", k == 0 ? "" : k == last ? " and " : ", ", name(k));
	return buf.data;
}

static const char *
nth_family(int k)
{
	return gr_family_name((GrFamily) (k / 2), k % 2 == 1);
}

static const char *
nth_link(int k)
{
	return gr_link_name((GrLink) k);
}

GrNamedFamily
gr_read_family(const char *name)
{
	GrNamedFamily named = {{0}};

	if (!gr_family_named(name, &named.distribution.family, &named.quasi))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("unknown family \"%s\"", name),
				 errhint("Use one of these families: %s.", list_names(nth_family, 2 * GR_NFAMILIES))));
	named.distribution.link = gr_family_link(named.distribution.family);
	return named;
}

void
gr_read_link(const char *name, GrDistribution *distribution)
{
	if (!gr_link_named(name, &distribution->link))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("unknown link \"%s\"", name),
				 errhint("Use one of these links: %s.", list_names(nth_link, GR_NLINKS))));
	if (!gr_family_has_link(distribution->family, distribution->link))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("the %s family has no link \"%s\"", gr_family_name(distribution->family, false), name),
				 errhint("The default link of this family is %s.",
						 gr_link_name(gr_family_link(distribution->family)))));
}

double
gr_checked_theta(double theta)
{
	if (!(theta > 0 && isfinite(theta)))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("theta must be a finite positive number, got %g", theta)));
	return theta;
}

/* Reads the number in "(number)" at address at. Returns false unless at has exactly that. */
static bool
read_parenthesis(const char *at, double *number)
{
	char	   *end;

	*number = strtod(at + 1, &end);
	if (end == at + 1)
		return false;
	end += strspn(end, " ");
	return *end == ')' && end[1 + strspn(end + 1, " ")] == '\0';
}

GrNamedFamily
gr_read_family_and_theta(const char *name)
{
	const char *open = strchr(name, '(');
	GrNamedFamily named = {{0}};
	bool		known = open != NULL &&
		gr_family_named(pnstrdup(name, open - name), &named.distribution.family, &named.quasi);
	double		theta;

	if (known && gr_family(named.distribution.family)->has_theta && read_parenthesis(open, &theta))
	{
		named.distribution.link = gr_family_link(named.distribution.family);
		named.distribution.theta = gr_checked_theta(theta);
		return named;
	}
	named = gr_read_family(name);
	if (gr_family(named.distribution.family)->has_theta)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("the negative binomial family needs theta"),
				 errhint("Write theta in parentheses after the name, as in 'negative binomial(1.5)'.")));
	return named;
}
