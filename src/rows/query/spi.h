/*
 * spi.h: runs a query that was analysed before through SPI, into a receiver.
 *
 * SPI parses the text a second time. Its tree must be equal to the one that was analysed: it is compared when it is
 * prepared, and once more before the first row, as the server analyses it again when names, policies or the row
 * security of its plan have changed meanwhile.
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
	const Query *tree;			/* the text's, as it was analysed and checked */
	int			cursor_options;
	DestReceiver *dest;			/* its rStartup calls gr_spi_check() */
	uint64		nrows_max;		/* 0: all */
	ErrorContextCallback *outer;	/* error_context_stack under SPI, which says by itself what an error is about */
	CachedPlanSource *source;	/* while it runs */
} GrSpiRun;

/*
 * Prepares the text and runs it read only under the active snapshot. What dest allocates must be in a context of the
 * caller's. ERROR if SPI's tree is another than run->tree.
 */
extern void gr_spi_run(GrSpiRun *run);

/* ERROR unless the tree that SPI holds is still run->tree. */
extern void gr_spi_check(const GrSpiRun *run);

#endif							/* GPUREG_SPI_H */
