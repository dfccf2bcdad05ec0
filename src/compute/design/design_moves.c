/*
 * design_moves.c: from powers about a center to powers.
 */
#include <math.h>
#include <string.h>

#include "compute/base/dd.h"
#include "compute/design/design_moves.h"

#define ENTRY_WORK 8

/* More take longer than the factorisation, and nobody polls while they are made. */
#define MOVES_MAX 2000000

typedef struct Maker
{
	const GrDesign *design;
	GrTermMove *move;			/* NULL: they are being counted */
	int64_t		n;
} Maker;

static bool
same_part(const GrDesignPart *a, const GrDesignPart *b)
{
	return a->column == b->column && a->kind == b->kind && a->width == b->width;
}

/* The first feature of the term that has a term's parts but for those dropped; -1: it is the intercept; -2: none has */
static int
find_term(const GrDesign *design, const GrDesignTerm *term, unsigned dropped)
{
	int			first = 0;

	if (dropped == (1u << term->nparts) - 1)
		return -1;
	for (const GrDesignTerm *other = design->terms; other < term; first += other->width, other++)
	{
		int			n = 0;

		for (int i = 0; i < term->nparts && n >= 0; i++)
			if ((dropped & 1u << i) == 0)
				n = n < other->nparts && same_part(&term->part[i], &other->part[n]) ? n + 1 : -1;
		if (n == other->nparts)
			return first;
	}
	return -2;
}

/* j over i times (-c)^(j - i) */
static GrDD
coefficient(int j, int i, double c)
{
	GrDD		product = gr_dd(1);

	for (int k = 1; k <= j - i; k++)
		product = gr_dd_mul_d(gr_dd_div(gr_dd_mul_d(product, (double) (i + k)), gr_dd((double) k)), -c);
	return product;
}

/* The next lower powers: of centered parts each goes down to 0, where the part isn't there; false after the last */
static bool
next_lower(const GrDesignTerm *term, const int *power, int *lower)
{
	int			i = 0;

	while (i < term->nparts && (term->part[i].kind != GR_PART_CENTERED || lower[i] == 0))
	{
		lower[i] = power[i];
		i++;
	}
	if (i == term->nparts)
		return false;
	lower[i]--;
	return true;
}

/*
 * The moves from a feature of the term, whose first is first, of these powers of its parts: power[i] is 1 .. width, of
 * a factor the number of its indicator, from 1 on.
 */
static bool
make_moves(Maker *m, const GrDesignTerm *term, int first, int from, const int *power)
{
	int			lower[GR_FORMULA_ORDER_MAX];

	memcpy(lower, power, (size_t) term->nparts * sizeof(int));
	while (next_lower(term, power, lower))
	{
		GrDD		weight = gr_dd(1);
		unsigned	dropped = 0;
		int			stride = 1;
		int			to = 0;
		int			base;

		for (int i = 0; i < term->nparts; i++)
		{
			if (lower[i] < power[i])
				weight = gr_dd_mul(weight, coefficient(power[i], lower[i], term->part[i].center));
			if (lower[i] == 0)
				dropped |= 1u << i;
			else
			{
				to += (lower[i] - 1) * stride;
				stride *= term->part[i].width;
			}
		}
		base = dropped == 0 ? first : find_term(m->design, term, dropped);
		if (base == -2 || m->n >= MOVES_MAX || !isfinite(weight.hi))
			return false;
		if (weight.hi == 0)
			continue;
		if (m->move != NULL)
			m->move[m->n] = (GrTermMove) {.to = base + to + 1,.from = from + 1,.hi = weight.hi,.lo = weight.lo};
		m->n++;
	}
	return true;
}

/* Makes or counts them all. */
static bool
make_all(Maker *m)
{
	int			first = 0;

	m->n = 0;
	for (const GrDesignTerm *term = m->design->terms; term < m->design->terms + m->design->nterms; term++)
	{
		for (int k = 0; k < term->width; k++)
		{
			int			power[GR_FORMULA_ORDER_MAX];
			int			rest = k;

			for (int i = 0; i < term->nparts; rest /= term->part[i].width, i++)
				power[i] = 1 + rest % term->part[i].width;
			if (!make_moves(m, term, first, first + k, power))
				return false;
		}
		first += term->width;
	}
	return true;
}

bool
gr_design_moves(const GrDesign *design, GrMemory memory, GrTermMoves *moves)
{
	Maker		m = {.design = design};

	if (!make_all(&m))
		return false;
	m.move = memory.take(memory.arg, (size_t) (m.n + 1) * sizeof(GrTermMove));
	moves->n = m.n;
	moves->move = m.move;
	return m.move != NULL && make_all(&m);
}

static inline int64_t
at(int64_t i, int64_t j)
{
	return i >= j ? gr_triangle(i) + j : gr_triangle(j) + i;
}

/* Entry at k less weight times that at from */
static inline void
subtract(GrDDVector triangle, int64_t k, int64_t from, GrDD weight)
{
	gr_dd_set(triangle, k, gr_dd_sub(gr_dd_get(triangle, k), gr_dd_mul(weight, gr_dd_get(triangle, from))));
}

/*
 * A feature about a center, less weight times each term that it is moved to, which are right already, is that wanted.
 */
bool
gr_gram_move(GrGram *gram, const GrTermMoves *moves, GrPoll *poll)
{
	int64_t		norder = gr_norder(gram->nfeatures);
	GrDDVector	triangle = {gram->hi, gram->lo};

	if (gr_gram_is_shifted(gram) && !gr_gram_translate(gram, NULL, poll))
		return false;
	for (int64_t n = 0; n < moves->n; n++)
	{
		const GrTermMove *move = &moves->move[n];
		GrDD		weight = {move->hi, move->lo};

		/* z z is z z - w z t, and then less w times the new z t */
		subtract(triangle, at(move->from, move->from), at(move->from, move->to), weight);
		for (int64_t k = 0; k < norder; k++)
			if (k != move->from)
				subtract(triangle, at(move->from, k), at(move->to, k), weight);
		subtract(triangle, at(move->from, move->from), at(move->from, move->to), weight);
		if (gr_poll(poll, ENTRY_WORK * norder))
			return false;
	}
	return true;
}
