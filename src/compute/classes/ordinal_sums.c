/*
 * ordinal_sums.c: sums over rows of an ordinal regression; see ordinal_sums.h.
 *
 * A row of class y has the probability pi = F(u) - F(l), u and l being the thresholds above and below less x'b. With
 * a = f(u) / pi and b = -f(l) / pi, the derivatives of log pi are a by u and b by l; those of -log pi by u u, l l and
 * u l are a^2 - f'(u) / pi, b^2 + f'(l) / pi and a b.
 */
#include "compute/classes/ordinal_sums.h"

#include <math.h>

/* Sums of one row, times its prior weight */
typedef struct Parts
{
	double		log_pi;
	double		a;
	double		b;
	double		uu;
	double		ll;
	double		ul;
} Parts;

/* Returns 1 - F(x). */
static double
upper(GrLink link, double x)
{
	return link == GR_CLOGLOG ? exp(-exp(x)) : gr_link_mean(link, -x);
}

/* Computes the parts of a row of class y of k classes. */
static Parts
parts_of(const GrMultinomPass *pass, const double *thresholds, int y, double eta, double prior)
{
	GrLink		link = pass->link;
	int			last = pass->nclasses - 1;
	double		u = y < last ? thresholds[y] - eta : INFINITY;
	double		l = y > 0 ? thresholds[y - 1] - eta : -INFINITY;
	double		pi = y == 0 ? gr_link_mean(link, u) : y == last ? upper(link, l) :
		gr_mean_difference(link, u, l, thresholds[y] - thresholds[y - 1]);
	double		a = y < last ? gr_mean_slope(link, u) / pi : 0;
	double		b = y > 0 ? -gr_mean_slope(link, l) / pi : 0;
	Parts		parts;

	parts.log_pi = prior * log(pi);
	parts.a = prior * a;
	parts.b = prior * b;
	parts.uu = y < last ? prior * (a * a - gr_mean_curvature(link, u) / pi) : 0;
	parts.ll = y > 0 ? prior * (b * b + gr_mean_curvature(link, l) / pi) : 0;
	parts.ul = prior * a * b;
	return parts;
}

static inline void
add_to(GrDD *sum, double x)
{
	*sum = gr_dd_add(*sum, gr_dd(x));
}

/*
 * Columns that a block's rows make: weights of x x', of x in the gradient, and of x with the thresholds above and below
 */
typedef struct Weights
{
	double	   *xx;
	double	   *x;
	double	   *above;
	double	   *below;
	double	   *one;			/* those of one threshold */
	double	   *work;
} Weights;

/* Adds what rows add to thresholds alone, and makes the weights of the products with x. */
static void
add_thresholds(const GrClassesBlock *b, const double *thresholds, const Weights *w, GrDD *gradient, GrDD *information,
			   GrDD *log_likelihood)
{
	int			p = b->t - 1;

	for (int r = 0; r < b->n; r++)
	{
		int			y = (int) b->code[r];
		Parts		parts = {0, 0, 0, 0, 0, 0};

		if (b->prior[r] > 0)
			parts = parts_of(b->pass, thresholds, y, b->eta[r], b->prior[r]);
		w->x[r] = -(parts.a + parts.b);
		w->xx[r] = parts.uu + parts.ll + 2 * parts.ul;
		w->above[r] = -(parts.uu + parts.ul);
		w->below[r] = -(parts.ll + parts.ul);
		add_to(log_likelihood, parts.log_pi);
		if (y < b->k - 1)
		{
			add_to(&gradient[p + y], parts.a);
			add_to(&information[gr_packed(p + y, p + y)], parts.uu);
		}
		if (y > 0)
		{
			add_to(&gradient[p + y - 1], parts.b);
			add_to(&information[gr_packed(p + y - 1, p + y - 1)], parts.ll);
		}
		if (y > 0 && y < b->k - 1)
			add_to(&information[gr_packed(p + y, p + y - 1)], parts.ul);
	}
}

void
gr_ordinal_add(const GrClassesBlock *b, GrDD *sums)
{
	int			p = b->t - 1;
	const double *x = gr_classes_column(b->terms, 1);
	const double *thresholds = b->pass->beta + p;
	GrDD	   *gradient = sums + gr_multinom_gradient_at(b->k);
	GrDD	   *information = gradient + gr_ordinal_nparameters(b->pass);
	const Weights w = {
		b->work, gr_classes_column(b->work, 1), gr_classes_column(b->work, 2), gr_classes_column(b->work, 3),
		gr_classes_column(b->work, 4), gr_classes_column(b->work, 5)
	};

	b->kernels->predict(b->pass->beta, p, x, b->n, b->eta);
	add_thresholds(b, thresholds, &w, gradient, information, &sums[GR_MULTINOM_LOG_LIKELIHOOD]);
	b->kernels->triangle(x, p, w.xx, b->n, b->pass->exact, w.work, information);
	for (int a = 0; a < p; a++)
		b->kernels->add(gr_classes_column(b->terms, 1 + a), w.x, b->n, &gradient[a]);
	for (int j = 0; j < b->k - 1; j++)
	{
		for (int r = 0; r < b->n; r++)
			w.one[r] = b->code[r] == j ? w.above[r] : b->code[r] == j + 1 ? w.below[r] : 0;
		for (int a = 0; a < p; a++)
			b->kernels->add(gr_classes_column(b->terms, 1 + a), w.one, b->n, &information[gr_packed(p + j, a)]);
	}
}
