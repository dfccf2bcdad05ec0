/*
 * retired.c: functions in C that the SQL of an earlier version declares and this version's does not.
 *
 * CREATE EXTENSION with VERSION and a database that is not updated yet look these names up in the library. Aggregates
 * over them were for gpureg's own queries alone.
 */
#include "postgres.h"

#include "fmgr.h"

static void raise_retired(void) __attribute__((noreturn));

static void
raise_retired(void)
{
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("this function belongs to an earlier version of gpureg"),
			 errhint("Run ALTER EXTENSION gpureg UPDATE.")));
}

#define RETIRED(name) \
	PG_FUNCTION_INFO_V1(name); \
	Datum \
	name(PG_FUNCTION_ARGS) \
	{ \
		(void) fcinfo; \
		raise_retired(); \
	}

/* 0.1.0 */
RETIRED(gr_logreg_pass_accum)
RETIRED(gr_scores_accum)
RETIRED(gr_scores_combine)
RETIRED(gr_scores_serial)
RETIRED(gr_scores_deserial)
RETIRED(gr_scores_final)
RETIRED(gr_boot_accum)
RETIRED(gr_boot_combine)
RETIRED(gr_boot_serial)
RETIRED(gr_boot_deserial)
RETIRED(gr_boot_final)
