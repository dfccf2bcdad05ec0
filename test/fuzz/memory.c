/*
 * memory.c: the memory of one input, and the report of a finding; see fuzz.h.
 */
#include "fuzz.h"

#include <sanitizer/allocator_interface.h>
#include <sanitizer/asan_interface.h>

/* Keeps little freed memory from reuse, as nothing is freed before an input's end. */
const char *__asan_default_options(void);

const char *
__asan_default_options(void)
{
	return "quarantine_size_mb=1:malloc_context_size=4:max_allocation_size_mb=256";
}

void
fuzz_finding(const char *file, int line, const char *what)
{
	fprintf(stderr, "%s:%d: not so: %s\n", file, line, what);
	abort();
}

int			fuzz_failing = -1;

static void **pieces;
static size_t npieces;

/*
 * Large pieces have the same sizes for most inputs, and are kept from one input to the next: otherwise the kernel's
 * work on them would take most of the time.
 */
#define LARGE 16384
#define NLARGE 64

static struct
{
	void	   *piece;
	size_t		nbytes;
	bool		taken;
}			large[NLARGE];

static void *
take_large(size_t nbytes)
{
	for (int k = 0; k < NLARGE; k++)
	{
		if (large[k].piece == NULL)
		{
			large[k].piece = malloc(nbytes);
			large[k].nbytes = nbytes;
		}
		if (large[k].piece != NULL && !large[k].taken && large[k].nbytes == nbytes)
		{
			large[k].taken = true;
			ASAN_UNPOISON_MEMORY_REGION(large[k].piece, nbytes);
			return large[k].piece;
		}
	}
	return NULL;
}

/* Ends the use of large pieces; frees them all once every place is in use, so that other sizes get places. */
static void
end_large(void)
{
	bool		full = large[NLARGE - 1].piece != NULL;

	for (int k = 0; k < NLARGE; k++)
	{
		large[k].taken = false;
		if (!full)
			continue;
		free(large[k].piece);
		large[k].piece = NULL;
	}
}

static size_t room;
static size_t nbytes_taken;
static size_t nbytes_allowed;

void
fuzz_begin(size_t size)
{
	fuzz_failing = -1;
	nbytes_taken = 0;
	/* a constant for features made by products and powers, whose number has a limit whatever the input's size */
	nbytes_allowed = ((size_t) 16 << 20) + 256 * size;
}

void
fuzz_allow(size_t nbytes)
{
	nbytes_allowed += nbytes;
}

void
fuzz_end(void)
{
	while (npieces > 0)
		free(pieces[--npieces]);
	end_large();
}

void *
fuzz_take(void *arg, size_t nbytes)
{
	void	   *piece = NULL;

	(void) arg;
	if (fuzz_failing == 0)
		return NULL;
	fuzz_failing -= fuzz_failing > 0 ? 1 : 0;
	nbytes_taken += nbytes;
	must(nbytes_taken <= nbytes_allowed);
	if (nbytes >= LARGE)
		piece = take_large(nbytes);
	if (piece != NULL)
		return memset(piece, 0x7f, 4096);
	if (npieces == room)
	{
		room = room == 0 ? 1024 : 2 * room;
		pieces = realloc(pieces, room * sizeof(void *));
	}
	piece = malloc(nbytes > 0 ? nbytes : 1);
	must(piece != NULL);
	/* fills the piece with something other than 0; only the beginning of large pieces */
	memset(piece, 0x7f, nbytes < 4096 ? nbytes : 4096);
	return pieces[npieces++] = piece;
}

void
fuzz_forget(void *piece)
{
	must(__asan_address_is_poisoned(piece) == 0);
	ASAN_POISON_MEMORY_REGION(piece, __sanitizer_get_allocated_size(piece));
}

void *
fuzz_copy(const void *from, size_t nbytes)
{
	int			failing = fuzz_failing;
	void	   *copy;

	fuzz_failing = -1;
	copy = fuzz_take(NULL, nbytes);
	fuzz_failing = failing;
	if (nbytes > 0)
		memcpy(copy, from, nbytes);
	return copy;
}
