/*
 * backend_memory.c: memory contexts and calls of functions; see backend.h. Each palloc() is a separate piece, which
 * must not be touched after it was freed or its context was deleted.
 */
#include "backend.h"

#include <sanitizer/allocator_interface.h>

#include "access/tupdesc.h"
#include "nodes/execnodes.h"

#define CONTEXTS_MAX 500

typedef struct FuzzContext
{
	MemoryContextData head;		/* makes the context a node with a type */
	int			parent;			/* -1: none */
	bool		deleted;
	bool		lasting;		/* stays from one input to the next */
	MemoryContextCallback *callbacks;
} FuzzContext;

typedef struct Piece
{
	void	   *memory;
	int			context;
} Piece;

MemoryContext CurrentMemoryContext;
MemoryContext TopMemoryContext;
MemoryContext CacheMemoryContext;
MemoryContext CurTransactionContext;
MemoryContext TopTransactionContext;

static FuzzContext contexts[CONTEXTS_MAX];
static int	ncontexts;
static Piece *pieces;
static size_t npieces;
static size_t room;

static int
number_of(MemoryContext context)
{
	int			k = (int) ((FuzzContext *) context - contexts);

	must(context != NULL && k >= 0 && k < ncontexts && !contexts[k].deleted);
	return k;
}

static MemoryContext
new_context(int parent)
{
	FuzzContext *fresh = &contexts[ncontexts];

	must(ncontexts < CONTEXTS_MAX);
	ncontexts++;
	*fresh = (FuzzContext) {.parent = parent,.lasting = parent < 0 || contexts[parent].lasting};
	return &fresh->head;
}

static void *
allocate(MemoryContext context, Size size, int flags)
{
	int			k = CurrentMemoryContext == NULL && context == NULL ? -1 : number_of(context);
	void	   *piece;

	must((flags & MCXT_ALLOC_HUGE) != 0 ? AllocHugeSizeIsValid(size) : AllocSizeIsValid(size));
	if (k >= 0 && contexts[k].lasting)
		piece = malloc(Max(size, 1));
	else
		piece = fuzz_take(NULL, size);
	if (k >= 0)
	{
		if (npieces == room)
		{
			room = room == 0 ? 1024 : 2 * room;
			pieces = realloc(pieces, room * sizeof(Piece));
		}
		pieces[npieces++] = (Piece) {piece, k};
	}
	return (flags & MCXT_ALLOC_ZERO) != 0 ? memset(piece, 0, size) : piece;
}

static void
delete_context(int k)
{
	size_t		left = 0;

	contexts[k].deleted = true;
	for (int i = 0; i < ncontexts; i++)
		if (contexts[i].parent == k && !contexts[i].deleted)
			delete_context(i);
	while (contexts[k].callbacks != NULL)
	{
		MemoryContextCallback *callback = contexts[k].callbacks;

		contexts[k].callbacks = callback->next;
		callback->func(callback->arg);
	}
	for (size_t i = 0; i < npieces; i++)
	{
		if (pieces[i].context != k)
			pieces[left++] = pieces[i];
		else if (contexts[k].lasting)
			free(pieces[i].memory);
		else if (pieces[i].memory != NULL)
			fuzz_forget(pieces[i].memory);
	}
	npieces = left;
}

void
backend_begin(size_t size)
{
	if (TopMemoryContext == NULL)
		TopMemoryContext = CacheMemoryContext = new_context(-1);
	fuzz_begin(size);
	contexts[ncontexts].lasting = false;
	CurrentMemoryContext = new_context(-1);
	((FuzzContext *) CurrentMemoryContext)->lasting = false;
	CurTransactionContext = TopTransactionContext = CurrentMemoryContext;
}

void
backend_end(void)
{
	int			nlasting = 0;

	for (int k = 0; k < ncontexts; k++)
		if (!contexts[k].lasting && !contexts[k].deleted)
			delete_context(k);
	for (int k = 0; k < ncontexts; k++)
		if (contexts[k].lasting && !contexts[k].deleted)
			nlasting = k + 1;
	ncontexts = nlasting;
	CurrentMemoryContext = NULL;
	fuzz_end();
}

MemoryContext
AllocSetContextCreateInternal(MemoryContext parent, const char *name, Size minContextSize, Size initBlockSize,
							  Size maxBlockSize)
{
	return new_context(number_of(parent));
}

void
MemoryContextDelete(MemoryContext context)
{
	delete_context(number_of(context));
}

/* Frees what was allocated in a context, which stays. */
void
MemoryContextReset(MemoryContext context)
{
	int			k = number_of(context);

	delete_context(k);
	contexts[k].deleted = false;
}

void
MemoryContextSetParent(MemoryContext context, MemoryContext new_parent)
{
	FuzzContext *of = &contexts[number_of(context)];

	of->parent = number_of(new_parent);
}

void
MemoryContextRegisterResetCallback(MemoryContext context, MemoryContextCallback *cb)
{
	FuzzContext *of = &contexts[number_of(context)];

	cb->next = of->callbacks;
	of->callbacks = cb;
}

void *
palloc(Size size)
{
	return allocate(CurrentMemoryContext, size, 0);
}

void *
palloc0(Size size)
{
	return allocate(CurrentMemoryContext, size, MCXT_ALLOC_ZERO);
}

void *
palloc_extended(Size size, int flags)
{
	return allocate(CurrentMemoryContext, size, flags);
}

void *
MemoryContextAlloc(MemoryContext context, Size size)
{
	return allocate(context, size, 0);
}

void *
MemoryContextAllocZero(MemoryContext context, Size size)
{
	return allocate(context, size, MCXT_ALLOC_ZERO);
}

void *
MemoryContextAllocExtended(MemoryContext context, Size size, int flags)
{
	return allocate(context, size, flags);
}

void *
MemoryContextAllocHuge(MemoryContext context, Size size)
{
	return allocate(context, size, MCXT_ALLOC_HUGE);
}

void
pfree(void *pointer)
{
	must(pointer != NULL);
	for (size_t i = npieces; i > 0; i--)
		if (pieces[i - 1].memory == pointer)
		{
			bool		lasting = contexts[pieces[i - 1].context].lasting;

			pieces[i - 1] = pieces[--npieces];
			if (lasting)
				free(pointer);
			else
				fuzz_forget(pointer);
			return;
		}
	/* the test's main program has no context */
	must(CurrentMemoryContext == NULL);
	fuzz_forget(pointer);
}

/* Moves a piece; flags: as MemoryContextAllocExtended() has them. */
static void *
reallocate(void *pointer, Size size, int flags)
{
	MemoryContext context = NULL;
	void	   *piece;

	for (size_t i = 0; i < npieces; i++)
		if (pieces[i].memory == pointer)
			context = &contexts[pieces[i].context].head;
	must(context != NULL);
	piece = allocate(context, size, flags);
	memcpy(piece, pointer, Min(size, __sanitizer_get_allocated_size(pointer)));
	pfree(pointer);
	return piece;
}

void *
repalloc(void *pointer, Size size)
{
	return reallocate(pointer, size, 0);
}

void *
repalloc_huge(void *pointer, Size size)
{
	return reallocate(pointer, size, MCXT_ALLOC_HUGE);
}

char *
pnstrdup(const char *in, Size len)
{
	Size		n = strnlen(in, len);
	char	   *copy = palloc(n + 1);

	memcpy(copy, in, n);
	copy[n] = '\0';
	return copy;
}

char *
pstrdup(const char *in)
{
	return pnstrdup(in, strlen(in));
}

char *
MemoryContextStrdup(MemoryContext context, const char *string)
{
	return strcpy(MemoryContextAlloc(context, strlen(string) + 1), string);
}

/*
 * Calls
 */

static BackendCall *running;
static AggState aggregate_node;

BackendCall *
backend_call(bool aggregate)
{
	BackendCall *call = palloc0(sizeof(BackendCall));

	call->flinfo.fn_mcxt = CurrentMemoryContext;
	call->aggregate = aggregate;
	aggregate_node.ss.ps.type = T_AggState;
	return call;
}

void
backend_argument(BackendCall *call, Oid type, Datum value, bool null)
{
	must(call->nargs < FUNC_MAX_ARGS);
	call->types[call->nargs] = type;
	call->args[call->nargs++] = (NullableDatum) {value, null};
}

Datum
backend_run(BackendCall *call, PGFunction function)
{
	union
	{
		FunctionCallInfoBaseData fcinfo;
		char		bytes[SizeForFunctionCallInfo(FUNC_MAX_ARGS)];
	}			place;
	FunctionCallInfo fcinfo = &place.fcinfo;
	MemoryContext old = call->flinfo.fn_mcxt;
	Datum		result;
	ReturnSetInfo rows = {.type = T_ReturnSetInfo};

	if (call->context != NULL)
		MemoryContextDelete(call->context);
	call->context = AllocSetContextCreate(old, "call", ALLOCSET_DEFAULT_SIZES);
	InitFunctionCallInfoData(*fcinfo, &call->flinfo, call->nargs, InvalidOid,
							 call->aggregate ? (Node *) &aggregate_node : NULL, (Node *) &rows);
	memcpy(fcinfo->args, call->args, call->nargs * sizeof(NullableDatum));
	running = call;
	MemoryContextSwitchTo(call->context);
	result = function(fcinfo);
	MemoryContextSwitchTo(old);
	call->null = fcinfo->isnull;
	return result;
}

int
AggCheckCallContext(FunctionCallInfo fcinfo, MemoryContext *aggcontext)
{
	if (fcinfo->context == NULL)
		return 0;
	if (aggcontext != NULL)
		*aggcontext = fcinfo->flinfo->fn_mcxt;
	return AGG_CONTEXT_AGGREGATE;
}

Oid
get_fn_expr_argtype(FmgrInfo *flinfo, int argnum)
{
	return argnum >= 0 && argnum < running->nargs ? running->types[argnum] : InvalidOid;
}

Datum
DirectFunctionCall1Coll(PGFunction func, Oid collation, Datum arg1)
{
	return call_function(func, arg1);
}
