/*
 * multinom_sums.c: sums over rows of a multinomial logistic regression; see multinom_sums.h.
 */
#include "compute/classes/multinom_sums.h"

#include <math.h>
#include <string.h>

#include "compute/base/simd.h"
#include "compute/classes/ordinal_sums.h"

/* Rows are added in this many independent sums, which are merged once per call. */
#define NSUMS 8

#define SIMD_TEMPLATE "compute/classes/multinom_cpu.h"
#include "compute/base/simd.h"

size_t
gr_multinom_products_at(const GrMultinomPass *pass)
{
	size_t		k = (size_t) pass->nclasses;

	return gr_multinom_gradient_at(pass->nclasses) +
		(pass->measure == GR_MULTINOM_START ? k : k - 1) * (size_t) gr_nterms(pass->shape.nfeatures);
}

size_t
gr_multinom_nsums(const GrMultinomPass *pass)
{
	size_t		k = (size_t) pass->nclasses;
	size_t		triangle = (size_t) gr_triangle(gr_nterms(pass->shape.nfeatures));

	switch (pass->measure)
	{
		case GR_MULTINOM_START:
			return gr_multinom_products_at(pass) + triangle;
		case GR_MULTINOM_STEP:
		case GR_MULTINOM_MIDDLE:
			return gr_multinom_products_at(pass) + triangle * (k * (k - 1) / 2);
		case GR_MULTINOM_FACE:
			return gr_multinom_gradient_at(pass->nclasses) + k * k;
		case GR_MULTINOM_ORDINAL:
			return gr_ordinal_nsums(pass);
		default:
			return gr_multinom_products_at(pass);
	}
}

size_t
gr_multinom_scratch(const GrMultinomPass *pass)
{
	return ((size_t) gr_nterms(pass->shape.nfeatures) + 4 * (size_t) pass->nclasses + 9) * GR_MULTINOM_ROWS;
}

static GrClassesBlock
make_block(const GrMultinomPass *pass, int nrows, double *scratch)
{
	GrClassesBlock b = {.pass = pass,.kernels = SIMD_CHOOSE(multinom_version, NSUMS)};

	b.t = gr_nterms(pass->shape.nfeatures);
	b.k = pass->nclasses;
	b.n = (nrows + NSUMS - 1) / NSUMS * NSUMS;
	b.terms = scratch;
	b.code = gr_classes_column(b.terms, b.t);
	b.prior = gr_classes_column(b.code, 1);
	b.ratio = gr_classes_column(b.prior, 1);
	b.eta = gr_classes_column(b.ratio, 1);
	b.residual = gr_classes_column(b.eta, b.k - 1);
	b.kept = gr_classes_column(b.residual, b.k - 1);
	b.work = gr_classes_column(b.kept, b.k);
	return b;
}

/* Transposes the rows and finds their classes. Counts the rows, and the classes' weights. */
static void
take_rows(GrClassesBlock *b, const double *rows, int nrows, GrDD *sums)
{
	GrRowShape	shape = b->pass->shape;
	size_t		ncols = (size_t) gr_row_ncols(shape);
	double		nobs = 0;
	double		unknown = 0;

	for (int r = 0; r < b->n; r++)
	{
		const double *row = rows + (size_t) (r < nrows ? r : 0) * ncols;
		int			class = r < nrows ? gr_multinom_class(b->pass, gr_row_response(row, shape)) : -1;
		double		weight = class < 0 ? 0 : gr_row_weight(row, shape);

		b->code[r] = class < 0 ? 0 : class;
		b->prior[r] = weight;
		b->terms[r] = 1;
		for (int k = 1; k < b->t; k++)
			gr_classes_column(b->terms, k)[r] = row[k - 1] - b->pass->shift[k - 1];
		unknown += class < 0 && r < nrows;
		if (class < 0)
			continue;
		nobs += b->pass->counts ? weight : 1;
		sums[GR_MULTINOM_HEAD + class] = gr_dd_add(sums[GR_MULTINOM_HEAD + class], gr_dd(weight));
	}
	sums[GR_MULTINOM_NROWS] = gr_dd_add(sums[GR_MULTINOM_NROWS], gr_dd(nobs));
	sums[GR_MULTINOM_UNKNOWN] = gr_dd_add(sums[GR_MULTINOM_UNKNOWN], gr_dd(unknown));
}

static void
predict(const GrClassesBlock *b, const double *beta)
{
	for (int j = 0; j < b->k - 1; j++)
		b->kernels->predict(beta + (size_t) j * b->t, b->t, b->terms, b->n, gr_classes_column(b->eta, j));
}

/* Returns the linear predictor of class k in row r. */
static inline double
eta_of(const GrClassesBlock *b, int k, int r)
{
	return k == 0 ? 0 : gr_classes_column(b->eta, k - 1)[r];
}

/* Marks the classes that take part in each row. Overwrites eta. Returns NULL if all do. */
static const double *
find_kept(const GrClassesBlock *b)
{
	const GrMultinomPass *pass = b->pass;

	if (pass->nfaces == 0)
		return NULL;
	for (int k = 0; k < b->k; k++)
		for (int r = 0; r < b->n; r++)
			gr_classes_column(b->kept, k)[r] = 1;
	for (int f = 0; f < pass->nfaces; f++)
	{
		predict(b, pass->faces + (size_t) f * (b->k - 1) * b->t);
		for (int k = 0; k < b->k; k++)
			for (int r = 0; r < b->n; r++)
				if (eta_of(b, (int) b->code[r], r) - eta_of(b, k, r) > pass->face_absolute[f])
					gr_classes_column(b->kept, k)[r] = 0;
	}
	return b->kept;
}

/* Adds X'WX, and X'W y for the indicators y of each class. */
static void
add_start(const GrClassesBlock *b, GrDD *sums)
{
	GrDD	   *of_class = sums + gr_multinom_gradient_at(b->k);

	for (int k = 0; k < b->k; k++, of_class += b->t)
	{
		for (int r = 0; r < b->n; r++)
			b->ratio[r] = b->code[r] == k ? b->prior[r] : 0;
		for (int a = 0; a < b->t; a++)
			b->kernels->add(gr_classes_column(b->terms, a), b->ratio, b->n, &of_class[a]);
	}
	b->kernels->triangle(b->terms, b->t, b->prior, b->n, true, b->work, sums + gr_multinom_products_at(b->pass));
}

/* Counts the rows by the side of beta on which they lie. */
static void
add_face(const GrClassesBlock *b, const double *kept, GrDD *sums)
{
	const GrMultinomPass *pass = b->pass;
	double		least = pass->face_absolute[pass->nfaces];
	GrDD	   *pairs = sums + gr_multinom_gradient_at(b->k);

	predict(b, pass->beta);
	for (int r = 0; r < b->n; r++)
	{
		int			own = (int) b->code[r];

		for (int k = 0; b->prior[r] > 0 && k < b->k; k++)
		{
			double		margin = eta_of(b, own, r) - eta_of(b, k, r);
			GrDD	   *pair = &pairs[own * b->k + k];

			if (kept != NULL && gr_classes_column(b->kept, k)[r] == 0)
				continue;
			if (fabs(margin) > sums[GR_MULTINOM_FURTHEST].hi)
				sums[GR_MULTINOM_FURTHEST].hi = fabs(margin);
			if (margin > least)
				*pair = gr_dd_add(*pair, gr_dd(1));
			else if (!(margin >= -least))
				sums[GR_MULTINOM_AGAINST] = gr_dd_add(sums[GR_MULTINOM_AGAINST], gr_dd(1));
		}
	}
}

/* Adds the log-likelihood, log(1 / (1 + ratio)) of each row, and the gradient. */
static void
add_gradient(const GrClassesBlock *b, GrDD *sums)
{
	GrDD	   *gradient = sums + gr_multinom_gradient_at(b->k);
	double		sum = 0;
	double		rest = 0;

	for (int r = 0; r < b->n; r++)
	{
		GrDD		total = gr_two_sum(sum, b->prior[r] == 0 ? 0 : -b->prior[r] * log1p(b->ratio[r]));

		sum = total.hi;
		rest += total.lo;
	}
	sums[GR_MULTINOM_LOG_LIKELIHOOD] = gr_dd_add(sums[GR_MULTINOM_LOG_LIKELIHOOD], gr_two_sum(sum, rest));
	for (int j = 0; j < b->k - 1; j++)
		for (int a = 0; a < b->t; a++)
			b->kernels->add(gr_classes_column(b->terms, a), gr_classes_column(b->residual, j), b->n, gradient++);
}

/* Sets weight to what the products of predictors i >= j are weighted by. */
static void
weigh(const GrClassesBlock *b, int i, int j, double *weight)
{
	const double *p = gr_classes_column(b->eta, i);
	const double *q = gr_classes_column(b->eta, j);
	const double *u = gr_classes_column(b->residual, i);
	const double *v = gr_classes_column(b->residual, j);

	if (b->pass->measure == GR_MULTINOM_STEP)
		for (int r = 0; r < b->n; r++)
			weight[r] = b->prior[r] * (i == j ? p[r] * (1 - p[r]) : -p[r] * q[r]);
	else
		for (int r = 0; r < b->n; r++)
			weight[r] = !b->pass->counts ? u[r] * v[r] : b->prior[r] == 0 ? 0 : u[r] * v[r] / b->prior[r];
}

static void
add_products(const GrClassesBlock *b, GrDD *sums)
{
	GrDD	   *products = sums + gr_multinom_products_at(b->pass);
	double	   *work = gr_classes_column(b->work, 1);

	for (int i = 0; i < b->k - 1; i++)
		for (int j = 0; j <= i; j++, products += gr_triangle(b->t))
		{
			weigh(b, i, j, b->work);
			b->kernels->triangle(b->terms, b->t, b->work, b->n, b->pass->exact, work, products);
		}
}

void
gr_multinom_sums_add(const GrMultinomPass *pass, const double *rows, int nrows, double *scratch, GrDD *sums)
{
	GrClassesBlock b = make_block(pass, nrows, scratch);
	const double *kept;

	take_rows(&b, rows, nrows, sums);
	if (pass->measure == GR_MULTINOM_START)
	{
		add_start(&b, sums);
		return;
	}
	if (pass->measure == GR_MULTINOM_ORDINAL)
	{
		gr_ordinal_add(&b, sums);
		return;
	}
	kept = find_kept(&b);
	if (pass->measure == GR_MULTINOM_FACE)
	{
		add_face(&b, kept, sums);
		return;
	}
	predict(&b, pass->beta);
	b.kernels->softmax(b.k, b.code, b.prior, kept, b.n, b.eta, b.residual, b.ratio, b.work);
	add_gradient(&b, sums);
	if (pass->measure != GR_MULTINOM_SCORES)
		add_products(&b, sums);
}

void
gr_multinom_sums_merge(const GrMultinomPass *pass, GrDD *sums, const GrDD *other)
{
	double		furthest = fmax(sums[GR_MULTINOM_FURTHEST].hi, other[GR_MULTINOM_FURTHEST].hi);

	for (size_t k = 0; k < gr_multinom_nsums(pass); k++)
		sums[k] = gr_dd_add(sums[k], other[k]);
	sums[GR_MULTINOM_FURTHEST] = gr_dd(furthest);
}
