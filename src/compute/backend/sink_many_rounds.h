/*
 * sink_many_rounds.h: a sink over several (sink_many.h), and the rounds that its parts make at once.
 */
#ifndef GPUREG_SINK_MANY_ROUNDS_H
#define GPUREG_SINK_MANY_ROUNDS_H

#include <pthread.h>

#include "compute/backend/backend.h"
#include "compute/design/derive.h"
#include "compute/linalg/basis.h"
#include "compute/request/request.h"

typedef struct ManySink ManySink;

/* What all parts do at once */
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
	int			nbeside;		/* parts on its device, itself among them */
	int64_t		nread;			/* of its calls */
	int64_t		nrows;			/* KEEP: that it was sent */
	pthread_t	thread;			/* none of part 0 */
	bool		started;
	double	   *sums;			/* of a request */
	GrDeriveCounts counts;		/* of a derivation */
	bool		failed;			/* in this round */
	GrError		error;
} Part;

/* A call of send(), so that its rows are found again */
typedef struct Call
{
	int64_t		end;			/* rows of all calls up to its own */
	int64_t		before;			/* rows that its part was sent before */
} Call;

/* What a derivation is made by */
typedef struct Deriving
{
	const GrDerivation *derivation;
	GrRowRules	rules;
	GrSinkOptions options;
	ManySink   *derived;		/* NULL: rows are counted alone */
} Deriving;

struct ManySink
{
	const GrSinkOps *ops;
	GrRowShape	shape;
	GrSinkKind	kind;
	int			n;
	int64_t		ncalls;			/* of send */
	int64_t		nread;			/* of them, as was last told */
	Call	   *calls;			/* KEEP: all of them */
	int64_t		calls_capacity;
	ManySink   *source;			/* whose parts' rows are being derived into this one's; else NULL */

	/* a round; what the threads read is written under the mutex, before they are woken */
	RoundKind	round_kind;
	GrBasis		basis;
	Deriving	deriving;
	void	   *arguments;		/* of whichever of them it is */
	double	   *sums;			/* of the parts but the first */
	int			stops;			/* atomic: all parts are to stop */

	pthread_mutex_t mutex;
	pthread_cond_t wake;		/* a round has begun, or the threads are to end */
	pthread_cond_t done;		/* all threads are through with it */
	int64_t		round;
	int			nrunning;
	bool		ends;

	Part		parts[];
};

/* What is a part's of options that are all parts': its share of the rows, and of what its device may give */
extern GrSinkOptions gr_part_options(const Part *part, const GrSinkOptions *options);

/* The round that was prepared, by all parts; fails as the part does whose failure says most. */
extern bool gr_many_round(ManySink *many, const GrHost *host, GrError *err);

/* Also from within a round, by what the host has called, which doesn't return then */
extern void gr_many_end_threads(ManySink *many);

#endif							/* GPUREG_SINK_MANY_ROUNDS_H */
