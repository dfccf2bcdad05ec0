/*
 * backend.h: a stand-in for the server: memory, errors, strings and messages for the extension's sources. An ERROR
 * jumps to catch_error(); one that isn't a caller's is a finding.
 */
#ifndef GPUREG_FUZZ_BACKEND_H
#define GPUREG_FUZZ_BACKEND_H

#include "postgres.h"

#include "fmgr.h"
#include "lib/stringinfo.h"
#include "utils/array.h"
#include "utils/memutils.h"

#include "fuzz.h"

extern sigjmp_buf backend_catch;
extern int	backend_state;		/* SQLSTATE of the last error, as the server packs it */

extern const void *backend_detoasted;	/* the value that was detoasted last */
extern int	backend_allowed;	/* an SQLSTATE of class XX that is no finding; or 0 */

/* False when called; true after an ERROR of the code behind it */
#define catch_error() (sigsetjmp(backend_catch, 0) != 0)

/*
 * Memory contexts. backend_end(), or a deletion, ends the contexts of an input; their memory must not be touched then.
 * TopMemoryContext stays.
 */
extern void backend_begin(size_t size);
extern void backend_end(void);

/* Calls an SQL function with one argument, outside an aggregate. */
extern Datum call_function(PGFunction function, Datum argument);

/* A function's calls: arguments, their types, and the memory that the function keeps between calls */
typedef struct BackendCall
{
	FmgrInfo	flinfo;
	int			nargs;
	Oid			types[FUNC_MAX_ARGS];
	NullableDatum args[FUNC_MAX_ARGS];
	bool		aggregate;		/* true if an aggregate calls */
	MemoryContext context;		/* memory of a single call */
	bool		null;			/* true if the result was NULL */
} BackendCall;

/* Begins calls. aggregate: the function is called as an aggregate's function. */
extern BackendCall *backend_call(bool aggregate);
extern void backend_argument(BackendCall *call, Oid type, Datum value, bool null);

/* Calls the function in a memory context of the call's own, which the next call resets: copy the result before. */
extern Datum backend_run(BackendCall *call, PGFunction function);

/* A row of a composite type with fields of these types; identifier: the type's own */
typedef struct BackendRow
{
	int			natts;
	const Oid  *types;
	const char *const *names;	/* NULL: no names */
	const Datum *values;
	const bool *nulls;
	Oid			identifier;
} BackendRow;

extern Datum backend_row(const BackendRow *row);

/* Reads the fields of a row that a function has made. */
extern void backend_fields(Datum row, Datum *values, bool *nulls, int natts);

/* Sets the type of rows that the next function returns. */
extern void backend_result_type(int natts, const Oid *types);

/* The number of rows that a function has returned */
extern int	backend_nrows;

/* Makes an array like the server's; nulls may be NULL. The number of items is the product of the dimensions. */
extern ArrayType *backend_array(Oid element, int ndim, const int *dims, const int *bounds, const Datum *items,
								const bool *nulls);

/* Makes a text; is_short: with a short header if the length allows it. */
extern text *backend_text(const char *bytes, size_t n, bool is_short);

/* Makes a number of the server's type numeric. */
extern Datum backend_numeric(double value);

/* A JSON value, whose members are strings, arrays and objects. Keys of an object must be sorted and unique. */
typedef struct BackendJson
{
	int			type;			/* jbvNull, jbvString, jbvNumeric, jbvBool, jbvArray, jbvObject */
	double		number;			/* value of a number, or of a boolean */
	const char *bytes;			/* bytes of a string */
	int			nbytes;
	const char *key;			/* key, if the value is a member of an object */
	int			nkey;
	struct BackendJson *first;	/* members */
	struct BackendJson *next;
	int			nmembers;
} BackendJson;

extern Datum backend_jsonb(BackendJson *root);

/* Makes a message of a copy of n bytes, with a 0 behind them like the server's. */
extern StringInfo message_of(const void *bytes, size_t n);

#endif							/* GPUREG_FUZZ_BACKEND_H */
