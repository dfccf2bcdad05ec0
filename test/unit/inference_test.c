/*
 * inference_test.c: tests the distribution functions against test/data/inference.csv, and at the ends of their domains.
 *
 * Usage: inference_test [csv]. A check covers one function and one band of values.
 */
#include <stdlib.h>
#include <string.h>

#include "compute/dist/inference.h"

#include "unit.h"

#define LIMIT 1e-13

typedef enum Function
{
	T_TWO_SIDED,
	T_QUANTILE,
	F_UPPER,
	NORMAL_TWO_SIDED,
	NORMAL_QUANTILE,
	/* R's functions, the lower tail before the upper one, each probability before its quantile */
	P_NORM,
	P_NORM_UPPER,
	Q_NORM,
	Q_NORM_UPPER,
	P_T,
	P_T_UPPER,
	Q_T,
	Q_T_UPPER,
	P_CHISQ,
	P_CHISQ_UPPER,
	Q_CHISQ,
	Q_CHISQ_UPPER,
	P_F,
	P_F_UPPER,
	Q_F,
	Q_F_UPPER,
	NFUNCTIONS
} Function;

static const char *const function_names[NFUNCTIONS] = {
	"t_two_sided", "t_upper_quantile", "f_upper", "normal_two_sided", "normal_upper_quantile",
	"pnorm", "pnorm_upper", "qnorm", "qnorm_upper", "pt", "pt_upper", "qt", "qt_upper",
	"pchisq", "pchisq_upper", "qchisq", "qchisq_upper", "pf", "pf_upper", "qf", "qf_upper"
};

/* Lower bounds of the bands. A value's band follows from the tail probability, or from a quantile's argument. */
static const double band_bounds[] = {0.5, 1e-3, 1e-30, 1e-150, 1e-290, 0.0};

#define NBANDS ((int) (sizeof(band_bounds) / sizeof(band_bounds[0])))

typedef struct Band
{
	int			nrows;
	double		worst;			/* relative error */
	double		arg;			/* the argument of the worst error */
	double		df1;
	double		df2;
} Band;

static Band bands[NFUNCTIONS][NBANDS];

static double
evaluate(Function function, double arg, double df1, double df2)
{
	switch (function)
	{
		case T_TWO_SIDED:
			return gr_t_two_sided(arg, df1);
		case T_QUANTILE:
			return gr_t_upper_quantile(arg, df1);
		case F_UPPER:
			return gr_f_upper(arg, df1, df2);
		case NORMAL_TWO_SIDED:
			return gr_normal_two_sided(arg);
		case NORMAL_QUANTILE:
			return gr_normal_upper_quantile(arg);
		case P_NORM:
		case P_NORM_UPPER:
			return gr_normal_probability(arg, df1, df2, function == P_NORM);
		case Q_NORM:
		case Q_NORM_UPPER:
			return gr_normal_quantile(arg, df1, df2, function == Q_NORM);
		case P_T:
		case P_T_UPPER:
			return gr_t_probability(arg, df1, function == P_T);
		case Q_T:
		case Q_T_UPPER:
			return gr_t_quantile(arg, df1, function == Q_T);
		case P_CHISQ:
		case P_CHISQ_UPPER:
			return gr_chisq_probability(arg, df1, function == P_CHISQ);
		case Q_CHISQ:
		case Q_CHISQ_UPPER:
			return gr_chisq_quantile(arg, df1, function == Q_CHISQ);
		case P_F:
		case P_F_UPPER:
			return gr_f_probability(arg, df1, df2, function == P_F);
		case Q_F:
		case Q_F_UPPER:
			return gr_f_quantile(arg, df1, df2, function == Q_F);
		default:
			return NAN;
	}
}

/* True if the function's argument is a probability. */
static bool
is_quantile(Function function)
{
	return function == T_QUANTILE || function == NORMAL_QUANTILE || function_names[function][0] == 'q';
}

static int
find_function(const char *name)
{
	for (int i = 0; i < NFUNCTIONS; i++)
		if (strcmp(name, function_names[i]) == 0)
			return i;
	return -1;
}

/* Adds one line of the table to its band; false if the line is malformed. */
static bool
add_row(char *line)
{
	double		number[4];
	char	   *rest = strchr(line, ',');
	int			function;
	int			band = 0;
	double		tail;
	double		got;
	double		error;
	Band	   *b;

	if (rest == NULL)
		return false;
	*rest++ = '\0';
	function = find_function(line);
	if (function < 0)
		return false;
	for (int i = 0; i < 4; i++)
	{
		char	   *end;

		number[i] = strtod(rest, &end);
		if (end == rest || *end != (i < 3 ? ',' : '\n'))
			return false;
		rest = end + 1;
	}

	tail = is_quantile((Function) function) ? number[0] : number[3];
	while (tail < band_bounds[band])
		band++;
	b = &bands[function][band];
	got = evaluate((Function) function, number[0], number[1], number[2]);
	error = relative_error(got, number[3]);
	/* a subnormal value may be off by one unit */
	if (fabs(got - number[3]) <= 0x1p-1074)
		error = 0.0;
	b->nrows++;
	if (error > b->worst || b->nrows == 1)
	{
		b->worst = error;
		b->arg = number[0];
		b->df1 = number[1];
		b->df2 = number[2];
	}
	return true;
}

static bool
read_table(const char *path)
{
	char		line[256];
	FILE	   *file = fopen(path, "r");
	bool		good = false;

	if (file == NULL)
	{
		printf("# cannot open %s\n", path);
		return false;
	}
	if (fgets(line, sizeof(line), file) != NULL && strcmp(line, "function,arg1,df1,df2,value\n") == 0)
	{
		good = true;
		while (good && fgets(line, sizeof(line), file) != NULL)
			good = add_row(line);
	}
	fclose(file);
	return good;
}

static void
check_table(const char *path)
{
	check(read_table(path), "the reference table can be read");
	for (int f = 0; f < NFUNCTIONS; f++)
	{
		double		worst = 0.0;
		int			nrows = 0;

		for (int i = 0; i < NBANDS; i++)
		{
			const Band *b = &bands[f][i];

			nrows += b->nrows;
			worst = fmax(worst, b->worst);
			if (!check(b->nrows > 0 && b->worst <= LIMIT, "%s, tail %s %g", function_names[f],
					   i + 1 < NBANDS ? "from" : "above", band_bounds[i]))
				printf("# %d rows, worst %.2g at %.17g, df %.17g, %.17g\n", b->nrows, b->worst, b->arg, b->df1, b->df2);
		}
		printf("# %s: %d rows, worst relative error %.2g\n", function_names[f], nrows, worst);
	}
}

static void
check_domains(void)
{
	check(isnan(gr_t_two_sided(NAN, 3)) && isnan(gr_t_two_sided(1, NAN)) && isnan(gr_t_two_sided(1, 0)) &&
		  isnan(gr_t_two_sided(1, -1)) && isnan(gr_t_two_sided(1, -INFINITY)), "t_two_sided: outside the domain");
	check(gr_t_two_sided(INFINITY, 3) == 0 && gr_t_two_sided(-INFINITY, 3) == 0 &&
		  gr_t_two_sided(INFINITY, INFINITY) == 0, "t_two_sided: infinite t");
	check(gr_t_two_sided(0, 3) == 1 && gr_t_two_sided(-0.0, 0.1) == 1 && gr_t_two_sided(0, INFINITY) == 1 &&
		  gr_t_two_sided(-2.5, 7) == gr_t_two_sided(2.5, 7), "t_two_sided: zero, and the sign of t");
	check(gr_t_two_sided(3, INFINITY) == gr_normal_two_sided(3) &&
		  relative_error(gr_t_two_sided(30, 1e22), gr_normal_two_sided(30)) < LIMIT &&
		  relative_error(gr_t_two_sided(30, 1e300), gr_normal_two_sided(30)) < LIMIT,
		  "t_two_sided: df from 1e22 to infinity is the normal distribution");

	check(isnan(gr_t_upper_quantile(NAN, 3)) && isnan(gr_t_upper_quantile(0, 3)) && isnan(gr_t_upper_quantile(1, 3)) &&
		  isnan(gr_t_upper_quantile(-0.1, 3)) && isnan(gr_t_upper_quantile(1.1, 3)) &&
		  isnan(gr_t_upper_quantile(0.1, 0)) && isnan(gr_t_upper_quantile(0.1, NAN)) &&
		  isnan(gr_t_upper_quantile(0.1, -INFINITY)) && isnan(gr_t_upper_quantile(2, INFINITY)),
		  "t_upper_quantile: outside the domain");
	check(gr_t_upper_quantile(0.025, INFINITY) == gr_normal_upper_quantile(0.025) &&
		  relative_error(gr_t_upper_quantile(1e-300, 1e300), gr_normal_upper_quantile(1e-300)) < LIMIT &&
		  relative_error(gr_t_upper_quantile(0.4, 1e300), gr_normal_upper_quantile(0.4)) < LIMIT,
		  "t_upper_quantile: huge and infinite df is the normal distribution");
	check(gr_t_upper_quantile(0.5, 3) == 0 && gr_t_upper_quantile(0.75, 3) == -gr_t_upper_quantile(0.25, 3),
		  "t_upper_quantile: the median, and symmetry");
	check(gr_t_upper_quantile(1e-300, 0.5) == INFINITY && gr_t_upper_quantile(0.3, 1e-300) == INFINITY,
		  "t_upper_quantile: infinite beyond float8");

	check(isnan(gr_f_upper(NAN, 2, 3)) && isnan(gr_f_upper(1, NAN, 3)) && isnan(gr_f_upper(1, 2, NAN)) &&
		  isnan(gr_f_upper(1, 0, 3)) && isnan(gr_f_upper(1, 2, 0)) && isnan(gr_f_upper(1, -1, 3)) &&
		  isnan(gr_f_upper(0, 2, -3)), "f_upper: outside the domain");
	check(gr_f_upper(0, 2, 3) == 1 && gr_f_upper(-1, 2, 3) == 1 && gr_f_upper(-INFINITY, 2, 3) == 1 &&
		  gr_f_upper(INFINITY, 2, 3) == 0 && gr_f_upper(INFINITY, INFINITY, INFINITY) == 0,
		  "f_upper: f <= 0 and infinite f");
	check(relative_error(gr_f_upper(300, 2, INFINITY), exp(-300)) < LIMIT &&
		  relative_error(gr_f_upper(2.5, 7, INFINITY), gr_f_upper(2.5, 7, 1e25)) < LIMIT &&
		  relative_error(gr_f_upper(2.5, INFINITY, 7), gr_f_upper(2.5, 1e25, 7)) < LIMIT &&
		  relative_error(gr_f_upper(2.5, 1, INFINITY), gr_normal_two_sided(sqrt(2.5))) < LIMIT,
		  "f_upper: infinite df is chi-squared");
	check(relative_error(gr_f_upper(49, 1, 12), gr_t_two_sided(7, 12)) < LIMIT &&
		  gr_f_upper(0x1p-1074, 3, 5) == 1 && gr_f_upper(1.7e308, 5000, 5000) == 0,
		  "f_upper: t squared, and extreme f");

	check(isnan(gr_normal_two_sided(NAN)) && gr_normal_two_sided(INFINITY) == 0 &&
		  gr_normal_two_sided(-INFINITY) == 0 &&
		  gr_normal_two_sided(0) == 1 && gr_normal_two_sided(1e300) == 0, "normal_two_sided: domain");
	check(isnan(gr_normal_upper_quantile(NAN)) && isnan(gr_normal_upper_quantile(0)) &&
		  isnan(gr_normal_upper_quantile(1)) && gr_normal_upper_quantile(0.5) == 0 &&
		  gr_normal_upper_quantile(0.75) == -gr_normal_upper_quantile(0.25) &&
		  isfinite(gr_normal_upper_quantile(0x1p-1074)), "normal_upper_quantile: domain");
}

/* Checks R's values outside a function's domain and at its limits. */
static void
check_limits(void)
{
	bool		nan = true;
	bool		sides = true;

	for (int lower = 0; lower <= 1; lower++)
	{
		double		ends[2] = {lower ? -INFINITY : INFINITY, lower ? INFINITY : -INFINITY};
		double		from_zero[2] = {lower ? 0 : INFINITY, lower ? INFINITY : 0};

		nan = nan && isnan(gr_normal_probability(NAN, 0, 1, lower)) && isnan(gr_normal_probability(0, 0, -1, lower)) &&
			isnan(gr_normal_probability(INFINITY, INFINITY, 1, lower)) && isnan(gr_normal_quantile(1.1, 0, 1, lower)) &&
			isnan(gr_normal_quantile(NAN, 0, 1, lower)) && isnan(gr_normal_quantile(0.1, NAN, 1, lower)) &&
			isnan(gr_t_probability(NAN, 1, lower)) && isnan(gr_t_probability(0, 0, lower)) &&
			isnan(gr_t_quantile(-0.1, 1, lower)) && isnan(gr_t_quantile(NAN, 1, lower)) &&
			isnan(gr_chisq_probability(NAN, 1, lower)) && isnan(gr_chisq_probability(1, -1, lower)) &&
			isnan(gr_chisq_quantile(2, 1, lower)) && isnan(gr_chisq_quantile(0.1, NAN, lower)) &&
			isnan(gr_f_probability(NAN, 1, 1, lower)) && isnan(gr_f_probability(1, 0, 1, lower)) &&
			isnan(gr_f_quantile(0.1, 1, 0, lower)) && isnan(gr_f_quantile(NAN, 1, 1, lower));
		for (int p = 0; p <= 1; p++)
			sides = sides && gr_normal_quantile(p, 3, 2, lower) == ends[p] && gr_t_quantile(p, 3, lower) == ends[p] &&
				gr_chisq_quantile(p, 3, lower) == from_zero[p] && gr_f_quantile(p, 3, 2, lower) == from_zero[p] &&
				gr_normal_probability(ends[p], 3, 2, lower) == p && gr_t_probability(ends[p], 3, lower) == p &&
				gr_chisq_probability(from_zero[p], 3, lower) == p &&
				gr_f_probability(from_zero[p], 3, 2, lower) == p && gr_t_quantile(p, INFINITY, lower) == ends[p];
		sides = sides && gr_normal_quantile(0.5, 3, 2, lower) == 3 && gr_t_quantile(0.5, 2.5, lower) == 0 &&
			!signbit(gr_t_quantile(0.5, 2.5, lower)) && gr_t_probability(0, 7, lower) == 0.5;
	}
	check(nan, "R's functions: outside the domain");
	check(sides, "R's functions: probabilities of 0, 1/2 and 1");
	check(gr_normal_probability(2, 3, 0, true) == 0 && gr_normal_probability(3, 3, 0, true) == 1 &&
		  gr_normal_probability(3, 3, 0, false) == 0 && gr_normal_quantile(0.2, 3, 0, true) == 3,
		  "pnorm, qnorm: a standard deviation of 0");
	check(gr_f_probability(-1, 2, 3, true) == 0 && gr_chisq_probability(-1, 2, true) == 0 &&
		  gr_chisq_probability(1e300, INFINITY, true) == 0 && gr_chisq_quantile(0.1, INFINITY, true) == INFINITY &&
		  gr_f_quantile(0.3, INFINITY, INFINITY, true) == 1, "pf, pchisq: below 0, infinite df");
	check(relative_error(gr_f_quantile(0.3, 4, INFINITY, true), gr_f_quantile(0.3, 4, 1e18, true)) < LIMIT &&
		  relative_error(gr_f_quantile(1e-9, INFINITY, 4, false), gr_f_quantile(1e-9, 1e18, 4, false)) < LIMIT &&
		  relative_error(gr_f_probability(0.3, 4, INFINITY, true), gr_f_probability(0.3, 4, 1e25, true)) < LIMIT &&
		  relative_error(gr_f_probability(0.3, INFINITY, 4, true), gr_f_probability(0.3, 1e25, 4, true)) < LIMIT,
		  "pf, qf: df from 1e18 to infinity");
	check(gr_chisq_quantile(1e-300, 1e-3, true) == 0 && gr_f_quantile(1e-300, 1e-3, 1, true) == 0 &&
		  gr_f_quantile(1e-300, 1, 1e-3, false) == INFINITY, "qchisq, qf: beyond float8");
}

int
main(int argc, char **argv)
{
	check_table(argc > 1 ? argv[1] : "test/data/inference.csv");
	check_domains();
	check_limits();
	return unit_done();
}
