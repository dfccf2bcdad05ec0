/*
 * kept_list.c: the list of kept rows; see kept_list.h.
 *
 * No function reads catalogs or copies descriptions while it holds the lock: it copies entries under the lock, and
 * finds them again by their ids afterwards.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_database.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "storage/dsm.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/inval.h"
#include "utils/syscache.h"
#include "utils/timestamp.h"

#include "run/device.h"
#include "run/kept_list.h"
#include "run/raise.h"

#define COPY_NBYTES ((Size) 1 << 20)	/* bytes copied between two looks for interrupts */

/* A reference to a set of kept rows of this database: the set's name, or the owner's name and the set's */
typedef struct KeptName
{
	Oid			owner;			/* the current role if the reference names no owner */
	char		name[NAMEDATALEN];
	bool		qualified;		/* the reference names the owner */
} KeptName;

/*
 * Names
 */

static void raise_form(const char *reference) __attribute__((noreturn));

static void
raise_form(const char *reference)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_NAME),
			 errmsg("invalid name of kept rows: \"%s\"", reference),
			 errdetail("The name must have the form name or owner.name."),
			 errhint("Put double quotes around a name with dots or quotes, as quote_ident() does.")));
}

static void raise_length(void) __attribute__((noreturn));

static void
raise_length(void)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_NAME),
			 errmsg("name of kept rows must have 1 to %d bytes", NAMEDATALEN - 1)));
}

/* Reads a name from at, up to the next dot or the end, into part. Returns where it ends. ERROR if it is malformed. */
static const char *
read_part(const char *reference, const char *at, char part[NAMEDATALEN])
{
	bool		quoted = *at == '"';
	bool		closed = !quoted;
	int			nbytes = 0;

	for (at += quoted; *at != '\0' && (quoted || *at != '.'); at++)
	{
		if (*at == '"' && !quoted)
			raise_form(reference);
		if (*at == '"' && *++at != '"')
		{
			closed = true;
			break;
		}
		if (nbytes == NAMEDATALEN - 1)
			raise_length();
		part[nbytes++] = *at;
	}
	if (!closed || (*at != '\0' && *at != '.'))
		raise_form(reference);
	if (nbytes == 0)
		raise_length();
	part[nbytes] = '\0';
	return at;
}

/* Returns the role named owner. ERROR unless it exists and the current role has its privileges. */
static Oid
find_owner(const char *reference, const char *owner)
{
	Oid			role = get_role_oid(owner, true);

	if (!OidIsValid(role))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("role \"%s\" does not exist", owner),
				 errhint("Write the name as name or owner.name. Put double quotes around a name with dots: %s.",
						 quote_identifier(reference))));
	if (!has_privs_of_role(GetUserId(), role))
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("permission denied for kept rows of role \"%s\"", owner)));
	return role;
}

/*
 * Resolves a reference, "name" or "owner.name": the parts are taken as they are written, case included; one that has a
 * dot or a quote is quoted as an SQL identifier. A name alone is always the current role's. ERROR unless reference has
 * that form, the owner exists, and the current role has its privileges. The privileges are asked for before anybody
 * looks whether there are such rows, so that no message tells more of another role's rows than that role's name.
 */
static void
resolve(const char *reference, KeptName *resolved)
{
	char		owner[NAMEDATALEN];
	const char *rest = read_part(reference, reference, resolved->name);

	resolved->owner = GetUserId();
	resolved->qualified = *rest == '.';
	if (!resolved->qualified)
		return;
	strlcpy(owner, resolved->name, sizeof(owner));
	rest = read_part(reference, rest + 1, resolved->name);
	if (*rest != '\0')
		raise_form(reference);
	resolved->owner = find_owner(reference, owner);
}

/*
 * Services
 */

void
gr_raise_no_service(const char *reason)
{
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("there is no device service to keep rows"),
			 errdetail("The reason: %s.", reason == NULL ? "it does not answer" : reason),
			 gr_control_mismatch() != NULL ?
			 errhint("Restart the server, so that all its sessions run the same build of gpureg.") :
			 errhint("Set gpureg.enable_service to on; before PostgreSQL 17, also add gpureg to "
					 "shared_preload_libraries and restart the server.")));
}

static GrControl *
get_control(void)
{
	const char *reason = NULL;
	GrControl  *control = gr_control(&reason);

	if (control == NULL)
		gr_raise_no_service(reason);
	return control;
}

/* Removes an entry from the list, and wakes its service, which then frees the rows. The caller holds the lock. */
static void
clear_and_tell(GrControl *control, GrKeptEntry *entry)
{
	GrService  *service = &control->services[entry->service];

	if (gr_kept_is_alive(control, entry) && service->latch != NULL)
		SetLatch(service->latch);
	gr_kept_clear(entry);
}

GrRemoteClient *
gr_keeping_service(const char **reason)
{
	GrRemoteClient *client;
	GrError		err = {0};

	if (gr_device == GR_DEVICE_CPU)
		return gr_service_connect(GR_STAND_IN_ID, reason);
	if (gr_debug_service || gr_backend_cuda.device->present())
	{
		client = gr_service_connect(gr_gpu_id, reason);
		if (client == NULL || gr_service_await(client, &gr_host, &err))
			return client;
	}
	else
	{
		int			ndevices;

		/* count() sets err.detail, which says why there is no device */
		(void) gr_backend_cuda.device->count(&ndevices, &err);
		err.status = GR_NO_DEVICE;
	}
	if (gr_device == GR_DEVICE_GPU || err.status != GR_NO_DEVICE)
		gr_raise(&err);
	return gr_service_connect(GR_STAND_IN_ID, reason);
}

/* True if the entry is a set of this name in this database, whoever owns it */
static bool
is_namesake(const GrKeptEntry *entry, const KeptName *who)
{
	return entry->database == MyDatabaseId && strcmp(entry->name, who->name) == 0;
}

/* Returns the set that who names, in state, with an id other than other_than, or NULL. The caller holds the lock. */
static GrKeptEntry *
find_entry(GrControl *control, const KeptName *who, GrKeptState state, uint64 other_than)
{
	for (int k = 0; k < GR_KEPT_MAX; k++)
	{
		GrKeptEntry *entry = &control->kept[k];

		if (entry->state == state && entry->id != other_than && entry->owner == who->owner &&
			is_namesake(entry, who) && gr_kept_is_alive(control, entry))
			return entry;
	}
	return NULL;
}

/* Returns the entry with this id, or NULL if it is gone. The caller holds the lock. */
static GrKeptEntry *
find_id(GrControl *control, uint64 id)
{
	for (int k = 0; k < GR_KEPT_MAX; k++)
		if (control->kept[k].state != GR_KEPT_FREE && control->kept[k].id == id)
			return &control->kept[k];
	return NULL;
}

/* Removes the sets of roles and databases that have been dropped, as nobody else can. */
static void
forget_dropped(GrControl *control)
{
	GrKeptEntry *entries = palloc(GR_KEPT_MAX * sizeof(GrKeptEntry));
	int			n = 0;
	int			ndropped = 0;

	LWLockAcquire(&control->lock, LW_SHARED);
	for (int k = 0; k < GR_KEPT_MAX; k++)
		if (control->kept[k].state == GR_KEPT_THERE && gr_kept_is_alive(control, &control->kept[k]))
			entries[n++] = control->kept[k];
	LWLockRelease(&control->lock);
	/* accept invalidations, else a role that was created since this statement began would seem to be dropped */
	AcceptInvalidationMessages();
	for (int k = 0; k < n; k++)
		if (!SearchSysCacheExists1(AUTHOID, ObjectIdGetDatum(entries[k].owner)) ||
			!SearchSysCacheExists1(DATABASEOID, ObjectIdGetDatum(entries[k].database)))
			entries[ndropped++].id = entries[k].id;
	LWLockAcquire(&control->lock, LW_EXCLUSIVE);
	for (int k = 0; k < ndropped; k++)
	{
		GrKeptEntry *entry = find_id(control, entries[k].id);

		if (entry != NULL)
			clear_and_tell(control, entry);
	}
	LWLockRelease(&control->lock);
	pfree(entries);
}

/* Copies the complete set that who names. Returns false if there is none. */
static bool
copy_entry(GrControl *control, const KeptName *who, GrKeptEntry *copy)
{
	const GrKeptEntry *entry;

	LWLockAcquire(&control->lock, LW_SHARED);
	entry = find_entry(control, who, GR_KEPT_THERE, 0);
	if (entry != NULL)
		*copy = *entry;
	LWLockRelease(&control->lock);
	return entry != NULL;
}

/* Returns a reference to another role's set of this name that the current role may use, or NULL if there is none. */
static const char *
find_usable(GrControl *control, const KeptName *who)
{
	Oid			owners[GR_KEPT_MAX];
	int			n = 0;

	LWLockAcquire(&control->lock, LW_SHARED);
	for (int k = 0; k < GR_KEPT_MAX; k++)
	{
		const GrKeptEntry *entry = &control->kept[k];

		if (entry->state == GR_KEPT_THERE && entry->owner != who->owner && is_namesake(entry, who) &&
			gr_kept_is_alive(control, entry))
			owners[n++] = entry->owner;
	}
	LWLockRelease(&control->lock);
	for (int k = 0; k < n; k++)
	{
		const char *owner = GetUserNameFromId(owners[k], true);

		if (owner != NULL && has_privs_of_role(GetUserId(), owners[k]))
			return quote_qualified_identifier(owner, who->name);
	}
	return NULL;
}

static void
raise_unknown(GrControl *control, const char *reference, const KeptName *who)
{
	const char *usable = who->qualified ? NULL : find_usable(control, who);

	ereport(ERROR,
			(errcode(ERRCODE_UNDEFINED_OBJECT),
			 errmsg("kept rows \"%s\" do not exist", reference),
			 usable != NULL ? errhint("Name the rows of another role with their owner: %s.", usable) :
			 errhint("List the kept rows with gpu_kept(), or keep rows with gpu_keep(). Kept rows are lost when the "
					 "server or its device service stops.")));
}

/*
 * Keeping
 */

static void
give_up_claim(void *arg)
{
	GrKeptClaim *claim = arg;
	const char *reason;
	GrControl  *control = claim->published ? NULL : gr_control(&reason);

	if (control == NULL)
		return;
	LWLockAcquire(&control->lock, LW_EXCLUSIVE);
	if (claim->entry->id == claim->id && claim->entry->state == GR_KEPT_READING)
		clear_and_tell(control, claim->entry);
	LWLockRelease(&control->lock);
	claim->published = true;
}

static void
raise_busy(const KeptName *who)
{
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_IN_USE),
			 errmsg("kept rows \"%s\" are being created or replaced at the moment", who->name)));
}

char *
gr_database_name(Oid database)
{
	HeapTuple	tuple = SearchSysCache1(DATABASEOID, ObjectIdGetDatum(database));
	char	   *name;

	if (!HeapTupleIsValid(tuple))
		return NULL;
	name = pstrdup(NameStr(((Form_pg_database) GETSTRUCT(tuple))->datname));
	ReleaseSysCache(tuple);
	return name;
}

/* Makes the entry of a set whose rows are being read. */
static GrKeptEntry
new_entry(const KeptName *who, const GrRemoteClient *client)
{
	GrKeptEntry entry = {.state = GR_KEPT_READING,.database = MyDatabaseId,.owner = who->owner};
	const GrClientSlot *slot = gr_slot_of(client);
	const char *database = gr_database_name(MyDatabaseId);

	entry.service = slot->service;
	entry.generation = slot->generation;
	entry.client = (int) (slot - gr_control_block->clients);
	entry.encoding = GetDatabaseEncoding();
	strlcpy(entry.name, who->name, sizeof(entry.name));
	strlcpy(entry.owner_name, GetUserNameFromId(who->owner, false), sizeof(entry.owner_name));
	strlcpy(entry.database_name, database == NULL ? "" : database, sizeof(entry.database_name));
	return entry;
}

/* Returns a free entry, perhaps one whose service has ended, or NULL if the list is full. The caller holds the lock. */
static GrKeptEntry *
find_vacant(GrControl *control)
{
	for (int k = 0; k < GR_KEPT_MAX; k++)
	{
		GrKeptEntry *entry = &control->kept[k];

		if (gr_kept_is_alive(control, entry))
			continue;
		gr_kept_clear(entry);
		return entry;
	}
	return NULL;
}

/* Returns the number of sets of a role in all databases, without set number replaced. The caller holds the lock. */
static int
count_sets(const GrControl *control, Oid owner, uint64 replaced)
{
	int			n = 0;

	for (int k = 0; k < GR_KEPT_MAX; k++)
		n += gr_kept_is_alive(control, &control->kept[k]) && control->kept[k].owner == owner &&
			control->kept[k].id != replaced;
	return n;
}

static void
raise_many(const GrKeptEntry *entry, bool of_role)
{
	if (of_role)
		ereport(ERROR,
				(errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
				 errmsg("role \"%s\" keeps too many sets of rows", entry->owner_name),
				 errdetail("A role can keep at most %d sets, in all databases together.", gr_kept_sets_per_role),
				 errhint("Release some with gpu_forget(), or ask a superuser to raise gpureg.kept_sets_per_role for "
						 "the role.")));
	ereport(ERROR,
			(errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
			 errmsg("too many sets of rows are kept"),
			 errdetail("A server can keep at most %d sets.", GR_KEPT_MAX),
			 errhint("Release some with gpu_forget(). Superusers can list all of them with gpu_kept_all().")));
}

/* Reserves an entry for the name. ERROR if the name has been taken meanwhile, or if there are too many sets. */
static void
take_name(GrControl *control, GrKeptClaim *claim, const KeptName *who, const GrRemoteClient *client)
{
	GrKeptEntry entry = new_entry(who, client);
	bool		limited = !superuser_arg(who->owner);
	bool		busy;

	LWLockAcquire(&control->lock, LW_EXCLUSIVE);
	busy = find_entry(control, who, GR_KEPT_READING, 0) != NULL ||
		find_entry(control, who, GR_KEPT_THERE, claim->stay.replaces) != NULL;
	limited = limited && count_sets(control, who->owner, claim->stay.replaces) >= gr_kept_sets_per_role;
	claim->entry = busy || limited ? NULL : find_vacant(control);
	if (claim->entry != NULL)
	{
		claim->id = entry.id = ++control->last_kept_id;
		*claim->entry = entry;
	}
	LWLockRelease(&control->lock);
	if (busy)
		raise_busy(who);
	if (claim->entry == NULL)
		raise_many(&entry, limited);
}

/* Resolves a reference to a set of the current role. ERROR if the reference names another role. */
static void
resolve_own(const char *reference, KeptName *who)
{
	resolve(reference, who);
	if (who->owner != GetUserId())
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("cannot keep rows for another role"),
				 errdetail("\"%s\" names rows of role \"%s\".", reference, GetUserNameFromId(who->owner, false)),
				 errhint("Run SET ROLE first, or put double quotes around a name with dots: %s.",
						 quote_identifier(reference))));
}

GrKeptClaim *
gr_kept_claim(const char *reference, bool replace, const GrRemoteClient *client)
{
	GrControl  *control = get_control();
	GrKeptClaim *claim = palloc0(sizeof(GrKeptClaim));
	KeptName	who;
	GrKeptEntry old;

	resolve_own(reference, &who);
	forget_dropped(control);
	claim->stay.owner = who.owner;
	claim->stay.percent = superuser_arg(who.owner) ? 100 : gr_kept_memory_per_role;
	if (copy_entry(control, &who, &old))
	{
		if (!replace)
			ereport(ERROR,
					(errcode(ERRCODE_DUPLICATE_OBJECT),
					 errmsg("kept rows \"%s\" already exist", who.name),
					 errhint("Use another name, or pass replace => true.")));
		claim->stay.replaces = old.id;
	}
	/* published keeps the callback from giving up a name that isn't taken yet */
	claim->published = true;
	claim->callback.func = give_up_claim;
	claim->callback.arg = claim;
	MemoryContextRegisterResetCallback(CurrentMemoryContext, &claim->callback);
	take_name(control, claim, &who, client);
	claim->published = false;
	return claim;
}

/* Copies bytes into a new pinned segment of shared memory, and returns its handle. */
static dsm_handle
publish_bytes(const StringInfoData *bytes)
{
	dsm_segment *segment = dsm_create(bytes->len, 0);
	dsm_handle	handle = dsm_segment_handle(segment);

	memcpy(dsm_segment_address(segment), bytes->data, bytes->len);
	dsm_pin_segment(segment);
	dsm_detach(segment);
	return handle;
}

/*
 * Completes the claimed entry, and removes the set that it replaces. Returns false if the service has ended. The caller
 * holds the lock.
 */
static bool
fill_entry(GrControl *control, GrKeptClaim *claim, const GrKeptContents *rows, dsm_handle description)
{
	GrKeptEntry *entry = claim->entry;
	GrKeptEntry *old = claim->stay.replaces == 0 ? NULL : find_id(control, claim->stay.replaces);

	if (entry->id != claim->id || !gr_kept_is_alive(control, entry))
		return false;
	if (old != NULL)
		clear_and_tell(control, old);
	memcpy(entry->query, rows->query, pg_mbcliplen(rows->query, strlen(rows->query), GR_KEPT_QUERY_NBYTES));
	entry->nrows = rows->nrows;
	entry->nbytes = rows->nbytes;
	entry->kept_at = GetCurrentTimestamp();
	entry->description = description;
	entry->description_nbytes = rows->description->len;
	entry->names_nbytes = rows->names_nbytes;
	entry->state = GR_KEPT_THERE;
	claim->published = true;
	return true;
}

void
gr_kept_publish(GrKeptClaim *claim, const GrKeptContents *rows)
{
	GrControl  *control = get_control();
	dsm_handle	handle = publish_bytes(rows->description);
	bool		alive;

	LWLockAcquire(&control->lock, LW_EXCLUSIVE);
	alive = fill_entry(control, claim, rows, handle);
	LWLockRelease(&control->lock);
	if (alive)
		return;
	dsm_unpin_segment(handle);
	gr_raise_no_service("the device service has ended");
}

/*
 * Using
 */

/*
 * Copies the first nbytes of an entry's description. Returns false if its segment is gone. Needs no lock: the mapping
 * keeps the segment. The handle may have passed to another segment meanwhile, so the copy is valid only if the entry is
 * still listed afterwards (is_still_there()).
 */
static bool
copy_description(const GrKeptEntry *entry, Size nbytes, StringInfo copy)
{
	dsm_segment *segment = dsm_attach(entry->description);
	const char *bytes;

	if (segment == NULL)
		return false;
	if (dsm_segment_map_length(segment) < nbytes)
	{
		dsm_detach(segment);
		return false;
	}
	bytes = dsm_segment_address(segment);
	for (Size done = 0; done < nbytes; done += COPY_NBYTES)
	{
		CHECK_FOR_INTERRUPTS();
		appendBinaryStringInfo(copy, bytes + done, (int) Min(COPY_NBYTES, nbytes - done));
	}
	dsm_detach(segment);
	return true;
}

/* True if the set is still listed; adds to its hits. */
static bool
is_still_there(GrControl *control, const GrKeptEntry *entry, int hits)
{
	GrKeptEntry *now;

	LWLockAcquire(&control->lock, LW_SHARED);
	now = find_id(control, entry->id);
	if (now != NULL)
		__atomic_fetch_add(&now->hits, hits, __ATOMIC_RELAXED);
	LWLockRelease(&control->lock);
	return now != NULL;
}

bool
gr_kept_describe(const GrKeptEntry *entry, StringInfo names)
{
	return copy_description(entry, entry->names_nbytes, names) && is_still_there(get_control(), entry, 0);
}

void
gr_kept_find(const char *reference, GrKeptEntry *entry, StringInfo description)
{
	GrControl  *control = get_control();
	KeptName	who;

	resolve(reference, &who);
	/* look again if another set has replaced the one found meanwhile */
	for (;;)
	{
		bool		copied;

		CHECK_FOR_INTERRUPTS();
		if (!copy_entry(control, &who, entry))
			raise_unknown(control, reference, &who);
		resetStringInfo(description);
		copied = copy_description(entry, entry->description_nbytes, description);
		if (!is_still_there(control, entry, 1))
			continue;
		if (!copied)
			elog(ERROR, "kept rows \"%s\" have no description", entry->name);
		return;
	}
}

bool
gr_kept_forget(const char *reference)
{
	const char *reason;
	GrControl  *control = gr_control(&reason);
	KeptName	who;
	GrKeptEntry *entry;

	resolve(reference, &who);
	if (control == NULL)
		return false;
	LWLockAcquire(&control->lock, LW_EXCLUSIVE);
	entry = find_entry(control, &who, GR_KEPT_THERE, 0);
	if (entry != NULL)
		clear_and_tell(control, entry);
	LWLockRelease(&control->lock);
	return entry != NULL;
}

/*
 * Copies an entry for a listing. If its rows are still being read, nbytes is what their session has taken so far. The
 * caller holds the lock.
 */
static void
copy_listed(const GrControl *control, const GrKeptEntry *entry, GrKeptEntry *copy)
{
	const GrClientSlot *slot = &control->clients[entry->client];

	*copy = *entry;
	if (entry->state == GR_KEPT_READING && slot->state == GR_CLIENT_CONNECTED && slot->service == entry->service &&
		slot->generation == entry->generation)
		copy->nbytes = slot->channel.admitted_nbytes;
}

/*
 * Copies up to max entries: the complete sets of one database or, if database is InvalidOid, all entries. Returns the
 * number of entries copied.
 */
static int
list_entries(GrKeptEntry *entries, int max, Oid database)
{
	const char *reason;
	GrControl  *control = gr_control(&reason);
	int			n = 0;

	if (control == NULL)
		return 0;
	forget_dropped(control);
	LWLockAcquire(&control->lock, LW_SHARED);
	for (int k = 0; k < GR_KEPT_MAX && n < max; k++)
	{
		const GrKeptEntry *entry = &control->kept[k];

		if (gr_kept_is_alive(control, entry) &&
			(database == InvalidOid || (entry->database == database && entry->state == GR_KEPT_THERE)))
			copy_listed(control, entry, &entries[n++]);
	}
	LWLockRelease(&control->lock);
	return n;
}

int
gr_kept_list_all(GrKeptEntry *entries, int max)
{
	return list_entries(entries, max, InvalidOid);
}

int
gr_kept_list(GrKeptEntry *entries, int max)
{
	int			n = list_entries(entries, max, MyDatabaseId);
	int			nshown = 0;

	for (int k = 0; k < n; k++)
		if (has_privs_of_role(GetUserId(), entries[k].owner))
			entries[nshown++] = entries[k];
	return nshown;
}

const char *
gr_kept_device(const GrKeptEntry *entry)
{
	GrControl  *control = get_control();
	GrDeviceInfo info;
	char		name[GR_DEVICE_NAME_SIZE] = "cpu";
	int			gpu_id;

	LWLockAcquire(&control->lock, LW_SHARED);
	gpu_id = control->services[entry->service].gpu_id;
	info = control->services[entry->service].info;
	LWLockRelease(&control->lock);
	if (gpu_id != GR_STAND_IN_ID)
		gr_name_device(&info, name, sizeof(name));
	return pstrdup(name);
}
