/*
 * numeric.c: from numeric to float8.
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

#define GROUP 10000				/* one of the stored digits is as many decimal ones as 10000 has zeros */
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

/* Converts a numeric that has few enough digits. Returns false if it does not, or is compressed or out of line. */
static bool
convert_quickly(const struct varlena *value, double *number)
{
	const char *at = VARDATA_ANY(value);
	int			nentries = VARSIZE_ANY_EXHDR(value) / sizeof(uint16);
	uint16		header;
	int			weight;
	int			ndigits;
	bool		negative;
	uint64		digits = 0;

	if (nentries < 1)
		return false;
	header = entry_at(at, 0);
	if ((header & HEADER_FORM) == HEADER_SPECIAL)
		return false;
	if ((header & HEADER_FORM) == HEADER_SHORT)
	{
		weight = (header & SHORT_WEIGHT) - (header & SHORT_WEIGHT_SIGN);
		negative = (header & SHORT_NEGATIVE) != 0;
		at += sizeof(uint16);
		ndigits = nentries - 1;
	}
	else if (nentries >= 2)
	{
		weight = (int16) entry_at(at, 1);
		negative = (header & HEADER_FORM) == LONG_NEGATIVE;
		at += 2 * sizeof(uint16);
		ndigits = nentries - 2;
	}
	else
		return false;
	if (ndigits > GROUPS_MAX)
		return false;
	for (int k = 0; k < ndigits; k++)
		digits = digits * GROUP + entry_at(at, k);
	if (!scale_exactly(digits, GROUP_DIGITS * (weight - ndigits + 1), number))
		return false;
	if (negative)
		*number = -*number;
	return true;
}

double
gr_numeric_number(Datum value)
{
	const struct varlena *numeric = (const struct varlena *) DatumGetPointer(value);
	double		number;

	if (likely(!VARATT_IS_EXTENDED(numeric) || VARATT_IS_SHORT(numeric)) && likely(convert_quickly(numeric, &number)))
		return number;
	return DatumGetFloat8(DirectFunctionCall1(numeric_float8, value));
}
