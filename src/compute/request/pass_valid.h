/*
 * pass_valid.h: checks passes, bootstraps and sums of clusters: shapes, kinds, counts, and whether the arrays that they
 * need are there.
 *
 * gr_request_valid() calls these functions for every request that comes from another process. Each function returns
 * true, or false with GR_INVALID and a detail that says what is wrong. The functions do not read float8 arrays, since
 * any number is allowed there. A struct may be a copy of memory that another process writes to: a bool may be any byte,
 * and an enum any int.
 */
#ifndef GPUREG_PASS_VALID_H
#define GPUREG_PASS_VALID_H

#include "compute/glm/glm.h"
#include "compute/request/cluster_middle.h"
#include "compute/resample/boot.h"

#ifdef __cplusplus
extern "C" {
#endif

/* True if the byte is false or true. */
extern bool gr_bool_valid(const bool *flag);

/* True if rows of this shape can be, those of kept columns included. */
extern bool gr_shape_valid(const GrRowShape *shape, GrError *err);

/* True if rows of the shape of_pass can be, and are those of a sink of this shape, which keeps them as float8. */
extern bool gr_rows_are_of(const GrRowShape *of_pass, GrRowShape shape, GrError *err);

extern bool gr_distribution_valid(const GrDistribution *distribution, GrError *err);

/* Checks a pass over a sink of this shape. Arrays that the pass needs must not be NULL. */
extern bool gr_pass_valid(const GrPass *pass, GrRowShape shape, GrError *err);

/* Checks a bootstrap over a sink of this shape. It must have an active term: without one there is nothing to sum. */
extern bool gr_boot_valid(const GrBootPass *pass, GrRowShape shape, GrError *err);

/* Checks scores of rows of a sink of this shape. */
extern bool gr_scores_valid(const GrScores *scores, GrRowShape shape, GrError *err);

/* Checks a pass of clusters over a sink of this shape, whose rows must have the keys that the way goes by. */
extern bool gr_clusters_valid(const GrClusterPass *pass, GrRowShape shape, GrError *err);

#ifdef __cplusplus
}
#endif
#endif							/* GPUREG_PASS_VALID_H */
