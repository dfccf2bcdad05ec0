/*
 * design_moves.c: converts powers about a center to plain powers; see design_moves.h.
 */
#include <math.h>
#include <string.h>

#include "compute/base/dd.h"
#include "compute/design/design_moves.h"

#define ENTRY_WORK 8

/* Most moves. More would take longer than the factorization, and making them is not interruptible. */
#define MOVES_MAX 2000000

typedef struct Maker
{
	const GrDesign *design;
	GrTermMove *move;			/* NULL: only count */
	int64_t		n;
} Maker;

static bool
same_part(const GrDesignPart *a, const GrDesignPart *b)
{
	return a->column == b->column && a->kind == b->kind && a->width == b->width;
}

/*
 * Returns the first feature of the earlier term that has term's parts except those in the bit mask dropped; -1: the
 * intercept; -2: no term has them.
 */
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

/* Returns (j over i) (-c)^(j - i). */
static GrDD
coefficient(int j, int i, double c)
{
	GrDD		product = gr_dd(1);

	for (int k = 1; k <= j - i; k++)
		product = gr_dd_mul_d(gr_dd_div(gr_dd_mul_d(product, (double) (i + k)), gr_dd((double) k)), -c);
	return product;
}

/*
 * Sets lower to the next combination of lower powers. Each centered part goes from power[i] down to 0, which drops it.
 * Returns false after the last combination.
 */
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
 * Makes the moves of one feature of term, whose first feature is first. power[i] is 1 .. width: a power or, for a
 * factor, 1 plus the number of its indicator. Returns false as gr_design_moves() does.
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

/*
 * Makes the moves that turn each feature with centered powers into plain powers: writes them to m->move, or only counts
 * them if that is NULL. Sets m->n to their number. Returns false as gr_design_moves() does, except for memory.
 */
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

/* Subtracts weight times the entry at from from the entry at k. */
static inline void
subtract(GrDDVector triangle, int64_t k, int64_t from, GrDD weight)
{
	gr_dd_set(triangle, k, gr_dd_sub(gr_dd_get(triangle, k), gr_dd_mul(weight, gr_dd_get(triangle, from))));
}

/*
 * Applies the moves in order. Each subtracts weight times the row of term `to`, which is already converted, from the
 * row of the centered feature `from`; after its last move a feature is a plain power.
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

		/* (z - w t)(z - w t): z z - w z t here, and minus w times the new z t below */
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
