/*
 * kept_list.h: the list of what is kept, as sessions see it: names, owners, and which service has the rows.
 *
 * A set of kept rows is of one database and one owner, and has a name among the owner's sets there; kept_name.h says
 * how SQL refers to it. Whoever has the owner's privileges may use it. The list is in shared memory, and what it says
 * goes with the server or with the service.
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
 * The service that rows are kept by from now on: the device's, as the settings say, or, without a device, the CPU's.
 * NULL with *reason if there can be none; ERROR where a device is insisted on that there isn't.
 */
extern GrRemoteClient *gr_keeping_service(const char **reason);

/* A name that is taken for rows which are being read. The current memory context's reset gives it up. */
typedef struct GrKeptClaim
{
	GrKeptEntry *entry;
	uint64		id;
	GrStay		stay;			/* the owner and its quota, and the set whose name it is to have */
	bool		published;
	MemoryContextCallback callback;
} GrKeptClaim;

/*
 * Takes a name of the current role's for rows that go to the client's service; replace: from a set of the same name,
 * once the new rows are there. ERROR if reference names no set of the current role's or is taken, or if the role or the
 * server has too many sets.
 */
extern GrKeptClaim *gr_kept_claim(const char *reference, bool replace, const GrRemoteClient *client);

/* Rows that are stored, and what they are */
typedef struct GrKeptContents
{
	const char *query;
	int64		nrows;
	uint64		nbytes;			/* memory of the rows and the description */
	const StringInfoData *description;	/* see rows/kept/kept_set.h */
	Size		names_nbytes;	/* length of the part of the description that has the columns' names */
} GrKeptContents;

/* The claimed rows are stored: everybody may see them from now on. */
extern void gr_kept_publish(GrKeptClaim *claim, const GrKeptContents *rows);

/* Finds a set, with a copy of its description, and counts a hit. ERROR unless there is one that may be used. */
extern void gr_kept_find(const char *reference, GrKeptEntry *entry, StringInfo description);

/* Lets a set go; false if there is none. ERROR unless the current role has its owner's privileges. */
extern bool gr_kept_forget(const char *reference);

/* Lists the sets of the database that the current role may use, up to max; returns how many. */
extern int	gr_kept_list(GrKeptEntry *entries, int max);

/* Lists the sets of all databases, and those that are being read, up to max; returns how many. */
extern int	gr_kept_list_all(GrKeptEntry *entries, int max);

/* Copies the part of an entry's description that has the columns' names; false if the set is gone. */
extern bool gr_kept_describe(const GrKeptEntry *entry, StringInfo names);

/* Where its rows are, in the current memory context */
extern const char *gr_kept_device(const GrKeptEntry *entry);

/* The name of a database, in the current memory context; NULL if there is none with this OID */
extern char *gr_database_name(Oid database);

/* There is no service to keep rows. */
extern void gr_raise_no_service(const char *reason) __attribute__((noreturn));

#endif							/* GPUREG_KEPT_LIST_H */
