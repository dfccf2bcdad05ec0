/*
 * filter_constant.c: compares kept values with constants exactly; see filter_constant.h.
 */
#include "compute/design/filter_constant.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compute/base/token.h"

#define TEXT_NBYTES_MAX 400		/* "%.0f" of DBL_MAX has 309 digits */
#define EXPONENT_MAX 1000000	/* far beyond float8's exponents */
#define EXACT_INTEGER 9007199254740992.0	/* 2^53 */
/* Decimals of DBL_DIG digits have different float8 in this range, where float8 have their full precision. */
#define LEAST_DECIMAL 1e-290
#define MOST_DECIMAL 1e300

/* A number 0.d1d2d3... times 10^exponent. The first and last digits are not 0. */
typedef struct Decimal
{
	int			ndigits;		/* 0: the number is 0 */
	int			exponent;
	char		digits[GR_FILTER_NUMBER_NBYTES_MAX];
} Decimal;

/* Returns the exponent after an e, limited to EXPONENT_MAX in size. */
static int
read_exponent(const char *text, size_t nbytes)
{
	bool		negative = nbytes > 0 && text[0] == '-';
	int			exponent = 0;

	for (size_t k = negative || (nbytes > 0 && text[0] == '+') ? 1 : 0; k < nbytes; k++)
		if (exponent < EXPONENT_MAX / 10)
			exponent = exponent * 10 + (text[k] - '0');
	return negative ? -exponent : exponent;
}

/* Reads text: digits with an optional point and exponent, at most GR_FILTER_NUMBER_NBYTES_MAX bytes. */
static void
read_decimal(const char *text, size_t nbytes, Decimal *decimal)
{
	bool		behind_point = false;
	size_t		k;

	decimal->ndigits = decimal->exponent = 0;
	for (k = 0; k < nbytes && (gr_is_digit(text[k]) || text[k] == '.'); k++)
	{
		if (text[k] == '.')
			behind_point = true;
		else if (decimal->ndigits > 0 || text[k] != '0')
		{
			decimal->digits[decimal->ndigits++] = text[k];
			decimal->exponent += behind_point ? 0 : 1;
		}
		else
			decimal->exponent -= behind_point ? 1 : 0;
	}
	if (k < nbytes)
		decimal->exponent += read_exponent(text + k + 1, nbytes - k - 1);
	while (decimal->ndigits > 0 && decimal->digits[decimal->ndigits - 1] == '0')
		decimal->ndigits--;
}

/* Returns a number less than, equal to or greater than 0, as a is less than, equal to or greater than b. */
static int
compare_decimals(const Decimal *a, const Decimal *b)
{
	int			n = a->ndigits < b->ndigits ? a->ndigits : b->ndigits;
	int			order;

	if (a->ndigits == 0 || b->ndigits == 0)
		return (a->ndigits > 0) - (b->ndigits > 0);
	if (a->exponent != b->exponent)
		return a->exponent < b->exponent ? -1 : 1;
	order = memcmp(a->digits, b->digits, (size_t) n);
	return order != 0 ? order : a->ndigits - b->ndigits;
}

/* Returns the order of the value written in text (without its sign) relative to the constant. */
static GrFilterOrder
order_of(const char *text, const Decimal *constant, bool negative)
{
	Decimal		value;
	int			order;

	read_decimal(text, strlen(text), &value);
	order = compare_decimals(&value, constant);
	if (order == 0)
		return GR_FILTER_SAME;
	return (order < 0) != negative ? GR_FILTER_LESS : GR_FILTER_GREATER;
}

/* True if a decimal of ndigits digits has the float8 number. Writes the decimal to text. */
static bool
is_image(double number, int ndigits, char *text)
{
	(void) snprintf(text, TEXT_NBYTES_MAX, "%.*e", ndigits - 1, number);
	return strtod(text, NULL) == number;
}

/* gr_filter_order() for decimals. */
static GrFilterOrder
order_of_decimal(const GrFilterColumn *column, const Decimal *constant, double rounded)
{
	char		text[TEXT_NBYTES_MAX];
	double		size = fabs(rounded);

	if (constant->ndigits == 0 || constant->ndigits <= column->digits)
		return GR_FILTER_SAME;
	if (column->digits < GR_FILTER_ALL_DIGITS)
		return GR_FILTER_UNDECIDED;
	if (size < LEAST_DECIMAL || size > MOST_DECIMAL || !is_image(size, DBL_DIG, text))
		return GR_FILTER_SAME;
	return order_of(text, constant, rounded < 0);
}

GrFilterOrder
gr_filter_order(const GrFilterColumn *column, const char *digits, size_t nbytes, double rounded)
{
	char		text[TEXT_NBYTES_MAX];
	Decimal		constant;

	if (column->kind != GR_FILTER_INTEGER && column->kind != GR_FILTER_DECIMAL)
		return GR_FILTER_SAME;
	read_decimal(digits, nbytes, &constant);
	if (column->kind == GR_FILTER_DECIMAL)
		return order_of_decimal(column, &constant, rounded);
	if (fabs(rounded) >= EXACT_INTEGER && column->digits < GR_FILTER_ALL_DIGITS)
		return GR_FILTER_UNDECIDED;
	if (rounded != rint(rounded))
		return GR_FILTER_SAME;
	(void) snprintf(text, sizeof(text), "%.0f", fabs(rounded));
	return order_of(text, &constant, rounded < 0);
}

int
gr_filter_digits(int digits, int ndigits, double rounded)
{
	char		text[TEXT_NBYTES_MAX];
	double		size = fabs(rounded);

	if (ndigits == 0)
		return digits;
	if (size < LEAST_DECIMAL || size > MOST_DECIMAL)
		return 0;
	if (ndigits <= DBL_DIG)
		return digits;
	if (digits > DBL_DIG)
		digits = DBL_DIG;
	while (digits > 0 && is_image(size, digits, text))
		digits--;
	return digits;
}
