/*
 * explain.h: what EXPLAIN (ANALYZE) says of aggregates.
 */
#ifndef GPUREG_EXPLAIN_H
#define GPUREG_EXPLAIN_H

/* When the library is loaded; before PostgreSQL 18 EXPLAIN doesn't ask extensions about nodes that aren't theirs. */
extern void gr_explain_init(void);

#endif							/* GPUREG_EXPLAIN_H */
