/*
 * project_rows.h: how gpu_project_rows() has its query run: by this process alone, or with a function of the
 * extension's around each vector that parallel workers compute.
 */
#ifndef GPUREG_PROJECT_ROWS_H
#define GPUREG_PROJECT_ROWS_H

#include "postgres.h"

#include "rows/query/query.h"

/* How vectors come out of the plan. */
typedef enum GrRowsForm
{
	GR_ROWS_AS_THEY_ARE,		/* real[] */
	GR_ROWS_FLAT,				/* GrWorkerRow: the vector, detoasted and checked in workers */
	GR_ROWS_PROJECTED			/* GrWorkerRow: its projection, computed in workers */
} GrRowsForm;

/* What the functions in workers make of a row's vector, as a bytea; see project_pass.c. */
typedef struct GrWorkerRow
{
	int32		vl_len_;
	int32		worker;			/* of those of the plan, from 0; -1: the session's own process */
	int32		dim;			/* of the vector, not of the projection */
	float		values[FLEXIBLE_ARRAY_MEMBER];
} GrWorkerRow;

/* What there is to project, and how. */
typedef struct GrRowsRequest
{
	const char *query;
	Oid			id_type;
	Oid			function;		/* the SQL function that is being called */
	int32		k;
	int64		seed;
	bool		density_is_null;
	double		density;
} GrRowsRequest;

typedef struct GrRowsPlan
{
	GrPlan	   *plan;			/* ids of the type wanted, and vectors in this form */
	GrRowsForm	form;
	double		nrows_estimate; /* the planner's */
	int64		dim;			/* of the first row's vector; -1: that isn't known, or there was no need to */
} GrRowsPlan;

/* The density for vectors of so many elements */
extern double gr_rows_density(const GrRowsRequest *request, int64 dim);

/* Products that so many vectors take, for the choice of the backend */
extern double gr_rows_work(const GrRowsRequest *request, double nvectors, int64 dim);

/* Looks the query over, and plans it. ERROR for whatever the query may not be. */
extern void gr_plan_rows(const GrRowsRequest *request, GrRowsPlan *rows);

/* The one-dimensional vector that a row has; ERROR if it is none, has no element, or has a NULL, NaN or an infinity. */
extern const float *gr_open_row_vector(Datum value, int64 *dim);

#endif							/* GPUREG_PROJECT_ROWS_H */
