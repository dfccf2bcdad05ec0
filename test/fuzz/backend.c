/*
 * backend.c: see backend.h. Memory comes from memory.c, a separate piece per palloc().
 */
#include "backend.h"

#include <math.h>

#include "common/shortest_dec.h"
#include "libpq/pqformat.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/json.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "rows/state/aggregate.h"
#include "run/device.h"
#include "run/progress.h"

#undef vsnprintf
#undef snprintf

sigjmp_buf	backend_catch;
int			backend_state;
int			backend_allowed;
const void *backend_detoasted;
volatile sig_atomic_t InterruptPending;
int			ParallelWorkerNumber = -1;
int			work_mem = 4096;
int			gr_projection_cache_size = 256;	/* kB */
sigjmp_buf *PG_exception_stack;
ErrorContextCallback *error_context_stack;

static char message[1000];
static int	level;

/*
 * Errors
 */

bool
errstart(int elevel, const char *domain)
{
	level = elevel;
	backend_state = elevel >= ERROR ? ERRCODE_INTERNAL_ERROR : ERRCODE_WARNING;
	message[0] = '\0';
	return elevel >= WARNING;
}

bool
errstart_cold(int elevel, const char *domain)
{
	return errstart(elevel, domain);
}

int
errcode(int sqlerrcode)
{
	backend_state = sqlerrcode;
	return 0;
}

static int
note(const char *fmt, va_list args)
{
	char		text[1000];

	/* a sanitizer checks formats and arguments, too */
	(void) vsnprintf(text, sizeof(text), fmt, args);
	memcpy(message, text, sizeof(text));
	return 0;
}

#define NOTES(name) \
	int \
	name(const char *fmt,...) \
	{ \
		va_list		args; \
	\
		va_start(args, fmt); \
		(void) note(fmt, args); \
		va_end(args); \
		return 0; \
	}

NOTES(errmsg)
NOTES(errmsg_internal)
NOTES(errdetail)
NOTES(errdetail_internal)
NOTES(errhint)

void
errfinish(const char *filename, int lineno, const char *funcname)
{
	if (level < ERROR)
		return;
	/* values that are malformed in memory are reported with another code of that class */
	if (level > ERROR || (ERRCODE_TO_CATEGORY(backend_state) == ERRCODE_INTERNAL_ERROR &&
						  backend_state != backend_allowed))
		fuzz_finding(filename, lineno, message);
	siglongjmp(backend_catch, 1);
}

void
ExceptionalCondition(const char *condition,
#if PG_VERSION_NUM < 160000
					 const char *kind,
#endif
					 const char *file, int line)
{
	fuzz_finding(file, line, condition);
}

ErrorData *
CopyErrorData(void)
{
	abort();
}

void
FlushErrorState(void)
{
	abort();
}

void
ReThrowError(ErrorData *edata)
{
	abort();
}

void
ProcessInterrupts(void)
{
}

void
gr_note_device_error(const GrError *err)
{
}

/*
 * Strings
 */

int
GetDatabaseEncoding(void)
{
	return PG_UTF8;
}

void
initStringInfo(StringInfo str)
{
	str->maxlen = 64;
	str->data = palloc(str->maxlen);
	resetStringInfo(str);
}

void
resetStringInfo(StringInfo str)
{
	str->data[0] = '\0';
	str->len = 0;
	str->cursor = 0;
}

void
enlargeStringInfo(StringInfo str, int needed)
{
	char	   *data;

	must(needed >= 0 && (Size) needed < MaxAllocSize - (Size) str->len);
	if (str->len + needed + 1 <= str->maxlen)
		return;
	str->maxlen = 2 * (str->len + needed + 1);
	data = palloc(str->maxlen);
	memcpy(data, str->data, (size_t) str->len + 1);
	str->data = data;
}

void
appendBinaryStringInfo(StringInfo str,
#if PG_VERSION_NUM >= 160000
					   const void *data,
#else
					   const char *data,
#endif
					   int datalen)
{
	enlargeStringInfo(str, datalen);
	memcpy(str->data + str->len, data, (size_t) datalen);
	str->len += datalen;
	str->data[str->len] = '\0';
}

void
appendStringInfoString(StringInfo str, const char *s)
{
	appendBinaryStringInfo(str, s, (int) strlen(s));
}

#undef appendStringInfoChar
void
appendStringInfoChar(StringInfo str, char ch)
{
	appendBinaryStringInfo(str, &ch, 1);
}

void
appendStringInfo(StringInfo str, const char *fmt,...)
{
	char		text[2000];
	va_list		args;

	va_start(args, fmt);
	must(vsnprintf(text, sizeof(text), fmt, args) < (int) sizeof(text));
	va_end(args);
	appendStringInfoString(str, text);
}

char *
psprintf(const char *fmt,...)
{
	char		text[2000];
	va_list		args;

	va_start(args, fmt);
	(void) vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	return pnstrdup(text, sizeof(text));
}

int
pg_snprintf(char *str, size_t count, const char *fmt,...)
{
	va_list		args;
	int			n;

	va_start(args, fmt);
	n = vsnprintf(str, count, fmt, args);
	va_end(args);
	return n;
}

void
escape_json(StringInfo buf, const char *str)
{
	appendStringInfoChar(buf, '"');
	for (; *str != '\0'; str++)
	{
		const char *special = strchr("\"\\\b\f\n\r\t", *str);

		if (special != NULL)
			appendStringInfo(buf, "\\%c", "\"\\bfnrt"[special - "\"\\\b\f\n\r\t"]);
		else if ((unsigned char) *str < ' ')
			appendStringInfo(buf, "\\u%04x", (int) *str);
		else
			appendStringInfoChar(buf, *str);
	}
	appendStringInfoChar(buf, '"');
}

int
double_to_shortest_decimal_buf(double f, char *result)
{
	return snprintf(result, DOUBLE_SHORTEST_DECIMAL_LEN, "%.17g", f);
}

/*
 * Messages
 */

StringInfo
message_of(const void *bytes, size_t n)
{
	StringInfo	buf = palloc(sizeof(StringInfoData));

	memset(buf, 0, sizeof(*buf));
	buf->data = palloc(n + 1);
	if (n > 0)
		memcpy(buf->data, bytes, n);
	buf->data[n] = '\0';
	buf->len = (int) n;
	buf->maxlen = (int) n + 1;
	return buf;
}

static const char *
message_bytes(StringInfo msg, int n)
{
	const char *at = msg->data + msg->cursor;

	if (n > msg->len - msg->cursor)
		ereport(ERROR, (errcode(ERRCODE_PROTOCOL_VIOLATION), errmsg("insufficient data left in message")));
	msg->cursor += n;
	return at;
}

int
pq_getmsgbyte(StringInfo msg)
{
	return (unsigned char) *message_bytes(msg, 1);
}

unsigned int
pq_getmsgint(StringInfo msg, int b)
{
	const unsigned char *at = (const unsigned char *) message_bytes(msg, b);
	unsigned int value = 0;

	for (int k = 0; k < b; k++)
		value = value << 8 | at[k];
	return value;
}

int64
pq_getmsgint64(StringInfo msg)
{
	uint64		high = pq_getmsgint(msg, 4);

	return (int64) (high << 32 | pq_getmsgint(msg, 4));
}

float8
pq_getmsgfloat8(StringInfo msg)
{
	int64		bits = pq_getmsgint64(msg);
	float8		value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

const char *
pq_getmsgbytes(StringInfo msg, int datalen)
{
	if (datalen < 0 || datalen > msg->len - msg->cursor)
		ereport(ERROR, (errcode(ERRCODE_PROTOCOL_VIOLATION), errmsg("insufficient data left in message")));
	return message_bytes(msg, datalen);
}

void
pq_getmsgend(StringInfo msg)
{
	if (msg->cursor != msg->len)
		ereport(ERROR, (errcode(ERRCODE_PROTOCOL_VIOLATION), errmsg("invalid message format")));
}

void
pq_sendbytes(StringInfo buf,
#if PG_VERSION_NUM >= 160000
			 const void *data,
#else
			 const char *data,
#endif
			 int datalen)
{
	appendBinaryStringInfo(buf, data, datalen);
}

const char *
pq_getmsgstring(StringInfo msg)
{
	const char *string = msg->data + msg->cursor;
	int			length = (int) strlen(string);

	if (msg->cursor + length >= msg->len)
		ereport(ERROR, (errcode(ERRCODE_PROTOCOL_VIOLATION), errmsg("invalid string in message")));
	msg->cursor += length + 1;
	return string;
}

void
pq_begintypsend(StringInfo buf)
{
	initStringInfo(buf);
	appendBinaryStringInfo(buf, "\0\0\0\0", 4);
}

bytea *
pq_endtypsend(StringInfo buf)
{
	bytea	   *result = (bytea *) buf->data;

	SET_VARSIZE(result, buf->len);
	return result;
}

void
pq_sendstring(StringInfo buf, const char *str)
{
	appendBinaryStringInfo(buf, str, (int) strlen(str) + 1);
}

void
pq_sendfloat8(StringInfo buf, float8 f)
{
	int64		bits;

	memcpy(&bits, &f, sizeof(bits));
	pq_sendint64(buf, (uint64) bits);
}

/*
 * Values and functions
 */

struct varlena *
pg_detoast_datum(struct varlena *datum)
{
	backend_detoasted = datum;
	return datum;
}

struct varlena *
pg_detoast_datum_packed(struct varlena *datum)
{
	return datum;
}

struct varlena *
pg_detoast_datum_copy(struct varlena *datum)
{
	return fuzz_copy(datum, VARSIZE(datum));
}

char *
get_func_name(Oid funcid)
{
	return pnstrdup("function", 8);
}

#if PG_VERSION_NUM >= 160000
AclResult
object_aclcheck(Oid classid, Oid objectid, Oid roleid, AclMode mode)
{
	return ACLCHECK_OK;
}
#else
AclResult
pg_proc_aclcheck(Oid proc_oid, Oid roleid, AclMode mode)
{
	return ACLCHECK_OK;
}
#endif

Datum
call_function(PGFunction function, Datum argument)
{
	LOCAL_FCINFO(fcinfo, 1);
	FmgrInfo	flinfo;

	memset(&flinfo, 0, sizeof(flinfo));
	InitFunctionCallInfoData(*fcinfo, &flinfo, 1, InvalidOid, NULL, NULL);
	fcinfo->args[0].value = argument;
	fcinfo->args[0].isnull = false;
	return function(fcinfo);
}

/* Ignored: nobody reads an input's progress. */
bool		gr_progress_active;

void
gr_progress_add_rows(int64 nrows)
{
	(void) nrows;
}

/* Ignored: nobody reads the record of runs. */
void
gr_record_group(FunctionCallInfo fcinfo, const char *function, int64 nrows, int nfeatures, double began)
{
	(void) fcinfo;
	(void) function;
	(void) nrows;
	(void) nfeatures;
	(void) began;
}

void
gr_record_state(FunctionCallInfo fcinfo, int64 nrows, int nfeatures, double began)
{
	(void) fcinfo;
	(void) nrows;
	(void) nfeatures;
	(void) began;
}

#if !HAVE_DECL_STRLCPY
/* Defined by the server where the C library lacks it. */
size_t
strlcpy(char *to, const char *from, size_t size)
{
	size_t		length = strlen(from);

	if (size > 0)
	{
		size_t		n = length < size ? length : size - 1;

		memcpy(to, from, n);
		to[n] = '\0';
	}
	return length;
}
#endif
