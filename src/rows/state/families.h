/*
 * families.h: families and links by the names that SQL's arguments give them.
 */
#ifndef GPUREG_FAMILIES_H
#define GPUREG_FAMILIES_H

#include "postgres.h"

#include "compute/dist/family.h"

/* What the names of a family and a link say */
typedef struct GrNamedFamily
{
	GrDistribution distribution;
	bool		quasi;			/* R's quasibinomial or quasipoisson */
} GrNamedFamily;

/* The family, with its default link and no theta; ERROR 22023 if there is none of that name. */
extern GrNamedFamily gr_read_family(const char *name);

/* The same with a theta, which the negative binomial family has behind its name, as R spells it: "...(1.5)" */
extern GrNamedFamily gr_read_family_and_theta(const char *name);

/* Another link; ERROR 22023 or 0A000 if there is none of that name, or the family can't have it. */
extern void gr_read_link(const char *name, GrDistribution *distribution);

/* A theta, which is finite and positive; else ERROR 22023 */
extern double gr_checked_theta(double theta);

#endif							/* GPUREG_FAMILIES_H */
