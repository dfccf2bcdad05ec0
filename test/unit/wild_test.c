/*
 * wild_test.c: tests the wild cluster bootstrap against plain loops over clusters, with weights drawn bit by bit.
 */
#include <stdlib.h>
#include <string.h>

#include "compute/resample/wild.h"
#include "compute/resample/wild_draw.h"
#include "unit.h"

#define K 5
#define MAX_CLUSTERS 150
#define MAX_REPS 12000

typedef struct Problem
{
	GrWild		wild;
	double		q[MAX_CLUSTERS * K];
	double		u[MAX_CLUSTERS * K];
	int64_t		keys[MAX_CLUSTERS];
	double		replicates[5 * (MAX_REPS + 8)];
	GrError		err;
} Problem;

/* Returns a number between -1 and 1. */
static double
uniform(void)
{
	return 2.0 * random() / 2147483648.0 - 1.0;
}

/*
 * Makes scores that sum to 0, and parts of a hat matrix's columns, which sum to the last unit vector. few: nearly all
 * of both is in the first and the last cluster.
 */
static void
start(Problem *problem, int nclusters, GrWildWeights weights, int64_t reps, bool few)
{
	memset(problem, 0, sizeof(*problem));
	for (int i = 0; i < K; i++)
	{
		double		sum_q = 0;
		double		sum_u = 0;

		for (int g = 0; g < nclusters; g++)
		{
			double	   *q = &problem->q[g * K + i];
			double	   *u = &problem->u[g * K + i];

			*q = uniform() * (few && g > 0 ? 1e-4 : 1);
			*u = uniform() * (few && g > 0 ? 1e-4 : 1.0 / nclusters) + (i == K - 1 ? 1.0 / nclusters : 0);
			if (g == nclusters - 1)
			{
				*q = -sum_q;
				*u = (i == K - 1 ? 1 : 0) - sum_u;
			}
			sum_q += *q;
			sum_u += *u;
		}
	}
	for (int g = 0; g < nclusters; g++)
		problem->keys[g] = g % 2 == 0 ? g : -INT64_C(9007199254740992) + g;
	problem->wild = (GrWild) {
		.nterms = K,.nclusters = nclusters,.q = problem->q,.u = problem->u,.keys = problem->keys,.weights = weights,
		.seed = UINT64_C(0x123456789ABCDEF0),.reps = reps,.replicates = problem->replicates
	};
}

static bool
run(Problem *problem, int max_lanes, const GrHost *host)
{
	void	   *workspace = malloc(gr_wild_workspace_nbytes(K));
	bool		ok;

	problem->err = (GrError) {0};
	ok = gr_wild_run(&problem->wild, workspace, max_lanes, host, &problem->err);
	free(workspace);
	return ok;
}

/* Returns a cluster's weight by the definition in wild_draw.h. */
static double
weight(const GrWild *wild, int g, int64_t r)
{
	static const double webb[] = {-1.5, -1, -0.5, 0.5, 1, 1.5};
	uint64_t	key = (uint64_t) wild->keys[g];
	bool		webbs = wild->weights == GR_WILD_WEBB;
	GrPhilox	counter = {{(uint32_t) key, (uint32_t) (key >> 32), 0, webbs ? 0x77696C65 : 0x77696C64}};
	uint32_t	word;
	double		digit;

	if (wild->enumerated)
		return (r >> g) % 2 == 0 ? 1 : -1;
	counter.word[2] = (uint32_t) (webbs ? r / 16 : r / 128);
	counter = gr_philox(counter, (uint32_t) wild->seed, (uint32_t) (wild->seed >> 32));
	if (!webbs)
	{
		word = counter.word[r % 128 / 32];
		return (word >> (r % 32)) % 2 == 0 ? 1 : -1;
	}
	digit = counter.word[r % 16 / 4] / 4294967296.0;
	for (int i = 0; i < r % 4; i++)
		digit = 6 * digit - floor(6 * digit);
	digit = webb[(int) (6 * digit)];
	return (digit < 0 ? -1 : 1) * sqrt(fabs(digit));
}

/* Computes d_k and S of a replicate at theta. */
static void
replicate(const GrWild *wild, int64_t r, double theta, long double *d, long double *s)
{
	long double sum[K] = {0};

	*s = 0;
	for (int g = 0; g < wild->nclusters; g++)
		for (int i = 0; i < K; i++)
			sum[i] += weight(wild, g, r) * ((long double) wild->q[g * K + i] - theta * wild->u[g * K + i]);
	for (int g = 0; g < wild->nclusters; g++)
	{
		long double left = weight(wild, g, r) *
			((long double) wild->q[g * K + K - 1] - theta * wild->u[g * K + K - 1]);

		for (int i = 0; i < K; i++)
			left -= wild->u[g * K + i] * sum[i];
		*s += left * left;
	}
	*d = sum[K - 1];
}

static void
check_problem(const char *name, int nclusters, GrWildWeights weights, int64_t reps, bool few)
{
	static const double thetas[] = {0.7, -0.2, 3};
	static Problem problem;
	static Problem other;
	const GrWild *wild = &problem.wild;
	double		worst = 0;

	start(&problem, nclusters, weights, reps, few);
	other = problem;
	check(run(&problem, 8, NULL), "%s", name);
	for (int lanes = 1; lanes <= 4; lanes += 3)
	{
		other.wild.reps = reps;
		other.wild.replicates = other.replicates;
		check(run(&other, lanes, NULL) &&
			  memcmp(problem.replicates, other.replicates, sizeof(problem.replicates)) == 0,
			  "%s: the same bits with %d lanes", name, lanes);
	}
	for (int t = 0; t < COUNT(thetas); t++)
	{
		double		theta = thetas[t];
		double		squares = 0;
		int64_t		pitch = gr_wild_pitch(wild->reps);
		int64_t		nextreme = 0;
		double		p;

		for (int g = 0; g < nclusters; g++)
			squares += problem.q[g * K + K - 1] * problem.q[g * K + K - 1];
		for (int64_t r = 0; r < wild->reps; r++)
		{
			const double *at = problem.replicates + r;
			double		d = at[0] - theta * at[pitch];
			double		s = at[2 * pitch] - 2 * theta * at[3 * pitch] + theta * theta * at[4 * pitch];
			long double own_d;
			long double own_s;
			double		error;

			replicate(wild, r, theta, &own_d, &own_s);
			error = fabs(d * d * squares / s / (theta * theta) -
						 (double) (own_d * own_d * squares / own_s / (theta * theta))) /
				fmax(1, (double) (own_d * own_d * squares / own_s / (theta * theta)));
			if (!(error <= worst))
				worst = error;
			/* a tie counts as extreme */
			nextreme += own_d * own_d * squares > theta * theta * own_s * (1 - 3e-11L);
		}
		p = wild->enumerated ? (double) nextreme / (double) wild->reps :
			(double) (nextreme + 1) / (double) (wild->reps + 1);
		check(gr_wild_p_value(wild, theta) == p && p > 0, "%s: p-value %g of %g", name,
			  gr_wild_p_value(wild, theta), theta);
	}
	check(worst < 1e-10, "%s: t^2 to %.1e", name, worst);
}

static void
check_limits(void)
{
	static Problem problem;
	const GrWild *wild = &problem.wild;
	double		scale;

	start(&problem, 90, GR_WILD_RADEMACHER, 2000, false);
	(void) run(&problem, 8, NULL);
	scale = sqrt(wild->squares);
	for (int sign = -1; sign <= 1; sign += 2)
	{
		double		limit = 0;
		bool		found = gr_wild_limit(wild, 0.05, sign, scale, &limit, NULL);

		check(found && sign * limit > 0 && gr_wild_p_value(wild, limit - sign * 1e-9 * scale) > 0.05 &&
			  gr_wild_p_value(wild, limit + sign * 1e-9 * scale) <= 0.05, "limit %g", limit);
	}
	check(gr_wild_p_value(wild, 1e-13 * scale) > 0.99, "the estimate itself");
	check(isnan(gr_wild_p_value(wild, NAN)) && isnan(gr_wild_p_value(wild, INFINITY)), "a null that is none");
}

static void
check_few(void)
{
	static Problem problem;
	GrWildWeights weights;
	double		limit;

	/* 6 clusters have 64 vectors of signs; with fewer replicates than that, they are drawn */
	start(&problem, 6, GR_WILD_RADEMACHER, 64, false);
	check(run(&problem, 8, NULL) && problem.wild.enumerated && problem.wild.reps == 64, "all signs");
	check(gr_wild_p_value(&problem.wild, 0.9) * 64 == 2 * floor(gr_wild_p_value(&problem.wild, 0.9) * 32),
		  "signs and their opposites have the same |t|");
	check(gr_wild_p_value(&problem.wild, 1e6) >= 2.0 / 64, "the identity and its opposite are ties of any t");
	start(&problem, 6, GR_WILD_RADEMACHER, 63, false);
	check(run(&problem, 8, NULL) && !problem.wild.enumerated && problem.wild.reps == 63, "fewer than all signs");
	start(&problem, 2, GR_WILD_WEBB, 1, false);
	check(run(&problem, 8, NULL) && problem.wild.reps == 1, "one replicate");
	start(&problem, 2, GR_WILD_RADEMACHER, 10, false);
	check(run(&problem, 8, NULL) && problem.wild.reps == 4 && gr_wild_p_value(&problem.wild, 1) >= 0.5 &&
		  gr_wild_limit(&problem.wild, 0.05, 1, 1, &limit, NULL) && isinf(limit),
		  "two clusters: weights of one sign are ties");
	memset(problem.q, 0, sizeof(problem.q));
	problem.wild.reps = 10;
	check(run(&problem, 8, NULL) && isnan(gr_wild_p_value(&problem.wild, 1)), "no residuals");
	check(gr_wild_weights_named("Webb", &weights) && weights == GR_WILD_WEBB &&
		  gr_wild_weights_named("RADEMACHER", &weights) && weights == GR_WILD_RADEMACHER &&
		  !gr_wild_weights_named("web", &weights) && !gr_wild_weights_named("", &weights), "names of weights");
}

/* Checks scores that no rows can give, as a caller may make them up. */
static void
check_nonsense(void)
{
	static Problem problem;
	double		limit;
	bool		ok = true;

	for (int turn = 0; turn < 60; turn++)
	{
		int			nclusters = turn % 2 == 0 ? 20 : 80;

		start(&problem, nclusters, (GrWildWeights) (turn / 2 % 2), 300, false);
		for (int i = 0; i < 4; i++)
		{
			problem.q[random() % (nclusters * K)] = ldexp(uniform(), (int) (random() % 2100) - 1050);
			problem.u[random() % (nclusters * K)] = ldexp(uniform(), (int) (random() % 2100) - 1050);
		}
		ok &= run(&problem, 8, NULL) && gr_wild_limit(&problem.wild, 0.05, 1, 1, &limit, NULL);
	}
	check(ok, "scores that are none");
}

static void
check_cancel(void)
{
	static Problem problem;

	for (int nclusters = 60; nclusters <= 150; nclusters += 90)
	{
		Stopper		stopper = {.stop_at = 1000000};
		GrHost		host = {.canceled = stop,.arg = &stopper};
		int			ncanceled = 0;
		int			asked;

		start(&problem, nclusters, GR_WILD_WEBB, MAX_REPS, false);
		(void) run(&problem, 8, &host);
		asked = stopper.asked;
		for (int at = 1; at <= asked; at++)
		{
			stopper = (Stopper) {.stop_at = at};
			ncanceled += !run(&problem, 8, &host) && problem.err.status == GR_CANCELED ? 1 : 0;
		}
		check(asked > 0 && ncanceled == asked, "canceled at each of %d polls", asked);
	}
}

int
main(void)
{
	GrPhilox	zeros = gr_philox((GrPhilox) {{0, 0, 0, 0}}, 0, 0);

	srandom(17);
	check(zeros.word[0] == 0x6627e8d5 && zeros.word[3] == 0x9b00dbd8, "Philox's known answer");
	check_problem("few clusters", 20, GR_WILD_RADEMACHER, 1500, false);
	check_problem("all signs", 10, GR_WILD_RADEMACHER, 1024, false);
	check_problem("few clusters, Webb", 20, GR_WILD_WEBB, 1500, false);
	check_problem("the most that are summed directly", 64, GR_WILD_RADEMACHER, 130, false);
	check_problem("by tables", 65, GR_WILD_RADEMACHER, 1300, false);
	check_problem("by tables, several batches", 150, GR_WILD_RADEMACHER, 700, false);
	check_problem("by tables, Webb", 149, GR_WILD_WEBB, 700, false);
	check_problem("by tables, two clusters that count", 120, GR_WILD_RADEMACHER, 700, true);
	check_limits();
	check_few();
	check_nonsense();
	check_cancel();
	return unit_done();
}
