/*
 * atomics.h: replaces the server's port/atomics.h in programs for ThreadSanitizer; to be included before all else.
 *
 * The server's atomic reads and writes are plain ones with barriers beside them, and a barrier belongs to no address:
 * ThreadSanitizer knows neither. Here reads and writes are atomic, and a barrier has exactly its effect: a thread's
 * writes before a write barrier are visible to a thread that reads a later write and then passes a read barrier. So a
 * missing barrier is reported as a race. atomics_lose_reads and atomics_lose_writes leave the barriers out, to check
 * that.
 */
#ifndef ATOMICS_H
#define ATOMICS_H

#include <stdbool.h>
#include <stdint.h>

/* Functions of the runtime: writes before a store to this address become visible here. */
extern void __tsan_acquire(void *address);

extern bool atomics_lose_reads;
extern bool atomics_lose_writes;
extern __thread volatile void *atomics_read;	/* the address that this thread has read last */
extern __thread bool atomics_released;	/* true if this thread has passed a write barrier and written nothing atomic
										 * since */

typedef struct pg_atomic_flag
{
	volatile char value;
} pg_atomic_flag;

typedef struct pg_atomic_uint32
{
	volatile uint32_t value;
} pg_atomic_uint32;

typedef struct pg_atomic_uint64
{
	volatile uint64_t value __attribute__((aligned(8)));
} pg_atomic_uint64;

static inline void
pg_write_barrier(void)
{
	atomics_released = !atomics_lose_writes;
}

static inline void
pg_read_barrier(void)
{
	if (!atomics_lose_reads)
		__tsan_acquire((void *) atomics_read);
}

static inline void
pg_memory_barrier(void)
{
	pg_write_barrier();
	pg_read_barrier();
}

#define ATOMICS(bits) \
	static inline void \
	pg_atomic_init_u##bits(volatile pg_atomic_uint##bits *ptr, uint##bits##_t value) \
	{ \
		ptr->value = value; \
	} \
	\
	static inline uint##bits##_t \
	pg_atomic_read_u##bits(volatile pg_atomic_uint##bits *ptr) \
	{ \
		atomics_read = ptr; \
		return __atomic_load_n(&ptr->value, __ATOMIC_RELAXED); \
	} \
	\
	static inline void \
	pg_atomic_write_u##bits(volatile pg_atomic_uint##bits *ptr, uint##bits##_t value) \
	{ \
		if (atomics_released) \
			__atomic_store_n(&ptr->value, value, __ATOMIC_RELEASE); \
		else \
			__atomic_store_n(&ptr->value, value, __ATOMIC_RELAXED); \
		atomics_released = false; \
	} \
	\
	/* the functions below are full barriers themselves */ \
	static inline bool \
	pg_atomic_compare_exchange_u##bits(volatile pg_atomic_uint##bits *ptr, uint##bits##_t *expected, \
									   uint##bits##_t value) \
	{ \
		return __atomic_compare_exchange_n(&ptr->value, expected, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST); \
	} \
	\
	static inline uint##bits##_t \
	pg_atomic_fetch_add_u##bits(volatile pg_atomic_uint##bits *ptr, int##bits##_t added) \
	{ \
		return __atomic_fetch_add(&ptr->value, (uint##bits##_t) added, __ATOMIC_SEQ_CST); \
	} \
	\
	static inline uint##bits##_t \
	pg_atomic_fetch_sub_u##bits(volatile pg_atomic_uint##bits *ptr, int##bits##_t subtracted) \
	{ \
		return __atomic_fetch_sub(&ptr->value, (uint##bits##_t) subtracted, __ATOMIC_SEQ_CST); \
	}

ATOMICS(32)
ATOMICS(64)

#endif							/* ATOMICS_H */
