/*
 * project_rows.h: planning of gpu_project_rows()'s query: in this process alone, or with a function of the extension
 * around each vector that parallel workers compute. project_rows.c calls it first.
 */
#ifndef GPUREG_PROJECT_ROWS_H
#define GPUREG_PROJECT_ROWS_H

#include "postgres.h"

#include "rows/query/query.h"

/* Form in which vectors come out of the plan */
typedef enum GrRowsForm
{
	GR_ROWS_AS_THEY_ARE,		/* real[], as the query returns it */
	GR_ROWS_FLAT,				/* GrWorkerRow with the vector, detoasted and checked in workers */
	GR_ROWS_PROJECTED			/* GrWorkerRow with the projection, computed in workers */
} GrRowsForm;

/* Result, a bytea, of the functions that workers compute for a row's vector; see project_pass.c. */
typedef struct GrWorkerRow
{
	int32		vl_len_;
	int32		worker;			/* number of the worker, from 0; -1: the session's own process */
	int32		dim;			/* elements of the vector, even if values is its projection */
	float		values[FLEXIBLE_ARRAY_MEMBER];
} GrWorkerRow;

/* Arguments of gpu_project_rows() */
typedef struct GrRowsRequest
{
	const char *query;
	Oid			id_type;
	Oid			function;		/* the SQL function that was called */
	int32		k;
	int64		seed;
	bool		density_is_null;
	double		density;
} GrRowsRequest;

typedef struct GrRowsPlan
{
	GrPlan	   *plan;			/* returns ids of the requested type, and vectors in this form */
	GrRowsForm	form;
	double		nrows_estimate; /* the planner's estimate */
	int64		dim;			/* elements of the first row's vector; -1: not known or not needed */
} GrRowsPlan;

/* Returns the density for vectors of dim elements. */
extern double gr_rows_density(const GrRowsRequest *request, int64 dim);

/* Returns the products that nvectors take, for the choice of the backend. */
extern double gr_rows_work(const GrRowsRequest *request, double nvectors, int64 dim);

/* Analyses and plans the query. ERROR if the query is not allowed. */
extern void gr_plan_rows(const GrRowsRequest *request, GrRowsPlan *rows);

/*
 * Returns the elements of a row's vector, and sets *dim. ERROR if the value is not a one-dimensional array, has no
 * element, or has a NULL, NaN or infinity.
 */
extern const float *gr_open_row_vector(Datum value, int64 *dim);

#endif							/* GPUREG_PROJECT_ROWS_H */
