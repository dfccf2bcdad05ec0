/*
 * effect_rows.h: reads the rows of a fit with absorbed effects into memory: the columns, and a code for the level of
 * each absorbed and each cluster column. sql/effects is the only caller.
 */
#ifndef GPUREG_EFFECT_ROWS_H
#define GPUREG_EFFECT_ROWS_H

#include "postgres.h"

#include "compute/effects/effects.h"
#include "rows/columns/dictionary.h"
#include "rows/sums/ingest.h"
#include "rows/sums/kept_source.h"

extern int	gr_absorb_memory;	/* kB; the setting gpureg.absorb_memory */

/* Rows in memory, and the dictionaries of their codes */
typedef struct GrCodedRows
{
	GrEffectRows rows;
	GrRowShape	shape;			/* shape of the rows that were read */
	GrDictionary absorbed[GR_EFFECTS_MAX];
	GrDictionary clusters[GR_EFFECT_CLUSTERS_MAX];
	int64		nskipped;
} GrCodedRows;

/*
 * Runs the prepared query once in this process, without parallel workers, so that the rows' order does not vary. The
 * current memory context owns the rows. ingest: prepared with roles that have absorbed columns; its names are set.
 * ERROR if no row is complete, if a column's type has no levels, or if the rows exceed gpureg.absorb_memory.
 */
extern void gr_read_coded_rows(GrIngest *ingest, const GrRoles *roles, GrCodedRows *coded);

/*
 * Reads kept rows back into the session, in the same way. Sets ingest as gr_kept_read() does. The codes are of the
 * kept numbers, so that the dictionaries do not tell levels.
 */
extern void gr_read_coded_kept(const GrFitRows *rows, GrRowRules rules, const GrRoles *roles, GrIngest *ingest,
							   GrCodedRows *coded);

#endif							/* GPUREG_EFFECT_ROWS_H */
