/*
 * kept_list.h: the list of what is kept, as sessions see it: names, owners, and which service has the rows.
 *
 * A set of kept rows is of one database, has a name of its own there, and is its owner's: whoever has that role's
 * privileges may use it. The list is in shared memory, and what it says goes with the server or with the service.
 */
#ifndef GPUREG_KEPT_LIST_H
#define GPUREG_KEPT_LIST_H

#include "postgres.h"

#include "datatype/timestamp.h"
#include "lib/stringinfo.h"

#include "run/service.h"
#include "run/service_shared.h"

/*
 * The service that rows are kept by from now on: the device's, as the settings say, or, without a device, the CPU's.
 * NULL with *reason if there can be none; ERROR where a device is insisted on that there isn't.
 */
extern GrRemoteClient *gr_keeping_service(const char **reason);

/* A name that is taken for rows which are being read. The current memory context's reset gives it up. */
typedef struct GrKeptClaim
{
	GrKeptEntry *entry;
	uint64		id;
	uint64		replaces;		/* the set whose name it is to have; 0: none */
	bool		published;
	MemoryContextCallback callback;
} GrKeptClaim;

/*
 * Takes a name for rows that go to the client's service; replace: from a set of the same name, once there is another.
 * ERROR if it is no name or is taken, or if there are too many sets.
 */
extern GrKeptClaim *gr_kept_claim(const char *name, bool replace, const GrRemoteClient *client);

/* The rows are stored: everybody may see them from now on. description: what they are; see rows/kept_set.h */
extern void gr_kept_publish(GrKeptClaim *claim, const char *query, int64 nrows, uint64 nbytes,
							const StringInfoData *description);

/* The set of that name, and a copy of its description; ERROR unless there is one that may be used. Counts as a hit. */
extern void gr_kept_find(const char *name, GrKeptEntry *entry, StringInfo description);

/* It goes; false if there is none. ERROR unless it may be used. */
extern bool gr_kept_forget(const char *name);

/* Those of the database that may be used, up to max entries; returns how many there are. */
extern int	gr_kept_list(GrKeptEntry *entries, int max);

/* A copy of the description of one of them; false if it is gone. */
extern bool gr_kept_describe(const GrKeptEntry *entry, StringInfo description);

/* Where its rows are, in the current memory context */
extern const char *gr_kept_device(const GrKeptEntry *entry);

/* There is no service to keep rows. */
extern void gr_raise_no_service(const char *reason) __attribute__((noreturn));

#endif							/* GPUREG_KEPT_LIST_H */
