/*
 * lmm_test.c: tests mixed models: derivatives of the criterion against differences, the criterion against a matrix of
 * all rows, effects against the mixed model equations, formulas and records.
 */
#include <stdlib.h>
#include <string.h>

#include "compute/mixed/lmm.h"
#include "compute/mixed/lmm_formula.h"
#include "compute/mixed/lmm_record.h"
#include "unit.h"

#define ROWS 60					/* rows of a problem */
#define GROUPS 8				/* levels of the first random term */
#define OTHERS 5				/* levels of the second random term, which is crossed with the first */
#define ENTRIES 4				/* rows of the triangle of (1, x1, x2, y) */
#define PARAMETERS 4

typedef struct Problem
{
	double		rows[ROWS][ENTRIES];
	int			group[ROWS];
	int			other[ROWS];
	GrLmmModel	model;
	int			entries[3];
	double		scale[3];
	GrGram		all;
	GrLmmCells	cells;
	GrLmmComponent component;
	GrLmmFit	fit;
	double		within[6];
} Problem;

static GrPoll poll;

/* Returns a number between -1 and 1. */
static double
uniform(void)
{
	return 2.0 * random() / 2147483648.0 - 1.0;
}

static GrGram
new_gram(void)
{
	return gr_gram_at(calloc(gr_gram_ndoubles(ENTRIES - 2), sizeof(double)), ENTRIES - 2);
}

static void
add_row(GrGram *gram, const double *row)
{
	for (int i = 0; i < ENTRIES; i++)
		for (int j = 0; j <= i; j++)
			gr_gram_set(gram, i, j, gr_dd_add(gr_gram_entry(gram, i, j), gr_two_prod(row[i], row[j])));
	gram->nobs++;
}

/* Makes random rows, with effects of both factors. */
static void
make_rows(Problem *p)
{
	double		effects[GROUPS][2];
	double		others[OTHERS];

	for (int g = 0; g < GROUPS; g++)
		for (int k = 0; k < 2; k++)
			effects[g][k] = 2 * uniform();
	for (int h = 0; h < OTHERS; h++)
		others[h] = uniform();
	p->all = new_gram();
	for (int i = 0; i < ROWS; i++)
	{
		double	   *row = p->rows[i];

		p->group[i] = (int) (random() % GROUPS);
		p->other[i] = (int) (random() % OTHERS);
		row[0] = 1;
		row[1] = uniform();
		row[2] = uniform();
		row[3] = 1 + row[1] - row[2] + effects[p->group[i]][0] + effects[p->group[i]][1] * row[1] +
			others[p->other[i]] + 0.5 * uniform();
		add_row(&p->all, row);
	}
}

/* Makes the component of a model with an intercept and a slope per group, and an intercept per other. */
static void
make_component(Problem *p)
{
	int		   *term = calloc(GROUPS + OTHERS, sizeof(int));
	int			neffects = 2 * GROUPS + OTHERS;
	GrArena		arena = {.base = NULL};

	for (int h = 0; h < OTHERS; h++)
		term[GROUPS + h] = 1;
	gr_lmm_cells_carve(&p->cells, &p->model, GROUPS + OTHERS, neffects, &arena);
	arena = (GrArena) {.base = calloc(1, arena.used)};
	gr_lmm_cells_carve(&p->cells, &p->model, GROUPS + OTHERS, neffects, &arena);
	gr_lmm_cells_begin(&p->cells, term, GROUPS + OTHERS);
	for (int i = 0; i < ROWS; i++)
	{
		GrGram		gram = new_gram();

		add_row(&gram, p->rows[i]);
		gr_lmm_cells_add(&p->cells, &gram, (int[]) {p->group[i], GROUPS + p->other[i]});
		free(gram.hi);
	}
	gr_lmm_cells_end(&p->cells, term, calloc(gr_lmm_component_size(&p->cells), sizeof(double)), &p->component, &poll);
}

static void
make_problem(Problem *p, bool reml)
{
	GrArena		arena = {.base = NULL};

	memset(p, 0, sizeof(*p));
	memcpy(p->entries, (int[]) {0, 1, 3}, sizeof(p->entries));
	memcpy(p->scale, (double[]) {1, 2, 0.5}, sizeof(p->scale));
	p->model = (GrLmmModel) {
		.nfixed = 2,.entries = p->entries,.scale = p->scale,.nterms = 2,.reml = reml,.nobs = ROWS,
		.terms = {{.ncolumns = 2,.entries = {0, 1},.scale = {1, 2}}, {.ncolumns = 1,.scale = {1}}}
	};
	make_rows(p);
	make_component(p);
	check(gr_lmm_within(&p->cells, &p->all, p->within), "there is residual variation");
	p->fit.sums.model = &p->model;
	p->fit.sums.components = &p->component;
	p->fit.sums.ncomponents = 1;
	p->fit.sums.within = p->within;
	gr_lmm_fit_carve(&p->fit, &arena);
	arena = (GrArena) {.base = calloc(1, arena.used)};
	gr_lmm_fit_carve(&p->fit, &arena);
}

/* Returns the criterion from the matrix V of all rows, in the scaled columns. */
static double
dense_criterion(const Problem *p, const double *lambda)
{
	static double v[ROWS][ROWS + 3];
	double		s[3][3] = {{0}};
	double		log_det = 0;

	for (int i = 0; i < ROWS; i++)
	{
		for (int j = 0; j < ROWS; j++)
		{
			double		a[2] = {lambda[0] + lambda[1] * 2 * p->rows[i][1], lambda[2] * 2 * p->rows[i][1]};
			double		b[2] = {lambda[0] + lambda[1] * 2 * p->rows[j][1], lambda[2] * 2 * p->rows[j][1]};

			v[i][j] = (i == j) + (p->group[i] == p->group[j] ? a[0] * b[0] + a[1] * b[1] : 0) +
				(p->other[i] == p->other[j] ? lambda[3] * lambda[3] : 0);
		}
		for (int k = 0; k < 3; k++)
			v[i][ROWS + k] = p->rows[i][p->entries[k]] * p->scale[k];
	}
	/* L L' = V in place, and L^-1 (X, y) beside it */
	for (int i = 0; i < ROWS; i++)
	{
		for (int j = 0; j <= i; j++)
		{
			for (int k = 0; k < j; k++)
				v[i][j] -= v[i][k] * v[j][k];
			v[i][j] = i == j ? sqrt(v[i][i]) : v[i][j] / v[j][j];
		}
		log_det += 2 * log(v[i][i]);
		for (int c = 0; c < 3; c++)
		{
			for (int k = 0; k < i; k++)
				v[i][ROWS + c] -= v[i][k] * v[k][ROWS + c];
			v[i][ROWS + c] /= v[i][i];
		}
		for (int a = 0; a < 3; a++)
			for (int b = 0; b < 3; b++)
				s[a][b] += v[i][ROWS + a] * v[i][ROWS + b];
	}
	{
		double		det = s[0][0] * s[1][1] - s[0][1] * s[1][0];
		double		b0 = (s[1][1] * s[0][2] - s[0][1] * s[1][2]) / det;
		double		b1 = (s[0][0] * s[1][2] - s[0][1] * s[0][2]) / det;
		double		squares = s[2][2] - b0 * s[0][2] - b1 * s[1][2];

		return log_det + (p->model.reml ? log(det) : 0) + (ROWS - (p->model.reml ? 2 : 0)) * log(squares);
	}
}

/* Sets entry k of Psi's packed rows of both terms, by their Lambda. */
static void
set_lambda(const double *psi, double *lambda)
{
	lambda[0] = sqrt(psi[0]);
	lambda[1] = psi[1] / lambda[0];
	lambda[2] = sqrt(psi[2] - lambda[1] * lambda[1]);
	lambda[3] = sqrt(psi[3]);
}

/* Evaluates and derives at Psi. Returns the criterion. */
static double
derive_at(Problem *p, const double *psi)
{
	set_lambda(psi, p->fit.lambda);
	gr_lmm_evaluate(&p->fit.sums, p->fit.lambda, &poll);
	gr_lmm_derive(&p->fit.sums, &poll);
	return p->fit.sums.value;
}

static void
test_derivatives(bool reml)
{
	Problem		p;
	const double psi[PARAMETERS] = {1.5, 0.3, 0.8, 0.4};
	double		slope[PARAMETERS];
	double		hessian[PARAMETERS * PARAMETERS];
	double		worst = 0;
	double		value;

	make_problem(&p, reml);
	value = derive_at(&p, psi);
	check(fabs(value - dense_criterion(&p, p.fit.lambda)) < 1e-10 * fabs(value), "the criterion is that of V");
	memcpy(slope, p.fit.sums.slope, sizeof(slope));
	memcpy(hessian, p.fit.sums.hessian, sizeof(hessian));
	for (int k = 0; k < PARAMETERS; k++)
	{
		double		moved[PARAMETERS];
		double		high;
		double		high_slope[PARAMETERS];

		memcpy(moved, psi, sizeof(moved));
		moved[k] += 1e-5;
		high = derive_at(&p, moved);
		memcpy(high_slope, p.fit.sums.slope, sizeof(high_slope));
		moved[k] = psi[k] - 1e-5;
		worst = fmax(worst, fabs((high - derive_at(&p, moved)) / 2e-5 - slope[k]));
		for (int j = 0; j < PARAMETERS; j++)
			worst = fmax(worst, fabs((high_slope[j] - p.fit.sums.slope[j]) / 2e-5 - hessian[j * PARAMETERS + k]));
	}
	check(worst < 1e-6, "derivatives are those of differences, to %g", worst);
}

static void
test_minimum(bool reml)
{
	Problem		p;
	double		df[2];
	double		largest = 0;

	make_problem(&p, reml);
	memcpy(p.fit.lambda, (double[]) {1, 0, 1, 1}, PARAMETERS * sizeof(double));
	check(gr_lmm_minimise(&p.fit, &poll) && p.fit.converged, "the fit converges");
	for (int k = 0; k < PARAMETERS; k++)
		largest = fmax(largest, fabs(p.fit.slope[k]));
	check(largest < 1e-9, "the slope is 0 at the minimum, to %g", largest);
	gr_lmm_degrees(&p.fit, df);
	check(df[0] > 1 && df[0] < ROWS && df[1] > 1 && df[1] < ROWS, "degrees of freedom are plausible");
}

/* Effects must satisfy u = Psi Z' (y - X b - Z u), in the scaled columns. */
static void
test_effects(void)
{
	Problem		p;
	double		effects[2 * GROUPS + OTHERS];
	double		errors[2 * GROUPS + OTHERS];
	double		left[2 * GROUPS + OTHERS] = {0};
	double		worst = 0;

	make_problem(&p, true);
	derive_at(&p, (double[]) {1.5, 0.3, 0.8, 0.4});
	gr_lmm_effects(&p.fit.sums, &p.component, &p.all, effects, errors);
	for (int i = 0; i < ROWS; i++)
	{
		const double *row = p.rows[i];
		int			g = p.group[i];
		double		rest = row[3] - (p.fit.sums.coef[0] + 2 * row[1] * p.fit.sums.coef[1]) / 0.5 - effects[2 * g] -
			effects[2 * g + 1] * row[1] - effects[2 * GROUPS + p.other[i]];

		left[2 * g] += rest;
		left[2 * g + 1] += rest * 2 * row[1];
		left[2 * GROUPS + p.other[i]] += rest;
	}
	for (int g = 0; g < GROUPS; g++)
	{
		worst = fmax(worst, fabs(effects[2 * g] - 1.5 * left[2 * g] - 0.3 * left[2 * g + 1]));
		worst = fmax(worst, fabs(effects[2 * g + 1] - 2 * (0.3 * left[2 * g] + 0.8 * left[2 * g + 1])));
	}
	for (int h = 0; h < OTHERS; h++)
		worst = fmax(worst, fabs(effects[2 * GROUPS + h] - 0.4 * left[2 * GROUPS + h]));
	check(worst < 1e-11, "effects solve the mixed model equations, to %g", worst);
	for (int k = 0; k < 2 * GROUPS + OTHERS; k++)
		check(errors[k] > 0 && isfinite(errors[k]), "an effect has an error");
}

static void *
take(void *arg, size_t nbytes)
{
	(void) arg;
	return malloc(nbytes);
}

static bool
reads(const char *text, bool whole, GrLmmFormula *formula)
{
	GrLmmFormulaError err = {0};
	GrMemory	memory = {take, NULL};
	GrString	string = {text, (int) strlen(text)};

	return whole ? gr_lmm_formula_split(string, memory, formula, &err) :
		gr_lmm_formula_read(string, memory, formula, &err);
}

static void
test_formulas(void)
{
	GrLmmFormula formula;
	static const char *const wrong[] = {
		"", "0", "x +", "(1 | g", "(1 | g) x", "(1 | )", "( | g)", "(1 |", "1 + \"x",
		"(1 | g) + 1", "(1 | a:b/c)", "\"\""
	};

	check(reads("(1 + X || \"G g\"/h)", false, &formula) && formula.nterms == 4, "a nested term without covariances");
	check(strcmp(formula.terms[1].columns[0].bytes, "x") == 0 && !formula.terms[1].intercept, "names are folded");
	check(strcmp(formula.terms[3].factors[0].bytes, "G g") == 0 && formula.terms[3].nfactors == 2, "quoted names");
	check(reads("0 + x", false, &formula) && formula.terms[0].nfactors == 0 && formula.nterms == 1, "columns alone");
	check(reads("y ~ (1 | g) + x * (a + b) + (x | h:i)", true, &formula) && formula.nterms == 2 &&
		  strcmp(formula.fixed.bytes, "y ~ + x * (a + b)") == 0, "a formula without its random terms");
	check(reads("y ~ (1 | g)", true, &formula) && strcmp(formula.fixed.bytes, "y ~ 1") == 0, "no fixed term");
	check(!reads("y ~ x", true, &formula) && !reads("y ~ (1 | g) + ", true, &formula), "no random term; no end");
	for (size_t k = 0; k < sizeof(wrong) / sizeof(wrong[0]); k++)
		check(!reads(wrong[k], false, &formula), "malformed: %s", wrong[k]);
}

static void
test_records(void)
{
	GrLmmRecord record = {
		.reml = true,.nterms = 2,.variance = 0.3,.fixed_variance = 1.5,.random_variance = INFINITY,
		.terms = {{.group = {"a b", 3},.ngroups = 12,.ncolumns = 2,.columns = {{"(intercept)", 11}, {"x 1", 3}},
				.covariance = {1, -0.5, 0.25}},
			{.group = {"", 0},.ngroups = 1,.ncolumns = 1,.columns = {{"z", 1}},.covariance = {0}}}
	};
	GrLmmRecord again;
	char		text[1000];
	GrWriter	writer = {.text = text,.size = sizeof(text)};
	bool		refused = true;

	gr_lmm_record_write(&writer, &record);
	check(gr_lmm_record_read((GrString) {text, (int) writer.nbytes}, &again) && again.nterms == 2 && again.reml &&
		  again.terms[0].ngroups == 12 && again.terms[0].columns[1].nbytes == 3 &&
		  again.terms[0].covariance[1] == -0.5 && isinf(again.random_variance), "a record is read as written");
	check(gr_lmm_record_rank(&again.terms[0]) == 1 && gr_lmm_record_rank(&again.terms[1]) == 0, "ranks");
	for (int n = 0; n < (int) writer.nbytes; n++)
		refused &= !gr_lmm_record_read((GrString) {text, n}, &again);
	check(refused, "a record that was cut off is refused");
	for (int k = 0; k < (int) writer.nbytes; k++)
		for (int c = 0; c < 256; c += 5)
		{
			char		kept = text[k];

			text[k] = (char) c;
			(void) gr_lmm_record_read((GrString) {text, (int) writer.nbytes}, &again);
			text[k] = kept;
		}
	check(true, "changed records do no harm");
}

int
main(void)
{
	srandom(47);
	test_derivatives(true);
	test_derivatives(false);
	test_minimum(true);
	test_minimum(false);
	test_effects();
	test_formulas();
	test_records();
	return unit_done();
}
