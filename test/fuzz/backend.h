/*
 * backend.h: a stand-in for what the extension's sources want of the server: memory, errors, strings, messages. An
 * error goes back to catch_error(); one that is no caller's is a finding.
 */
#ifndef GPUREG_FUZZ_BACKEND_H
#define GPUREG_FUZZ_BACKEND_H

#include "postgres.h"

#include "fmgr.h"
#include "lib/stringinfo.h"

#include "fuzz.h"

extern sigjmp_buf backend_catch;
extern int	backend_state;		/* the last error's SQLSTATE, as the server packs it */

extern int	backend_allowed;	/* of class XX, one that is no finding; or 0 */

/* False at first; true after an ERROR, which what runs next may raise */
#define catch_error() (sigsetjmp(backend_catch, 0) != 0)

/* A call of a function of SQL's by one argument, as outside an aggregate */
extern Datum call_function(PGFunction function, Datum argument);

/* A message of n bytes, which are copied: with a 0 behind them, as the server has it */
extern StringInfo message_of(const void *bytes, size_t n);

#endif							/* GPUREG_FUZZ_BACKEND_H */
