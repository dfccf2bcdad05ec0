/*
 * sink_many.h: a sink made of several sinks (its parts), one per device, or several on one device for tests.
 *
 * All rows of call k of send() go to part k mod n. The calls alone decide which part has a row, so the sums do not
 * depend on the speed of the parts. The parts share the work evenly if there are n or more calls of one size, such as
 * full blocks. send() fails if its part has no memory left, even if other parts have.
 *
 * SUM: each part sums its own rows. The triangles are merged in double-double in the order of the parts.
 *
 * KEEP: all parts make a pass, a change or a derivation at the same time: the calling thread works for part 0, and one
 * thread for each other part. These threads start with the first such call, have all signals blocked, and end with the
 * sink. Sums are merged in the order of the parts. Each part's rows are derived into a part of a new sink, whose rows
 * cannot be read. Only the calling thread polls the host, until all parts are done. A failure in one part stops all
 * parts, except that a derivation continues after an invalid row, so that the first part's error is reported. A lost
 * device is reported before other failures, and these before a cancel.
 */
#ifndef GPUREG_SINK_MANY_H
#define GPUREG_SINK_MANY_H

#include "compute/backend/backend.h"

#ifdef __cplusplus
extern "C" {
#endif

#define GR_PARTS_MAX 64

/* Sessions of a sink's parts */
typedef struct GrParts
{
	const GrSinkOps *ops;		/* table of each part */
	int			n;				/* 1 .. GR_PARTS_MAX */
	GrSession  *sessions[GR_PARTS_MAX]; /* one per part, perhaps the same; NULL on the CPU */
} GrParts;

/* Table of the sink. begin() is gr_many_begin(); its session is a GrParts, or a struct that begins with one. */
extern const GrSinkOps gr_sink_many;

/*
 * Begins a sink over parts, which is copied. options are those of one sink, but memory_limit is per device: the parts
 * of a device share it.
 */
extern bool gr_many_begin(const GrParts *parts, const GrSinkOptions *options, GrSink **sink, GrError *err);

#ifdef __cplusplus
}
#endif
#endif							/* GPUREG_SINK_MANY_H */
