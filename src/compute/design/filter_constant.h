/*
 * filter_constant.h: compares the values of a kept column with a constant of a filter. row_filter.c calls it first.
 *
 * SQL compares an integer or a numeric with a constant exactly, but kept rows are float8. Rounding to float8 keeps the
 * order, so a value and a constant with different float8 compare as these do. If the float8 are equal, the digits
 * before rounding decide:
 *
 *	 an integer below 2^53 is its float8
 *	 decimals of at most 15 digits have different float8, so the float8 determines the decimal
 *
 * GrFilterColumn.digits says for which constants of a column this decides.
 */
#ifndef GPUREG_FILTER_CONSTANT_H
#define GPUREG_FILTER_CONSTANT_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum GrFilterColumnKind
{
	GR_FILTER_NUMBER,			/* double precision: SQL rounds constants */
	GR_FILTER_SINGLE,			/* real: SQL rounds constants to float8, and those of a longer IN list to float4 */
	GR_FILTER_INTEGER,			/* smallint, integer or bigint: SQL compares exactly */
	GR_FILTER_DECIMAL,			/* numeric: SQL compares exactly */
	GR_FILTER_BOOLEAN,			/* 0 or 1 */
	GR_FILTER_FACTOR,			/* a nonnegative code per level */
	GR_FILTER_COLLATED			/* a factor with levels that may be equal though their bytes differ */
} GrFilterColumnKind;

#define GR_FILTER_ALL_DIGITS 16

typedef struct GrFilterColumn
{
	const char *name;
	GrFilterColumnKind kind;

	/*
	 * INTEGER: GR_FILTER_ALL_DIGITS if no value exceeds 2^53, else less. DECIMAL: GR_FILTER_ALL_DIGITS if no value has
	 * more than 15 significant digits; else a number of digits such that no constant of at most so many digits shares
	 * its float8 with a different value.
	 */
	int			digits;
} GrFilterColumn;

#define GR_FILTER_NUMBER_NBYTES_MAX 500

/* Order of a column's values relative to a constant with the same float8 */
typedef enum GrFilterOrder
{
	GR_FILTER_LESS,				/* every such value is less than the constant */
	GR_FILTER_SAME,				/* every such value equals the constant, or there is none */
	GR_FILTER_GREATER,
	GR_FILTER_UNDECIDED			/* cannot be decided from the kept values */
} GrFilterOrder;

/*
 * Returns how the values of column with the float8 `rounded` compare with the constant. digits: the constant without
 * its sign, in SQL's notation, nbytes <= GR_FILTER_NUMBER_NBYTES_MAX; rounded: its finite float8, with its sign.
 */
extern GrFilterOrder gr_filter_order(const GrFilterColumn *column, const char *digits, size_t nbytes, double rounded);

/*
 * Returns the new value of GrFilterColumn.digits for a column of decimals that gains a value of ndigits significant
 * digits, whose float8 is rounded.
 */
extern int	gr_filter_digits(int digits, int ndigits, double rounded);

#ifdef __cplusplus
}
#endif
#endif							/* GPUREG_FILTER_CONSTANT_H */
