/*
 * faults.h: a build (make FAULTS=yes, never a release's) in which the n-th allocation, temporary file, segment, thread,
 * lock or semaphore after SET gpureg.debug_fault = n fails, once, in each process of the statement; after SET
 * gpureg.debug_service_fault = n, in the device service (if the library is preloaded). Every file of the library is
 * compiled with this header before its own (-include); files of the compute layer, which don't know the server, with
 * GPUREG_FAULTS_PLAIN. With CUDA=yes, calls of CUDA are counted, too (cuda.c).
 *
 * Only a process's first thread may call the server: each counted call checks that.
 */
#ifndef GPUREG_FAULTS_H
#define GPUREG_FAULTS_H

#ifdef GPUREG_FAULTS_PLAIN
#include <stdbool.h>
#else
#include "postgres.h"

#include "access/parallel.h"
#include "lib/stringinfo.h"
#include "postmaster/bgworker.h"
#include "storage/buffile.h"
#include "storage/dsm.h"
#include "utils/builtins.h"
#include "utils/hsearch.h"
#include "utils/memutils.h"
#include "utils/tuplestore.h"
#endif

#if defined(__x86_64__)
#include <immintrin.h>
#endif
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>

#ifdef __cplusplus
extern "C" {
#endif

/* True if this call must fail. Any thread may ask. */
extern bool gr_fault(void);

/* Raises ERROR 53200 if this call must fail. Only the first thread may ask. */
extern void gr_fault_server(void);

/* Defines the settings; called when the library is loaded. */
extern void gr_faults_begin(void);

#ifdef __cplusplus
}
#endif

#define malloc(size) (gr_fault() ? NULL : malloc(size))
#define calloc(n, size) (gr_fault() ? NULL : calloc(n, size))
#define realloc(at, size) (gr_fault() ? NULL : realloc(at, size))
#define posix_memalign(at, alignment, size) (gr_fault() ? ENOMEM : posix_memalign(at, alignment, size))
#define pthread_create(thread, attr, start, arg) (gr_fault() ? EAGAIN : pthread_create(thread, attr, start, arg))
#define pthread_mutex_init(mutex, attr) (gr_fault() ? ENOMEM : pthread_mutex_init(mutex, attr))
#define pthread_cond_init(cond, attr) (gr_fault() ? ENOMEM : pthread_cond_init(cond, attr))
#define sem_init(sem, shared, value) (gr_fault() ? (errno = ENOSPC, -1) : sem_init(sem, shared, value))

#ifndef GPUREG_FAULTS_PLAIN

#define palloc(size) (gr_fault_server(), palloc(size))
#define palloc0(size) (gr_fault_server(), palloc0(size))
#define palloc_extended(size, flags) (gr_fault_server(), palloc_extended(size, flags))
#define repalloc(at, size) (gr_fault_server(), repalloc(at, size))
#define repalloc_huge(at, size) (gr_fault_server(), repalloc_huge(at, size))
#define pstrdup(text) (gr_fault_server(), pstrdup(text))
#define psprintf(...) (gr_fault_server(), psprintf(__VA_ARGS__))
#define MemoryContextAlloc(context, size) (gr_fault_server(), MemoryContextAlloc(context, size))
#define MemoryContextAllocZero(context, size) (gr_fault_server(), MemoryContextAllocZero(context, size))
#define MemoryContextAllocHuge(context, size) (gr_fault_server(), MemoryContextAllocHuge(context, size))
#define MemoryContextAllocExtended(context, size, flags) \
	(gr_fault_server(), MemoryContextAllocExtended(context, size, flags))
#define initStringInfo(info) (gr_fault_server(), initStringInfo(info))
#define appendStringInfo(...) (gr_fault_server(), appendStringInfo(__VA_ARGS__))
#define appendStringInfoString(info, text) (gr_fault_server(), appendStringInfoString(info, text))
#define tuplestore_putvalues(store, desc, values, nulls) \
	(gr_fault_server(), tuplestore_putvalues(store, desc, values, nulls))
#define hash_create(name, n, info, flags) (gr_fault_server(), hash_create(name, n, info, flags))
#define BufFileCreateTemp(across) (gr_fault_server(), BufFileCreateTemp(across))
#define BufFileCreateFileSet(set, name) (gr_fault_server(), BufFileCreateFileSet(set, name))
#define BufFileWrite(file, data, size) (gr_fault_server(), BufFileWrite(file, data, size))
#define BufFileSeek(file, segment, offset, whence) (gr_fault_server(), BufFileSeek(file, segment, offset, whence))
#define dsm_create(size, flags) (gr_fault_server(), dsm_create(size, flags))
#define dsm_attach(handle) (gr_fault_server(), dsm_attach(handle))

#endif							/* GPUREG_FAULTS_PLAIN */
#endif							/* GPUREG_FAULTS_H */
