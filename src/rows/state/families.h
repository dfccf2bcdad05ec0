/*
 * families.h: reads families and links from the names in SQL arguments.
 */
#ifndef GPUREG_FAMILIES_H
#define GPUREG_FAMILIES_H

#include "postgres.h"

#include "compute/dist/family.h"

/* A distribution as its family's and link's names describe it */
typedef struct GrNamedFamily
{
	GrDistribution distribution;
	bool		quasi;			/* R's quasibinomial or quasipoisson */
} GrNamedFamily;

/* Returns the family called name, with its default link and no theta. ERROR 22023 if there is none. */
extern GrNamedFamily gr_read_family(const char *name);

/* Like gr_read_family(), with the theta that a negative binomial has in parentheses: "negative binomial(1.5)". */
extern GrNamedFamily gr_read_family_and_theta(const char *name);

/* Sets the link called name. ERROR 22023 if there is none, 0A000 if the family does not support it. */
extern void gr_read_link(const char *name, GrDistribution *distribution);

/* Returns theta. ERROR 22023 unless theta is finite and positive. */
extern double gr_checked_theta(double theta);

#endif							/* GPUREG_FAMILIES_H */
