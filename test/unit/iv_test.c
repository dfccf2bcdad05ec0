/*
 * iv_test.c: tests two-stage least squares and its tests against test/data/iv_reference.py, and cases that can't be
 * solved.
 */
#include <stdlib.h>
#include <string.h>

#include "compute/dist/inference.h"
#include "compute/linalg/gram_shift.h"
#include "compute/linear/iv.h"
#include "unit.h"

#define MAX_P 12
#define MAX_ROWS 500
#define MAX_NUMBERS 100

typedef struct Problem
{
	GrIvColumns columns;
	int			order[MAX_P];	/* the row's column for each of the solver's columns */
	int			p;
	int64_t		nrows;
	bool		intercept;
	double		hi[(MAX_P + 2) * (MAX_P + 3) / 2];
	double		lo[(MAX_P + 2) * (MAX_P + 3) / 2];
	double		shift[MAX_P + 1];
	double		coef[MAX_P + 1];
	double		vcov[(MAX_P + 1) * (MAX_P + 1)];
	GrIvTest	first_stage[MAX_P];
	GrIvFit		fit;
	GrError		err;
} Problem;

static GrIvColumns
columns_of(int nexogenous, int ninstruments, int nendogenous)
{
	return (GrIvColumns) {
		.nexogenous = nexogenous,.ninstruments = ninstruments,.nendogenous = nendogenous
	};
}

static GrGram
gram_of(Problem *problem)
{
	return (GrGram) {
		.hi = problem->hi,.lo = problem->lo,.shift = problem->shift,.nfeatures = problem->p,.nobs = problem->nrows
	};
}

static void
sum_rows(Problem *problem, double (*rows)[MAX_P + 2], bool weighted, bool shifted)
{
	GrRowShape	shape = {.nfeatures = problem->p,.weight = weighted};
	int			ncols = gr_row_ncols(shape);
	double	   *all = malloc((size_t) problem->nrows * ncols * sizeof(double));
	double	   *scratch = malloc(gr_gram_scratch_nbytes(shape));
	GrGram		gram = gram_of(problem);

	for (int64_t r = 0; r < problem->nrows; r++)
	{
		for (int k = 0; k < problem->p; k++)
			all[r * ncols + k] = rows[r][2 + problem->order[k]];
		all[r * ncols + problem->p] = rows[r][1];
		if (weighted)
			all[r * ncols + problem->p + 1] = rows[r][0];
	}
	memset(problem->hi, 0, sizeof(problem->hi));
	memset(problem->lo, 0, sizeof(problem->lo));
	memset(problem->shift, 0, sizeof(problem->shift));
	if (shifted && gr_shift_choose(problem->shift, all, problem->nrows, shape) &&
		!gr_shift_exact(problem->shift, all, problem->nrows, shape))
		gr_shift_narrow(problem->shift, problem->shift, all, problem->nrows, shape);
	gr_gram_add(&gram, all, problem->nrows, shape, scratch);
	free(all);
	free(scratch);
}

static bool
solve(Problem *problem, const GrHost *host)
{
	void	   *workspace = malloc(gr_iv_workspace_nbytes(&problem->columns));
	GrGram		gram = gram_of(problem);
	bool		ok;

	memset(&problem->fit, 0, sizeof(problem->fit));
	memset(&problem->err, 0, sizeof(problem->err));
	problem->fit.coef = problem->coef;
	problem->fit.vcov = problem->vcov;
	problem->fit.first_stage = problem->first_stage;
	problem->columns.intercept = problem->intercept;
	ok = gr_iv_solve(&gram, &problem->columns, workspace, &problem->fit, host, &problem->err);
	free(workspace);
	return ok;
}

/*
 * Reference values
 */

/* Reads numbers in braces; returns how many. */
static int
read_list(const char *text, double *values)
{
	int			n = 0;
	char	   *end;

	for (text = strchr(text, '{') + 1; *text != '}'; text = *end == ',' ? end + 1 : end)
		values[n++] = strtod(text, &end);
	return n;
}

/* Reads the rows of a set: weight, y, x. Returns the number of columns, and whether the set has weights. */
static int
read_rows(const char *dataset, double (*rows)[MAX_P + 2], int *p, bool *weighted)
{
	FILE	   *file = fopen("test/data/iv_rows.csv", "r");
	char		line[1000];
	size_t		length = strlen(dataset);
	int			n = 0;

	while (file != NULL && fgets(line, sizeof(line), file) != NULL)
	{
		char	   *at = line + length + 1;

		if (strncmp(line, dataset, length) != 0 || line[length] != ',')
			continue;
		*weighted = *at != ',';
		rows[n][0] = *weighted ? strtod(at, NULL) : 1;
		rows[n][1] = strtod(strchr(at, ',') + 1, NULL);
		*p = read_list(at, rows[n] + 2);
		n++;
	}
	if (file != NULL)
		fclose(file);
	return n;
}

typedef struct Reference
{
	char		name[100];
	char		dataset[100];
	double		endogenous[MAX_P];
	double		instruments[MAX_P];
	int			nendogenous;
	int			ninstruments;
	bool		intercept;
	int			n;
	double		values[MAX_NUMBERS];	/* NaN: missing */
} Reference;

/* Splits a line into cells, quoted or not, in place. */
static void
split(char *line, char **cells, int n)
{
	for (int k = 0; k < n; k++)
	{
		char		until = *line == '"' ? '"' : ',';

		cells[k] = line += until == '"';
		while (*line != until && *line != '\n' && *line != '\0')
			line++;
		if (*line == '"')
			*line++ = '\0';
		if (*line != '\0')
			*line++ = '\0';
	}
}

/* Reads the next case of the file, up to a line with another name, which *pending keeps. */
static bool
read_case(FILE *file, char *pending, size_t size, Reference *reference)
{
	char	   *cells[7];
	bool		any = false;

	memset(reference, 0, sizeof(*reference));
	while (*pending != '\0' || fgets(pending, (int) size, file) != NULL)
	{
		char		line[1000];

		strcpy(line, pending);
		split(line, cells, 7);
		if (any && strcmp(cells[0], reference->name) != 0)
			return true;
		any = true;
		strcpy(reference->name, cells[0]);
		strcpy(reference->dataset, cells[1]);
		reference->nendogenous = read_list(cells[2], reference->endogenous);
		reference->ninstruments = read_list(cells[3], reference->instruments);
		reference->intercept = *cells[4] == 't';
		reference->values[reference->n++] = *cells[6] == '\0' ? NAN : strtod(cells[6], NULL);
		*pending = '\0';
	}
	return any;
}

static bool
is_in(int column, const double *list, int n)
{
	for (int k = 0; k < n; k++)
		if (list[k] == column + 1)
			return true;
	return false;
}

/* Orders the columns for the solver: exogenous ones first, then the instruments, then the endogenous ones. */
static void
order_columns(Problem *problem, const Reference *reference)
{
	int			n = 0;

	for (int c = 0; c < problem->p; c++)
		if (!is_in(c, reference->endogenous, reference->nendogenous) &&
			!is_in(c, reference->instruments, reference->ninstruments))
			problem->order[n++] = c;
	problem->columns.nexogenous = n;
	for (int k = 0; k < reference->ninstruments; k++)
		problem->order[n++] = (int) reference->instruments[k] - 1;
	problem->columns.ninstruments = reference->ninstruments;
	for (int k = 0; k < reference->nendogenous; k++)
		problem->order[n++] = (int) reference->endogenous[k] - 1;
	problem->columns.nendogenous = reference->nendogenous;
}

/* Returns where the solver has term k of the rows' order. */
static int
place_of(const Problem *problem, int k)
{
	const GrIvColumns *c = &problem->columns;
	int			first = problem->intercept ? 1 : 0;
	int			sorted = 0;

	if (k < first)
		return 0;
	for (int column = 0; column < problem->p; column++)
		for (int at = 0; at < problem->p; at++)
			if (problem->order[at] == column && (at < c->nexogenous || at >= c->nexogenous + c->ninstruments) &&
				sorted++ == k - first)
				return first + (at < c->nexogenous ? at : at - c->ninstruments);
	return -1;
}

static double
worse(double worst, double got, double want)
{
	if (isnan(got) && isnan(want))
		return worst;
	return fmax(worst, relative_error(got, want));
}

static double
worst_fit(const Problem *problem, const double *want)
{
	int			m = problem->fit.nterms;
	double		worst = 0;

	for (int i = 0; i < m; i++)
	{
		int			at = place_of(problem, i);

		worst = worse(worst, problem->coef[at], want[i]);
		for (int j = 0; j < m; j++)
			worst = worse(worst, problem->vcov[at * m + place_of(problem, j)], want[m + i * m + j]);
	}
	worst = worse(worst, sqrt(problem->fit.rss / (double) problem->fit.df_residual), want[m + m * m]);
	return worse(worst, 1 - problem->fit.rss / problem->fit.tss, want[m + m * m + 1]);
}

static double
worst_test(const Problem *problem, const double *want)
{
	const GrIvFit *fit = &problem->fit;
	double		worst = 0;

	for (int k = 0; k <= problem->columns.nendogenous; k++)
	{
		const GrIvTest *test = k < problem->columns.nendogenous ? &fit->first_stage[k] : &fit->hausman;

		worst = worse(worst, test->statistic, want[2 * k]);
		worst = worse(worst, gr_f_upper(test->statistic, (double) test->df1, (double) test->df2), want[2 * k + 1]);
	}
	want += 2 * (problem->columns.nendogenous + 1);
	worst = worse(worst, fit->sargan.statistic, want[0]);
	return worse(worst, gr_chisq_probability(fit->sargan.statistic, (double) fit->sargan.df1, false), want[1]);
}

static void
test_reference(void)
{
	static double rows[MAX_ROWS][MAX_P + 2];
	FILE	   *file = fopen("test/data/iv_fits.csv", "r");
	char		pending[1000] = "";
	Reference	reference;
	int			ncases = 0;

	if (file != NULL && fgets(pending, sizeof(pending), file) != NULL)
		*pending = '\0';
	while (file != NULL && read_case(file, pending, sizeof(pending), &reference))
	{
		Problem		problem = {.intercept = reference.intercept};
		bool		weighted = false;
		double		fit_error;
		double		test_error;

		problem.nrows = read_rows(reference.dataset, rows, &problem.p, &weighted);
		order_columns(&problem, &reference);
		for (int shifted = 0; shifted < 2; shifted++)
		{
			int			m;
			bool		ok;
			bool		far;

			sum_rows(&problem, rows, weighted, shifted);
			ok = solve(&problem, NULL) && problem.fit.identified;
			m = problem.fit.nterms;
			fit_error = worst_fit(&problem, reference.values);
			test_error = worst_test(&problem, reference.values + m + m * m + 3);
			/* with values 1e10 times as far from 0 as apart, only a shift keeps the digits */
			far = strncmp(reference.name, "far", 3) == 0 && !(shifted && problem.intercept);
			check(ok && fit_error < (far ? 1e-9 : 2e-15) && test_error < (far ? 1e-9 : 1e-13), "%s%s: %.1e, tests %.1e",
				  reference.name, shifted ? ", about a shift" : "", fit_error, test_error);
		}
		ncases++;
	}
	check(ncases >= 12, "%d cases", ncases);
}

/*
 * Cases that can't be solved, or lose a term
 */

/* Makes 40 rows of y and p columns of integers, so that sums of columns are exact. */
static void
draw_rows(double (*rows)[MAX_P + 2], int p)
{
	uint32_t	seed = 5;

	for (int r = 0; r < 40; r++)
		for (int k = 0; k <= p; k++)
		{
			seed = seed * 1664525u + 1013904223u;
			rows[r][1 + k] = (double) (seed >> 22);
		}
}

static Problem
drawn_problem(double (*rows)[MAX_P + 2], GrIvColumns columns)
{
	Problem		problem = {.columns = columns,.nrows = 40,.intercept = true};

	problem.p = columns.nexogenous + columns.ninstruments + columns.nendogenous;
	for (int k = 0; k < problem.p; k++)
		problem.order[k] = k;
	sum_rows(&problem, rows, false, false);
	return problem;
}

static void
test_rank(void)
{
	static double rows[40][MAX_P + 2];
	Problem		problem;
	double		coef[3];

	draw_rows(rows, 5);
	problem = drawn_problem(rows, columns_of(1, 2, 2));
	check(solve(&problem, NULL) && problem.fit.identified && problem.fit.rank == 4 &&
		  isnan(problem.fit.sargan.statistic), "as many instruments as endogenous regressors");
	problem = drawn_problem(rows, columns_of(2, 1, 2));
	check(solve(&problem, NULL) && !problem.fit.identified && problem.fit.instruments == 1, "one too few");
	problem = drawn_problem(rows, columns_of(4, 0, 1));
	check(solve(&problem, NULL) && !problem.fit.identified, "no instrument");

	/* column 2, an instrument, is a combination of the other instrument, column 0 and the ones */
	for (int r = 0; r < 40; r++)
		rows[r][2 + 2] = 3 * rows[r][2 + 1] - 2 * rows[r][2] + 5;
	problem = drawn_problem(rows, columns_of(1, 2, 2));
	check(solve(&problem, NULL) && !problem.fit.identified && problem.fit.instruments == 1, "a collinear instrument");
	problem = drawn_problem(rows, columns_of(1, 3, 1));
	check(solve(&problem, NULL) && problem.fit.identified && problem.fit.instruments == 2 &&
		  problem.fit.sargan.df1 == 1 && problem.fit.hausman.df2 == 40 - 4, "... that isn't needed");
	memcpy(coef, problem.coef, sizeof(coef));

	/* the second endogenous regressor is the first one less column 0 */
	for (int r = 0; r < 40; r++)
		rows[r][2 + 5] = rows[r][2 + 4] - rows[r][2];
	problem = drawn_problem(rows, columns_of(1, 3, 2));
	check(solve(&problem, NULL) && problem.fit.identified && problem.fit.endogenous == 1 && problem.fit.rank == 3 &&
		  isnan(problem.coef[3]) && isnan(problem.vcov[3]) && isnan(problem.first_stage[1].statistic) &&
		  memcmp(coef, problem.coef, sizeof(coef)) == 0, "a collinear endogenous regressor");

	/* the instrument is the endogenous regressor itself: OLS's results, without a test */
	for (int r = 0; r < 40; r++)
		rows[r][2 + 1] = rows[r][2 + 4];
	problem = drawn_problem(rows, columns_of(1, 3, 1));
	check(solve(&problem, NULL) && problem.fit.identified && problem.fit.hausman.df1 == 0 &&
		  isnan(problem.fit.hausman.statistic) && problem.first_stage[0].statistic == INFINITY,
		  "an endogenous regressor in the instruments' span");
}

/* Checks matrices that no rows can give, as a caller's state may have. */
static void
test_any_matrix(void)
{
	uint32_t	seed = 9;
	bool		ok = true;

	for (int i = 0; i < 2000; i++)
	{
		Problem		problem = {.columns = {i % 3, i % 4, 1 + i % 2},.nrows = 1 + i % 9,.intercept = i % 5 != 0};
		int			q = problem.columns.nexogenous + problem.columns.ninstruments + problem.columns.nendogenous + 2;

		problem.p = q - 2;
		for (int k = 0; k < q * (q + 1) / 2; k++)
		{
			seed = seed * 1664525u + 1013904223u;
			problem.hi[k] = ((double) (seed >> 8) - (1 << 23)) * (seed % 7 == 0 ? 0 : i % 11 == 0 ? 1e290 : 1);
		}
		for (int k = 0; k < q; k++)
			problem.hi[k * (k + 3) / 2] = fabs(problem.hi[k * (k + 3) / 2]);
		problem.hi[0] = (double) problem.nrows;
		if (!solve(&problem, NULL))
			ok &= problem.err.status == GR_OUT_OF_RANGE || problem.err.status == GR_RESULT_OUT_OF_RANGE;
	}
	check(ok, "matrices of any numbers");
}

static void
test_cancel(void)
{
	static double rows[40][MAX_P + 2];
	Problem		problem;
	Stopper		stopper = {.stop_at = 1};
	GrHost		host = {.canceled = stop,.arg = &stopper};

	draw_rows(rows, 5);
	problem = drawn_problem(rows, columns_of(1, 2, 2));
	check(!solve(&problem, &host) && problem.err.status == GR_CANCELED, "cancelled");
	problem.hi[2] = INFINITY;
	check(!solve(&problem, NULL) && problem.err.status == GR_OUT_OF_RANGE && problem.err.where == 0, "out of range");
}

int
main(void)
{
	test_rank();
	test_any_matrix();
	test_cancel();
	test_reference();
	return unit_done();
}
