/*
 * keep.h: a query's rows -> rows that a device service keeps.
 */
#ifndef GPUREG_KEEP_H
#define GPUREG_KEEP_H

#include "postgres.h"

#include "fmgr.h"

/*
 * Reads a query, whose text is given, with the caller's rights, and keeps its rows by that name; how many they are.
 * fcinfo: of gpu_keep()
 */
extern int64 gr_keep_query(FunctionCallInfo fcinfo, const char *name, const char *query, bool replace);

#endif							/* GPUREG_KEEP_H */
