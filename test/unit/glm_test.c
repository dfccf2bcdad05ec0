/*
 * glm_test.c: tests the passes of logistic regression on the CPU against quadruple precision.
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "compute/backend/backend.h"
#include "compute/base/dd.h"
#include "compute/dist/family.h"
#include "compute/glm/glm.h"
#include "glm_reference.h"
#include "gram_reference.h"
#include "sums.h"
#include "unit.h"

#define NROWS_MAX 1000

static const int all_lanes[] = {1, 4, 8};
static const int64_t row_counts[] = {0, 1, 7, 8, 9, 255, 256, 257, NROWS_MAX};
static const GrPassKind sum_kinds[] = {GR_PASS_EXACT, GR_PASS_FAST, GR_PASS_GRADIENT};
static const char *const kind_names[] = {"exact", "fast", "gradient", "face"};

#define LENGTH(a) (sizeof(a) / sizeof((a)[0]))

/* Returns a number in (-1, 1) with all 53 bits; sums of shorter numbers would be exact by themselves. */
static double
uniform(void)
{
	double		low = ((double) random() + 0.5) / 2147483648.0;

	return 2.0 * ((double) random() + low) / 2147483648.0 - 1.0;
}

/* A pass and its rows; a test changes members before it sums. */
typedef struct Problem
{
	GrPass		pass;
	double	   *beta;
	double	   *shift;
	double	   *rows;
	int64_t		nrows;
} Problem;

static Problem
problem_new(int nfeatures, int64_t nrows)
{
	Problem		problem = {.pass = {.distribution = GR_LOGISTIC,.shape = gr_plain_shape(nfeatures)}, .nrows = nrows};

	problem.beta = calloc(nfeatures + 1, sizeof(double));
	problem.shift = calloc(nfeatures, sizeof(double));
	problem.rows = calloc((nrows > 0 ? nrows : 1) * (nfeatures + 1), sizeof(double));
	problem.pass.beta = problem.beta;
	problem.pass.shift = problem.shift;
	return problem;
}

static void
problem_free(Problem *problem)
{
	free(problem->beta);
	free(problem->shift);
	free(problem->rows);
}

/*
 * Makes random rows. kind 0: x in (-1, 1), |eta| a few; 1: x in (1e9 - 1, 1e9 + 1), shifts near 1e9; 2: terms of eta
 * near 1000 that all but cancel, magnitudes of x from 1e-3 to 1e3, and x - shift not exact.
 */
static Problem
random_problem(int nfeatures, int64_t nrows, int kind)
{
	Problem		problem = problem_new(nfeatures, nrows);

	problem.beta[0] = uniform();
	for (int j = 0; j < nfeatures; j++)
	{
		bool		paired = kind == 2 && (nfeatures % 2 == 0 || j < nfeatures - 1);
		double		scale = kind == 2 ? pow(10, 3 * uniform()) : 1.0;
		double		center = kind == 1 ? 1e9 : 0.0;
		double		noise = kind == 2 ? 1e-3 : 1.0;

		problem.shift[j] = kind == 1 ? 1e9 + 0.1 * uniform() : kind == 2 ? -0.7 * scale : 0.0;
		problem.beta[j + 1] = (paired ? j % 2 == 1 ? -1000.0 : 1000.0 : uniform() * 2.0 / sqrt(nfeatures)) / scale;
		for (int64_t r = 0; r < nrows; r++)
		{
			double		common = kind == 2 ? (double) (r % 97) / 97 : 0.0;

			problem.rows[r * (nfeatures + 1) + j] = center + scale * (common + noise * uniform());
		}
	}
	for (int64_t r = 0; r < nrows; r++)
		problem.rows[r * (nfeatures + 1) + nfeatures] = (double) (random() & 1);
	return problem;
}

/* Sums the rows in blocks; the scratch memory starts as NaNs. The caller frees the sums. */
static double *
sum_rows(const GrPass *pass, const double *rows, int64_t nrows, int64_t block_nrows, int lanes)
{
	double	   *sums = malloc(gr_pass_nsums(pass->kind, pass->shape.nfeatures) * sizeof(double));
	size_t		nbytes = gr_pass_scratch_nbytes(pass->kind, pass->shape);
	void	   *scratch = malloc(nbytes);

	memset(scratch, 0xff, nbytes);
	gr_pass_clear(pass->kind, pass->shape.nfeatures, sums);
	for (int64_t at = 0; at < nrows; at += block_nrows)
	{
		int64_t		n = nrows - at < block_nrows ? nrows - at : block_nrows;

		gr_pass_add_lanes(pass, sums, rows + at * gr_row_ncols(pass->shape), n, scratch, lanes);
	}
	if (nrows == 0)
		gr_pass_add_lanes(pass, sums, rows, 0, scratch, lanes);
	free(scratch);
	return sums;
}

static GlmErrors
worse(GlmErrors a, GlmErrors b)
{
	GlmErrors	worst = {fmax(a.head, b.head), fmax(a.deviance, b.deviance), fmax(a.gradient, b.gradient),
	fmax(a.hessian, b.hessian)};

	return worst;
}

static void
check_errors(GrPassKind kind, GlmErrors errors, const char *name, int number)
{
	double		tight = 1e-15;

	check(errors.head < tight, "%s, %s %d: counts and least margin, error %.2g", kind_names[kind], name, number,
		  errors.head);
	check(errors.deviance < tight, "%s, %s %d: deviance, error %.2g", kind_names[kind], name, number, errors.deviance);
	check(errors.gradient < tight, "%s, %s %d: gradient, error %.2g", kind_names[kind], name, number, errors.gradient);
	check(errors.hessian < (kind == GR_PASS_EXACT ? tight : 1e-14), "%s, %s %d: second derivatives, error %.2g",
		  kind_names[kind], name, number, errors.hessian);
}

static void
test_shapes(void)
{
	static const int features[] = {1, 2, 7, 8, 9, 15, 16, 33, 100};

	for (size_t f = 0; f < LENGTH(features); f++)
	{
		Problem		problem = random_problem(features[f], NROWS_MAX, f % 3);
		GlmReference *reference = glm_reference_new(&problem.pass, problem.rows, NROWS_MAX);
		bool		same = true;

		for (size_t k = 0; k < LENGTH(sum_kinds); k++)
		{
			GlmErrors	errors = {0};

			problem.pass.kind = sum_kinds[k];
			for (size_t c = 0; c < LENGTH(row_counts); c++)
			{
				double	   *sums[3];

				for (int v = 0; v < 3; v++)
				{
					sums[v] = sum_rows(&problem.pass, problem.rows, row_counts[c], NROWS_MAX, all_lanes[v]);
					if (v == 0 || problem.pass.kind != GR_PASS_EXACT)
						errors = worse(errors,
									   glm_reference_errors(reference, row_counts[c], problem.pass.kind, sums[v]));
					else
						same = same && memcmp(sums[0], sums[v],
											  gr_pass_nsums(GR_PASS_EXACT, features[f]) * sizeof(double)) == 0;
				}
				for (int v = 0; v < 3; v++)
					free(sums[v]);
			}
			check_errors(problem.pass.kind, errors, "features", features[f]);
		}
		check(same, "exact, features %d: the same bits on vectors of 8, 4 and 1", features[f]);
		glm_reference_free(reference);
		problem_free(&problem);
	}
}

/* Checks sums of rows that are split over calls, and sums that are merged. */
static void
test_merge(void)
{
	for (int p = 3; p <= 20; p += 17)
	{
		Problem		problem = random_problem(p, NROWS_MAX, 0);
		GlmReference *reference = glm_reference_new(&problem.pass, problem.rows, NROWS_MAX);

		for (size_t k = 0; k < LENGTH(sum_kinds); k++)
		{
			GrPassKind	kind = sum_kinds[k];
			double	   *a;
			double	   *b;
			double	   *none;

			problem.pass.kind = kind;
			a = sum_rows(&problem.pass, problem.rows, 613, 50, 4);
			b = sum_rows(&problem.pass, problem.rows + 613 * (p + 1), NROWS_MAX - 613, 101, 4);
			none = sum_rows(&problem.pass, problem.rows, 0, 1, 4);
			gr_pass_merge(kind, p, a, b);
			gr_pass_merge(kind, p, a, none);
			check_errors(kind, glm_reference_errors(reference, NROWS_MAX, kind, a), "merged parts, features", p);
			free(a);
			free(b);
			free(none);
		}
		glm_reference_free(reference);
		problem_free(&problem);
	}
}

/*
 * Checks rows with |eta| up to 1e4 and exactly 0, one at a time: exp must be good, and nothing may cancel. x is eta, so
 * only the steps after eta round, and the reference's allowance for eta's rounding is not used.
 */
static void
test_single_rows(void)
{
	int64_t		n = 1500;
	Problem		problem = problem_new(1, n);
	GlmReference *reference;
	GlmErrors	errors[4] = {{0}};

	problem.beta[1] = 1.0;
	for (int64_t r = 0; r < n; r++)
	{
		static const double special[] = {0.0, 1e-100, 459.99999999999994, 460.0, 460.00000000000006, 746.0, 1e4};
		double		a = r < 28 ? special[r / 4] : r < 100 ? pow(10, 50 * uniform() - 50) :
			25.0 * (r % 20) * fabs(uniform());

		problem.rows[2 * r] = r & 1 ? a : -a;
		problem.rows[2 * r + 1] = (double) (r / 2 % 2);
	}
	for (int64_t r = 0; r < n; r++)
	{
		reference = glm_reference_new(&problem.pass, problem.rows + 2 * r, 1);
		for (int k = 0; k < 9; k++)
		{
			GrPassKind	kind = sum_kinds[k % 3];
			double		eta = fabs(problem.rows[2 * r]);
			GlmErrors	e;
			double	   *sums;

			problem.pass.kind = kind;
			sums = sum_rows(&problem.pass, problem.rows + 2 * r, 1, 1, all_lanes[k / 3]);
			e = glm_reference_errors(reference, 1, kind, sums);
			e.deviance *= 1 + eta / 4;
			e.gradient *= 1 + eta / 4;
			e.hessian *= 1 + eta / 4;
			errors[kind] = worse(errors[kind], e);
			free(sums);
		}
		glm_reference_free(reference);
	}
	for (size_t k = 0; k < LENGTH(sum_kinds); k++)
		check_errors(sum_kinds[k], errors[sum_kinds[k]], "rows one by one", n);
	problem_free(&problem);
}

/*
 * Checks many rows that are all far out on either side, or all far out on the right side: the sums of small tails must
 * have all their digits.
 */
static void
test_large_predictors(void)
{
	for (int separated = 0; separated < 2; separated++)
	{
		Problem		problem = random_problem(5, NROWS_MAX, 0);
		GlmReference *reference;

		for (int j = 0; j <= 5; j++)
			problem.beta[j] = 2000.0 * uniform();
		for (int64_t r = 0; separated && r < NROWS_MAX; r++)
		{
			double	   *row = problem.rows + r * 6;
			double		eta = problem.beta[0];

			for (int j = 0; j < 5; j++)
				eta += problem.beta[j + 1] * row[j];
			row[5] = eta > 0.0 ? 1.0 : 0.0;
		}
		reference = glm_reference_new(&problem.pass, problem.rows, NROWS_MAX);
		for (int k = 0; k < 9; k++)
		{
			double	   *sums;

			problem.pass.kind = sum_kinds[k % 3];
			sums = sum_rows(&problem.pass, problem.rows, NROWS_MAX, NROWS_MAX, all_lanes[k / 3]);
			check_errors(problem.pass.kind, glm_reference_errors(reference, NROWS_MAX, problem.pass.kind, sums),
						 separated ? "separated, lanes" : "large predictors, lanes", all_lanes[k / 3]);
			free(sums);
		}
		glm_reference_free(reference);
		problem_free(&problem);
	}
}

/*
 * Checks beta = 0, for which EXACT has code of its own. Residuals are 1/2 and the gradient's products exact, so only
 * its sums can have errors.
 */
static void
test_at_zero(void)
{
	for (int kind = 0; kind < 2; kind++)
	{
		Problem		problem = random_problem(9, NROWS_MAX, kind);
		GlmReference *reference;

		memset(problem.beta, 0, 10 * sizeof(double));
		reference = glm_reference_new(&problem.pass, problem.rows, NROWS_MAX);
		for (int k = 0; k < 9; k++)
		{
			int			lanes = all_lanes[k / 3];
			double	   *sums;
			GlmErrors	errors;

			problem.pass.kind = sum_kinds[k % 3];
			sums = sum_rows(&problem.pass, problem.rows, NROWS_MAX, 300, lanes);
			errors = glm_reference_errors(reference, NROWS_MAX, problem.pass.kind, sums);
			check_errors(problem.pass.kind, errors, kind == 0 ? "at zero, lanes" : "at zero, shifted, lanes", lanes);
			check(errors.gradient < 1e-18, "%s, at zero, lanes %d: the gradient's sums are compensated",
				  kind_names[problem.pass.kind], lanes);
			free(sums);
		}
		glm_reference_free(reference);
		problem_free(&problem);
	}
}

/*
 * Makes rows of (a, b, c) for the face 0.1 + 3 a - b = 0, to which c does not belong. Of each six rows, 0 is on the
 * face exactly; 1 is off it on the right side, but by less than float8 sees; 2 is right by 1 or more; 3 is wrong by 1
 * or more; 4 and 5 are on it, but off the second face, c = 0.
 */
static Problem
face_problem(void)
{
	static const double directions[16] = {0.1, 3.0, -1.0,[11] = 1.0};
	static const double absolute[] = {0.0, 0.0};
	Problem		problem = random_problem(3, 600, 0);

	problem.pass.nfaces = 1;
	problem.pass.faces = directions;
	problem.pass.face_absolute = absolute;
	for (int64_t r = 0; r < 600; r++)
	{
		double	   *row = problem.rows + r * 4;
		double		side = row[3] > 0.5 ? 1.0 : -1.0;

		row[0] = ldexp((double) (random() % 64), -8);
		row[1] = 0.1 + 3.0 * row[0];
		row[2] = r % 6 >= 4 ? uniform() : 0.0;
		if (r % 6 == 0 || r % 6 >= 4)
		{
			/* a is so small, with so few bits, that b is exact: the last bit of 0.1 is 2^-55 */
			row[0] = ldexp(row[0], -44);
			row[1] = 0.1 + 3.0 * row[0];
		}
		else if (r % 6 == 1)
			row[1] = nextafter(row[1], side > 0.0 ? -INFINITY : INFINITY);
		else
			row[1] -= side * (r % 6 == 2 ? 1.0 : -1.0) * (1.0 + (double) r / 64.0);
	}
	return problem;
}

/* Returns z' direction of a row for the pass's last face. */
static double
along_face(const GrPass *pass, const double *row)
{
	int			p = pass->shape.nfeatures;
	const double *face = pass->faces + (size_t) (pass->nfaces - 1) * gr_face_size(p);
	Quad		e = (Quad) face[0] + face[p + 1];

	for (int j = 0; j < p; j++)
		e += ((Quad) face[j + 1] + face[p + 2 + j]) * ((Quad) row[j] - pass->shift[j]);
	return (double) e;
}

/*
 * Checks a FACE pass against rows that the test has chosen: its sums of (1, z, e) over members and over rows on the
 * wrong side, and the counts of its head. part: rows that take part; member: rows on the face.
 */
static void
check_face(const Problem *problem, const bool *part, const bool *member, double nrows, double nright, double nwrong,
		   const char *name)
{
	double		nones = 0.0;
	int			p = problem->pass.shape.nfeatures;
	int64_t		n = 0;
	double	   *want = malloc(problem->nrows * (p + 2) * sizeof(double));
	double	   *sums[3];
	const double *hi;

	for (int64_t r = 0; r < problem->nrows; r++)
	{
		const double *row = problem->rows + r * (p + 1);

		double		e = along_face(&problem->pass, row);

		if (!part[r] || (!member[r] && (row[p] > 0.5 ? e > 0.0 : e < 0.0)))
			continue;
		nones += member[r] ? row[p] : 0.0;
		want[n * (p + 2)] = 1.0;
		for (int j = 0; j < p; j++)
			want[n * (p + 2) + 1 + j] = row[j] - problem->shift[j];
		want[n * (p + 2) + 1 + p] = e;
		n++;
	}
	for (int v = 0; v < 3; v++)
		sums[v] = sum_rows(&problem->pass, problem->rows, problem->nrows, 250, all_lanes[v]);
	hi = sums[0] + GR_SUM_HEAD;
	check(gram_reference_error(want, n, p + 1, hi, hi + gr_triangle(p + 3)) < 3.2e-30,
		  "%s: the sums are those of the rows on it or on its wrong side",
		  name);
	check(sums[0][GR_SUM_NROWS] == nrows && sums[0][GR_SUM_NRIGHT] == nright && sums[0][GR_SUM_NWRONG] == nwrong &&
		  hi[0] == (double) n && nrows == nright + (double) n && sums[0][GR_SUM_NONES] == nones &&
		  sums[0][GR_SUM_DEVIANCE_HI] == 0.0 && sums[0][GR_SUM_MIN_MARGIN] == INFINITY,
		  "%s: rows on it, right, wrong: %g, %g, %g",
		  name, hi[0] - nwrong, sums[0][GR_SUM_NRIGHT], sums[0][GR_SUM_NWRONG]);
	check(memcmp(sums[0], sums[1], gr_pass_nsums(GR_PASS_FACE, p) * sizeof(double)) == 0 &&
		  memcmp(sums[0], sums[2], gr_pass_nsums(GR_PASS_FACE, p) * sizeof(double)) == 0,
		  "%s: the same bits on vectors of 8, 4 and 1", name);
	for (int v = 0; v < 3; v++)
		free(sums[v]);
	free(want);
}

static void
test_face(void)
{
	Problem		problem = face_problem();
	bool		member[600];
	bool		part[600];
	double		directions[16];
	double	   *sums;

	problem.pass.kind = GR_PASS_FACE;
	/* 0.1 + 3 a - b, exactly, in terms of b - 0.5 */
	problem.shift[1] = 0.5;
	memcpy(directions, problem.pass.faces, sizeof(directions));
	directions[0] = gr_two_sum(0.1, -0.5).hi;
	directions[4] = gr_two_sum(0.1, -0.5).lo;
	problem.pass.faces = directions;
	for (int r = 0; r < 600; r++)
	{
		member[r] = r % 6 == 0 || r % 6 >= 4;
		part[r] = true;
	}
	check_face(&problem, part, member, 600, 200, 100, "a face");
	sums = sum_rows(&problem.pass, problem.rows, 600, 600, 8);
	check(sums[GR_SUM_MIN_RIGHT] > 0.0 && sums[GR_SUM_MIN_RIGHT] < 1e-15,
		  "a face: the least positive margin is a rounding, %.3g",
		  sums[GR_SUM_MIN_RIGHT]);
	free(sums);

	problem.pass.face_relative = 1e-15;
	for (int r = 0; r < 600; r++)
		member[r] = member[r] || r % 6 == 1;
	check_face(&problem, part, member, 600, 100, 100, "a face with a relative tolerance");
	sums = sum_rows(&problem.pass, problem.rows, 600, 600, 8);
	check(relative_error(sums[GR_SUM_MIN_RIGHT], 1.0 + 2.0 / 64.0) < 1e-15,
		  "a face with a relative tolerance: the least margin");
	free(sums);

	problem.pass.face_relative = 0.0;
	problem.pass.nfaces = 2;
	for (int r = 0; r < 600; r++)
	{
		member[r] = r % 6 == 0;
		part[r] = r % 6 == 0 || r % 6 >= 4;
	}
	{
		double		nright = 0;

		for (int r = 0; r < 600; r++)
			if (r % 6 >= 4 && (problem.rows[r * 4 + 2] > 0.0) == (problem.rows[r * 4 + 3] > 0.5))
				nright++;
		check_face(&problem, part, member, 300, nright, 200 - nright, "a face in a face");
	}
	problem_free(&problem);
}

/* Checks that EXACT on a face, and on a face of a face, is EXACT over the rows on it. */
static void
test_exact_on_faces(void)
{
	for (int nfaces = 1; nfaces <= 2; nfaces++)
	{
		Problem		problem = face_problem();
		double		chosen[600 * 4];
		int64_t		n = 0;
		GlmReference *reference;

		for (int r = 0; r < 600; r++)
			if (r % 6 == 0 || (nfaces == 1 && r % 6 >= 4))
				memcpy(chosen + 4 * n++, problem.rows + 4 * r, 4 * sizeof(double));
		problem.pass.nfaces = nfaces;
		for (int zero = 0; zero < 2; zero++)
		{
			double	   *sums;
			double	   *other;

			for (int j = 0; j < 4 && zero; j++)
				problem.beta[j] = 0.0;
			reference = glm_reference_new(&problem.pass, chosen, n);
			sums = sum_rows(&problem.pass, problem.rows, 600, 200, 8);
			other = sum_rows(&problem.pass, problem.rows, 600, 200, 1);
			check_errors(GR_PASS_EXACT, glm_reference_errors(reference, n, GR_PASS_EXACT, sums),
						 zero ? "at zero, faces" : "faces", nfaces);
			check(memcmp(sums, other, gr_pass_nsums(GR_PASS_EXACT, 3) * sizeof(double)) == 0,
				  "exact, faces %d: the same bits on vectors of 8 and 1", nfaces);
			free(sums);
			free(other);
			glm_reference_free(reference);
		}
		problem_free(&problem);
	}
}

/* Checks gr_pass_add() on wide models, and that their sums fit the scratch memory. */
static void
test_wide(void)
{
	for (size_t k = 0; k < LENGTH(sum_kinds); k++)
	{
		GrPassKind	kind = sum_kinds[k];
		int			p = kind == GR_PASS_GRADIENT ? 3000 : 400;
		int64_t		n = 140;
		Problem		problem = random_problem(p, n, 0);
		GlmReference *reference = glm_reference_new(&problem.pass, problem.rows, n);
		double	   *sums = malloc(gr_pass_nsums(kind, p) * sizeof(double));
		double	   *scratch = malloc(gr_pass_scratch_nbytes(kind, gr_plain_shape(p)));

		problem.pass.kind = kind;
		gr_pass_clear(kind, p, sums);
		gr_pass_add(&problem.pass, sums, problem.rows, n, scratch);
		check_errors(kind, glm_reference_errors(reference, n, kind, sums), "features", p);
		free(sums);
		free(scratch);
		glm_reference_free(reference);
		problem_free(&problem);
	}
}

/*
 * Checks rows far on the wrong side, whose deviance is twice the margin up to exp(-100): the sum over them must be
 * right beyond float8's digits in an EXACT pass.
 */
static void
test_wrong_sides(void)
{
	for (int k = 0; k < 3; k++)
	{
		Problem		problem = random_problem(1, NROWS_MAX, 0);
		double	   *sums;
		Quad		want = 0;
		double		error;

		problem.beta[0] = 0.0;
		problem.beta[1] = 1.0;
		for (int64_t r = 0; r < NROWS_MAX; r++)
		{
			double	   *row = problem.rows + r * 2;

			row[0] = (r % 2 ? 1 : -1) * (500.0 + 400.0 * uniform());
			row[1] = r % 2 ? 0.0 : 1.0;
			want += 2 * (Quad) fabs(row[0]);
		}
		problem.pass.kind = GR_PASS_EXACT;
		problem.pass.linear = false;
		sums = sum_rows(&problem.pass, problem.rows, NROWS_MAX, NROWS_MAX, all_lanes[k]);
		error = fabs((double) (((Quad) sums[GR_SUM_DEVIANCE_HI] + sums[GR_SUM_DEVIANCE_LO] - want) / want));
		check(error < 1e-28, "rows far on the wrong side, lanes %d: deviance, error %.2g", all_lanes[k], error);
		free(sums);
		problem_free(&problem);
	}
}

/* Checks that a predictor beyond float8's range shows in the deviance. */
static void
test_overflow(void)
{
	for (int k = 0; k < 9; k++)
	{
		Problem		problem = random_problem(2, 20, 0);
		double	   *sums;
		int			lanes = all_lanes[k / 3];

		problem.beta[1] = 1e300;
		problem.beta[2] = -1e300;
		problem.rows[3 * 13] = 1e300;
		problem.rows[3 * 13 + 1] = k % 2 ? 1e300 : -1e300;
		problem.rows[3 * 13 + 2] = 0.0;
		problem.pass.kind = sum_kinds[k % 3];
		sums = sum_rows(&problem.pass, problem.rows, 20, 20, lanes);
		check(!isfinite(sums[GR_SUM_DEVIANCE_HI] + sums[GR_SUM_DEVIANCE_LO]),
			  "%s, lanes %d: a predictor that overflows shows",
			  kind_names[problem.pass.kind], lanes);
		free(sums);
		problem_free(&problem);
	}
}

static void
test_binary(void)
{
	static const double bad[] = {-1.0, 2.0, 0.5, 5e-324, 1.0000000000000002};
	const GrRowRules rules = {GR_BINOMIAL, GR_PRIOR_WEIGHTS, 0};
	double		rows[12] = {7, 8, 1, 7, 8, 0, 7, 8, -0.0, 7, 8, 1};
	GrError		err = {0};

	check(gr_rows_valid(rows, 4, gr_plain_shape(2), rules, &err), "zeros and ones are binary");
	check(gr_rows_valid(rows, 0, gr_plain_shape(2), rules, &err), "no rows are binary");
	for (size_t k = 0; k < LENGTH(bad); k++)
	{
		int			at = 3 * (k % 4) + 2;
		double		before = rows[at];

		rows[at] = bad[k];
		memset(&err, 0, sizeof(err));
		check(!gr_rows_valid(rows, 4, gr_plain_shape(2), rules, &err) && err.status == GR_NOT_BINARY &&
			  err.value == bad[k], "%g is not", bad[k]);
		rows[at] = before;
	}
}

/* Checks that a pass over kept rows polls the host at least `least` times, and gives the same bits. */
static void
test_polls(GrPassKind kind, int p, int64_t nrows, int least)
{
	double	   *rows = malloc((size_t) nrows * (p + 1) * sizeof(double));
	double	   *beta = calloc(gr_face_size(p), sizeof(double));
	double	   *shift = calloc((size_t) p, sizeof(double));
	double		absolute = 0.1;
	size_t		n = gr_pass_nsums(kind, p);
	double	   *sums[2] = {malloc(n * sizeof(double)), malloc(n * sizeof(double))};
	double	   *scratch = malloc(gr_pass_scratch_nbytes(kind, gr_plain_shape(p)));
	GrPass		pass = {
		.distribution = GR_LOGISTIC,
		.kind = kind,.shape = gr_plain_shape(p),.beta = beta,.shift = shift,
		.nfaces = kind == GR_PASS_FACE ? 1 : 0,.faces = beta,.face_absolute = &absolute
	};
	GrSinkOptions options = {.shape = gr_plain_shape(p),.kind = GR_SINK_KEEP};
	GrSink	   *kept;
	Stopper		stopper = {.stop_at = INT_MAX};
	GrHost		host = {.canceled = stop,.arg = &stopper};
	int			nasked;
	int			nwrong = 0;
	GrError		err = {0};

	for (int64_t k = 0; k < nrows * (p + 1); k++)
		rows[k] = k % (p + 1) == p ? (double) (k / (p + 1) % 2) : uniform();
	beta[1] = 1;
	gr_pass_clear(kind, p, sums[0]);
	gr_pass_clear(kind, p, sums[1]);
	gr_pass_add(&pass, sums[0], rows, nrows, scratch);
	nwrong += !gr_pass_add_polling(&pass, sums[1], rows, nrows, scratch, &host) ||
		memcmp(sums[0], sums[1], n * sizeof(double)) != 0;
	stopper.asked = 0;
	nwrong += !gr_backend_cpu.sink->begin(NULL, &options, &kept, &err) ||
		!gr_backend_cpu.sink->send(kept, rows, nrows, &err) ||
		!sum_pass(gr_backend_cpu.sink, kept, &pass, sums[1], &host, &err);
	nasked = stopper.asked;
	for (int at = 1; at <= nasked; at++)
	{
		GrError		canceled = {0};

		stopper.asked = 0;
		stopper.stop_at = at;
		nwrong += sum_pass(gr_backend_cpu.sink, kept, &pass, sums[1], &host, &canceled) ||
			canceled.status != GR_CANCELED || stopper.asked != at;
	}
	gr_backend_cpu.sink->end(kept);
	if (!check(nwrong == 0 && nasked >= least, "%s, %d features, %lld rows: polls", kind_names[kind], p,
			   (long long) nrows))
		printf("# %d wrong, asked %d times\n", nwrong, nasked);
	free(rows);
	free(beta);
	free(shift);
	free(sums[0]);
	free(sums[1]);
	free(scratch);
}

/*
 * Checks that the linear pass of a weighted linear regression sums products exactly, against quadruple precision, also
 * of a column that differs from another by 1e-6.
 */
static void
test_weighted_gram(int p, int64_t nrows)
{
	const GrRowShape shape = {.nfeatures = p,.weight = true};
	const int	stride = gr_row_ncols(shape);
	const int	order = gr_norder(p);
	double	   *rows = malloc((size_t) (nrows * stride) * sizeof(double));
	double	   *beta = calloc((size_t) gr_nterms(p), sizeof(double));
	double	   *shift = calloc((size_t) p, sizeof(double));
	GrPass		pass = {
		.kind = GR_PASS_EXACT,.shape = shape,.distribution = {GR_GAUSSIAN, GR_IDENTITY},.beta = beta,.shift = shift,
		.linear = true
	};

	shift[0] = 0.25;
	for (int64_t r = 0; r < nrows; r++)
	{
		double	   *row = rows + r * stride;

		for (int j = 0; j < stride; j++)
			row[j] = uniform();
		/* short enough for the shift to be exact */
		row[0] = ldexp(floor(ldexp(row[0], 20)), -20);
		if (p > 1)
			row[1] = row[0] + 1e-6 * row[1];
		row[gr_weight_at(shape)] = fabs(row[gr_weight_at(shape)]) * 3;
	}
	for (int k = 0; k < 3; k++)
	{
		double	   *sums = sum_rows(&pass, rows, nrows, nrows / 2 + 1, all_lanes[k]);
		const double *hi = sums + GR_SUM_HEAD;
		const double *lo = hi + gr_triangle(order + 1);
		double		worst = 0;

		for (int i = 0; i < order; i++)
			for (int j = 0; j <= i; j++)
			{
				int64_t		at = gr_packed(i + 1, j + 1);
				Quad	sum = 0;
				Quad	size = 0;

				for (int64_t r = 0; r < nrows; r++)
				{
					const double *row = rows + r * stride;
					Quad	a = i == 0 ? 1 : i == 1 ? (Quad) row[0] - 0.25 : row[i - 1];
					Quad	b = j == 0 ? 1 : j == 1 ? (Quad) row[0] - 0.25 : row[j - 1];
					Quad	product = a * b * row[gr_weight_at(shape)];

					sum += product;
					size += product < 0 ? -product : product;
				}
				sum -= hi[at];
				sum -= lo[at];
				/* a comparison that is false for NaN, too */
				if (!((sum < 0 ? -sum : sum) <= worst * size))
					worst = (double) ((sum < 0 ? -sum : sum) / size);
			}
		check(worst < 1e-30 && sums[GR_SUM_NROWS] == (double) nrows && hi[0] == (double) nrows,
			  "weighted products, %d features, lanes %d: %.1g", p, all_lanes[k], worst);
		free(sums);
	}
	free(rows);
	free(beta);
	free(shift);
}

int
main(void)
{
	srandom(20240607);
	test_shapes();
	test_merge();
	test_single_rows();
	test_large_predictors();
	test_at_zero();
	test_face();
	test_exact_on_faces();
	test_wide();
	test_wrong_sides();
	test_overflow();
	test_binary();
	test_polls(GR_PASS_EXACT, 600, 300, 20);
	test_polls(GR_PASS_FACE, 600, 300, 4);
	test_polls(GR_PASS_FAST, 800, 500, 10);
	test_polls(GR_PASS_GRADIENT, 800, 5000, 4);
	test_weighted_gram(1, 5);
	test_weighted_gram(3, 200);
	test_weighted_gram(17, 1000);
	return unit_done();
}
