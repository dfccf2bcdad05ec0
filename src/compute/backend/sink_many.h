/*
 * sink_many.h: one sink over several, its parts: of several devices, or of one that stands in for them.
 *
 * Call k of send() goes to part k mod n, whole. So which part has a row is told by the calls alone, not by how fast the
 * parts are, and sums don't depend on that. What a part has to do is what its calls brought: parts are even where calls
 * are of one size, as full blocks are, and as many as n or more. Where a part has no more room there is none.
 *
 * SUM: each part sums what it is sent, and the triangles are merged in double-double in the order of the parts.
 *
 * KEEP: passes, changes and derivations are made by all parts at once, part 0 by the calling thread, each other by a
 * thread of its own, which begins with the first of these, has all signals blocked, and ends with the sink. Sums are
 * merged in the order of the parts. Rows are derived part by part, into a sink of as many parts; of that one none can
 * be read. Only the calling thread asks the host; it does so until all parts are done. What fails in one part stops
 * all, as if they were canceled, but for a row that isn't valid, which is the first part's that has one; a lost device
 * counts before other failures, and these before a cancel.
 */
#ifndef GPUREG_SINK_MANY_H
#define GPUREG_SINK_MANY_H

#include "compute/backend/backend.h"

#ifdef __cplusplus
extern "C" {
#endif

#define GR_PARTS_MAX 64

/* Where a sink's parts are. */
typedef struct GrParts
{
	const GrSinkOps *ops;		/* of each */
	int			n;				/* 1 .. GR_PARTS_MAX */
	GrSession  *sessions[GR_PARTS_MAX]; /* of each, the same one perhaps; NULL on the CPU */
} GrParts;

/* The table. begin's session is a GrParts or begins with one: gr_many_begin() by another name. */
extern const GrSinkOps gr_sink_many;

/*
 * options: as of one sink; what it may take is meant for each device, and shared by the parts that a device has.
 * parts: copied
 */
extern bool gr_many_begin(const GrParts *parts, const GrSinkOptions *options, GrSink **sink, GrError *err);

#ifdef __cplusplus
}
#endif
#endif							/* GPUREG_SINK_MANY_H */
