/*
 * backend.h: a stand-in for what the extension's sources want of the server: memory, errors, strings, messages. An
 * error goes back to catch_error(); one that is no caller's is a finding.
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
extern int	backend_state;		/* the last error's SQLSTATE, as the server packs it */

extern const void *backend_detoasted;	/* the value that was detoasted last */
extern int	backend_allowed;	/* of class XX, one that is no finding; or 0 */

/* False at first; true after an ERROR, which what runs next may raise */
#define catch_error() (sigsetjmp(backend_catch, 0) != 0)

/*
 * Memory contexts, of which those of one input are gone with backend_end(), or before, when they are deleted: what lies
 * there is then nobody's any more. TopMemoryContext stays.
 */
extern void backend_begin(size_t size);
extern void backend_end(void);

/* A call of a function of SQL's by one argument, as outside an aggregate */
extern Datum call_function(PGFunction function, Datum argument);

/* Calls: arguments, their types, and what the function keeps from call to call */
typedef struct BackendCall
{
	FmgrInfo	flinfo;
	int			nargs;
	Oid			types[FUNC_MAX_ARGS];
	NullableDatum args[FUNC_MAX_ARGS];
	bool		aggregate;		/* is it an aggregate that calls? */
	MemoryContext context;		/* of each call by itself */
	bool		null;			/* was the result NULL? */
} BackendCall;

/* aggregate: it is called as an aggregate's function */
extern BackendCall *backend_call(bool aggregate);
extern void backend_argument(BackendCall *call, Oid type, Datum value, bool null);

/* Calls; in a memory context of the call's, which goes with the next call. A result is to be copied before it. */
extern Datum backend_run(BackendCall *call, PGFunction function);

/* A row of a composite type whose fields have such types; identifier: the type's own */
typedef struct BackendRow
{
	int			natts;
	const Oid  *types;
	const char *const *names;	/* or NULL */
	const Datum *values;
	const bool *nulls;
	Oid			identifier;
} BackendRow;

extern Datum backend_row(const BackendRow *row);

/* The fields of a row that a function has made */
extern void backend_fields(Datum row, Datum *values, bool *nulls, int natts);

/* The type of rows that the function that is called next returns */
extern void backend_result_type(int natts, const Oid *types);

/* What a function has put out as rows: how many */
extern int	backend_nrows;

/* An array as the server has it; nulls: or NULL. The number of items is the product of the dimensions */
extern ArrayType *backend_array(Oid element, int ndim, const int *dims, const int *bounds, const Datum *items,
								const bool *nulls);

/* A text, with a short header where it may be */
extern text *backend_text(const char *bytes, size_t n, bool is_short);

/* A number as the server's own type for it */
extern Datum backend_numeric(double value);

/* JSON: a value, of which strings, arrays and objects are members; keys of objects are sorted and unique */
typedef struct BackendJson
{
	int			type;			/* jbvNull, jbvString, jbvNumeric, jbvBool, jbvArray, jbvObject */
	double		number;			/* also of a boolean */
	const char *bytes;			/* of a string, */
	int			nbytes;
	const char *key;			/* and as a member of an object */
	int			nkey;
	struct BackendJson *first;	/* members */
	struct BackendJson *next;
	int			nmembers;
} BackendJson;

extern Datum backend_jsonb(BackendJson *root);

/* A message of n bytes, which are copied: with a 0 behind them, as the server has it */
extern StringInfo message_of(const void *bytes, size_t n);

#endif							/* GPUREG_FUZZ_BACKEND_H */
