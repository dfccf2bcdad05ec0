/*
 * explain.h: adds lines about aggregates to EXPLAIN (ANALYZE). Only _PG_init() calls it.
 */
#ifndef GPUREG_EXPLAIN_H
#define GPUREG_EXPLAIN_H

/*
 * Installs the hook when the library is loaded. Does nothing before PostgreSQL 18, where EXPLAIN has no hook for the
 * nodes of the server.
 */
extern void gr_explain_init(void);

#endif							/* GPUREG_EXPLAIN_H */
