/*
 * enet.h: elastic nets: what the SQL functions of fn_enet.c, fn_enet_cv.c and fn_enet_fit.c share.
 */
#ifndef GPUREG_ENET_H
#define GPUREG_ENET_H

#include "postgres.h"

#include "fmgr.h"
#include "nodes/execnodes.h"

#include "compute/enet/path.h"
#include "sql/model/model.h"
#include "sql/states/stats.h"

/* Most lambdas of a grid */
#define GR_ENET_MAX_LAMBDAS 100000

/* What is asked for, whatever the features are */
typedef struct GrEnet
{
	double		alpha;
	bool		intercept;
	bool		standardize;
	int			nlambda;
	double	   *lambda;			/* nlambda, falling; NULL: a grid of so many */
	double		min_ratio;		/* of the grid; 0: as many rows and features there are says it */
	double	   *penalty;		/* NULL: 1 each */
	int			npenalty;
	bool	   *positive;		/* NULL: all or none */
	int			npositive;
	bool		all_positive;
} GrEnet;

/* The arguments' numbers; -1: there is none, and it is as by default */
typedef struct GrEnetPlaces
{
	int			alpha;
	int			nlambda;
	int			lambda;			/* a float8[] */
	int			min_ratio;
	int			penalty;
	int			positive;		/* an "any": boolean or boolean[] */
	int			intercept;
	int			standardize;
} GrEnetPlaces;

/* Sums of chosen columns */
typedef struct GrEnetSums
{
	GrGram		gram;
	const char *const *names;	/* as in gr_raise_columns() */
} GrEnetSums;

/* Reads the arguments; false where one is NULL that must not be, and then the function returns NULL. */
extern bool gr_enet_arguments(FunctionCallInfo fcinfo, const GrEnetPlaces *places, GrEnet *net);

/* What the sums of a GrStats are */
extern GrEnetSums gr_enet_sums(const GrStats *stats);

/* One lambda, the only one of net; ERROR unless it is a number >= 0. */
extern void gr_enet_set_lambda(GrEnet *net, double lambda);

/* The options of a path of so many features; ERROR where the penalties don't go with them */
extern GrPathOptions gr_enet_options(const GrEnet *net, int nfeatures);

/* ERROR unless so many of the features vary and aren't left out. */
extern void gr_enet_check_usable(int nusable, int nfeatures);

/* What the grid's least lambda is to the largest, of so many rows */
extern double gr_enet_min_ratio(const GrEnet *net, int64 nobs, int nfeatures);

/*
 * Opens a path in the current memory context; ERROR where the penalties don't go with the features, or where there is
 * no path, unless these sums are some rows' alone.
 */
extern void gr_enet_open(const GrEnet *net, const GrEnetSums *sums, void *workspace, bool some, GrPath *path);

/* Room for it */
extern void *gr_enet_workspace(const GrEnet *net, int nfeatures);

/* The lambdas that are asked for; *n of them */
extern double *gr_enet_lambdas(const GrEnet *net, const GrEnetSums *sums, GrPath *path, int *n);

/* gr_path_step(); ERROR where that fails */
extern void gr_enet_step(GrPath *path, const GrEnetSums *sums, double lambda, GrPathPoint *point, double *coef);

/* The model of a point, whose nskipped is the caller's to set */
extern void gr_enet_model(GrModel *model, const GrEnet *net, const GrEnetSums *sums, const GrPathPoint *point,
						  double *coef);

/* The path over sums as rows of a function's result, a row a lambda; and one such row */
extern void gr_enet_put_path(ReturnSetInfo *rsinfo, const GrEnet *net, const GrEnetSums *sums);
extern void gr_enet_put_point(ReturnSetInfo *rsinfo, const GrPathPoint *point, const double *coef, int nterms);

/* A float8[] of n numbers */
extern Datum gr_enet_array(const double *values, int n);

#endif							/* GPUREG_ENET_H */
