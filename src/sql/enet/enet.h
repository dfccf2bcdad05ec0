/*
 * enet.h: arguments, paths and results of elastic nets. The SQL functions of fn_enet.c, fn_enet_cv.c and fn_enet_fit.c
 * share it.
 */
#ifndef GPUREG_ENET_H
#define GPUREG_ENET_H

#include "postgres.h"

#include "fmgr.h"
#include "nodes/execnodes.h"

#include "compute/enet/path.h"
#include "sql/model/model.h"
#include "sql/states/stats.h"

/* Largest number of lambdas in a grid */
#define GR_ENET_MAX_LAMBDAS 100000

/* Options of an elastic net that do not depend on the features. */
typedef struct GrEnet
{
	double		alpha;			/* share of the lasso penalty, 0 .. 1 */
	bool		intercept;
	bool		standardize;	/* penalties apply to features of variance 1 */
	int			nlambda;		/* 1 .. GR_ENET_MAX_LAMBDAS */
	double	   *lambda;			/* nlambda values, decreasing; NULL: a grid of nlambda values */
	/* smallest lambda of the grid relative to the largest; 0: chosen by the numbers of rows and features */
	double		min_ratio;
	double	   *penalty;		/* npenalty factors; NULL: 1 for each feature */
	int			npenalty;
	bool	   *positive;		/* npositive flags; NULL: all_positive applies */
	int			npositive;
	bool		all_positive;	/* coefficients must not be negative */
} GrEnet;

/* Numbers of a function's arguments; -1: the function does not have it, and the default applies. */
typedef struct GrEnetPlaces
{
	int			alpha;
	int			nlambda;
	int			lambda;			/* float8[] */
	int			min_ratio;
	int			penalty;
	int			positive;		/* "any": boolean or boolean[] */
	int			intercept;
	int			standardize;
} GrEnetPlaces;

/* Sums of chosen columns. */
typedef struct GrEnetSums
{
	GrGram		gram;
	const char *const *names;	/* names as gr_raise_columns() takes them */
} GrEnetSums;

/* Reads the arguments into net. Returns false if one is NULL that must not be; the SQL function then returns NULL. */
extern bool gr_enet_arguments(FunctionCallInfo fcinfo, const GrEnetPlaces *places, GrEnet *net);

/* Returns the sums and names of stats, without a copy. */
extern GrEnetSums gr_enet_sums(const GrStats *stats);

/* Makes lambda the only one of net. Raises an ERROR unless it is finite and not negative. */
extern void gr_enet_set_lambda(GrEnet *net, double lambda);

/* Returns the options of a path of nfeatures features. Raises an ERROR if penalties or signs have another length. */
extern GrPathOptions gr_enet_options(const GrEnet *net, int nfeatures);

/* Raises an ERROR if nusable, the number of features that vary and are not left out, is 0. */
extern void gr_enet_check_usable(int nusable, int nfeatures);

/* Returns the ratio of the least to the largest lambda of a grid, for nobs rows, unless net has one. */
extern double gr_enet_min_ratio(const GrEnet *net, int64 nobs, int nfeatures);

/*
 * Opens a path over sums. Raises an ERROR if the penalties do not fit the features. Also raises one if the response or
 * all features are constant, unless some is true: sums are then of a part of the rows.
 */
extern void gr_enet_open(const GrEnet *net, const GrEnetSums *sums, void *workspace, bool some, GrPath *path);

/* Returns a workspace for gr_enet_open(). */
extern void *gr_enet_workspace(const GrEnet *net, int nfeatures);

/* Returns the *n lambdas of net, or of a grid for path. */
extern double *gr_enet_lambdas(const GrEnet *net, const GrEnetSums *sums, GrPath *path, int *n);

/* Moves path to lambda, and sets *point and its coefficients; see gr_path_step(). Raises an ERROR if that fails. */
extern void gr_enet_step(GrPath *path, const GrEnetSums *sums, double lambda, GrPathPoint *point, double *coef);

/* Fills model from a point of a path. The caller sets nskipped. */
extern void gr_enet_model(GrModel *model, const GrEnet *net, const GrEnetSums *sums, const GrPathPoint *point,
						  double *coef);

/* gr_enet_put_path() adds the path over sums to the result, one row per lambda; gr_enet_put_point() adds one row. */
extern void gr_enet_put_path(ReturnSetInfo *rsinfo, const GrEnet *net, const GrEnetSums *sums);
extern void gr_enet_put_point(ReturnSetInfo *rsinfo, const GrPathPoint *point, const double *coef, int nterms);

/* Returns a float8[] of n numbers. */
extern Datum gr_enet_array(const double *values, int n);

#endif							/* GPUREG_ENET_H */
