/*
 * valid.h: checks requests to a backend: shapes, kinds, counts, and whether the arrays that a request needs are there.
 *
 * A device service calls these functions for every command before its backend gets it; what is summed up is checked by
 * gr_request_valid(). Each function returns true, or false with GR_INVALID and a detail that says what is wrong. The
 * functions do not read float8 arrays, since any number is allowed there; they do read integer arrays. A struct may be
 * a copy of memory that another process writes to: a bool may be any byte, and an enum any int.
 */
#ifndef GPUREG_VALID_H
#define GPUREG_VALID_H

#include "compute/backend/backend.h"
#include "compute/design/derive.h"
#include "compute/linalg/basis.h"
#include "compute/project/draw.h"
#include "compute/request/request.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Upper limit of the bytes that a request may ask for */
#define GR_REQUEST_NBYTES_MAX ((size_t) 1 << 50)
#define GR_WAIT_S_MAX 1e7		/* seconds that a client may wait for memory: more than any setting holds */

/* Each function returns true if its first argument is valid, for any backend; else it fails with GR_INVALID. */
extern bool gr_rules_valid(const GrRowRules *rules, GrError *err);
extern bool gr_sink_options_valid(const GrSinkOptions *options, GrError *err);

/* Checks a change of rows of this shape. basis->changed may be NULL, and is then not checked. */
extern bool gr_basis_valid(const GrBasis *basis, GrRowShape shape, GrError *err);
extern bool gr_ascent_valid(const GrAscent *ascent, GrError *err);
extern bool gr_factor_job_valid(const GrFactorJob *job, GrError *err);

/* Checks options and k and density of draw. options->draw and draw's tables are ignored: gr_draw_init() makes those. */
extern bool gr_project_valid(const GrProjectOptions *options, const GrDraw *draw, GrError *err);

#ifdef __cplusplus
}
#endif
#endif							/* GPUREG_VALID_H */
