/*
 * boot_key.c: computes the keys of values; see boot_key.h. A key is computed from the value alone, without calling SQL
 * functions, so that it depends neither on settings nor on the current user.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "fmgr.h"
#include "mb/pg_wchar.h"
#include "utils/builtins.h"
#include "utils/date.h"
#include "utils/lsyscache.h"
#include "utils/numeric.h"
#include "utils/timestamp.h"
#include "utils/uuid.h"

#include "compute/resample/boot_draw.h"
#include "rows/state/boot_key.h"
#include "run/compat.h"

PG_FUNCTION_INFO_V1(gr_boot_key);
PG_FUNCTION_INFO_V1(gr_cluster_key);

/* Returned for values that have no key, which the server groups instead */
#define NO_KEY 0x1p60

static bool
has_keys(Oid type)
{
	switch (type)
	{
		case BOOLOID:
		case INT2OID:
		case INT4OID:
		case INT8OID:
		case NUMERICOID:
		case DATEOID:
		case TIMESTAMPOID:
		case TIMESTAMPTZOID:
		case UUIDOID:
		case TEXTOID:
		case VARCHAROID:
		case BPCHAROID:
			return true;
		default:
			return false;
	}
}

void
gr_check_boot_key(Oid type, const char *name)
{
	if (!has_keys(getBaseType(type)))
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("column \"%s\" of the query has unsupported type %s", name, format_type_be(type)),
				 errdetail("Keys must be integers, numerics, booleans, texts, dates, timestamps or uuids."),
				 errhint("Cast the column in the query, for example to text.")));
}

void
gr_check_fold(Oid type, const char *name)
{
	Oid			base = getBaseType(type);

	if (base != INT2OID && base != INT4OID && base != INT8OID && base != BOOLOID)
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("column \"%s\" of the query has unsupported type %s", name, format_type_be(type)),
				 errdetail("Folds must be integers or booleans."),
				 errhint("Cast the column to integer, or leave fold out to have folds drawn.")));
}

static int64
key_of_bytes(const void *bytes, Size n)
{
	return gr_boot_hash_key(gr_boot_hash_add(GR_BOOT_HASH_BEGIN, bytes, n));
}

/* Hashes the text in UTF-8, so that keys do not depend on the server's encoding. */
int64
gr_boot_text_key(const char *bytes, int nbytes)
{
	char	   *converted = pg_server_to_any(bytes, nbytes, PG_UTF8);

	return converted == bytes ? key_of_bytes(bytes, nbytes) : key_of_bytes(converted, strlen(converted));
}

/* Key of a text. blank_padded: the type is character(n), whose trailing blanks do not count */
static int64
key_of_text(Datum value, bool blank_padded)
{
	text	   *string = DatumGetTextPP(value);
	const char *bytes = VARDATA_ANY(string);
	int			n = VARSIZE_ANY_EXHDR(string);

	while (blank_padded && n > 0 && bytes[n - 1] == ' ')
		n--;
	return gr_boot_text_key(bytes, n);
}

/* Key of a numeric: the value if it is an integer within range, else the hash of its digits without trailing zeros */
static int64
key_of_numeric(Datum value)
{
	char	   *digits = numeric_normalize(DatumGetNumeric(value));
	bool		negative = digits[0] == '-';
	Size		n = strspn(digits + negative, "0123456789");
	int64		number = 0;

	if (n > 0 && n <= 16 && digits[negative + n] == '\0')
	{
		for (Size i = 0; i < n; i++)
			number = 10 * number + (digits[negative + i] - '0');
		if (number <= GR_BOOT_KEY_MAX)
			return negative ? -number : number;
	}
	return key_of_bytes(digits, strlen(digits));
}

/* Returns a boolean, integer, date, timestamp, enum or oid as an integer that no other value of the type has. */
static int64
integer_of(Oid type, Datum value)
{
	switch (type)
	{
		case BOOLOID:
			return DatumGetBool(value) ? 1 : 0;
		case INT2OID:
			return DatumGetInt16(value);
		case INT4OID:
			return DatumGetInt32(value);
		case DATEOID:
			return DatumGetDateADT(value);
		case INT8OID:
		case TIMESTAMPOID:
		case TIMESTAMPTZOID:
			return DatumGetInt64(value);
		default:
			return DatumGetObjectId(value);
	}
}

int64
gr_boot_key_of(Oid type, Datum value)
{
	switch (type)
	{
		case BOOLOID:
		case INT2OID:
		case INT4OID:
		case INT8OID:
		case DATEOID:
		case TIMESTAMPOID:
		case TIMESTAMPTZOID:
			return gr_boot_integer_key(integer_of(type, value));
		case UUIDOID:
			return key_of_bytes(DatumGetUUIDP(value)->data, UUID_LEN);
		case NUMERICOID:
			return key_of_numeric(value);
		default:
			return key_of_text(value, type == BPCHAROID);
	}
}

Oid
gr_boot_key_type(FunctionCallInfo fcinfo, int argument)
{
	Oid			given = get_fn_expr_argtype(fcinfo->flinfo, argument);
	Oid			type = getBaseType(given);

	if (!has_keys(type))
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("values of type %s cannot be used as keys", format_type_be(given)),
				 errhint("Cast them, for example to text.")));
	return type;
}

/* Returns the base type of the argument, looked up at the first call. */
static Oid
find_type(FunctionCallInfo fcinfo)
{
	Oid		   *type = fcinfo->flinfo->fn_extra;

	if (type == NULL)
	{
		type = MemoryContextAlloc(fcinfo->flinfo->fn_mcxt, sizeof(Oid));
		*type = gr_boot_key_type(fcinfo, 0);
		fcinfo->flinfo->fn_extra = type;
	}
	return *type;
}

/* gpu_boot_key("any") returns float8: an integer */
Datum
gr_boot_key(PG_FUNCTION_ARGS)
{
	Oid			type = find_type(fcinfo);

	PG_RETURN_FLOAT8((float8) gr_boot_key_of(type, PG_GETARG_DATUM(0)));
}

/*
 * Keys of clusters
 */

bool
gr_has_cluster_keys(Oid type)
{
	switch (getBaseType(type))
	{
		case BOOLOID:
		case INT2OID:
		case INT4OID:
		case INT8OID:
		case OIDOID:
		case DATEOID:
		case TIMESTAMPOID:
		case TIMESTAMPTZOID:
			return true;
		default:
			return type_is_enum(getBaseType(type));
	}
}

/*
 * gpu_cluster_key("any") returns float8: an integer that identifies the value's cluster, or 2^60, which is no key, for
 * values whose magnitude is 2^53 or more
 */
Datum
gr_cluster_key(PG_FUNCTION_ARGS)
{
	Oid		   *type = fcinfo->flinfo->fn_extra;
	int64		key;

	if (type == NULL)
	{
		Oid			given = get_fn_expr_argtype(fcinfo->flinfo, 0);

		if (!OidIsValid(given) || !gr_has_cluster_keys(given))
			ereport(ERROR,
					(errcode(ERRCODE_DATATYPE_MISMATCH),
					 errmsg("values of type %s cannot be used as clusters", format_type_be(given))));
		type = fcinfo->flinfo->fn_extra = MemoryContextAlloc(fcinfo->flinfo->fn_mcxt, sizeof(Oid));
		*type = getBaseType(given);
	}
	key = integer_of(*type, PG_GETARG_DATUM(0));
	PG_RETURN_FLOAT8(key > -GR_BOOT_KEY_MAX && key < GR_BOOT_KEY_MAX ? (float8) key : NO_KEY);
}
