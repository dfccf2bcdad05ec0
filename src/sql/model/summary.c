/*
 * summary.c: gpu_summary, which prints a model as R's summary() does, at most 80 columns wide.
 *
 * Numbers are formatted as R's printCoefmat(), format() and format.pval() do at R's default of seven digits, which
 * gives four here. Numbers of a column share their decimals: as many as the number that needs most. They are written
 * with exponents if that is shorter.
 */
#include "postgres.h"

#include <float.h>
#include <math.h>

#include "fmgr.h"
#include "lib/stringinfo.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "utils/builtins.h"

#include "compute/dist/family.h"
#include "compute/dist/inference.h"
#include "run/args.h"
#include "sql/model/mixed_summary.h"
#include "sql/model/model.h"
#include "sql/model/model_summary.h"

PG_FUNCTION_INFO_V1(gr_summary);

#define LINE_WIDTH 80
#define DIGITS 4				/* significant digits of estimates and statistics */
#define P_DIGITS 3				/* significant digits of p-values; also decimals of statistics */
#define STARS_WIDTH 3

/* Room for any formatted number, in bytes */
#define CELL_SIZE 64

/*
 * Formats of numbers, as in R
 */

typedef struct Format
{
	int			digits;			/* significant digits of the number that needs most */
	int			left;			/* columns before the point, the sign included */
	int			right;			/* decimals */
	int			nsignificant;	/* largest number of significant digits of a number */
	int			exponent_width; /* digits of an exponent */
	bool		negative;
	int			special;		/* width of infinities and NaN */
	bool		any;			/* true if a number is finite */
	bool		scientific;		/* set by settle() */
} Format;

/* Widens the format so that x fits. */
static void
widen(Format *f, double x)
{
	char		text[CELL_SIZE];
	int			exponent;
	int			n = f->digits;
	int			left;

	if (!isfinite(x))
	{
		f->special = Max(f->special, isnan(x) || x > 0 ? 3 : 4);
		return;
	}
	/* d.ddde+xx */
	snprintf(text, sizeof(text), "%.*e", f->digits - 1, fabs(x));
	exponent = (int) strtol(strchr(text, 'e') + 1, NULL, 10);
	while (n > 1 && text[n] == '0')
		n--;
	left = exponent + 1;
	/* x was rounded up to a power of ten, but its decimals are not rounded up */
	if (exponent > 0 && fabs(x) < pow(10, exponent))
		left--;
	f->left = Max(f->left, (x < 0) + Max(left, 1));
	f->right = Max(f->right, n - exponent - 1);
	f->nsignificant = Max(f->nsignificant, n);
	f->exponent_width = Max(f->exponent_width, abs(exponent) >= 100 ? 3 : 2);
	f->negative |= x < 0;
	f->any = true;
}

/* Chooses fixed or scientific notation, whichever is narrower. Call it after the last widen(). */
static void
settle(Format *f)
{
	int			fixed = f->left + f->right + (f->right > 0);
	int			scientific = f->negative + f->nsignificant + (f->nsignificant > 1) + 2 + f->exponent_width;

	f->scientific = f->any && fixed > scientific;
}

/* Formats x into text, which has CELL_SIZE bytes. */
static void
format_number(const Format *f, double x, char *text)
{
	if (isnan(x))
		strlcpy(text, "NaN", CELL_SIZE);
	else if (isinf(x))
		strlcpy(text, x < 0 ? "-Inf" : "Inf", CELL_SIZE);
	else if (f->scientific)
		snprintf(text, CELL_SIZE, "%.*e", f->nsignificant - 1, x);
	else
		snprintf(text, CELL_SIZE, "%.*f", f->right, x);
}

/* Formats a number by itself, in the current memory context. */
static char *
format_one(double x, int digits)
{
	Format		f = {.digits = digits};
	char	   *text = palloc(CELL_SIZE);

	widen(&f, x);
	settle(&f);
	format_number(&f, x, text);
	return text;
}

/* Formats x with DIGITS significant digits as R's formatC() does: from 10000 on with an exponent. */
static char *
format_general(double x)
{
	return isfinite(x) ? psprintf("%.*g", DIGITS, x) : format_one(x, DIGITS);
}

static double
round_to(double x, int decimals)
{
	char		text[DBL_MAX_10_EXP + 400];

	if (!isfinite(x) || fabs(x) >= 1e15)
		return x;
	snprintf(text, sizeof(text), "%.*f", Min(decimals, 340), x);
	return strtod(text, NULL);
}

/*
 * The table of coefficients
 */

enum
{
	ESTIMATE, STD_ERROR, STATISTIC, P_VALUE, NCOLUMNS
};

typedef struct Table
{
	const GrModel *model;
	int			n;
	double	   *values[NCOLUMNS];
	int			decimals;		/* decimals to which estimates and standard errors are rounded first */
	Format		coef;
	Format		tiny;			/* format of estimates and standard errors that would show as 0 otherwise */
	Format		test;
	Format		p_fixed;		/* format of p-values from 0.001 on */
	Format		p_small;		/* format of smaller p-values */
	const char *p_least;		/* text for p-values below float8's epsilon */
	bool		stars;
	const char *headings[NCOLUMNS];
	int			widths[NCOLUMNS];
	int			term_width;
} Table;

/* True if the response is separated along term k, so that its coefficient is infinite or unknown. */
static bool
is_separated(const GrModel *model, int k)
{
	return model->separated != NULL && model->separated[k] != 0;
}

/* Computes estimates, errors, statistics and p-values as gpu_tidy does. */
static void
fill_values(Table *t)
{
	const GrModel *m = t->model;

	for (int c = 0; c < NCOLUMNS; c++)
		t->values[c] = palloc_extended(t->n * sizeof(double), MCXT_ALLOC_HUGE);
	for (int k = 0; k < t->n; k++)
	{
		double		variance = m->vcov == NULL ? NAN : m->vcov[(Size) k * m->nterms + k];
		bool		separated = is_separated(m, k);

		t->values[ESTIMATE][k] = !separated ? m->coef[k] :
			m->vcov != NULL && !isinf(variance) ? m->separated[k] * INFINITY : NAN;
		t->values[STD_ERROR][k] = separated ? NAN : sqrt(variance);
		t->values[STATISTIC][k] = t->values[ESTIMATE][k] / t->values[STD_ERROR][k];
		t->values[P_VALUE][k] = gr_t_two_sided(t->values[STATISTIC][k], gr_model_df(m, k));
		gr_poll_loop(k);
	}
}

/* True if x is not 0 but would be shown as 0. */
static bool
is_tiny(const Table *t, double x)
{
	char		text[CELL_SIZE];

	if (!isfinite(x) || x == 0)
		return false;
	format_number(&t->coef, round_to(x, t->decimals), text);
	return strtod(text, NULL) == 0;
}

/*
 * Chooses the formats of estimates, standard errors and statistics. The least nonzero estimate or error shows DIGITS
 * significant digits, as in R, and all are rounded to its decimals.
 */
static void
choose_coef_formats(Table *t)
{
	double		least = INFINITY;

	for (int k = 0; k < t->n; k++)
	{
		for (int c = ESTIMATE; c <= STD_ERROR; c++)
			if (isfinite(t->values[c][k]) && t->values[c][k] != 0)
				least = fmin(least, fabs(t->values[c][k]));
		gr_poll_loop(k);
	}
	t->decimals = isinf(least) ? DIGITS - 1 : Max(1, DIGITS - 1 - (int) floor(log10(least)));
	for (int k = 0; k < t->n; k++)
	{
		for (int c = ESTIMATE; c <= STD_ERROR; c++)
			widen(&t->coef, round_to(t->values[c][k], t->decimals));
		widen(&t->test, round_to(t->values[STATISTIC][k], P_DIGITS));
		gr_poll_loop(k);
	}
	settle(&t->coef);
	settle(&t->test);
	for (int k = 0; k < t->n; k++)
	{
		for (int c = ESTIMATE; c <= STD_ERROR; c++)
			if (is_tiny(t, t->values[c][k]))
				widen(&t->tiny, t->values[c][k]);
		gr_poll_loop(k);
	}
	settle(&t->tiny);
}

/* Chooses the formats of p-values. "<" is followed by a blank unless all p-values have at most 6 characters. */
static void
choose_p_formats(Table *t)
{
	int			widest = 0;

	for (int k = 0; k < t->n; k++)
	{
		double		p = t->values[P_VALUE][k];

		if (p >= DBL_EPSILON)
			widen(floor(log10(p)) >= -3 ? &t->p_fixed : &t->p_small, p);
		t->stars |= p < 0.1;
		gr_poll_loop(k);
	}
	settle(&t->p_fixed);
	settle(&t->p_small);
	for (int k = 0; k < t->n; k++)
	{
		double		p = t->values[P_VALUE][k];
		char		text[CELL_SIZE] = "";

		if (p >= DBL_EPSILON)
			format_number(floor(log10(p)) >= -3 ? &t->p_fixed : &t->p_small, p, text);
		widest = Max(widest, (int) strlen(text));
		gr_poll_loop(k);
	}
	t->p_least = widest <= 6 ? "<2e-16" : "< 2e-16";
}

/*
 * Formats the cell of term k in column into text, which has CELL_SIZE bytes. NA: the term is aliased, or the value is
 * unknown because the term is separated or the model has no covariances.
 */
static void
format_cell(const Table *t, int k, int column, char *text)
{
	double		x = t->values[column][k];

	if (isnan(t->model->coef[k]) || (isnan(x) && (is_separated(t->model, k) || t->model->vcov == NULL)))
		strlcpy(text, "NA", CELL_SIZE);
	else if (column <= STD_ERROR && is_tiny(t, x))
		format_number(&t->tiny, x, text);
	else if (column <= STD_ERROR)
		format_number(&t->coef, round_to(x, t->decimals), text);
	else if (column == STATISTIC)
		format_number(&t->test, round_to(x, P_DIGITS), text);
	else if (x < DBL_EPSILON)
		strlcpy(text, t->p_least, CELL_SIZE);
	else
		format_number(x >= 0 && floor(log10(x)) < -3 ? &t->p_small : &t->p_fixed, x, text);
}

static const char *
stars_of(double p)
{
	return p <= 0.001 ? "***" : p <= 0.01 ? "**" : p <= 0.05 ? "*" : p <= 0.1 ? "." : "";
}

/*
 * Text of a given width
 */

/* Returns the columns that a character takes. *nbytes: its bytes, fewer if the text ends within the character. */
static int
width_of(const char *at, int *nbytes)
{
	*nbytes = strnlen(at, pg_mblen(at));
	return (unsigned char) *at < ' ' || *at == 0x7f ? 1 : Max(pg_dsplen(at), 0);
}

static int
text_width(const char *text)
{
	int			width = 0;
	int			nbytes;

	for (; *text != '\0'; text += nbytes)
		width += width_of(text, &nbytes);
	return width;
}

/*
 * Appends text in at most `columns` columns, control characters as blanks. If it is too long, dots replace its middle.
 * Returns the columns used.
 */
static int
append_shortened(StringInfo out, const char *text, int columns)
{
	int			width = text_width(text);
	bool		whole = width <= columns;
	int			head = whole ? width : (columns - 3 + 1) / 2;
	int			tail = whole ? 0 : columns - 3 - head;
	int			at = 0;
	int			shown = 0;
	int			nbytes;

	for (int w; *text != '\0'; text += nbytes, at += w)
	{
		w = width_of(text, &nbytes);
		if (!whole && at <= head && at + w > head)
		{
			appendStringInfoString(out, "...");
			shown += 3;
		}
		/* combining characters go with the character before them */
		if ((at + w > head && at < width - tail) || (w == 0 && at > head && at == width - tail))
			continue;
		if ((unsigned char) *text < ' ' || *text == 0x7f)
			appendStringInfoChar(out, ' ');
		else
			appendBinaryStringInfo(out, text, nbytes);
		shown += w;
	}
	return shown;
}

/* Appends a line, broken at blanks if it is too long. Continuation lines are indented by 4. */
static void
append_line(StringInfo out, const char *line)
{
	int			column = 0;
	int			nbytes;

	while (*line != '\0')
	{
		const char *end = line;
		int			width = 0;

		/* take a word and the blanks before it */
		while (*end == ' ')
			end++, width++;
		for (; *end != '\0' && *end != ' '; end += nbytes)
			width += width_of(end, &nbytes);
		if (column > 4 && column + width > LINE_WIDTH)
		{
			appendStringInfoString(out, "\n    ");
			column = 4;
			while (*line == ' ')
				line++, width--;
		}
		appendBinaryStringInfo(out, line, end - line);
		column += width;
		line = end;
	}
	appendStringInfoChar(out, '\n');
}

/* Ends a line, without trailing blanks. */
static void
end_line(StringInfo out)
{
	while (out->len > 0 && out->data[out->len - 1] == ' ')
		out->data[--out->len] = '\0';
	appendStringInfoChar(out, '\n');
}

static void
measure(Table *t)
{
	int			room = LINE_WIDTH - (t->stars ? STARS_WIDTH + 1 : 0);
	char		text[CELL_SIZE];

	for (int c = 0; c < NCOLUMNS; c++)
	{
		t->widths[c] = strlen(t->headings[c]);
		for (int k = 0; k < t->n; k++)
		{
			format_cell(t, k, c, text);
			t->widths[c] = Max(t->widths[c], (int) strlen(text));
			gr_poll_loop(k);
		}
		room -= t->widths[c] + 1;
	}
	for (int k = 0; k < t->n; k++)
	{
		t->term_width = Max(t->term_width, text_width(t->model->terms[k]));
		CHECK_FOR_INTERRUPTS();
	}
	t->term_width = Min(t->term_width, room);
}

static void
append_table(StringInfo out, Table *t)
{
	char		text[CELL_SIZE];

	appendStringInfo(out, "%*s", t->term_width, "");
	for (int c = 0; c < NCOLUMNS; c++)
		appendStringInfo(out, " %*s", t->widths[c], t->headings[c]);
	end_line(out);
	for (int k = 0; k < t->n; k++)
	{
		int			shown = append_shortened(out, t->model->terms[k], t->term_width);

		appendStringInfo(out, "%*s", Max(t->term_width - shown, 0), "");
		for (int c = 0; c < NCOLUMNS; c++)
		{
			format_cell(t, k, c, text);
			appendStringInfo(out, " %*s", t->widths[c], text);
		}
		appendStringInfo(out, " %s", stars_of(t->values[P_VALUE][k]));
		end_line(out);
		CHECK_FOR_INTERRUPTS();
	}
	if (t->stars)
		appendStringInfoString(out, "---\nSignif. codes:  0 '***' 0.001 '**' 0.01 '*' 0.05 '.' 0.1 ' ' 1\n");
}

/*
 * Text before and after the table
 */

static void
append_title(StringInfo out, const GrModel *model)
{
	StringInfoData line;

	initStringInfo(&line);
	if (model->mixed)
		appendStringInfo(&line, "Linear mixed model, by %s", model->reml ? "REML" : "maximum likelihood");
	else if (model->kind != GR_KIND_GLM)
		appendStringInfo(&line, "Model of classes: family %s, link %s", gr_model_family(model),
						 gr_link_name(model->distribution.link));
	else if (gr_is_linear(model->distribution))
		appendStringInfoString(&line, model->iv ? "Linear model, by two-stage least squares" : "Linear model");
	else
		appendStringInfo(&line, "Generalized linear model: family %s, link %s",
						 gr_model_family(model),
						 gr_link_name(model->distribution.link));
	if (gr_family(model->distribution.family)->has_theta)
		appendStringInfo(&line, ", theta %s", format_one(model->distribution.theta, DIGITS));
	if (model->firth)
		appendStringInfoString(&line, ", with Firth's penalty");
	if (model->l2 > 0)
		appendStringInfo(&line, ", penalised with l2 = %s", format_one(model->l2, 7));
	if (model->net)
		appendStringInfo(&line, ", an elastic net of alpha %s and lambda %s", format_one(model->net_alpha, 7),
						 format_one(model->net_lambda, 7));
	append_line(out, line.data);
	appendStringInfoChar(out, '\n');
}

static void
append_coefficients(StringInfo out, const GrModel *model)
{
	bool		by_t = !isinf(model->df_inference) || model->extras.df != NULL;
	int			naliased = 0;
	Table		t = {.model = model,.n = model->nterms,.coef.digits = DIGITS,.tiny.digits = DIGITS - 1,
		.test.digits = DIGITS,.p_fixed.digits = P_DIGITS,.p_small.digits = P_DIGITS,
		.headings = {"Estimate", "Std. Error", by_t ? "t value" : "z value", by_t ? "Pr(>|t|)" : "Pr(>|z|)"}
	};

	for (int k = 0; k < model->nterms; k++)
		naliased += isnan(model->coef[k]);
	if (naliased > 0)
		appendStringInfo(out, "Coefficients: (%d not defined because of singularities)\n", naliased);
	else
		appendStringInfoString(out, "Coefficients:\n");
	fill_values(&t);
	choose_coef_formats(&t);
	choose_p_formats(&t);
	measure(&t);
	append_table(out, &t);
}

static void
append_rows_left_out(StringInfo out, const GrModel *model)
{
	if (model->nskipped == 1)
		appendStringInfoString(out, "  (1 observation deleted due to missingness)\n");
	else if (model->nskipped != 0)
		appendStringInfo(out, "  (" INT64_FORMAT " observations deleted due to missingness)\n", model->nskipped);
}

/* Formats a p-value as R's format.pval() does. */
static const char *
p_text(double p)
{
	return isnan(p) ? "NA" : p < DBL_EPSILON ? "< 2.2e-16" : format_one(p, DIGITS);
}

static void
append_robust_f(StringInfo out, const GrModelSummary *s, int64 df_model)
{
	if (isnan(s->f_statistic))
		append_line(out, "Robust Wald F: NA, as the covariance matrix of the slopes has no inverse");
	else
		append_line(out, psprintf("Robust Wald F: %s on " INT64_FORMAT " and %s DF,  p-value: %s",
								  format_general(s->f_statistic), df_model, format_one(s->f_df, DIGITS),
								  p_text(s->f_p_value)));
}

/* Appends what a fit absorbed, and the share of the variance that it explains within the effects. */
static void
append_absorbed(StringInfo out, const GrAbsorbed *absorbed, const GrModelSummary *s)
{
	StringInfoData levels;

	initStringInfo(&levels);
	for (int f = 0; f < absorbed->nfactors; f++)
		appendStringInfo(&levels, "%s%.0f", f == 0 ? "" : " + ", absorbed->nlevels[f]);
	append_line(out, psprintf("Absorbed effects: %s, with %s levels and %s%.0f degrees of freedom", absorbed->names,
							  levels.data, absorbed->df_is_bound ? "at most " : "", absorbed->df));
	if (absorbed->nsingletons > 0)
		append_line(out, psprintf("  (%.0f observations dropped as singletons)", absorbed->nsingletons));
	if (absorbed->nseparated > 0)
		append_line(out, psprintf("  (%.0f observations dropped, as their levels have an infinite effect)",
								  absorbed->nseparated));
	if (!isnan(s->within_r_squared))
		append_line(out, psprintf("Within R-squared:  %s", format_general(s->within_r_squared)));
}

static void
append_linear(StringInfo out, const GrModel *model, const GrModelSummary *s)
{
	int64		df_model = (int64) model->rank - (model->intercept ? 1 : 0);

	append_line(out, psprintf("Residual standard error: %s on " INT64_FORMAT " degrees of freedom",
							  format_one(s->sigma, DIGITS), model->df_residual));
	append_rows_left_out(out, model);
	if (model->extras.absorbed != NULL)
		append_absorbed(out, model->extras.absorbed, s);
	if (df_model <= 0)
		return;
	append_line(out, psprintf("Multiple R-squared:  %s,  Adjusted R-squared:  %s", format_general(s->r_squared),
							  format_general(s->adj_r_squared)));
	if (model->iv)
		return;
	if (s->robust)
	{
		append_robust_f(out, s, df_model);
		return;
	}
	append_line(out, psprintf("F-statistic: %s on " INT64_FORMAT " and " INT64_FORMAT " DF,  p-value: %s",
							  format_general(s->f_statistic), df_model, model->df_residual,
							  p_text(s->f_p_value)));
}

/* Formats value by f, or as "NA" if it is NaN. cell has CELL_SIZE bytes. */
static void
format_known(const Format *f, double value, char *cell)
{
	if (isnan(value))
		strlcpy(cell, "NA", CELL_SIZE);
	else
		format_number(f, value, cell);
}

/*
 * Appends theta and its error, both to three significant digits of the error, as MASS prints them. If either is not
 * finite, each is formatted by itself.
 */
static void
append_theta(StringInfo out, const GrModel *model)
{
	double		theta = model->distribution.theta;
	double		error = model->theta_error;
	int			decimals = isfinite(error) && error > 0 ? Min(Max(2 - (int) floor(log10(error)), 0), 300) : 0;
	bool		rounded = isfinite(theta) && isfinite(error);

	appendStringInfo(out, "\n              Theta:  %s\n          Std. Err.:  %s\n\n 2 x log-likelihood:  %s\n",
					 rounded ? psprintf("%.*f", decimals, theta) : format_one(theta, DIGITS + 1),
					 rounded ? psprintf("%.*f", decimals, error) : isnan(error) ? "NA" : format_one(error, DIGITS + 1),
					 isnan(model->log_lik) ? "NA" : psprintf("%.3f", 2 * model->log_lik));
}

/* Returns the number of intercepts, of all classes. */
static int
nintercepts(const GrModel *model)
{
	int			n = 0;

	for (int k = 0; k < model->nterms; k++)
		n += gr_model_is_intercept(model, k);
	return n;
}

static void
append_generalised(StringInfo out, const GrModel *model, const GrModelSummary *s)
{
	bool		estimated = gr_family_has_dispersion(model->distribution.family, model->quasi);
	Format		f = {.digits = DIGITS + 1};
	char		null_deviance[CELL_SIZE];
	char		deviance[CELL_SIZE];
	double		df_null = (double) model->nrows - nintercepts(model);
	char	   *null_df = psprintf("%.0f", df_null);
	char	   *df = psprintf(INT64_FORMAT, model->df_residual);
	int			width;
	int			df_width = Max(strlen(null_df), strlen(df));

	append_line(out, psprintf("(Dispersion parameter for %s family %s %s)",
							  gr_model_family(model),
							  estimated ? "estimated to be" : "taken to be",
							  format_one(gr_model_dispersion(model), 7)));
	appendStringInfoChar(out, '\n');
	widen(&f, model->null_deviance);
	widen(&f, model->deviance);
	settle(&f);
	format_known(&f, model->null_deviance, null_deviance);
	format_known(&f, model->deviance, deviance);
	width = Max(strlen(null_deviance), strlen(deviance));
	append_line(out, psprintf("    Null deviance: %*s  on %*s  degrees of freedom", width, null_deviance, df_width,
							  null_df));
	append_line(out, psprintf("Residual deviance: %*s  on %*s  degrees of freedom", width, deviance, df_width, df));
	append_rows_left_out(out, model);
	if (model->extras.absorbed != NULL)
		append_absorbed(out, model->extras.absorbed, s);
	appendStringInfo(out, "AIC: %s\n\nNumber of iterations: %d\n",
					 isnan(s->aic) ? "NA" : format_one(s->aic, DIGITS + 1), model->iterations);
	if (model->theta_error != 0)
		append_theta(out, model);
}

/* Appends the name of the column with a role, unless it is NULL. */
static void
append_role(StringInfo out, const char *role, const char *name)
{
	if (name == NULL)
		return;
	appendStringInfo(out, "%s: ", role);
	append_shortened(out, name, LINE_WIDTH - 20);
	end_line(out);
}

/* Appends the least and greatest of the terms' degrees of freedom, if the model has some per term. */
static void
append_df(StringInfo out, const GrModel *model)
{
	double		least = INFINITY;
	double		most = 0;

	for (int k = 0; k < model->nterms && model->extras.df != NULL; k++)
		if (!isnan(model->extras.df[k]))
		{
			least = fmin(least, model->extras.df[k]);
			most = fmax(most, model->extras.df[k]);
		}
	if (least <= most)
		append_line(out, psprintf("Degrees of freedom: Satterthwaite's, %s to %s", format_general(least),
								  format_general(most)));
}

/* Appends what a reader must know about the table: roles, covariances, separation, convergence. */
static void
append_notes(StringInfo out, const GrModel *model)
{
	StringInfoData names;

	append_role(out, "Weights", model->extras.weights);
	append_role(out, "Frequencies", model->extras.frequencies);
	append_role(out, "Offset", model->extras.offsets);
	if (model->vcov != NULL && model->vcov_type != NULL && strcmp(model->vcov_type, "iid") != 0)
	{
		appendStringInfoString(out, "Standard errors: ");
		append_shortened(out, model->vcov_type, LINE_WIDTH - 20);
		end_line(out);
		append_df(out, model);
	}
	initStringInfo(&names);
	for (int k = 0; k < model->nterms; k++)
	{
		if (!is_separated(model, k))
			continue;
		appendStringInfoString(&names, names.len == 0 ? "The response is separated; without a finite estimate: " :
							   ", ");
		append_shortened(&names, model->terms[k], LINE_WIDTH / 2);
		CHECK_FOR_INTERRUPTS();
	}
	if (names.len > 0)
		append_line(out, names.data);
	else if (!model->converged)
		appendStringInfoString(out, "The fit did not converge.\n");
	pfree(names.data);
}

/* gpu_summary(model gpu_model) */
Datum
gr_summary(PG_FUNCTION_ARGS)
{
	GrModel		model;
	GrModelSummary s;
	StringInfoData out;

	gr_read_any_model(fcinfo, 0, &model, GR_MODEL_ALL);
	gr_model_summarise(&model, &s);
	initStringInfo(&out);
	append_title(&out, &model);
	append_coefficients(&out, &model);
	append_notes(&out, &model);
	appendStringInfoChar(&out, '\n');
	if (model.mixed)
		gr_append_mixed(&out, &model, &s);
	else if (gr_is_linear(model.distribution))
		append_linear(&out, &model, &s);
	else
		append_generalised(&out, &model, &s);
	/* The client adds the final newline. */
	PG_RETURN_TEXT_P(cstring_to_text_with_len(out.data, out.len - 1));
}
