/*
 * sink_many_rounds.h: state of a sink of several parts (sink_many.h), and rounds of work by all parts together.
 */
#ifndef GPUREG_SINK_MANY_ROUNDS_H
#define GPUREG_SINK_MANY_ROUNDS_H

#include <pthread.h>

#include "compute/backend/backend.h"
#include "compute/design/derive.h"
#include "compute/linalg/basis.h"
#include "compute/request/request.h"

typedef struct ManySink ManySink;

/* Work that all parts do in a round */
typedef enum RoundKind
{
	ROUND_SUMS,
	ROUND_CHANGE,
	ROUND_DERIVE
} RoundKind;

typedef struct Part
{
	ManySink   *many;
	GrSink	   *sink;
	int			nbeside;		/* number of parts on the same device, this one included */
	int64_t		nread;			/* calls of this part whose rows have been read */
	int64_t		nrows;			/* KEEP: rows sent to this part */
	pthread_t	thread;			/* valid if started, which part 0 never is */
	bool		started;
	double	   *sums;			/* sums of a request */
	GrDeriveCounts counts;		/* counts of a derivation */
	bool		failed;			/* in this round */
	GrError		error;
} Part;

/* Position of the rows of a call of send() */
typedef struct Call
{
	int64_t		end;			/* rows of all calls up to and including this one */
	int64_t		before;			/* rows sent to its part before this call */
} Call;

/* Arguments of a derivation */
typedef struct Deriving
{
	const GrDerivation *derivation;
	GrRowRules	rules;
	GrSinkOptions options;
	ManySink   *derived;		/* new sink; NULL: rows are only checked and counted */
} Deriving;

struct ManySink
{
	const GrSinkOps *ops;
	GrRowShape	shape;
	GrSinkKind	kind;
	int			n;
	int64_t		ncalls;			/* calls of send */
	int64_t		nread;			/* calls read, as last returned by sent */
	Call	   *calls;			/* KEEP: ncalls calls */
	int64_t		calls_capacity;
	ManySink   *source;			/* sink whose rows are being derived into this one; else NULL */

	/* arguments of a round: written before the threads are woken */
	RoundKind	round_kind;
	GrBasis		basis;
	Deriving	deriving;
	void	   *arguments;		/* memory of the round's request, basis or derivation */
	double	   *sums;			/* sums of the parts except the first */
	int			stops;			/* atomic: all parts are to stop */

	pthread_mutex_t mutex;
	pthread_cond_t wake;		/* a round has begun, or the threads are to end */
	pthread_cond_t done;		/* all threads have finished the round */
	int64_t		round;
	int			nrunning;
	bool		ends;

	Part		parts[];
};

/* Returns the options of one part: its share of the expected rows, and of its device's memory limit. */
extern GrSinkOptions gr_part_options(const Part *part, const GrSinkOptions *options);

/* Runs the prepared round in all parts. Fails with the error of the gravest failure; see gravity(). */
extern bool gr_many_round(ManySink *many, const GrHost *host, GrError *err);

/* Stops and joins the threads. May be called within a round, from a host's canceled() that does not return. */
extern void gr_many_end_threads(ManySink *many);

#endif							/* GPUREG_SINK_MANY_ROUNDS_H */
