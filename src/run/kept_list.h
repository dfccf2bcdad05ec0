/*
 * kept_list.h: the list of kept rows, as sessions see it: names, owners, and which service has the rows.
 *
 * A set of kept rows is of one database and one owner, and has a name among the owner's sets there; SQL
 * refers to it by the set's name, or by the owner's name and the set's. Each role with the owner's privileges may use
 * it. The list is in shared memory; an entry ends with its service, or with the server.
 */
#ifndef GPUREG_KEPT_LIST_H
#define GPUREG_KEPT_LIST_H

#include "postgres.h"

#include "datatype/timestamp.h"
#include "lib/stringinfo.h"

#include "compute/backend/backend.h"
#include "run/service.h"
#include "run/service_shared.h"


/*
 * Returns the service that keeps new rows: that of the device that the settings choose, or, without a device, the one
 * that computes on the CPU. NULL, with *reason, if no service can run. ERROR if the settings require a device and there
 * is none.
 */
extern GrRemoteClient *gr_keeping_service(const char **reason);

/* A name that is reserved while its rows are read. The reset of the memory context that is current gives it up. */
typedef struct GrKeptClaim
{
	GrKeptEntry *entry;
	uint64		id;
	GrStay		stay;			/* the owner and its quota, and the set that is to be replaced */
	bool		published;
	MemoryContextCallback callback;
} GrKeptClaim;

/*
 * Reserves a name of the current role's for rows that go to the client's service. replace: the new rows replace a set
 * of this name, once they are complete. ERROR if reference names no set of the current role's or is taken, or if the
 * role or the server has too many sets.
 */
extern GrKeptClaim *gr_kept_claim(const char *reference, bool replace, const GrRemoteClient *client);

/* Stored rows and their description. */
typedef struct GrKeptContents
{
	const char *query;
	int64		nrows;
	uint64		nbytes;			/* memory of the rows and the description */
	const StringInfoData *description;	/* see rows/kept/kept_set.h */
	Size		names_nbytes;	/* length of the part of the description that has the columns' names */
} GrKeptContents;

/* Puts the claimed rows, which are stored, into the list. From then on sessions find them. */
extern void gr_kept_publish(GrKeptClaim *claim, const GrKeptContents *rows);

/* Finds a set, copies its description, and counts a hit. ERROR unless there is a set that the role may use. */
extern void gr_kept_find(const char *reference, GrKeptEntry *entry, StringInfo description);

/* Forgets a set. Returns false if there is none. ERROR unless the current role has its owner's privileges. */
extern bool gr_kept_forget(const char *reference);

/* Lists the sets of the database that the current role may use, up to max; returns how many. */
extern int	gr_kept_list(GrKeptEntry *entries, int max);

/* Lists the sets of all databases, and those that are being read, up to max; returns how many. */
extern int	gr_kept_list_all(GrKeptEntry *entries, int max);

/* Copies the part of an entry's description that has the columns' names; false if the set is gone. */
extern bool gr_kept_describe(const GrKeptEntry *entry, StringInfo names);

/* Returns the name of the device that has the rows, in the current memory context. */
extern const char *gr_kept_device(const GrKeptEntry *entry);

/* Returns the name of a database, in the current memory context. NULL if no database has this OID. */
extern char *gr_database_name(Oid database);

/* Raises the ERROR that no service can keep rows. */
extern void gr_raise_no_service(const char *reason) __attribute__((noreturn));

#endif							/* GPUREG_KEPT_LIST_H */
