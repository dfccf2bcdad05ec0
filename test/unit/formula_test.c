/*
 * formula_test.c: tests formulas and designs: terms and names as R's model.matrix() has them, errors with their
 * positions, random texts, and rows.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compute/base/dd.h"
#include "compute/design/design.h"
#include "compute/design/design_text.h"
#include "compute/design/formula.h"
#include "compute/design/design_moves.h"
#include "compute/linalg/gram.h"
#include "unit.h"

/*
 * Memory that is freed when a test is over
 */

static void *blocks[100000];
static int	nblocks = 0;
static int	nleft = -1;			/* blocks that may still be taken; -1: any number */

static void *
take(void *arg, size_t nbytes)
{
	(void) arg;
	if (nleft == 0 || nblocks == COUNT(blocks))
		return NULL;
	nleft -= nleft > 0 ? 1 : 0;
	/* exactly its length, so a sanitizer sees reads beyond */
	return blocks[nblocks++] = malloc(nbytes);
}

static void
free_blocks(void)
{
	while (nblocks > 0)
		free(blocks[--nblocks]);
	nleft = -1;
}

static const GrMemory memory = {take, NULL};

/*
 * The columns of a query: y, the factors a (2 levels), b (3) and "C c" (2, with quotes), the numbers x, z and k
 * (factor(k) has 3 levels), a column of an unusable type, and two columns of one name
 */
static const GrFormulaColumn columns[] = {
	{"y", GR_COLUMN_NUMBER, true, false}, {"a", GR_COLUMN_FACTOR, true, false}, {"b", GR_COLUMN_FACTOR, true, false},
	{"C \"c", GR_COLUMN_FACTOR, true, true}, {"x", GR_COLUMN_NUMBER, true, false},
	{"z", GR_COLUMN_NUMBER, true, false}, {"k", GR_COLUMN_NUMBER, true, false},
	{"blob", GR_COLUMN_OTHER, false, true}, {"twice", GR_COLUMN_NUMBER, true, true},
	{"twice", GR_COLUMN_NUMBER, true, true}, {"w", GR_COLUMN_NUMBER, true, true}
};
static const int nlevels[COUNT(columns)] = {0, 2, 3, 2, 2, 0, 3};
static GrLevels levels[COUNT(columns)];

static void
make_levels(void)
{
	static const char *const names[] = {"1", "2", "3"};

	memset(levels, 0, sizeof(levels));
	for (int k = 0; k < COUNT(columns); k++)
		for (int i = 0; i < nlevels[k]; i++)
			(void) gr_level_add(&levels[k], (GrString) {names[i], 1}, memory);
}

static bool
read_formula(GrFormula *formula, const char *text, size_t nbytes, GrFormulaError *err)
{
	/* has no terminating 0 */
	char	   *copy = take(NULL, nbytes + (nbytes == 0 ? 1 : 0));

	*formula = (GrFormula) {.intercept = true};
	return gr_formula_read(formula, &(GrFormulaText) {memcpy(copy, text, nbytes), nbytes, columns, COUNT(columns)},
						   memory, NULL, err);
}

/* Writes the design and reads it again. *text: the text written. */
static GrDesign *
make_design(const GrFormula *formula, const char *source, GrString *text)
{
	GrString	quoted = {source, (int) strlen(source)};
	GrWriter	w = {0};

	make_levels();
	gr_design_write(&w, formula, quoted, columns, COUNT(columns), levels, NULL);
	w.text = take(NULL, w.nbytes);
	w.size = w.nbytes;
	w.nbytes = 0;
	gr_design_write(&w, formula, quoted, columns, COUNT(columns), levels, NULL);
	*text = (GrString) {w.text, (int) w.nbytes};
	return gr_design_read(w.text, w.nbytes, memory);
}

/* Writes the names of all features, each followed by a space. */
static const char *
name_all(const GrDesign *design, char *text, size_t size)
{
	GrWriter	w = {.text = text,.size = size - 1};

	for (int k = 0; k < design->nfeatures; k++)
	{
		gr_design_name(&w, design, k);
		if (w.nbytes < w.size)
			text[w.nbytes] = ' ';
		w.nbytes++;
	}
	text[w.nbytes < w.size ? w.nbytes : w.size] = '\0';
	return text;
}

/*
 * Terms of R 4.2's colnames(model.matrix()), with levels called [1], [2] ...; factor(k) and raw powers are renamed
 */
static const struct
{
	const char *formula;
	bool		intercept;
	const char *names;
}			readings[] = {
	{"y ~ x", true, "x "},
	{"y~X+Z", true, "x z "},
	{"y ~ a", true, "a[2] "},
	{"y ~ a - 1", false, "a[1] a[2] "},
	{"y ~ 0 + a + b", false, "a[1] a[2] b[2] b[3] "},
	{"y ~ 0 + x + b", false, "x b[1] b[2] b[3] "},
	{"y ~ a * b", true, "a[2] b[2] b[3] a[2]:b[2] a[2]:b[3] "},
	{"y ~ a:b", true, "a[1]:b[1] a[2]:b[1] a[1]:b[2] a[2]:b[2] a[1]:b[3] a[2]:b[3] "},
	{"y ~ b + a:b", true, "b[2] b[3] b[1]:a[2] b[2]:a[2] b[3]:a[2] "},
	{"y ~ x:b", true, "x:b[1] x:b[2] x:b[3] "},
	{"y ~ x + x:b", true, "x x:b[2] x:b[3] "},
	{"y ~ x * b - x", true, "b[2] b[3] x:b[1] x:b[2] x:b[3] "},
	{"y ~ factor(k) * x", true, "k[2] k[3] x k[2]:x k[3]:x "},
	{"y ~ factor(k) + k", true, "k[2] k[3] k "},
	{"y ~ factor(a)", true, "a[2] "},
	{"y ~ poly(x, 3)", true, "x x^2 x^3 "},
	{"y ~ poly(x,2):b", true, "x:b[1] x^2:b[1] x:b[2] x^2:b[2] x:b[3] x^2:b[3] "},
	{"y ~ x:a + z + a", true, "z a[2] x:a[1] x:a[2] "},
	{"y ~ (a + b) * x", true, "a[2] b[2] b[3] x a[2]:x b[2]:x b[3]:x "},
	{"y ~ a * b * x - a:b:x", true, "a[2] b[2] b[3] x a[2]:b[2] a[2]:b[3] a[2]:x b[2]:x b[3]:x "},
	{"y ~ a:a:a", true, "a[2] "},
	{"y ~ - x + x", true, "x "},
	{"y ~ x - 1 + 1", true, "x "},
	{"y ~ x - 0", true, "x "},
	{"y ~ x + 0", false, "x "},
	{"y ~ 1", true, ""},
	{"y ~ x - x", true, ""},
	{"y ~ .", true, "a[2] b[2] b[3] x z k "},
	{"y ~ . - b + w", true, "a[2] x z k w "},
	{"x ~ .", true, "y a[2] b[2] b[3] z k "},
	{"k ~ .", true, "y a[2] b[2] b[3] x z "},
	{"w ~ . - y", true, "a[2] b[2] b[3] x z k "},
	{"y ~ . - y", true, "a[2] b[2] b[3] x z k "},
	{"y ~ y * x - y - y:x", true, "x "},
	{"y ~ (a + x + z)^2", true, "a[2] x z a[2]:x a[2]:z x:z "},
	{"y ~ (x + z + w) ^ 2 - x:w", true, "x z w x:z z:w "},
	{"y ~ (x + z + w)^3", true, "x z w x:z x:w z:w x:z:w "},
	{"y ~ (x)^50 + (0)^3", false, "x "},
	{"y ~ (. - b - k)^2", true, "a[2] x z a[2]:x a[2]:z x:z "},
	{"z ~ .^2 - a - b", true, "y x k y:a[2] y:b[2] y:b[3] y:x y:k a[2]:b[2] a[2]:b[3] a[2]:x "
	"a[2]:k b[2]:x b[3]:x b[2]:k b[3]:k x:k "},
	{"y ~ .:a", true, "a[2] a[1]:b[2] a[2]:b[2] a[1]:b[3] a[2]:b[3] a[1]:x a[2]:x a[1]:z a[2]:z a[1]:k a[2]:k "},
	{"y ~ \"C \"\"c\"", true, "C \"c[2] "},
	{"y ~ \"x\" +\t z", true, "x z "},
	{"log(y) ~ log(x) + I( x^2 )", true, "log(x) I(x^2) "},
	{"log(y) ~ .", true, "a[2] b[2] b[3] x z k "},
	{"y^2 - z ~ . - b", true, "a[2] x k "},
	{"y ~ log(x):a + LOG( x )", true, "log(x) log(x):a[2] "},
	{"y ~ a / x", true, "a[2] a[1]:x a[2]:x "},
	{"y ~ x / z", true, "x x:z "},
	{"y ~ x %in% z", true, "x:z "},
	{"y ~ (a + x) / z", true, "a[2] x a[1]:x:z a[2]:x:z "},
	{"y ~ z %in% (a + x)", true, "z:a[1]:x z:a[2]:x "},
	{"y ~ x + offset(log(w)) + offset(z)", true, "x "},
	{"y ~ offset(z)", true, ""},
	{"y ~ i(\"x\" + 1e5*z - .5)", true, "I(x + 1e+05 * z - 0.5) "},
	{"y ~ exp(-x)*I(2^-1 * (x / 3))", true, "exp(-x) I(2^-1 * (x/3)) exp(-x):I(2^-1 * (x/3)) "}
};

static void
test_readings(void)
{
	for (int k = 0; k < COUNT(readings); k++)
	{
		GrFormula	formula;
		GrFormulaError err;
		GrString	text;
		char		names[1000] = "";
		GrDesign   *design = NULL;

		if (read_formula(&formula, readings[k].formula, strlen(readings[k].formula), &err))
			design = make_design(&formula, readings[k].formula, &text);
		check(design != NULL && strcmp(name_all(design, names, sizeof(names)), readings[k].names) == 0 &&
			  formula.intercept == readings[k].intercept &&
			  design->nfeatures == gr_formula_nfeatures(&formula, levels), "%s: %s", readings[k].formula, names);
		free_blocks();
	}
}

static const struct
{
	const char *formula;
	GrFormulaFault fault;
	int			at;
}			faults[] = {
	{"", GR_FORMULA_ENDS, 0}, {"y", GR_FORMULA_ENDS, 1}, {"y ~", GR_FORMULA_ENDS, 3},
	{"~ x", GR_FORMULA_NO_RESPONSE, 0},
	{"y x", GR_FORMULA_UNEXPECTED, 2}, {"y ~ x z", GR_FORMULA_UNEXPECTED, 6}, {"y ~ x +", GR_FORMULA_ENDS, 7},
	{"y ~ + + x", GR_FORMULA_UNEXPECTED, 6}, {"y ~ (x", GR_FORMULA_ENDS, 6}, {"y ~ x)", GR_FORMULA_UNEXPECTED, 5},
	{"y ~ q", GR_FORMULA_UNKNOWN, 4}, {"q ~ x", GR_FORMULA_UNKNOWN, 0}, {"y ~ \"X\"", GR_FORMULA_UNKNOWN, 4},
	{"y ~ twice", GR_FORMULA_AMBIGUOUS, 4}, {"y ~ x + y", GR_FORMULA_RESPONSE_USED, 8},
	{"sin(y) ~ x", GR_FORMULA_NO_FUNCTION, 0}, {"y ~ sin(x)", GR_FORMULA_NO_FUNCTION, 4},
	{"y(1) ~ x", GR_FORMULA_NO_FUNCTION, 0}, {"y ~ log()", GR_FORMULA_ARITY, 8}, {"y ~ log(x, 2)", GR_FORMULA_ARITY, 9},
	{"y ~ I(x + )", GR_FORMULA_UNEXPECTED, 10}, {"y ~ log(x", GR_FORMULA_ENDS, 9}, {"y ~ log x", GR_FORMULA_UNKNOWN, 4},
	{"y ~ I(x y)", GR_FORMULA_UNEXPECTED, 8}, {"y ~ I(a)", GR_FORMULA_NOT_A_NUMBER, 6},
	{"y ~ x + I(2 * 3)", GR_FORMULA_NO_COLUMN, 8}, {"2 ~ x", GR_FORMULA_NO_COLUMN, 0},
	{"y ~ offset(log(2))", GR_FORMULA_NO_COLUMN, 4}, {"y ~ I(1x)", GR_FORMULA_NOT_A_DECIMAL, 6},
	{"y ~ I(1e999)", GR_FORMULA_NOT_A_DECIMAL, 6},
	{"y ~ I(0x10)", GR_FORMULA_NOT_A_DECIMAL, 6}, {"y ~ I(x % z)", GR_FORMULA_FOREIGN, 8},
	{"y ~ I(factor(x))", GR_FORMULA_NO_FUNCTION, 6}, {"y ~ log(log(q))", GR_FORMULA_UNKNOWN, 12},
	{"y ~ x:offset(z)", GR_FORMULA_UNEXPECTED, 6}, {"y ~ offset(z):x", GR_FORMULA_UNEXPECTED, 13},
	{"y ~ x - offset(z)", GR_FORMULA_UNEXPECTED, 8}, {"log(y) ~ x + log( y )", GR_FORMULA_RESPONSE_USED, 13},
	{"a + 1 ~ x", GR_FORMULA_NOT_A_NUMBER, 0}, {"log(y) x", GR_FORMULA_UNEXPECTED, 7}, {"log(y)", GR_FORMULA_ENDS, 6},
	{"y ~ . - y + y", GR_FORMULA_RESPONSE_USED, 8}, {"y ~ x:y - y", GR_FORMULA_RESPONSE_USED, 6},
	{"y ~ poly(y, 2)", GR_FORMULA_RESPONSE_USED, 9}, {"y ~ .^0", GR_FORMULA_BAD_DEGREE, 6},
	{"y ~ (x + z)^x", GR_FORMULA_BAD_DEGREE, 12}, {"y ~ (x + z)^", GR_FORMULA_ENDS, 12},
	{"y ~ .^2^2", GR_FORMULA_FOREIGN, 7}, {"y ~ ^2", GR_FORMULA_FOREIGN, 4},
	{"y ~ x^2", GR_FORMULA_FOREIGN, 5}, {"y ~ x / 2", GR_FORMULA_BAD_NUMBER, 8}, {"y ~ x %% z", GR_FORMULA_FOREIGN, 6},
	{"y ~ \"x", GR_FORMULA_FOREIGN, 4}, {"y ~ \"\"", GR_FORMULA_FOREIGN, 4}, {"y ~ 2", GR_FORMULA_BAD_NUMBER, 4},
	{"y ~ x * 1", GR_FORMULA_BAD_NUMBER, 8}, {"y ~ 1:x", GR_FORMULA_UNEXPECTED, 5},
	{"y ~ 1.5", GR_FORMULA_BAD_NUMBER, 4},
	{"y ~ poly(x)", GR_FORMULA_UNEXPECTED, 10}, {"y ~ poly(x, 0)", GR_FORMULA_BAD_DEGREE, 12},
	{"y ~ poly(x, 51)", GR_FORMULA_BAD_DEGREE, 12}, {"y ~ poly(x, 99999999999)", GR_FORMULA_BAD_DEGREE, 12},
	{"y ~ poly(x, z)", GR_FORMULA_BAD_DEGREE, 12}, {"y ~ poly(a, 2)", GR_FORMULA_NOT_A_NUMBER, 9},
	{"y ~ poly(x + z, 2)", GR_FORMULA_UNEXPECTED, 11}, {"y ~ factor(blob)", GR_FORMULA_NOT_USABLE, 11},
	{"y ~ x + blob", GR_FORMULA_NOT_USABLE, 8}, {"y ~ factor(x", GR_FORMULA_ENDS, 12},
	{"y ~ x ~ z", GR_FORMULA_UNEXPECTED, 6},
	{"y ~ poly(x,2):poly(x,3):poly(x,4):poly(x,5):poly(x,6):poly(x,7):poly(x,8):poly(x,9):z", GR_FORMULA_ORDER, 85}
};

static void
test_faults(void)
{
	for (int k = 0; k < COUNT(faults); k++)
	{
		GrFormula	formula;
		GrFormulaError err;
		bool		read = read_formula(&formula, faults[k].formula, strlen(faults[k].formula), &err);

		check(!read && err.fault == faults[k].fault && err.at == (size_t) faults[k].at,
			  "%s: fault %d at %zu", faults[k].formula, err.fault, err.at);
		free_blocks();
	}
}

/*
 * Limits
 */

static void
test_limits(void)
{
	static char text[2 << 20];
	GrFormula	formula;
	GrFormulaError err;
	size_t		n;

	memset(text, '(', sizeof(text));
	memcpy(text, "y ~ ", 4);
	check(!read_formula(&formula, text, sizeof(text), &err) && err.fault == GR_FORMULA_TOO_LONG, "2 MB");
	free_blocks();
	check(!read_formula(&formula, text, 60000, &err) && err.fault == GR_FORMULA_TOO_DEEP && err.at == 36, "brackets");
	free_blocks();
	/*
	 * 50 powers of each of six variables, squared, with one another and with the three factors: too many terms or
	 * features
	 */
	n = (size_t) sprintf(text, "y ~ ((x");
	for (int k = 1; k <= 50; k++)
		n += (size_t) sprintf(text + n, " + poly(x,%d) + poly(z,%d) + poly(k,%d)", k, k, k);
	n += (size_t) sprintf(text + n, ")");
	check(n > 0 && !read_formula(&formula, text, n, &err) && err.fault == GR_FORMULA_ENDS, "a sum that isn't closed");
	free_blocks();
	n += (size_t) sprintf(text + n, ") * (poly(w,1)");
	for (int k = 2; k <= 50; k++)
		n += (size_t) sprintf(text + n, " + poly(w,%d) + z:poly(w,%d)", k, k);
	n += (size_t) sprintf(text + n, ")");
	check(!read_formula(&formula, text, n, &err) && err.fault == GR_FORMULA_TOO_MANY, "15,000 products");
	free_blocks();
	/* an expression of too many operations, and of too many brackets and signs */
	n = (size_t) sprintf(text, "y ~ I(x");
	for (int k = 0; k < 600; k++)
		n += (size_t) sprintf(text + n, "+x");
	check(!read_formula(&formula, text, n, &err) && err.fault == GR_FORMULA_TOO_LARGE, "600 additions");
	free_blocks();
	n = (size_t) sprintf(text, "y ~ I(");
	for (int k = 0; k < 100; k++)
		n += (size_t) sprintf(text + n, k % 2 == 0 ? "-" : "x^");
	check(!read_formula(&formula, text, n, &err) && err.fault == GR_FORMULA_TOO_DEEP, "100 signs and exponents");
	free_blocks();
	for (int k = 0; k < 3; k++)
	{
		nleft = k;
		make_levels();
		*text = 'y';
		formula = (GrFormula) {.intercept = true};
		check(!gr_formula_read(&formula, &(GrFormulaText) {"y ~ x", 5, columns, COUNT(columns)}, memory, NULL, &err) &&
			  err.fault == GR_FORMULA_NO_MEMORY, "no memory after %d blocks", k);
		free_blocks();
	}
}

static void
test_cancel(void)
{
	Stopper		stopper = {.stop_at = 1};
	GrHost		host = {.canceled = stop,.arg = &stopper};
	static char text[70000];
	size_t		n = 0;
	GrFormula	formula = {.intercept = true};
	GrFormulaError err;

	n += (size_t) sprintf(text, "y ~ x");
	while (n < 65000)
		n += (size_t) sprintf(text + n, "+.:.");
	check(!gr_formula_read(&formula, &(GrFormulaText) {text, n, columns, COUNT(columns)}, memory, &host, &err) &&
		  err.fault == GR_FORMULA_CANCELED, "long work is polled");
	free_blocks();
}

/*
 * Random formulas, compared with R
 */

#define NROWS 12

/* The columns' values in a row of test/data/formulas_reference.R; its column a is a, b is b, and k has levels. */
static void
fill_row(const GrDesign *design, int i, double *values)
{
	const double numbers[] = {
		(7 * i) % 12 + 1, ((5 * i) % 12 + 1) / 4.0, ((11 * i + 3) % 13 + 2) / 8.0, ((3 * i + 1) % 11 - 5) / 2.0,
		i % 3 + 1
	};
	const int	of_level[] = {i % 2, (i / 2) % 3, i % 3};

	for (int c = 0; c < design->ncolumns; c++)
	{
		char		name = design->columns[c].name.bytes[0];
		const char *number = strchr("yxzwk", name);
		const char *factor = strchr("abk", name);

		values[c] = number == NULL ? 0 : numbers[number - "yxzwk"];
		values[design->ncolumns + c] = factor == NULL ? 0 : of_level[factor - "abk"];
	}
}

/* Returns a hash of the features' names, each followed by a space. */
static int64_t
hash_names(const GrDesign *design)
{
	static char names[100000];
	int64_t		hash = 0;

	for (const char *at = name_all(design, names, sizeof(names)); *at != '\0'; at++)
		hash = (hash * 257 + (unsigned char) *at) % 2147483647;
	return hash;
}

static double
sum_features(const GrDesign *design)
{
	double		sum = 0;

	for (int i = 0; i < NROWS; i++)
	{
		double		values[2 * COUNT(columns)];
		double		features[1000];

		fill_row(design, i, values);
		gr_design_expand(design, values, features);
		for (int k = 0; k < design->nfeatures; k++)
			sum += (i + 1) * (k + 1) * features[k];
	}
	return sum;
}

/* Reads a line of test/data/formulas.tsv. True if names and sums are R's. */
static bool
agrees_with_r(char *line)
{
	char	   *text = strtok(line, "\t");
	int64_t		hash = atoll(strtok(NULL, "\t"));
	int			nfeatures = atoi(strtok(NULL, "\t"));
	double		sum = strtod(strtok(NULL, "\t"), NULL);
	double		size = strtod(strtok(NULL, "\t"), NULL);
	GrFormula	formula;
	GrFormulaError err;
	GrString	written;
	GrDesign   *design = NULL;

	if (read_formula(&formula, text, strlen(text), &err))
		design = make_design(&formula, text, &written);
	if (design != NULL && design->nfeatures == nfeatures && nfeatures < 1000 && hash_names(design) == hash &&
		fabs(sum_features(design) - sum) <= 1e-13 * size)
		return true;
	printf("# %s\n", text);
	return false;
}

static void
test_random_against_r(void)
{
	FILE	   *file = fopen("test/data/formulas.tsv", "r");
	char		line[1000];
	int			nread = 0;
	int			nagree = 0;

	for (; file != NULL && fgets(line, sizeof(line), file) != NULL; nread++)
	{
		nagree += agrees_with_r(line);
		free_blocks();
	}
	check(nread == 3000 && nagree == nread, "%d of %d random formulas agree with R's model.matrix()", nagree, nread);
	if (file != NULL)
		fclose(file);
}

/*
 * Random texts
 */

static uint32_t seed = 1;

static uint32_t
draw(uint32_t n)
{
	seed = seed * 1664525u + 1013904223u;
	return (seed >> 8) % n;
}

/* Reads words of formulas and other bytes in any order. Whatever is read must have a design that can be read again. */
static void
test_random_formulas(void)
{
	static const char *const words[] = {
		"y", "~", "+", "-", "*", ":", "(", ")", "a", "b", "x", "z", "k", "w", "poly(", "factor(", ",", "2", "0", "1",
		".", "\"", "\"x\"", " ", "^", "\xc3\xa4", "blob", "twice", "poly(x,2)", "factor(k)", "/", "%in%", "I(", "log(",
		"offset(", "sqrt(x)", "I(x^2)", "1e-3", ".5"
	};
	int			nread = 0;
	bool		ok = true;

	for (int round = 0; round < 30000; round++)
	{
		char		text[200];
		size_t		n = (size_t) sprintf(text, "%s", draw(4) > 0 ? "y ~ " : "");
		GrFormula	formula;
		GrFormulaError err;
		GrString	written;

		for (int k = (int) draw(14); k > 0; k--)
			if (draw(50) == 0)
				text[n++] = (char) draw(256);
			else
				n += (size_t) sprintf(text + n, "%s", words[draw(COUNT(words))]);
		text[n] = '\0';
		if (read_formula(&formula, text, n, &err))
		{
			GrDesign   *design = make_design(&formula, text, &written);

			ok &= design != NULL && design->nfeatures == gr_formula_nfeatures(&formula, levels);
			nread++;
		}
		else
			ok &= err.fault != GR_FORMULA_OK && err.at + err.nbytes <= n;
		free_blocks();
	}
	check(ok && nread > 500, "random formulas, of which %d are formulas", nread);
}

/* Reads designs with some bytes changed, removed or doubled. Those that are accepted must be complete. */
static void
test_random_designs(void)
{
	GrFormula	formula;
	GrFormulaError err;
	GrString	written;
	char		good[2000];
	int			n;
	int			nread = 0;
	bool		ok = true;

	(void) read_formula(&formula, "y ~ a * b * factor(k) + poly(x, 3):k", 36, &err);
	(void) make_design(&formula, "a \"b\"", &written);
	memcpy(good, written.bytes, (size_t) written.nbytes);
	n = written.nbytes;
	free_blocks();
	for (int round = 0; round < 50000; round++)
	{
		int			cut = draw(4) == 0 ? (int) draw((uint32_t) n) : n;
		char	   *text = take(NULL, (size_t) cut + 1);
		GrDesign   *design;

		memcpy(text, good, (size_t) cut);
		for (int k = (int) draw(4); k > 0 && cut > 0; k--)
			text[draw((uint32_t) cut)] = draw(2) == 0 ? "0123456789 \"npcdfb"[draw(18)] : (char) draw(256);
		design = gr_design_read(text, (size_t) cut, memory);
		if (design != NULL)
		{
			double	   *values = take(NULL, 2 * (size_t) (design->ncolumns + 1) * sizeof(double));
			double	   *features = take(NULL, (size_t) (design->nfeatures + 1) * sizeof(double));
			double	   *low = take(NULL, (size_t) (design->npaired + 1) * sizeof(double));
			char		names[5000];

			for (int k = 0; k < design->ncolumns; k++)
			{
				values[k] = k + 1;
				values[design->ncolumns + k] = design->columns[k].is_factor ? design->columns[k].levels.n - 1 : 0;
			}
			gr_design_expand(design, values, features);
			gr_design_expand_pairs(design, values, features, low);
			(void) name_all(design, names, sizeof(names));
			nread++;
		}
		free_blocks();
	}
	check(ok && nread > 1000, "changed designs, of which %d are designs", nread);
}

static const char *const no_designs[] = {
	"", "1", "2 \"\" 0 0", "1 \"\" 0 1 1 n 0", "1 \"\" 1 n \"x\" 1 1 c 0", "1 \"\" 1 f \"x\" 2 \"a\" \"a\" 1 1 c 0",
	"1 \"\" 1 f \"x\" 1 \"a\" 1 1 c 0", "1 \"\" 1 f \"x\" 2 \"a\" \"b\" 1 1 n 0", "1 \"\" 1 n \"x\" 1 1 n 1",
	"1 \"\" 1 n \"x\" 1 1 n 0 ", "1 \"\" 1 n \"x\" 01 1 n 0", "1 \"\" 1 n \"x\" 1 1 p 0 51", "1 \"\" 1 n \"x\" 1 0",
	"1 \"\" 1 n \"x\" 1 9 n 0 n 0 n 0 n 0 n 0 n 0 n 0 n 0 n 0", "1 \"\" 99999999999999999999 n \"x\" 1 1 n 0",
	"1 \"\" 1 n \"x\" 10000 1 n 0", "1 \"\" 1 n \"x\" 1 3 p 0 50 p 0 50 p 0 50", "1 \"\" -1 0", "1  \"\" 0 0",
	"1 \"\" 1664 0"
};

static void
test_no_designs(void)
{
	for (int k = 0; k < COUNT(no_designs); k++)
	{
		check(gr_design_read(no_designs[k], strlen(no_designs[k]), memory) == NULL, "no design: %s", no_designs[k]);
		free_blocks();
	}
	check(gr_design_read("1 \"\" 0 0", 8, memory) != NULL, "a design of nothing");
	for (int k = 0, n = nblocks; k < n; k++)
	{
		free_blocks();
		nleft = k;
		check(gr_design_read("1 \"\" 0 0", 8, memory) == NULL, "none where memory ends at piece %d", k);
	}
	free_blocks();
}

/*
 * Rows
 */

/* True if gr_design_nonzeros() gives the features of gr_design_expand_pairs(), and leaves out none but zeros. */
static bool
nonzeros_are(const GrDesign *design, const double *values, const double *features, const double *low)
{
	GrNonzero	nonzeros[200];
	int			n = gr_design_nonzeros(design, values, nonzeros);
	bool		right = n <= gr_design_nonzeros_max(design) && n < COUNT(nonzeros);
	int			next = 0;
	int			k = 0;

	for (int t = 0; t < design->nterms; t++)
		for (int i = 0; i < design->terms[t].width; i++, k++)
		{
			double		rest = design->terms[t].paired ? *low++ : 0;

			if (next < n && nonzeros[next].feature == k)
			{
				right &= nonzeros[next].value.hi == features[k] && nonzeros[next].value.lo == rest;
				next++;
			}
			else
				right &= features[k] == 0 && rest == 0;
		}
	return right && next == n;
}

/* Checks every feature of every term against the product that its name says. */
static void
test_rows(void)
{
	static const char source[] = "y ~ a * b * x + poly(z, 4):a:factor(k) + k";
	GrFormula	formula;
	GrFormulaError err;
	GrString	text;
	GrDesign   *design;
	bool		same = true;
	bool		low_right = true;
	bool		nonzeros_right = true;

	(void) read_formula(&formula, source, sizeof(source) - 1, &err);
	design = make_design(&formula, source, &text);
	for (int round = 0; round < 200; round++)
	{
		double		values[20];
		double		features[200];
		double		paired[200];
		double		low[200];
		int			at = 0;
		int			nlow = 0;

		for (int k = 0; k < design->ncolumns; k++)
		{
			values[k] = (draw(2000001) - 1000000.0) / 7919;
			values[design->ncolumns + k] = design->columns[k].is_factor ?
				draw((uint32_t) design->columns[k].levels.n) : 0;
		}
		gr_design_expand(design, values, features);
		gr_design_expand_pairs(design, values, paired, low);
		nonzeros_right &= nonzeros_are(design, values, paired, low);
		for (int t = 0; t < design->nterms; t++)
			for (int k = 0; k < design->terms[t].width; k++, at++)
			{
				const GrDesignTerm *term = &design->terms[t];
				long double want = 1;

				for (int i = 0, rest = k; i < term->nparts; rest /= term->part[i].width, i++)
				{
					const GrDesignPart *part = &term->part[i];
					int			j = rest % part->width;
					double		v = values[part->at];

					if (part->kind == GR_PART_CONTRASTS || part->kind == GR_PART_DUMMIES)
						want *= v == j + (part->kind == GR_PART_CONTRASTS ? 1 : 0) ? 1 : 0;
					else
						for (int power = 0; power <= j; power++)
							want *= v;
				}
				same &= fabs((double) (features[at] - want)) <= 1e-15 * fabs((double) want);
				same &= fabs((double) (paired[at] - want)) <= 1e-15 * fabs((double) want);
				if (term->paired)
				{
					low_right &= fabs((double) (want - paired[at] - low[nlow])) <= 1e-18 * fabs((double) want);
					nlow++;
				}
			}
		same &= at == design->nfeatures && nlow == design->npaired;
	}
	check(same, "features are the products that they are called");
	check(low_right, "what rounding leaves of powers is kept");
	check(nonzeros_right, "features that may be other than 0 have the values of all features");
	free_blocks();
}

/* Checks features about a center against the features that they are moved to. */
static void
test_moves(const char *source, bool complete)
{
	static const double centers[COUNT(columns)] = {[4] = 3.25, [5] = -1.5};
	GrFormula	formula;
	GrFormulaError err;
	GrString	text;
	GrDesign   *raw;
	GrDesign   *centered;
	GrWriter	w = {0};
	GrTermMoves moves = {0};
	bool		made;
	bool		right = true;

	(void) read_formula(&formula, source, strlen(source), &err);
	raw = make_design(&formula, source, &text);
	gr_design_write(&w, &formula, (GrString) {"", 0}, columns, COUNT(columns), levels, centers);
	w = (GrWriter) {.text = take(NULL, w.nbytes),.size = w.nbytes};
	gr_design_write(&w, &formula, (GrString) {"", 0}, columns, COUNT(columns), levels, centers);
	centered = gr_design_read(w.text, w.nbytes, memory);
	made = centered != NULL && gr_design_moves(centered, memory, &moves);
	for (int round = 0; made && round < 100; round++)
	{
		double		values[20];
		double		about[200];
		double		want[200];
		long double moved[201] = {0};

		for (int k = 0; k < raw->ncolumns; k++)
		{
			values[k] = draw(1000) / 64.0 - 5;
			values[raw->ncolumns + k] = raw->columns[k].is_factor ? draw((uint32_t) raw->columns[k].levels.n) : 0;
		}
		gr_design_expand(centered, values, about);
		gr_design_expand(raw, values, want);
		for (int k = 0; k < raw->nfeatures; k++)
			moved[k + 1] = want[k];
		for (int64_t n = 0; n < moves.n; n++)
		{
			const GrTermMove *move = &moves.move[n];

			moved[move->from] += (long double) move->hi * (move->to == 0 ? 1 : want[move->to - 1]);
			right &= move->to < move->from && (n == 0 || moves.move[n - 1].from <= move->from);
		}
		for (int k = 0; k < raw->nfeatures; k++)
			right &= fabs((double) moved[k + 1] - about[k]) <= 1e-9 * (1 + fabs(about[k]));
	}
	check(made == complete && right, "%s: %d moves", source, (int) moves.n);
	free_blocks();
}

/* Checks sums of columns in two parts against the columns' own, in integers. */
static void
test_fold(bool shifted)
{
	enum
	{
		P = 4, LOW = 2, Q = P + LOW + 2
	};
	static const int rest_of[P] = {-1, 1, -1, 0};
	double		hi[Q * (Q + 1) / 2] = {0};
	double		lo[Q * (Q + 1) / 2] = {0};
	double		want[(P + 2) * (P + 3) / 2] = {0};
	double		shift[P + LOW + 1] = {0};
	GrGram		gram;
	GrPoll		poll = {0};
	bool		same = true;

	if (shifted)
		for (int k = 0; k <= P + LOW; k++)
			shift[k] = k % 3 + 1;
	for (int row = 0; row < 50; row++)
	{
		double		stored[Q] = {1};
		double		folded[P + 2] = {1};

		for (int k = 1; k < Q; k++)
			stored[k] = (int) draw(1000) - 300;
		for (int k = 0; k < P; k++)
			folded[k + 1] = stored[k + 1] + (rest_of[k] < 0 ? 0 : stored[P + 1 + rest_of[k]]) - shift[k];
		folded[P + 1] = stored[Q - 1] - shift[P + LOW];
		for (int k = 1; k < Q; k++)
			stored[k] -= shift[k - 1];
		for (int i = 0; i < Q; i++)
			for (int j = 0; j <= i; j++)
				hi[gr_triangle(i) + j] += stored[i] * stored[j];
		for (int i = 0; i < P + 2; i++)
			for (int j = 0; j <= i; j++)
				want[gr_triangle(i) + j] += folded[i] * folded[j];
	}
	gram = (GrGram) {.hi = hi,.lo = lo,.shift = shift,.nfeatures = P + LOW};
	same = gr_gram_fold(&gram, rest_of, LOW, &poll) && gram.nfeatures == P;
	for (int k = 0; k < COUNT(want); k++)
		same &= hi[k] == want[k] && lo[k] == 0;
	check(same && (!shifted || shift[P] == (P + LOW) % 3 + 1), "columns of two parts%s",
		  shifted ? ", about a shift" : "");
}

/* Checks the largest number of levels. */
static void
test_levels(void)
{
	GrLevels	many = {0};
	bool		ok = true;

	for (int k = 0; k <= GR_MAX_FEATURES; k++)
	{
		char	   *text = take(NULL, 12);
		int			n = sprintf(text, "%d", k * 7919);

		ok &= gr_level_find(&many, text, n) < 0 && gr_level_add(&many, (GrString) {text, n}, memory);
	}
	for (int k = 0; k <= GR_MAX_FEATURES; k++)
	{
		char		text[12];

		ok &= gr_level_find(&many, text, sprintf(text, "%d", k * 7919)) == k;
	}
	check(ok && gr_level_find(&many, "", 0) < 0, "levels are found");
	free_blocks();
}

int
main(void)
{
	test_readings();
	test_faults();
	test_limits();
	test_cancel();
	test_random_against_r();
	test_random_formulas();
	test_random_designs();
	test_no_designs();
	test_rows();
	test_moves("y ~ poly(x, 5)", true);
	test_moves("y ~ poly(x, 3) * b + poly(z, 2) * poly(x, 3)", true);
	test_moves("y ~ poly(x, 3):b + b", false);
	test_moves("y ~ poly(x, 2):poly(z, 2)", false);
	test_moves("y ~ x + z", true);
	test_fold(false);
	test_fold(true);
	test_levels();
	return unit_done();
}
