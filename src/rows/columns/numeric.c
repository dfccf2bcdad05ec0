/*
 * numeric.c: converts numeric to float8, and compares numerics.
 *
 * PostgreSQL's cast prints a numeric and reads the text as float8. Most values do not need that: their digits are an
 * integer of at most 2^53, which float8 holds exactly, times or over a power of ten of at most 10^22, which float8
 * holds exactly, too. One multiplication or division of the two gives the value, rounded correctly.
 *
 * A numeric as it is stored (src/backend/utils/adt/numeric.c; the format is that of every supported version, as
 * pg_upgrade does not rewrite tables), after the length:
 *
 *	   short form   header: 1 0 sign scale(6) weight(7)             digits
 *	   long form    header: 0 sign scale(14)       weight (int16)   digits
 *	   NaN, infinity: the header's two highest bits are 1
 *
 * Digits are int16 of 0 .. 9999, the first of which counts 10000^weight. Bytes are in the machine's order, not aligned.
 */
#include "postgres.h"

#include "fmgr.h"
#include "utils/builtins.h"

#include "rows/columns/numeric.h"
#include "run/compat.h"

#define HEADER_FORM 0xC000
#define HEADER_SHORT 0x8000
#define HEADER_SPECIAL 0xC000
#define LONG_NEGATIVE 0x4000
#define SHORT_NEGATIVE 0x2000
#define SHORT_WEIGHT 0x003F
#define SHORT_WEIGHT_SIGN 0x0040

#define GROUP 10000				/* base of the stored digits, each of which has GROUP_DIGITS decimal digits */
#define GROUP_DIGITS 4
#define GROUPS_MAX 4			/* 10000^4 fits uint64 */
#define EXACT_MAX (UINT64CONST(1) << 53)
#define POWER_MAX 22

static const double powers[POWER_MAX + 1] = {
	1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20,
	1e21, 1e22
};

/* Reads entry k of the int16s at an address that need not be aligned. */
static inline uint16
entry_at(const char *at, int k)
{
	uint16		entry;

	memcpy(&entry, at + k * sizeof(entry), sizeof(entry));
	return entry;
}

/* Sets *number to digits times 10^power. Returns false, and leaves *number, if that takes more than one rounding. */
static inline bool
scale_exactly(uint64 digits, int power, double *number)
{
	while (digits > EXACT_MAX && digits % 10 == 0)
	{
		digits /= 10;
		power++;
	}
	if (digits > EXACT_MAX || power < -POWER_MAX || power > POWER_MAX)
		return false;
	*number = power < 0 ? (double) digits / powers[-power] : (double) digits * powers[power];
	return true;
}

/* Finds the parts of a numeric. Returns false if it is compressed or out of line, NaN or infinite. */
static inline bool
find_parts(const struct varlena *value, GrNumericParts *parts)
{
	const char *at = VARDATA_ANY(value);
	int			nentries;
	uint16		header;

	if (unlikely(VARATT_IS_EXTENDED(value) && !VARATT_IS_SHORT(value)))
		return false;
	nentries = VARSIZE_ANY_EXHDR(value) / sizeof(uint16);
	if (nentries < 1)
		return false;
	header = entry_at(at, 0);
	if ((header & HEADER_FORM) == HEADER_SPECIAL)
		return false;
	if ((header & HEADER_FORM) == HEADER_SHORT)
	{
		parts->weight = (header & SHORT_WEIGHT) - (header & SHORT_WEIGHT_SIGN);
		parts->negative = (header & SHORT_NEGATIVE) != 0;
		parts->digits = at + sizeof(uint16);
		parts->ndigits = nentries - 1;
		return true;
	}
	if (nentries < 2)
		return false;
	parts->weight = (int16) entry_at(at, 1);
	parts->negative = (header & HEADER_FORM) == LONG_NEGATIVE;
	parts->digits = at + 2 * sizeof(uint16);
	parts->ndigits = nentries - 2;
	return true;
}

/* Converts a numeric that has few enough digits. Returns false if it does not, or is compressed or out of line. */
static bool
convert_quickly(const struct varlena *value, double *number)
{
	GrNumericParts parts;
	uint64		digits = 0;

	if (!find_parts(value, &parts) || parts.ndigits > GROUPS_MAX)
		return false;
	for (int k = 0; k < parts.ndigits; k++)
		digits = digits * GROUP + entry_at(parts.digits, k);
	if (!scale_exactly(digits, GROUP_DIGITS * (parts.weight - parts.ndigits + 1), number))
		return false;
	if (parts.negative)
		*number = -*number;
	return true;
}

double
gr_numeric_number(Datum value)
{
	struct varlena *numeric = (struct varlena *) DatumGetPointer(value);
	struct varlena *plain;
	double		number;

	if (likely(convert_quickly(numeric, &number)))
		return number;
	plain = pg_detoast_datum(numeric);
	number = DatumGetFloat8(DirectFunctionCall1(numeric_float8, PointerGetDatum(plain)));
	if (plain != numeric)
		pfree(plain);
	return number;
}

/* True if the first of the stored digits is not 0, as in every numeric that the server made, or there is none. */
static inline bool
is_normal(const GrNumericParts *parts)
{
	return parts->ndigits == 0 || entry_at(parts->digits, 0) != 0;
}

bool
gr_numeric_parts(Datum value, GrNumericParts *parts)
{
	return find_parts((const struct varlena *) DatumGetPointer(value), parts) && is_normal(parts);
}

/* Compares the sizes of two numerics. Returns a value below, at or above 0. */
static inline int
compare_sizes(const GrNumericParts *a, const GrNumericParts *b)
{
	int			n = Min(a->ndigits, b->ndigits);
	int			k = 0;

	if (a->ndigits == 0 || b->ndigits == 0)
		return a->ndigits - b->ndigits;
	if (a->weight != b->weight)
		return a->weight - b->weight;
	for (; k < n; k++)
	{
		int			difference = (int) entry_at(a->digits, k) - (int) entry_at(b->digits, k);

		if (difference != 0)
			return difference;
	}
	for (; k < a->ndigits; k++)
		if (entry_at(a->digits, k) != 0)
			return 1;
	for (; k < b->ndigits; k++)
		if (entry_at(b->digits, k) != 0)
			return -1;
	return 0;
}

bool
gr_numeric_compare(Datum value, const GrNumericParts *constant, int *order)
{
	GrNumericParts parts;
	bool		negative;

	if (!gr_numeric_parts(value, &parts))
		return false;
	negative = parts.negative && parts.ndigits > 0;
	if (negative != (constant->negative && constant->ndigits > 0))
		*order = negative ? -1 : 1;
	else
		*order = negative ? compare_sizes(constant, &parts) : compare_sizes(&parts, constant);
	return true;
}
