/*
 * memory.cu: keeps device memory, pinned memory, streams and events for reuse; see memory.cuh.
 *
 * One lock protects everything. Computations never hold it while they call the driver, which may take as long as the
 * device is busy.
 */
#include "memory.cuh"

#include <stdlib.h>

#define SMALL_NBYTES ((size_t) 512)	/* least size */
#define LARGE_NBYTES ((size_t) 2 << 20) /* above this, sizes are multiples of it */
#define NBUCKETS 256
#define HANDLES_MAX 2048		/* streams or events of a kind: those of about 60 sinks at a time */
#define PINNED_NBYTES_MAX ((size_t) 256 << 20)	/* most pinned memory kept unused */

typedef enum Kind
{
	DEVICE_MEMORY,
	PINNED_MEMORY,
	NKINDS
} Kind;

typedef struct Block
{
	struct Block *next;
	void	   *memory;
	size_t		nbytes;
} Block;

/* Memory of one kind */
typedef struct Store
{
	Block	   *used[NBUCKETS];
	Block	   *kept;			/* most recently returned first */
	size_t		used_nbytes;
	size_t		kept_nbytes;
	size_t		kept_nbytes_max;
} Store;

/* Unused streams or events of one kind */
typedef struct Handles
{
	void	   *items[HANDLES_MAX];
	int			n;
} Handles;

#define NSTREAM_KINDS 2
#define NEVENT_KINDS 3

typedef struct Device
{
	Store		stores[NKINDS];
	Handles		streams[NSTREAM_KINDS];
	Handles		events[NEVENT_KINDS];
	bool		keeps;			/* false: nothing that is given back is kept */
	int64_t		ncalls;
} Device;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static Device devices[GR_DEVICES_MAX];

/*
 * The driver's calls
 */

static cudaError_t
driver_get(Kind kind, void **memory, size_t nbytes)
{
	return kind == PINNED_MEMORY ? cudaMallocHost(memory, nbytes) : cudaMalloc(memory, nbytes);
}

/* Frees blocks. Failures are ignored: a lost device takes its memory along. */
static void
driver_free(Kind kind, Block *blocks)
{
	while (blocks != NULL)
	{
		Block	   *block = blocks;

		blocks = block->next;
		(void) (kind == PINNED_MEMORY ? cudaFreeHost(block->memory) : cudaFree(block->memory));
		free(block);
	}
	(void) cudaGetLastError();
}

static int64_t
count(const Block *blocks)
{
	int64_t		n = 0;

	for (; blocks != NULL; blocks = blocks->next)
		n++;
	return n;
}

/*
 * Memory
 */

/* Returns the size of the block that holds nbytes. */
static size_t
rounded(size_t nbytes)
{
	size_t		size = SMALL_NBYTES;

	if (nbytes > SIZE_MAX - LARGE_NBYTES)
		return nbytes;			/* no machine has that much, and the driver will refuse */
	if (nbytes > LARGE_NBYTES)
		return (nbytes + LARGE_NBYTES - 1) / LARGE_NBYTES * LARGE_NBYTES;
	while (size < nbytes)
		size *= 2;
	return size;
}

/* Returns the chain of an address. Memory begins at multiples of 256 bytes or more. */
static Block **
bucket(Store *store, const void *memory)
{
	uintptr_t	address = (uintptr_t) memory;

	return &store->used[(address >> 9 ^ address >> 21) % NBUCKETS];
}

static void
put_in_use(Store *store, Block *block)
{
	Block	  **chain = bucket(store, block->memory);

	block->next = *chain;
	*chain = block;
	store->used_nbytes += block->nbytes;
}

static Block *
take_from_use(Store *store, const void *memory)
{
	for (Block **link = bucket(store, memory); *link != NULL; link = &(*link)->next)
		if ((*link)->memory == memory)
		{
			Block	   *block = *link;

			*link = block->next;
			block->next = NULL;
			store->used_nbytes -= block->nbytes;
			return block;
		}
	return NULL;
}

/* Takes the smallest kept block that has the size and is not much larger; NULL if there is none. */
static Block *
take_kept(Store *store, size_t size)
{
	const size_t most = size > LARGE_NBYTES ? size + size / 8 : size;
	Block	  **best = NULL;
	Block	   *block;

	for (Block **link = &store->kept; *link != NULL; link = &(*link)->next)
		if ((*link)->nbytes >= size && (*link)->nbytes <= most && (best == NULL || (*link)->nbytes < (*best)->nbytes))
			best = link;
	if (best == NULL)
		return NULL;
	block = *best;
	*best = block->next;
	block->next = NULL;
	store->kept_nbytes -= block->nbytes;
	return block;
}

/* Keeps a block. Returns the least recently used blocks, which exceed the limit, for the caller to free. */
static Block *
keep(Store *store, Block *block)
{
	size_t		nbytes = 0;
	Block	  **link = &store->kept;
	Block	   *surplus;

	/* a block that takes most of the room would evict all others */
	if (block->nbytes > store->kept_nbytes_max / 4 * 3)
		return block;
	block->next = store->kept;
	store->kept = block;
	while (*link != NULL && nbytes + (*link)->nbytes <= store->kept_nbytes_max)
	{
		nbytes += (*link)->nbytes;
		link = &(*link)->next;
	}
	surplus = *link;
	*link = NULL;
	store->kept_nbytes = nbytes;
	return surplus;
}

/* Allocates a block from the driver; frees all unused memory if necessary. */
static Block *
new_block(int device, Kind kind, size_t size, cudaError_t *code)
{
	Block	   *block = (Block *) calloc(1, sizeof(Block));

	if (block == NULL)
	{
		*code = cudaErrorMemoryAllocation;
		return NULL;
	}
	block->nbytes = size;
	*code = driver_get(kind, &block->memory, size);
	if (*code == cudaErrorMemoryAllocation && gr_memory_release(device))
	{
		(void) cudaGetLastError();
		*code = driver_get(kind, &block->memory, size);
	}
	if (*code == cudaSuccess)
		return block;
	free(block);
	return NULL;
}

static cudaError_t
get(int device, Kind kind, void **memory, size_t nbytes)
{
	Store	   *store = &devices[device].stores[kind];
	const size_t size = rounded(nbytes);
	cudaError_t code = cudaSuccess;
	Block	   *block;

	*memory = NULL;
	if (nbytes == 0)
		return cudaSuccess;
	{
		Locked		locked(&lock);

		block = take_kept(store, size);
		if (block != NULL)
		{
			put_in_use(store, block);
			*memory = block->memory;
			return cudaSuccess;
		}
	}
	block = new_block(device, kind, size, &code);
	if (block == NULL)
		return code;
	*memory = block->memory;

	Locked		locked(&lock);

	put_in_use(store, block);
	devices[device].ncalls++;
	return cudaSuccess;
}

static void
give(int device, Kind kind, void *memory)
{
	Store	   *store = &devices[device].stores[kind];
	Block	   *surplus = NULL;

	if (memory == NULL)
		return;
	{
		Locked		locked(&lock);
		Block	   *block = take_from_use(store, memory);

		if (block != NULL)
			surplus = keep(store, block);
		devices[device].ncalls += count(surplus);
	}
	driver_free(kind, surplus);
}

cudaError_t
gr_memory_get(int device, void **memory, size_t nbytes)
{
	return get(device, DEVICE_MEMORY, memory, nbytes);
}

cudaError_t
gr_pinned_get(int device, void **memory, size_t nbytes)
{
	return get(device, PINNED_MEMORY, memory, nbytes);
}

void
gr_memory_give(int device, void *memory)
{
	give(device, DEVICE_MEMORY, memory);
}

void
gr_pinned_give(int device, void *memory)
{
	give(device, PINNED_MEMORY, memory);
}

/*
 * Streams and events
 */

static void *
take_handle(Handles *handles)
{
	Locked		locked(&lock);

	return handles->n > 0 ? handles->items[--handles->n] : NULL;
}

/* Keeps a stream or event. Returns false if it is not kept. */
static bool
keep_handle(const Device *device, Handles *handles, void *handle)
{
	Locked		locked(&lock);

	if (!device->keeps || handles->n == HANDLES_MAX)
		return false;
	handles->items[handles->n++] = handle;
	return true;
}

static Handles *
events_of(int device, unsigned flags)
{
	return &devices[device].events[flags == cudaEventDefault ? 0 : flags == cudaEventBlockingSync ? 1 : 2];
}

cudaError_t
gr_stream_get(int device, bool urgent, cudaStream_t *stream)
{
	void	   *kept = take_handle(&devices[device].streams[urgent]);
	int			least = 0;
	int			greatest = 0;
	cudaError_t code;

	if (kept != NULL)
	{
		*stream = (cudaStream_t) kept;
		return cudaSuccess;
	}
	code = cudaDeviceGetStreamPriorityRange(&least, &greatest);
	if (code != cudaSuccess)
		return code;
	return cudaStreamCreateWithPriority(stream, cudaStreamNonBlocking, urgent ? greatest : least);
}

cudaError_t
gr_event_get(int device, unsigned flags, cudaEvent_t *event)
{
	void	   *kept = take_handle(events_of(device, flags));

	if (kept == NULL)
		return cudaEventCreateWithFlags(event, flags);
	*event = (cudaEvent_t) kept;
	return cudaSuccess;
}

void
gr_stream_give(int device, bool urgent, cudaStream_t stream)
{
	if (stream != NULL && !keep_handle(&devices[device], &devices[device].streams[urgent], stream))
		(void) cudaStreamDestroy(stream);
}

void
gr_event_give(int device, unsigned flags, cudaEvent_t event)
{
	if (event != NULL && !keep_handle(&devices[device], events_of(device, flags), event))
		(void) cudaEventDestroy(event);
}

/* All memory of a device */

void
gr_memory_keep(int device, size_t nbytes)
{
	Device	   *d = &devices[device];
	size_t		pinned_nbytes = nbytes / 4 < PINNED_NBYTES_MAX ? nbytes / 4 : PINNED_NBYTES_MAX;
	Locked		locked(&lock);

	d->keeps = true;
	if (nbytes > d->stores[DEVICE_MEMORY].kept_nbytes_max)
		d->stores[DEVICE_MEMORY].kept_nbytes_max = nbytes;
	if (pinned_nbytes > d->stores[PINNED_MEMORY].kept_nbytes_max)
		d->stores[PINNED_MEMORY].kept_nbytes_max = pinned_nbytes;
}

bool
gr_memory_release(int device)
{
	Block	   *kept[NKINDS];

	{
		Locked		locked(&lock);

		for (int k = 0; k < NKINDS; k++)
		{
			Store	   *store = &devices[device].stores[k];

			kept[k] = store->kept;
			store->kept = NULL;
			store->kept_nbytes = 0;
			devices[device].ncalls += count(kept[k]);
		}
	}
	if (kept[DEVICE_MEMORY] == NULL && kept[PINNED_MEMORY] == NULL)
		return false;
	driver_free(DEVICE_MEMORY, kept[DEVICE_MEMORY]);
	driver_free(PINNED_MEMORY, kept[PINNED_MEMORY]);
	return true;
}

void
gr_memory_forget(int device)
{
	Device	   *d = &devices[device];
	void	   *handle;

	{
		Locked		locked(&lock);

		d->keeps = false;
		for (Store &store : d->stores)
			store.kept_nbytes_max = 0;
	}
	(void) gr_memory_release(device);
	for (Handles &streams : d->streams)
		while ((handle = take_handle(&streams)) != NULL)
			(void) cudaStreamDestroy((cudaStream_t) handle);
	for (Handles &events : d->events)
		while ((handle = take_handle(&events)) != NULL)
			(void) cudaEventDestroy((cudaEvent_t) handle);
	(void) cudaGetLastError();
}

cudaError_t
gr_memory_info(int device, size_t *nbytes_free, size_t *nbytes_total)
{
	cudaError_t code = cudaMemGetInfo(nbytes_free, nbytes_total);

	if (code == cudaSuccess)
		*nbytes_free += gr_memory_use(device).kept_nbytes;
	return code;
}

GrMemoryUse
gr_memory_use(int device)
{
	const Device *d = &devices[device];
	Locked		locked(&lock);
	GrMemoryUse use = {};

	use.used_nbytes = d->stores[DEVICE_MEMORY].used_nbytes;
	use.kept_nbytes = d->stores[DEVICE_MEMORY].kept_nbytes;
	use.pinned_used_nbytes = d->stores[PINNED_MEMORY].used_nbytes;
	use.pinned_kept_nbytes = d->stores[PINNED_MEMORY].kept_nbytes;
	use.ncalls = d->ncalls;
	return use;
}

cudaError_t
gr_memory_fill(int device, int byte)
{
	Locked		locked(&lock);

	for (Block *block = devices[device].stores[DEVICE_MEMORY].kept; block != NULL; block = block->next)
	{
		cudaError_t code = cudaMemset(block->memory, byte, block->nbytes);

		if (code != cudaSuccess)
			return code;
	}
	return cudaDeviceSynchronize();
}
