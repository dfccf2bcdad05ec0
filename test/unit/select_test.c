/*
 * select_test.c: tests best subsets against solves of all subsets, and steps forward and backward against solves of all
 * their choices.
 */
#include <stdlib.h>
#include <string.h>

#include "compute/linear/select.h"
#include "unit.h"

#define MAX_P 40

typedef struct Problem
{
	int			p;
	int64_t		nrows;
	bool		intercept;
	double		tolerance;		/* relative error allowed of a subset's RSS */
	double		hi[(MAX_P + 2) * (MAX_P + 3) / 2];
	double		lo[(MAX_P + 2) * (MAX_P + 3) / 2];
	double		shift[MAX_P + 1];
	int			features[MAX_P * (MAX_P + 1) / 2];
	double		rss[MAX_P + 1];
	GrSelection selection;
	GrError		err;
} Problem;

static uint32_t seed = 3;

/* Draws a nearly normal number of few digits. */
static double
draw(void)
{
	double		sum = 0;

	for (int k = 0; k < 12; k++)
	{
		seed = seed * 1664525u + 1013904223u;
		sum += (double) (seed >> 8) / (1 << 24);
	}
	return sum - 6;
}

/* Kinds of features */
typedef enum Kind
{
	APART, SERIES, ALIKE, POWERS, COPIES, LEVELS, PERFECT, FEW_ROWS, PAIRS, TREND, NKINDS
} Kind;

static const char *const kinds[NKINDS] = {
	"apart", "a series", "alike", "powers", "copies and a constant", "levels", "a perfect fit",
	"fewer rows than features", "pairs that float8 can't tell apart", "such pairs beside a trend that all have"
};

static void
fill_row(double *x, int p, Kind kind, int64_t r)
{
	double		before = draw();
	double		common = draw();

	for (int k = 0; k < p; k++)
	{
		double		v = draw();

		before = 0.9 * before + v;
		if (kind == SERIES)
			v = before;
		else if (kind == ALIKE)
			v = common + v / 8;
		else if (kind == POWERS)
			v = pow(1 + 0.01 * (double) r, k + 1);
		else if (kind == PAIRS)
			v = k % 2 == 1 ? x[k - 1] + ldexp(v, -33) : v;
		else if (kind == TREND)
			v = k == 0 ? common : k % 2 == 0 ? x[k - 1] + ldexp(v, -33) : 100 * common + v;
		else if (kind == COPIES)
			v = k % 3 == 2 ? x[k - 1] : k == 4 ? 7 : v;
		else if (kind == LEVELS)
			v = (double) ((r >> (k % 5)) & 1) * ((r >> (k % 3)) & 1 ? 1 : -1);
		x[k] = v;
	}
	x[p] = x[0] + x[p / 2] - x[p - 1] / 2 + (kind == LEVELS ? 0 : 2 * draw());
	if (kind == PAIRS)
		x[p] += ldexp(x[1] - x[0], 34) + ldexp(x[7] - x[6], 33);
	if (kind == TREND)
		x[p] += ldexp(x[2] - x[1], 34) + ldexp(x[8] - x[7], 33);
	if (kind == PERFECT)
		x[p] = 3 * x[1] - 2 * x[p - 1] + 1;
}

static GrGram
gram_of(Problem *problem)
{
	return (GrGram) {
		.hi = problem->hi,.lo = problem->lo,.shift = problem->shift,.nfeatures = problem->p,.nobs = problem->nrows
	};
}

static void
start(Problem *problem, int p, int64_t nrows, Kind kind, bool intercept)
{
	double		scratch[20000];
	GrGram		gram;

	memset(problem, 0, sizeof(*problem));
	problem->p = p;
	problem->nrows = nrows;
	problem->intercept = intercept;
	problem->tolerance = kind == PAIRS || kind == TREND ? 1e-9 : 0;
	gram = gram_of(problem);
	for (int k = 0; k <= p && kind != COPIES; k++)
		problem->shift[k] = k % 3;
	for (int64_t r = 0; r < nrows; r++)
	{
		double		row[MAX_P + 1];

		fill_row(row, p, kind, r);
		gr_gram_add(&gram, row, 1, gr_plain_shape(p), scratch);
	}
}

static bool
run(Problem *problem, GrSelectMethod method, int max_size, const GrHost *host)
{
	void	   *workspace = malloc(gr_select_workspace_nbytes(problem->p, method));
	GrGram		gram = gram_of(problem);
	bool		ok;

	memset(&problem->err, 0, sizeof(problem->err));
	problem->selection = (GrSelection) {
		.method = method,.intercept = problem->intercept,.max_size = max_size,.features = problem->features,
		.rss = problem->rss
	};
	ok = gr_select(&gram, workspace, &problem->selection, host, &problem->err);
	free(workspace);
	return ok;
}

/* Returns the RSS of a fit of these features, or infinity if one of them is collinear. */
static double
rss_of(const Problem *problem, const int *features, int n)
{
	double		room[(MAX_P + 2) * (MAX_P + 3) + MAX_P + 1];
	double		coef[MAX_P + 1];
	GrGram		gram = gr_gram_at(room, n);
	GrOlsFit	fit = {.coef = coef,.intercept = problem->intercept};
	GrError		err = {0};
	void	   *workspace = malloc(gr_normal_workspace_nbytes(n));
	int			entries[MAX_P + 2] = {0};

	gram.nobs = problem->nrows;
	for (int k = 0; k <= n; k++)
	{
		entries[k + 1] = k < n ? features[k] + 1 : problem->p + 1;
		gram.shift[k] = problem->shift[entries[k + 1] - 1];
	}
	for (int i = 0; i < n + 2; i++)
		for (int j = 0; j <= i; j++)
		{
			int			a = entries[i] > entries[j] ? entries[i] : entries[j];
			int			from = a * (a + 1) / 2 + entries[i] + entries[j] - a;

			gr_gram_set(&gram, i, j, (GrDD) {problem->hi[from], problem->lo[from]});
		}
	if (!gr_ols_solve(&gram, workspace, &fit, NULL, &err) || fit.rank < n + (problem->intercept ? 1 : 0))
		fit.rss = INFINITY;
	free(workspace);
	return fit.rss;
}

/* Finds the least RSS of each size over all subsets. */
static void
search_all(const Problem *problem, double *best)
{
	for (int size = 0; size <= problem->p; size++)
		best[size] = INFINITY;
	for (int mask = 1; mask < 1 << problem->p; mask++)
	{
		int			features[MAX_P];
		int			n = 0;

		for (int k = 0; k < problem->p; k++)
			if (mask >> k & 1)
				features[n++] = k;
		best[n] = fmin(best[n], rss_of(problem, features, n));
	}
}

/* True if each subset's RSS is that of its fit, and the subset is in ascending order. */
static bool
is_consistent(const Problem *problem)
{
	bool		ok = problem->selection.nsizes >= 1;

	for (int n = 1; n < problem->selection.nsizes; n++)
	{
		const int  *features = problem->features + n * (n - 1) / 2;

		for (int k = 1; k < n; k++)
			ok &= features[k - 1] < features[k];
		ok &= relative_error(problem->rss[n], rss_of(problem, features, n)) <= problem->tolerance;
	}
	return ok;
}

/*
 * Checks the work that is polled with: the number of nodes visited and of subsets solved. More means that a bound
 * doesn't bound; fewer, or other subsets, mean other arithmetic.
 */
static void
test_best(void)
{
	/* nodes and solved subsets, without an intercept and with one */
	static const int work[NKINDS][2][2] = {
		{{18, 34}, {7, 34}}, {{38, 35}, {14, 34}}, {{21, 34}, {21, 34}}, {{61, 31}, {51, 29}},
		{{306, 259}, {41, 61}}, {{5, 23}, {4, 23}}, {{18, 34}, {1, 24}}, {{135, 35}, {214, 35}},
		{{41, 32}, {39, 31}}, {{78, 28}, {130, 35}}
	};

	for (int kind = 0; kind < NKINDS; kind++)
		for (int intercept = 0; intercept < 2; intercept++)
		{
			Problem		problem;
			double		best[MAX_P + 1];
			int			p = kind == POWERS ? 8 : 11;
			bool		ok;

			start(&problem, p, kind == FEW_ROWS ? 8 : 50, kind, intercept);
			search_all(&problem, best);
			ok = run(&problem, GR_SELECT_BEST, p, NULL) && is_consistent(&problem);
			for (int n = 1; n <= p; n++)
				ok &= n < problem.selection.nsizes ?
					relative_error(problem.rss[n], best[n]) <= problem.tolerance : best[n] == INFINITY;
			check(ok && problem.selection.nsizes == problem.selection.rank + 1,
				  "best of %s%s: %d sizes, %ld nodes, %ld solved", kinds[kind],
				  intercept ? "" : ", without an intercept", problem.selection.nsizes,
				  (long) problem.selection.nnodes, (long) problem.selection.nsolved);
			check(problem.selection.nnodes == work[kind][intercept][0] &&
				  problem.selection.nsolved == work[kind][intercept][1], "which is its work: %d, %d",
				  work[kind][intercept][0], work[kind][intercept][1]);
		}
}

/*
 * True if each subset is the one before and the best of the other features, or (backward) the next larger one less its
 * worst feature.
 */
static bool
is_stepped(const Problem *problem, bool forward)
{
	bool		ok = true;

	for (int n = 2; n < problem->selection.nsizes; n++)
	{
		const int  *large = problem->features + n * (n - 1) / 2;
		const int  *small = problem->features + (n - 1) * (n - 2) / 2;
		double		best = INFINITY;
		int			features[MAX_P + 1];

		if (forward)
			for (int add = 0; add < problem->p; add++)
			{
				memcpy(features, small, (n - 1) * sizeof(int));
				features[n - 1] = add;
				best = fmin(best, rss_of(problem, features, n));
			}
		else
			for (int drop = 0; drop < n; drop++)
			{
				memcpy(features, large, drop * sizeof(int));
				memcpy(features + drop, large + drop + 1, (n - 1 - drop) * sizeof(int));
				best = fmin(best, rss_of(problem, features, n - 1));
			}
		ok &= relative_error(problem->rss[forward ? n : n - 1], best) <= 1e-13 + problem->tolerance || best < 1e-20;
	}
	return ok;
}

static void
test_steps(void)
{
	/* among powers of a trend, a step's choice depends on the last digits */
	for (int kind = 0; kind < TREND; kind++)
		for (int intercept = 0; intercept < 2; intercept++)
		{
			Problem		problem;
			int			p = kind == POWERS ? 8 : 20;
			bool		ok;

			start(&problem, p, kind == FEW_ROWS ? 8 : 50, kind, intercept);
			ok = run(&problem, GR_SELECT_FORWARD, p, NULL) && is_consistent(&problem) && is_stepped(&problem, true);
			check(ok && problem.selection.nsizes == problem.selection.rank + 1,
				  "forward, %s%s: %d sizes", kinds[kind], intercept ? "" : ", without an intercept",
				  problem.selection.nsizes);
			ok = run(&problem, GR_SELECT_BACKWARD, p, NULL) && is_consistent(&problem) && is_stepped(&problem, false);
			check(ok && problem.selection.nsizes == problem.selection.rank + 1,
				  "backward, %s%s", kinds[kind], intercept ? "" : ", without an intercept");
		}
}

/* Checks max_size, thirty features, cancellation, and matrices that no rows can give. */
static void
test_other(void)
{
	Problem		problem;
	double		rss[MAX_P + 1];
	Stopper		stopper = {.stop_at = 1};
	GrHost		host = {.canceled = stop,.arg = &stopper};
	bool		ok;

	start(&problem, 30, 200, SERIES, true);
	ok = run(&problem, GR_SELECT_BEST, 30, NULL) && is_consistent(&problem);
	check(ok && problem.selection.nsizes == 31 && problem.selection.nnodes == 1773, "thirty features: %ld nodes",
		  (long) problem.selection.nnodes);
	memcpy(rss, problem.rss, sizeof(rss));
	ok = run(&problem, GR_SELECT_BEST, 4, NULL);
	check(ok && problem.selection.nsizes == 5 && memcmp(rss, problem.rss, 5 * sizeof(double)) == 0 &&
		  problem.selection.nnodes == 31, "four at most: %ld nodes", (long) problem.selection.nnodes);
	for (int method = GR_SELECT_BEST; method <= GR_SELECT_BACKWARD; method++)
	{
		stopper.asked = 0;
		check(!run(&problem, method, 30, &host) && problem.err.status == GR_CANCELED, "stopped");
	}
	start(&problem, 1, 9, APART, true);
	check(run(&problem, GR_SELECT_BEST, 1, NULL) && problem.selection.nsizes == 2, "one feature");
	check(run(&problem, GR_SELECT_BEST, 0, NULL) && problem.selection.nsizes == 1, "none");

	ok = true;
	for (int i = 0; i < 600; i++)
	{
		int			p = 1 + i % 7;
		int			q = p + 2;

		start(&problem, p, 1 + i % 9, APART, i % 2);
		for (int k = 0; k < q * (q + 1) / 2; k++)
			problem.hi[k] = draw() * (i % 11 == 0 ? 1e290 : 1) * (draw() > 1 ? 0 : 1);
		for (int k = 0; k < q; k++)
			problem.hi[k * (k + 3) / 2] = fabs(problem.hi[k * (k + 3) / 2]);
		if (!run(&problem, i % 3, p, NULL))
			ok &= problem.err.status == GR_OUT_OF_RANGE || problem.err.status == GR_RESULT_OUT_OF_RANGE;
	}
	check(ok, "matrices of any numbers");
}

int
main(void)
{
	test_best();
	test_steps();
	test_other();
	return unit_done();
}
