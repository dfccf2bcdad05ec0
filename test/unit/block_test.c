/*
 * block_test.c: tests linear fits with many levels, which eliminate the levels' diagonal block, against the same fits
 * with their terms in an order without a long block; and the terms that are aliased.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compute/linear/ols.h"
#include "unit.h"

#define NLEVELS 131
#define NBLOCK (NLEVELS - 1)
#define NOTHERS 6
#define P (NBLOCK + NOTHERS)
#define NROWS 3000
#define FAR 1e6

/* Kinds of tables */
typedef enum Table
{
	PLAIN,
	BETWEEN,					/* number 1 depends on the level alone */
	LONELY						/* the last level has one row */
} Table;

typedef struct Fit
{
	GrOlsFit	ols;
	double		coef[P + 1];
	double		vcov[(P + 1) * (P + 1)];
	bool		ok;
} Fit;

static double
draw(void)
{
	return 2.0 * ((double) random() + (double) random() / 2147483648.0) / 2147483648.0 - 1.0;
}

/* Feature k: numbers 0 .. 2, of which number 2 is far from 0, indicators of another factor 3 .. 5, then the block. */
static double table[NROWS][P + 1];

static void
make_table(Table kind)
{
	memset(table, 0, sizeof(table));
	for (int r = 0; r < NROWS; r++)
	{
		int			ndrawn = NLEVELS - (kind == LONELY ? 1 : 0);
		int			level = kind == LONELY && r == 7 ? NLEVELS - 1 : (int) (random() % ndrawn);
		int			other = (int) (random() % 4);

		table[r][0] = draw();
		table[r][1] = kind == BETWEEN ? sin(level) : draw();
		table[r][2] = FAR + draw();
		if (other > 0)
			table[r][2 + other] = 1;
		if (level > 0)
			table[r][NOTHERS + level - 1] = 1;
		table[r][P] = 10 * draw() + level + table[r][0];
	}
}

/* Fits the table with its features in the given order. */
static void
fit_order(Fit *fit, const int *order, bool intercept)
{
	double	   *room = calloc(gr_gram_ndoubles(P), sizeof(double));
	double	   *rows = malloc(NROWS * (P + 1) * sizeof(double));
	GrRowShape	shape = gr_plain_shape(P);
	double	   *scratch = malloc(gr_gram_scratch_nbytes(shape));
	void	   *workspace = malloc(gr_normal_workspace_nbytes(P));
	GrGram		gram = gr_gram_at(room, P);
	GrError		err = {0};

	for (int k = 0; k < P; k++)
		gram.shift[k] = order[k] == 2 ? FAR : 0;
	for (int r = 0; r < NROWS; r++)
	{
		for (int k = 0; k < P; k++)
			rows[r * (P + 1) + k] = table[r][order[k]];
		rows[r * (P + 1) + P] = table[r][P];
	}
	gr_gram_add(&gram, rows, NROWS, shape, scratch);
	gram.nobs = NROWS;
	fit->ols = (GrOlsFit) {.coef = fit->coef,.vcov = fit->vcov,.intercept = intercept};
	fit->ok = gr_ols_solve(&gram, workspace, &fit->ols, NULL, &err);
	free(room);
	free(rows);
	free(scratch);
	free(workspace);
}

/* Writes the features: the other ones, with the block after `before` of them, in pieces of `piece` terms. */
static void
make_order(int *order, int before, int piece)
{
	int			others = 0;
	int			n = 0;

	while (others < before)
		order[n++] = others++;
	for (int l = 0; l < NBLOCK; l++)
	{
		if (l > 0 && l % piece == 0 && others < NOTHERS)
			order[n++] = others++;
		order[n++] = NOTHERS + l;
	}
	while (others < NOTHERS)
		order[n++] = others++;
}

/* Returns the largest relative difference of a covariance, whose unit is that of the two terms' errors. */
static double
difference(const Fit *a, const int *of_a, const Fit *b, const int *of_b, bool intercept)
{
	int			m = P + intercept;
	double		worst = 0;
	int			at[P + 1];

	at[0] = 0;
	for (int k = 0; k < P; k++)
		for (int i = 0; i < P; i++)
			if (of_b[i] == of_a[k])
				at[k + intercept] = i + intercept;
	for (int i = 0; i < m; i++)
	{
		double		error = sqrt(a->vcov[i * m + i]);

		worst = fmax(worst, fabs(a->coef[i] - b->coef[at[i]]) / (error + fabs(a->coef[i])));
		for (int j = 0; j < m; j++)
			worst = fmax(worst, fabs(a->vcov[i * m + j] - b->vcov[at[i] * m + at[j]]) /
						 (error * sqrt(a->vcov[j * m + j])));
	}
	return fmax(worst, fabs(a->ols.rss / b->ols.rss - 1) + fabs(a->ols.tss / b->ols.tss - 1));
}

static void
test_agreement(Table kind, bool intercept, int before)
{
	static Fit	block;
	static Fit	dense;
	int			in_block[P];
	int			in_pieces[P];
	double		worst;

	make_table(kind);
	make_order(in_block, before, NBLOCK);
	make_order(in_pieces, 0, 40);
	fit_order(&block, in_block, intercept);
	fit_order(&dense, in_pieces, intercept);
	worst = difference(&block, in_block, &dense, in_pieces, intercept);
	if (!check(block.ok && dense.ok && block.ols.rank == P + intercept && dense.ols.rank == block.ols.rank &&
			   worst < 1e-14, "block after %d terms, %s intercept, table %d", before, intercept ? "with" : "without",
			   (int) kind))
		printf("# differs by %g, ranks %d and %d\n", worst, block.ols.rank, dense.ols.rank);
}

/* Checks that a number which the levels span is aliased behind them, and that a level is behind the number. */
static void
test_aliased(void)
{
	static Fit	fit;
	int			order[P];

	make_table(BETWEEN);
	make_order(order, 0, NBLOCK);
	fit_order(&fit, order, true);
	check(fit.ok && fit.ols.rank == P && isnan(fit.coef[1 + NBLOCK + 1]), "a number behind its levels is aliased");
	make_order(order, NOTHERS, NBLOCK);
	fit_order(&fit, order, true);
	check(fit.ok && fit.ols.rank == P && isnan(fit.coef[P]) && !isnan(fit.coef[2]),
		  "the last level behind a number is aliased");
}

int
main(void)
{
	srandom(11);
	for (int before = 0; before <= NOTHERS; before += 3)
	{
		test_agreement(PLAIN, true, before);
		test_agreement(PLAIN, false, before);
		test_agreement(LONELY, true, before);
	}
	test_aliased();
	return unit_done();
}
