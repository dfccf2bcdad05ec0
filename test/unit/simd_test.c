/*
 * simd_test.c: tests that each operation of simd.h's vectors gives the bits of one lane on every target.
 */
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "unit.h"

#define NVALUES 400				/* a multiple of the lanes */
#define NFLOAT_OPS 18
#define NINTEGER_OPS 8

typedef struct Values
{
	double		a[NVALUES];		/* special values (NaN, infinities, both zeros, subnormal numbers) meet those of b in
								 * all pairs */
	double		b[NVALUES];
	double		c[NVALUES];
	double		sign[NVALUES];	/* 1 or -1 */
	double		exponent[NVALUES];	/* small integers */
	float		single[NVALUES];
	uint64_t	ua[NVALUES];
	uint64_t	ub[NVALUES];
} Values;

typedef struct Ops
{
	int			lanes;
	void		(*float_ops) (const Values *values, double *out);
	void		(*integer_ops) (const Values *values, uint64_t *uout, double *out);
	int			(*wrong_totals) (const Values *values);
	int			(*wrong_parts) (const Values *values);
	int			(*wrong_swaps) (const Values *values);
	int			(*wrong_block) (const Values *values);
} Ops;

#define SIMD_TEMPLATE "simd_ops.h"
#include "compute/base/simd.h"

static const double special[] = {
	NAN, INFINITY, -INFINITY, 0.0, -0.0, 0x1p-1074, -0x1p-1060, 0x1p-1022, 1.0, -1.0, 0x1.fffffffffffffp1023, 0x1p53,
	0x1.0000000000001p0, -0x1.8p-30, 3.0
};
#define NSPECIAL ((int) (sizeof(special) / sizeof(special[0])))

static double
uniform(void)
{
	return 2.0 * (double) random() / 2147483648.0 - 1.0;
}

static void
fill(Values *values)
{
	for (int k = 0; k < NVALUES; k++)
	{
		bool		is_special = k < NSPECIAL * NSPECIAL;

		values->a[k] = is_special ? special[k / NSPECIAL] : ldexp(uniform(), (int) (random() % 60));
		values->b[k] = is_special ? special[k % NSPECIAL] : ldexp(uniform(), (int) (random() % 60));
		/* some c are minus the rounded product, so that a fused operation leaves its error */
		values->c[k] = k % 3 == 0 ? -(values->a[k] * values->b[k]) : k % 3 == 1 ? special[k % NSPECIAL] : uniform();
		values->sign[k] = random() % 2 == 0 ? 1 : -1;
		values->exponent[k] = (double) (random() % 100) - 50;
		values->single[k] = (float) uniform();
		values->ua[k] = (uint64_t) random() << 33 ^ (uint64_t) random() << 16 ^ (uint64_t) random();
		values->ub[k] = (uint64_t) random() << 32 ^ (uint64_t) random();
	}
	values->ua[5] |= 0xFFFFFFFF;
	values->ua[6] &= ~UINT64_C(0xFFFFFFFF);
}

/* Counts doubles that differ in a bit; any NaN equals any other. */
static int
count_different(const double *got, const double *want, int n)
{
	int			ndifferent = 0;

	for (int k = 0; k < n; k++)
		ndifferent += !(isnan(got[k]) && isnan(want[k])) && memcmp(&got[k], &want[k], sizeof(double)) != 0;
	return ndifferent;
}

int
main(void)
{
	static Values values;
	static double want[(NFLOAT_OPS + 1) * NVALUES];
	static double got[(NFLOAT_OPS + 1) * NVALUES];
	static uint64_t uwant[NINTEGER_OPS * NVALUES];
	static uint64_t ugot[NINTEGER_OPS * NVALUES];
	const Ops  *plain = SIMD_CHOOSE(ops, 1);

	fill(&values);
	check(plain->lanes == 1, "one lane is there on every processor");
	plain->float_ops(&values, want);
	plain->integer_ops(&values, uwant, want + NFLOAT_OPS * NVALUES);
	for (int lanes = 1; lanes <= 8; lanes *= 2)
	{
		const Ops  *ops = SIMD_CHOOSE(ops, lanes);

		check(ops->lanes <= lanes, "at most %d lanes: %d", lanes, ops->lanes);
		memset(got, 0, sizeof(got));
		memset(ugot, 0, sizeof(ugot));
		ops->float_ops(&values, got);
		ops->integer_ops(&values, ugot, got + NFLOAT_OPS * NVALUES);
		for (int op = 0; op <= NFLOAT_OPS; op++)
			check(count_different(got + op * NVALUES, want + op * NVALUES, NVALUES) == 0,
				  "%d lanes, float8's operation %d", ops->lanes, op);
		for (int op = 0; op < NINTEGER_OPS; op++)
			check(memcmp(ugot + op * NVALUES, uwant + op * NVALUES, NVALUES * sizeof(uint64_t)) == 0,
				  "%d lanes, the integers' operation %d", ops->lanes, op);
		check(ops->wrong_totals(&values) == 0, "%d lanes, counts, sums and answers", ops->lanes);
		check(ops->wrong_parts(&values) == 0, "%d lanes, the first lanes alone", ops->lanes);
		check(ops->wrong_swaps(&values) == 0, "%d lanes, lanes exchanged", ops->lanes);
		check(ops->wrong_block(&values) == 0, "%d lanes, a block transposed", ops->lanes);
	}
	return unit_done();
}
