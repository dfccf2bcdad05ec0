/*
 * filter_constant.h: how the values of a kept column compare with a constant of a filter.
 *
 * SQL compares an integer or a numeric with a constant exactly, and kept rows have float8. Rounding to float8 keeps the
 * order, so a value whose float8 differs from that of the constant compares as the two float8 do. Where they are equal,
 * what was rounded decides:
 *
 *	 an integer below 2^53 is its float8
 *	 decimals of at most 15 digits have different float8, so the float8 tells the decimal
 *
 * A column knows (GrFilterColumn.digits) which constants are decided by that.
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
	GR_FILTER_FACTOR,			/* a number that isn't negative stands for each level */
	GR_FILTER_COLLATED			/* a factor whose levels may be equal though their bytes differ */
} GrFilterColumnKind;

#define GR_FILTER_ALL_DIGITS 16

typedef struct GrFilterColumn
{
	const char *name;
	GrFilterColumnKind kind;

	/*
	 * INTEGER: GR_FILTER_ALL_DIGITS if no value is beyond 2^53, or less. DECIMAL: GR_FILTER_ALL_DIGITS if no value has
	 * more than 15 significant digits, or a number of digits such that no constant of so many digits has the float8 of
	 * a value that differs from it.
	 */
	int			digits;
} GrFilterColumn;

#define GR_FILTER_NUMBER_NBYTES_MAX 500

/* A value of a column beside a constant that has the same float8 */
typedef enum GrFilterOrder
{
	GR_FILTER_LESS,				/* every such value is less than the constant */
	GR_FILTER_SAME,				/* equal to the constant, or no value of the column has this float8 */
	GR_FILTER_GREATER,
	GR_FILTER_UNDECIDED			/* the column does not tell */
} GrFilterOrder;

/*
 * digits: the constant without its sign, as SQL writes numbers, of nbytes <= GR_FILTER_NUMBER_NBYTES_MAX; rounded: the
 * finite float8 of the constant, with its sign.
 */
extern GrFilterOrder gr_filter_order(const GrFilterColumn *column, const char *digits, size_t nbytes, double rounded);

/*
 * What GrFilterColumn.digits becomes when a column of decimals also has a value of ndigits significant digits whose
 * float8 is rounded.
 */
extern int	gr_filter_digits(int digits, int ndigits, double rounded);

#ifdef __cplusplus
}
#endif
#endif							/* GPUREG_FILTER_CONSTANT_H */
