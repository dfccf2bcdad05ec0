/*
 * kept_name.h: how SQL refers to kept rows: by the set's name, or by the owner's name and the set's.
 */
#ifndef GPUREG_KEPT_NAME_H
#define GPUREG_KEPT_NAME_H

#include "postgres.h"

/* A reference to a set of kept rows of this database */
typedef struct GrKeptName
{
	Oid			owner;			/* the current role if the reference names no owner */
	char		name[NAMEDATALEN];
	bool		qualified;		/* the reference names the owner */
} GrKeptName;

/*
 * Resolves a reference, "name" or "owner.name": the parts are taken as they are written, case included; one that has a
 * dot or a quote is quoted as an SQL identifier. A name alone is always the current role's. ERROR unless reference has
 * that form, the owner exists, and the current role has its privileges.
 */
extern void gr_kept_resolve(const char *reference, GrKeptName *resolved);

#endif							/* GPUREG_KEPT_NAME_H */
