/*
 * inference_test.c: the distribution functions against test/data/inference.csv, and their domains.
 *
 * Usage: inference_test [csv]. A check covers one function and one band of values.
 */
#include <stdlib.h>
#include <string.h>

#include "compute/inference.h"

#include "unit.h"

#define LIMIT 1e-12

typedef enum Function
{
	T_TWO_SIDED,
	T_QUANTILE,
	F_UPPER,
	NORMAL_TWO_SIDED,
	NORMAL_QUANTILE,
	NFUNCTIONS
} Function;

static const char *const function_names[NFUNCTIONS] = {
	"t_two_sided", "t_upper_quantile", "f_upper", "normal_two_sided", "normal_upper_quantile"
};

/* Bands of the tail probability: the value itself, or a quantile's argument; a band reaches down to its bound. */
static const double band_bounds[] = {0.5, 1e-3, 1e-30, 1e-150, 1e-290, 0.0};

#define NBANDS ((int) (sizeof(band_bounds) / sizeof(band_bounds[0])))

typedef struct Band
{
	int			nrows;
	double		worst;			/* relative error */
	double		arg;			/* where that was */
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
		default:
			return NAN;
	}
}

static int
find_function(const char *name)
{
	for (int i = 0; i < NFUNCTIONS; i++)
		if (strcmp(name, function_names[i]) == 0)
			return i;
	return -1;
}

/* Takes one line of the table into its band; false if it isn't one. */
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

	tail = function == T_QUANTILE || function == NORMAL_QUANTILE ? number[0] : number[3];
	while (tail < band_bounds[band])
		band++;
	b = &bands[function][band];
	got = evaluate((Function) function, number[0], number[1], number[2]);
	error = relative_error(got, number[3]);
	/* a subnormal value is right if it is a neighbour */
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

int
main(int argc, char **argv)
{
	check_table(argc > 1 ? argv[1] : "test/data/inference.csv");
	check_domains();
	return unit_done();
}
