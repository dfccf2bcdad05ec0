/*
 * spi.h: runs an analysed query through SPI, into a receiver.
 *
 * SPI parses the text a second time. Its tree must equal the analysed tree. The trees are compared when SPI has
 * prepared the query, and again before the first row, because the server analyses it anew if names, policies or the row
 * security of its plan have changed.
 */
#ifndef GPUREG_SPI_H
#define GPUREG_SPI_H

#include "postgres.h"

#include "nodes/parsenodes.h"
#include "tcop/dest.h"
#include "utils/elog.h"
#include "utils/plancache.h"

typedef struct GrSpiRun
{
	const char *text;
	const Query *tree;			/* tree of text, analysed and checked before */
	int			cursor_options;
	DestReceiver *dest;			/* rStartup of dest must call gr_spi_check() */
	uint64		nrows_max;		/* 0: all */
	ErrorContextCallback *outer;	/* error_context_stack while SPI runs, which reports its own context */
	CachedPlanSource *source;	/* SPI's plan source while the query runs; else NULL */
} GrSpiRun;

/*
 * Prepares the text and runs it read-only under the active snapshot. dest must allocate in a context of the caller's.
 * ERROR if SPI's tree differs from run->tree.
 */
extern void gr_spi_run(GrSpiRun *run);

/* Raises an ERROR unless the tree that SPI holds still equals run->tree. */
extern void gr_spi_check(const GrSpiRun *run);

#endif							/* GPUREG_SPI_H */
