/*
 * separation_test.c: tests separation in logistic regression against data made for it, and against an exact answer in
 * integers.
 */
#include <limits.h>

#include "logreg_driver.h"

#define EXACT_TERMS 4
#define EXACT_ROWS 20

/*
 * Data made for separation
 */

/* True if the fit has exactly these signs of separation, and no variance for separated terms. */
static bool
separated_as(const Run *run, const int *signs)
{
	bool		as = run->ok && !run->fit->converged;
	int			n = 0;

	for (int k = 0; k < run->fit->nterms; k++)
	{
		double		variance = run->fit->vcov[k * run->fit->nterms + k];

		as &= run->fit->separated[k] == signs[k] && isnan(variance) == (signs[k] != 0) && isfinite(run->fit->coef[k]);
		n += signs[k] != 0;
	}
	return as && run->fit->nseparated == n;
}

/* True if the response has its class with probability 1, or nearly, in all rows where off isn't 0. */
static bool
predicts(const Data *data, const Run *run, const int *off)
{
	bool		right = true;

	for (int64_t r = 0; r < data->nrows; r++)
	{
		double		mu = (double) mean_at(data, row_of(data, r), run->fit->coef, run->fit->nterms > data->p);

		right &= (off != NULL && off[r] == 0) || fabs(mu - row_of(data, r)[data->p]) < 1e-15;
	}
	return right;
}

static void
test_complete(void)
{
	for (int offset = 0; offset <= 1000000; offset += 1000000)
	{
		for (int direction = -1; direction <= 1; direction += 2)
		{
			int			signs[2] = {-direction, direction};
			Data		data = data_new(1, 10);
			GrGlmOptions options = defaults(&data);
			Run			run;

			for (int r = 0; r < 10; r++)
			{
				row_of(&data, r)[0] = r + offset + 1;
				row_of(&data, r)[1] = (r >= 4) == (direction > 0);
			}
			run = run_fit(&data, &options);
			check(separated_as(&run, signs) && run.fit->deviance == 0 && run.fit->rank == 2 &&
				  predicts(&data, &run, NULL) &&
				  run.npasses <= 4, "complete separation, offset %d, slope to %d infinity, in %d passes", offset,
				  direction, run.npasses);
			run_free(&run);
			options.l2 = 1;
			run = run_fit(&data, &options);
			check(regular(&run) && run.nfaces == 0, "a penalty makes it finite");
			run_free(&run);
			data_free(&data);
		}
	}
}

/* Copies the rows where keep isn't 0, without feature skip. */
static Data
part_of(const Data *data, const int *keep, int skip)
{
	Data		part = data_new(data->p - 1, data->nrows);

	part.nrows = 0;
	for (int64_t r = 0; r < data->nrows; r++)
	{
		double	   *to = row_of(&part, part.nrows);

		if (keep[r] == 0)
			continue;
		for (int j = 0; j <= data->p; j++)
			if (j != skip)
				*to++ = row_of(data, r)[j];
		part.nrows++;
	}
	return part;
}

/*
 * Checks a category in which every response is the same: its dummy has no estimate, and the other estimates are those
 * of the other rows.
 */
static void
test_dummy(void)
{
	for (int y = 0; y <= 1; y++)
	{
		Data		data = random_data(3, 120, true);
		int			signs[4] = {0, 0, y == 1 ? 1 : -1, 0};
		int			face[120];
		int			off[120];
		Data		rest;
		GrGlmOptions options = defaults(&data);
		GrGlmOptions rest_options;
		double		worst = 0;
		static const int of_rest[] = {0, 1, -1, 2};
		Run			run;
		Run			rest_run;

		for (int r = 0; r < 120; r++)
		{
			off[r] = r % 11 == 3;
			face[r] = !off[r];
			row_of(&data, r)[1] = off[r];
			if (off[r])
				row_of(&data, r)[3] = y;
		}
		rest = part_of(&data, face, 1);
		rest_options = defaults(&rest);
		run = run_fit(&data, &options);
		rest_run = run_fit(&rest, &rest_options);
		for (int k = 0; k < 4; k++)
			if (of_rest[k] >= 0)
				worst = fmax(worst, fmax(relative_error(run.fit->coef[k], rest_run.fit->coef[of_rest[k]]),
										 relative_error(std_error(run.fit, k), std_error(rest_run.fit, of_rest[k]))));
		worst = fmax(worst, relative_error(run.fit->deviance, rest_run.fit->deviance));
		check(separated_as(&run, signs) && regular(&rest_run) && predicts(&data, &run, off),
			  "a dummy with %d alone, in %d passes", y,
			  run.npasses);
		check(worst < 1e-13 && run.fit->nrows == 120, "the others are as in the rows without it: %.2g", worst);
		run_free(&run);
		run_free(&rest_run);
		data_free(&data);
		data_free(&rest);
	}
}

/*
 * Checks a separation on the face of another: x decides where it isn't 0, there z decides where it isn't 0, the rest is
 * undecided.
 */
static void
test_nested(void)
{
	static const double rows[14][3] = {
		{-3, 1, 0}, {-1, 5, 0}, {-2, -4, 0}, {1, -3, 1}, {2, 2, 1}, {4, -7, 1},
		{0, 2, 1}, {0, 1, 1}, {0, -1, 0}, {0, -4, 0},
		{0, 0, 1}, {0, 0, 0}, {0, 0, 1}, {0, 0, 1}
	};
	static const int signs[] = {0, 1, 1};
	static const int off[14] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0};
	static const double two_dummies[16][4] = {
		{1, 0, 0.5, 1}, {1, 0, -1, 1}, {1, 0, 2, 1}, {0, 1, 0, 0}, {0, 1, 3, 0}, {0, 1, -2, 0},
		{0, 0, 1, 1}, {0, 0, 2, 0}, {0, 0, -1, 0}, {0, 0, 3, 1}, {0, 0, 0, 1}, {0, 0, -2, 0}, {0, 0, 0.5, 0},
		{0, 0, 4, 1}, {0, 0, -1.5, 1},
		{0, 0, 1.5, 1}
	};
	static const int dummy_signs[] = {0, 1, -1, 0};
	Data		data = data_of(2, 14, rows[0]);
	Data		dummies = data_of(3, 16, two_dummies[0]);
	GrGlmOptions options = defaults(&data);
	GrGlmOptions dummy_options = defaults(&dummies);
	Run			run = run_fit(&data, &options);
	double		deviance = -2 * (3 * log(0.75) + log(0.25));

	check(separated_as(&run, signs) && predicts(&data, &run, off), "separation within separation, in %d passes",
		  run.npasses);
	check(relative_error(run.fit->coef[0], log(3)) < 1e-13 && relative_error(run.fit->vcov[0], 4 / 3.0) < 1e-13 &&
		  relative_error(run.fit->deviance, deviance) < 1e-13, "the intercept is that of the rows that remain");
	run_free(&run);
	run = run_fit(&dummies, &dummy_options);
	check(separated_as(&run, dummy_signs), "two dummies, to either infinity, in %d passes", run.npasses);
	run_free(&run);
	data_free(&data);
	data_free(&dummies);
}

/* Checks steep but finite fits: overlaps of two rows among many, down to a millionth of a unit; ties are overlaps. */
static void
test_nearly(void)
{
	static const double overlaps[] = {1, 0.1, 1e-3, 1e-6};

	for (size_t k = 0; k < LENGTH(overlaps); k++)
	{
		Data		data = data_new(1, 40);
		GrGlmOptions options = defaults(&data);
		Run			run;

		options.max_iter = 100;
		for (int r = 0; r < 40; r++)
		{
			row_of(&data, r)[0] = r < 20 ? r - 20 : r - 19;
			row_of(&data, r)[1] = r >= 20;
		}
		row_of(&data, 19)[0] = overlaps[k] / 2;
		row_of(&data, 20)[0] = -overlaps[k] / 2;
		run = run_fit(&data, &options);
		check(regular(&run) && score_error(&data, run.fit->coef, true, 0) < 1e-11,
			  "an overlap of %g: slope %.3g after %d iterations",
			  overlaps[k], run.fit->coef[1], run.fit->iterations);
		run_free(&run);
		row_of(&data, 19)[0] = -overlaps[k] / 2;
		row_of(&data, 20)[0] = overlaps[k] / 2;
		run = run_fit(&data, &options);
		check(run.fit->nseparated == 2 && run.fit->separated[1] == 1, "a gap of %g", overlaps[k]);
		run_free(&run);
		data_free(&data);
	}
}

/* True if two fits have the same bits, and as many passes. */
static bool
same_fit(const Run *a, const Run *b)
{
	size_t		n = (size_t) a->fit->nterms;

	return a->ok && b->ok && a->fit->iterations == b->fit->iterations && a->npasses == b->npasses &&
		a->fit->converged == b->fit->converged && a->fit->deviance == b->fit->deviance &&
		memcmp(a->fit->coef, b->fit->coef, n * sizeof(double)) == 0 &&
		memcmp(a->fit->vcov, b->fit->vcov, n * n * sizeof(double)) == 0 &&
		memcmp(a->fit->separated, b->fit->separated, n * sizeof(int)) == 0;
}

/* Makes a dummy whose rows are of one class; the other rows are undecided. */
static Data
dummy_data(void)
{
	Data		data = random_data(3, 60, true);

	for (int r = 0; r < 60; r++)
	{
		row_of(&data, r)[1] = r % 11 == 3;
		if (r % 11 == 3)
			row_of(&data, r)[3] = 1;
	}
	return data;
}

/*
 * Checks that the rows left after a separation get max_iter more iterations, also if max_iter is the largest integer.
 */
static void
test_most_iterations(void)
{
	static const int most[] = {1000, INT_MAX - 5, INT_MAX - 1, INT_MAX};
	Data		data = dummy_data();
	GrGlmOptions options = defaults(&data);
	Run			few = run_fit(&data, &options);

	for (size_t k = 0; k < LENGTH(most); k++)
	{
		Run			run;

		options.max_iter = most[k];
		run = run_fit(&data, &options);
		check(few.fit->nseparated == 1 && same_fit(&few, &run), "%d iterations at most, %d needed", most[k],
			  few.fit->iterations);
		run_free(&run);
	}
	run_free(&few);
	data_free(&data);
}

/* Checks that a fit ends whose iterations nearly exceed their counter, as a small fit's may within hours. */
static void
test_last_iterations(void)
{
	Data		data = dummy_data();
	GrGlmOptions options = defaults(&data);
	int			nwrong = 0;

	options.max_iter = INT_MAX;
	for (int left = 0; left < 40; left++)
	{
		Run			run = {.memory = malloc(gr_glm_nbytes(&options)),.ok = true};

		run.fit = gr_glm_begin(run.memory, &options);
		while (run.ok && gr_glm_next(run.fit) != GR_GLM_DONE && run.npasses < 200)
		{
			pass_over(&data, &run.fit->pass, run.fit->sums, 0, data.nrows);
			note_pass(&run);
			run.ok = gr_glm_advance(run.fit, NULL, &run.err);
			if (run.npasses == 1)
				run.fit->iterations = INT_MAX - left;
		}
		nwrong += !run.ok || gr_glm_next(run.fit) != GR_GLM_DONE || run.fit->iterations < INT_MAX - left ||
			(left > 20 && run.fit->nseparated != 1);
		run_free(&run);
	}
	check(nwrong == 0, "the last of %d iterations", INT_MAX);
	data_free(&data);
}

/*
 * Checks counts of as many patterns of features as there are terms, some of them 0 in all rows: their means run to 0,
 * and all terms with them, wherever the first feature lies, and however often each row occurs.
 */
static void
test_far_counts(void)
{
	static const double centres[] = {0, 1e3, 1e6, 1e7, 1e9};

	for (size_t k = 0; k < LENGTH(centres); k++)
		for (int times = 1; times <= 3; times += 2)
		{
			int			nseparated = 0;

			for (int trial = 0; trial < 50; trial++)
			{
				int			p = whole(3, 9);
				Data		data = data_new(p, (p + 1) * times);
				GrGlmOptions options = defaults(&data);
				Run			run;

				options.distribution = (GrDistribution) {.family = GR_POISSON,.link = GR_LOG};
				for (int r = 0; r < data.nrows; r++)
				{
					double	   *row = row_of(&data, r);

					if (r > p)
						memcpy(row, row_of(&data, r - p - 1), (size_t) p * sizeof(double));
					for (int j = 0; r <= p && j < p; j++)
						row[j] = j == 0 ? centres[k] + 0.5 + 0.5 * uniform() : 10 * uniform();
					row[p] = r % (p + 1) < (p + 1) / 3 ? 0 : whole(1, 4);
				}
				run = run_fit(&data, &options);
				nseparated += run.ok && run.fit->nseparated == p + 1;
				run_free(&run);
				data_free(&data);
			}
			check(nseparated == 50, "separated counts about %g, %d times: %d of 50", centres[k], times, nseparated);
		}
}

/*
 * Checks an age that is a year less another one, except in rows where it is more, whose responses are all 1: those
 * three terms run off, and the intercept doesn't.
 */
static void
test_far_face(void)
{
	static const int signs[] = {0, 1, -1, 1, 0};

	for (int whole_years = 0; whole_years <= 1; whole_years++)
	{
		Data		data = data_new(4, 200);
		GrGlmOptions options = defaults(&data);
		Run			run;

		for (int r = 0; r < 200; r++)
		{
			double	   *row = row_of(&data, r);

			row[0] = whole_years ? whole(1920, 1999) : 1960 + 40 * uniform();
			row[1] = whole_years ? whole(2010, 2024) : 2017 + 7 * uniform();
			row[2] = row[1] - row[0] + (r % 9 == 0 ? whole(1, 3) : 0);
			row[3] = uniform();
			row[4] = r % 9 == 0 || uniform() + row[3] > 0;
		}
		run = run_fit(&data, &options);
		check(separated_as(&run, signs), "a face of collinear %s", whole_years ? "whole numbers" : "numbers");
		run_free(&run);
		data_free(&data);
	}
}

/*
 * Checks complete separation by one feature. Two other features, whose rows are changed by a basis, are the same in
 * both classes. No term has an estimate, however little the direction moves it.
 */
static void
test_complete_changed(void)
{
	Data		data = data_new(3, 40);
	GrGlmOptions options = defaults(&data);
	Run			run;

	for (int r = 0; r < 40; r++)
	{
		double	   *row = row_of(&data, r);

		row[0] = row[3] = r % 2;
		row[1] = r % 2 == 0 ? 1e6 + uniform() : row_of(&data, r - 1)[1];
		row[2] = r % 2 == 0 ? row[1] + 1e-3 * uniform() : row_of(&data, r - 1)[2];
	}
	run = run_fit(&data, &options);
	check(run.ok && run.changed && run.fit->deviance == 0 && run.fit->nseparated == 4,
		  "complete separation of changed rows, %d terms", run.fit->nseparated);
	run_free(&run);
	data_free(&data);
}

/* Checks many rows of which a single one speaks against separation, and separation that a few rows can't show. */
static void
test_many_rows(void)
{
	Data		data = data_new(2, 5000);
	GrGlmOptions options = defaults(&data);
	static const int signs[] = {-1, 1, 1};
	Run			run;

	for (int r = 0; r < 5000; r++)
	{
		double	   *row = row_of(&data, r);

		row[0] = uniform();
		row[1] = uniform();
		row[2] = row[0] + row[1] > 0.25;
	}
	run = run_fit(&data, &options);
	check(separated_as(&run, signs) && run.fit->deviance == 0 && predicts(&data, &run, NULL),
		  "5,000 rows, separated, in %d passes",
		  run.npasses);
	run_free(&run);
	row_of(&data, 1234)[2] = 1 - row_of(&data, 1234)[2];
	run = run_fit(&data, &options);
	check(regular(&run) && score_error(&data, run.fit->coef, true, 0) < 1e-11,
		  "one of them against it: no separation, in %d passes",
		  run.npasses);
	run_free(&run);
	data_free(&data);
}

/* Checks that solvers without a Hessian detect complete separation. */
static void
test_other_solvers(void)
{
	static const int signs[] = {-1, 1};
	static const GrGlmSolver solvers[] = {GR_SOLVER_GD, GR_SOLVER_LBFGS};
	Data		data = data_new(1, 10);

	for (int r = 0; r < 10; r++)
	{
		row_of(&data, r)[0] = r;
		row_of(&data, r)[1] = r > 4;
	}
	for (size_t k = 0; k < LENGTH(solvers); k++)
	{
		GrGlmOptions options = defaults(&data);
		Run			run;

		options.solver = solvers[k];
		options.max_iter = k == 0 ? 2000 : 25;
		run = run_fit(&data, &options);
		check(separated_as(&run, signs), "complete separation under %s", k == 0 ? "gradient ascent" : "L-BFGS");
		run_free(&run);
	}
	data_free(&data);
}

/*
 * Exact answers in integers
 *
 * If the rows have full rank, the directions d with (2 y - 1) (1, x)' d >= 0 for all rows form a pointed cone, which is
 * more than {0} if and only if there is separation. The cone is spanned by its extreme rays, and each of these is
 * orthogonal to nterms - 1 independent rows. Terms that some ray moves have no finite estimate; rows that no ray moves
 * are the undecided rows.
 */
typedef struct Exact
{
	int			nterms;
	int			nrows;
	int64_t		z[EXACT_ROWS][EXACT_TERMS];
	int			side[EXACT_ROWS];	/* 2 y - 1 */
	bool		full_rank;
	bool		separated;
	bool		up[EXACT_TERMS];	/* a ray has a positive component here */
	bool		down[EXACT_TERMS];	/* a ray has a negative component here */
	int			face[EXACT_ROWS];	/* 1 for rows that no ray moves */
} Exact;

/* Returns the determinant of rows x columns, n <= 3; columns holds n column numbers. */
static int64_t
determinant(const Exact *e, const int *rows, const int *columns, int n)
{
	int64_t		sum = 0;

	if (n == 0)
		return 1;
	for (int c = 0; c < n; c++)
	{
		int			others[EXACT_TERMS];
		int64_t		part;

		for (int k = 0, m = 0; k < n; k++)
			if (k != c)
				others[m++] = columns[k];
		part = e->z[rows[0]][columns[c]] * determinant(e, rows + 1, others, n - 1);
		sum += c % 2 == 0 ? part : -part;
	}
	return sum;
}

/* Tests the direction that is orthogonal to nterms - 1 rows. */
static void
try_rows(Exact *e, const int *rows)
{
	int64_t		d[EXACT_TERMS];
	int64_t		margin[EXACT_ROWS];
	bool		right = true;
	bool		wrong = true;
	bool		any = false;

	for (int k = 0; k < e->nterms; k++)
	{
		int			columns[EXACT_TERMS];

		for (int c = 0, m = 0; c < e->nterms; c++)
			if (c != k)
				columns[m++] = c;
		d[k] = determinant(e, rows, columns, e->nterms - 1) * (k % 2 == 0 ? 1 : -1);
	}
	for (int r = 0; r < e->nrows; r++)
	{
		margin[r] = 0;
		for (int k = 0; k < e->nterms; k++)
			margin[r] += e->side[r] * e->z[r][k] * d[k];
		right &= margin[r] >= 0;
		wrong &= margin[r] <= 0;
		any |= margin[r] != 0;
	}
	e->full_rank |= any;
	if (!any || (!right && !wrong))
		return;
	e->separated = true;
	for (int k = 0; k < e->nterms; k++)
	{
		e->up[k] |= right ? d[k] > 0 : d[k] < 0;
		e->down[k] |= right ? d[k] < 0 : d[k] > 0;
	}
	for (int r = 0; r < e->nrows; r++)
		if (margin[r] != 0)
			e->face[r] = 0;
}

/* Tests all choices of rows[chosen .. nterms - 2] among the rows from `from` on. */
static void
try_all(Exact *e, int *rows, int chosen, int from)
{
	if (chosen == e->nterms - 1)
	{
		try_rows(e, rows);
		return;
	}
	for (int r = from; r < e->nrows; r++)
	{
		rows[chosen] = r;
		try_all(e, rows, chosen + 1, r + 1);
	}
}

static void
exact_answer(const Data *data, bool intercept, Exact *e)
{
	int			rows[EXACT_TERMS] = {0};

	memset(e, 0, sizeof(*e));
	e->nterms = data->p + (intercept ? 1 : 0);
	e->nrows = (int) data->nrows;
	for (int r = 0; r < e->nrows; r++)
	{
		e->face[r] = 1;
		e->side[r] = row_of(data, r)[data->p] == 1 ? 1 : -1;
		for (int k = 0; k < e->nterms; k++)
			e->z[r][k] = (int64_t) term(row_of(data, r), k, intercept);
	}
	try_all(e, rows, 0, 0);
}

/* Makes features of small integers, some about 1,000, and a response that follows a direction more or less. */
static Data
whole_data(int p)
{
	static const int ranges[] = {1, 1, 2, 3, 5, 10, 50};
	Data		data = data_new(p, whole(6, EXACT_ROWS));
	int			range = ranges[whole(0, LENGTH(ranges) - 1)];
	int			offset = whole(0, 9) == 0 ? 1000 : 0;
	int			lowest = whole(0, 1) == 0 ? 0 : -range;
	int			noise = whole(0, 12);
	int			direction[EXACT_TERMS];

	for (int k = 0; k <= p; k++)
		direction[k] = whole(-2, 2);
	for (int64_t r = 0; r < data.nrows; r++)
	{
		double	   *row = row_of(&data, r);
		int			eta = direction[p];

		for (int j = 0; j < p; j++)
		{
			row[j] = whole(lowest, range);
			eta += direction[j] * (int) row[j];
			row[j] += offset;
		}
		row[p] = eta == 0 || whole(0, 29) < noise ? whole(0, 1) : eta > 0;
	}
	return data;
}

/* Copies the data ncopies times, in units that are powers of two; neither moves the answer. */
static Data
rescaled(const Data *data, int ncopies)
{
	Data		result = data_new(data->p, data->nrows * ncopies);
	double		unit[EXACT_TERMS];

	for (int j = 0; j < data->p; j++)
		unit[j] = whole(0, 3) > 0 ? 1 : ldexp(1, whole(-20, 20));
	unit[data->p] = 1;
	for (int64_t r = 0; r < result.nrows; r++)
		for (int j = 0; j <= data->p; j++)
			row_of(&result, r)[j] = unit[j] * row_of(data, r % data->nrows)[j];
	return result;
}

/* Kinds of disagreement with the exact answer */
typedef enum Disagreement
{
	WRONG_VERDICT,				/* separated, or not */
	WRONG_TERMS,				/* the set of separated terms, or their signs */
	NOT_CONVERGED,
	WRONG_REST					/* terms with an estimate aren't the fit over the undecided rows */
} Disagreement;

static const char *const disagreements[] = {"the verdict", "terms and signs", "convergence", "what remains"};

/* Prints a disagreement and the rows; * marks the rows that aren't on the face. */
static void
show(const Data *data, bool intercept, const Exact *e, const Run *run, Disagreement what)
{
	printf("# %s: intercept %d, exactly %sseparated", disagreements[what], intercept, e->separated ? "" : "not ");
	for (int k = 0; k < e->nterms; k++)
		printf(" %s", e->up[k] && e->down[k] ? "any" : e->up[k] ? "+" : e->down[k] ? "-" : "0");
	printf("; found");
	for (int k = 0; k < e->nterms; k++)
		printf(" %d (%.17g)", run->fit->separated[k], run->fit->coef[k]);
	printf(", converged %d, iterations %d, deviance %.17g\n#", run->fit->converged, run->fit->iterations,
		   run->fit->deviance);
	for (int r = 0; r < e->nrows; r++)
	{
		printf(" {");
		for (int j = 0; j <= data->p; j++)
			printf("%s%.17g", j > 0 ? ", " : "", row_of(data, r)[j]);
		printf("}%s", e->face[r] ? "" : "*");
	}
	printf(", %d times\n", (int) (data->nrows / e->nrows));
}

/* True if the terms with an estimate have that of the undecided rows, and the rest of the fit agrees. */
static bool
rest_agrees(const Data *data, const GrGlmOptions *options, const Exact *e, const Run *run)
{
	Data		rest = data_new(data->p, data->nrows);
	bool		agrees = true;
	Run			fit;

	rest.nrows = 0;
	for (int64_t r = 0; r < data->nrows; r++)
		if (e->face[r % e->nrows])
			memcpy(row_of(&rest, rest.nrows++), row_of(data, r), (data->p + 1) * sizeof(double));
	fit = run_fit(&rest, options);
	/*
	 * A model without an intercept may have only one class left; the fit over it alone is refused. Standard errors are
	 * those one step before the estimates, and so have a few digits less.
	 */
	if (rest.nrows == 0)
		agrees = run->fit->deviance == 0;
	else if (fit.ok)
	{
		agrees = fit.fit->nseparated == 0 && relative_error(run->fit->deviance, fit.fit->deviance) < 1e-12;
		for (int k = 0; k < e->nterms; k++)
		{
			double		size = fmax(fabs(fit.fit->coef[k]), std_error(fit.fit, k));

			if (run->fit->separated[k] == 0)
				agrees &= fabs(run->fit->coef[k] - fit.fit->coef[k]) < 1e-12 * size &&
					relative_error(std_error(run->fit, k), std_error(fit.fit, k)) < 1e-11;
		}
	}
	run_free(&fit);
	data_free(&rest);
	return agrees;
}

/* Checks one set of rows; true if everything agrees. */
static bool
compare(const Data *data, const GrGlmOptions *options, const Exact *e, const Run *run, Disagreement *what)
{
	*what = WRONG_VERDICT;
	if ((run->fit->nseparated > 0) != e->separated || run->fit->rank != e->nterms)
		return false;
	*what = WRONG_TERMS;
	for (int k = 0; k < e->nterms; k++)
	{
		int			sign = run->fit->separated[k];

		if ((sign != 0) != (e->up[k] || e->down[k]) || (sign > 0 && !e->up[k]) || (sign < 0 && !e->down[k]))
			return false;
	}
	*what = NOT_CONVERGED;
	if (run->fit->converged == e->separated ||
		(!e->separated && !(score_error(data, run->fit->coef, options->intercept, 0) < 1e-12)))
		return false;
	*what = WRONG_REST;
	return !e->separated || rest_agrees(data, options, e, run);
}

static void
test_exactly(int nsets)
{
	int			nseparated = 0;
	int			npartly = 0;
	int			ncompared = 0;
	int			counts[LENGTH(disagreements)] = {0};

	for (int set = 0; set < nsets; set++)
	{
		bool		intercept = set % 5 != 0;
		Data		numbers = whole_data(whole(1, 3));
		Data		data = rescaled(&numbers, whole(0, 9) == 0 ? 50 : 1);
		GrGlmOptions options = defaults(&data);
		Disagreement what;
		Exact		exact;
		Run			run;

		options.intercept = intercept;
		exact_answer(&numbers, intercept, &exact);
		run = run_fit(&data, &options);
		if (exact.full_rank && run.ok)
		{
			int			nface = 0;

			for (int r = 0; r < exact.nrows; r++)
				nface += exact.face[r];
			ncompared++;
			nseparated += exact.separated ? 1 : 0;
			npartly += exact.separated && nface > 0 ? 1 : 0;
			if (!compare(&data, &options, &exact, &run, &what))
			{
				counts[what]++;
				show(&data, intercept, &exact, &run, what);
			}
		}
		run_free(&run);
		data_free(&data);
		data_free(&numbers);
	}
	check(ncompared > nsets / 2 && nseparated > nsets / 8 && npartly > nsets / 20,
		  "%d sets of small numbers, %d separated, %d of them in part",
		  ncompared, nseparated, npartly);
	for (size_t k = 0; k < LENGTH(disagreements); k++)
		check(counts[k] == 0, "%s: %d sets disagree", disagreements[k], counts[k]);
}

int
main(void)
{
	srandom(5);
	test_complete();
	test_dummy();
	test_nested();
	test_nearly();
	test_many_rows();
	test_other_solvers();
	test_exactly(12000);
	test_most_iterations();
	test_last_iterations();
	test_far_counts();
	test_far_face();
	test_complete_changed();
	return unit_done();
}
