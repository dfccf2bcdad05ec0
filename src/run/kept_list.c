/*
 * kept_list.c: the list of what is kept; see kept_list.h.
 *
 * Catalogues are not looked into under the lock: entries are copied, and looked for again by their ids.
 */
#include "postgres.h"

#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "storage/dsm.h"
#include "utils/acl.h"
#include "utils/syscache.h"
#include "utils/timestamp.h"

#include "run/device.h"
#include "run/kept_list.h"
#include "run/raise.h"

void
gr_raise_no_service(const char *reason)
{
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("there is no device service to keep rows"),
			 errdetail("The reason: %s.", reason == NULL ? "it does not answer" : reason),
			 errhint("Keeping rows takes gpureg.enable_service and, before PostgreSQL 17, gpureg in "
					 "shared_preload_libraries.")));
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

/* The service lets the rows go when it looks next. With the lock */
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
		return gr_service_connect(GR_STAND_IN_ID, gr_service_is_used(), reason);
	if (gr_debug_service || gr_backend_cuda.device->present())
	{
		client = gr_service_connect(gr_gpu_id, gr_service_is_used(), reason);
		if (client == NULL || gr_service_await(client, &gr_host, &err))
			return client;
	}
	else
		(void) gr_fail(&err, GR_NO_DEVICE, 0, "there is no driver");
	if (gr_device == GR_DEVICE_GPU || err.status != GR_NO_DEVICE)
		gr_raise(&err);
	return gr_service_connect(GR_STAND_IN_ID, gr_service_is_used(), reason);
}

/* This database's set of that name, in that state, other than id; with the lock */
static GrKeptEntry *
find_entry(GrControl *control, const char *name, GrKeptState state, uint64 other_than)
{
	for (int k = 0; k < GR_KEPT_MAX; k++)
	{
		GrKeptEntry *entry = &control->kept[k];

		if (entry->state == state && entry->id != other_than && entry->database == MyDatabaseId &&
			strcmp(entry->name, name) == 0 && gr_kept_is_alive(control, entry))
			return entry;
	}
	return NULL;
}

/* With the lock; NULL: it is gone */
static GrKeptEntry *
find_id(GrControl *control, uint64 id)
{
	for (int k = 0; k < GR_KEPT_MAX; k++)
		if (control->kept[k].state != GR_KEPT_FREE && control->kept[k].id == id)
			return &control->kept[k];
	return NULL;
}

/* Lets go what databases kept that have been dropped since: nobody else can. */
static void
forget_dropped(GrControl *control)
{
	uint64		ids[GR_KEPT_MAX];
	Oid			databases[GR_KEPT_MAX];
	int			n = 0;
	int			ndropped = 0;

	LWLockAcquire(&control->lock, LW_SHARED);
	for (int k = 0; k < GR_KEPT_MAX; k++)
	{
		const GrKeptEntry *entry = &control->kept[k];

		if (entry->state != GR_KEPT_THERE || entry->database == MyDatabaseId || !gr_kept_is_alive(control, entry))
			continue;
		ids[n] = entry->id;
		databases[n++] = entry->database;
	}
	LWLockRelease(&control->lock);
	for (int k = 0; k < n; k++)
		if (!SearchSysCacheExists1(DATABASEOID, ObjectIdGetDatum(databases[k])))
			ids[ndropped++] = ids[k];
	if (ndropped == 0)
		return;
	LWLockAcquire(&control->lock, LW_EXCLUSIVE);
	for (int k = 0; k < ndropped; k++)
	{
		GrKeptEntry *entry = find_id(control, ids[k]);

		if (entry != NULL)
			clear_and_tell(control, entry);
	}
	LWLockRelease(&control->lock);
}

/* A copy of the set of that name; false if there is none */
static bool
copy_entry(GrControl *control, const char *name, GrKeptEntry *copy)
{
	const GrKeptEntry *entry;

	LWLockAcquire(&control->lock, LW_SHARED);
	entry = find_entry(control, name, GR_KEPT_THERE, 0);
	if (entry != NULL)
		*copy = *entry;
	LWLockRelease(&control->lock);
	return entry != NULL;
}

static void
check_owner(const GrKeptEntry *entry)
{
	if (!has_privs_of_role(GetUserId(), entry->owner))
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("permission denied for kept rows \"%s\"", entry->name)));
}

static void
raise_unknown(const char *name)
{
	ereport(ERROR,
			(errcode(ERRCODE_UNDEFINED_OBJECT),
			 errmsg("there are no kept rows \"%s\"", name),
			 errhint("Kept rows go with the server and with its device service: gpu_kept() lists those that there "
					 "are, gpu_keep() keeps others.")));
}

/*
 * Keeping
 */

static void
check_name(const char *name)
{
	if (name[0] == '\0' || strlen(name) >= NAMEDATALEN)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_NAME),
				 errmsg("name of kept rows must have 1 to %d bytes", NAMEDATALEN - 1)));
}

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
raise_busy(const char *name)
{
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_IN_USE),
			 errmsg("rows are being kept as \"%s\" at the moment", name)));
}

static void
fill_entry(GrControl *control, GrKeptEntry *entry, const char *name, const GrRemoteClient *client)
{
	memset(entry, 0, sizeof(*entry));
	entry->state = GR_KEPT_READING;
	entry->id = ++control->last_kept_id;
	entry->service = gr_service_number(client, &entry->generation);
	entry->database = MyDatabaseId;
	entry->owner = GetUserId();
	strlcpy(entry->name, name, sizeof(entry->name));
}

/* A place in the list; one of a service that is gone is free, too. With the lock; NULL: there is none */
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

/* Takes the name, if nobody has since it was looked for. */
static void
take_name(GrControl *control, GrKeptClaim *claim, const char *name, const GrRemoteClient *client)
{
	bool		busy;

	LWLockAcquire(&control->lock, LW_EXCLUSIVE);
	busy = find_entry(control, name, GR_KEPT_READING, 0) != NULL ||
		find_entry(control, name, GR_KEPT_THERE, claim->replaces) != NULL;
	claim->entry = busy ? NULL : find_vacant(control);
	if (claim->entry != NULL)
	{
		fill_entry(control, claim->entry, name, client);
		claim->id = claim->entry->id;
	}
	LWLockRelease(&control->lock);
	if (busy)
		raise_busy(name);
	if (claim->entry == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
				 errmsg("too many sets of rows are kept"),
				 errdetail("A server keeps at most %d.", GR_KEPT_MAX),
				 errhint("Let some go, by gpu_forget().")));
}

GrKeptClaim *
gr_kept_claim(const char *name, bool replace, const GrRemoteClient *client)
{
	GrControl  *control = get_control();
	GrKeptClaim *claim = palloc0(sizeof(GrKeptClaim));
	GrKeptEntry old;

	check_name(name);
	forget_dropped(control);
	if (copy_entry(control, name, &old))
	{
		if (!replace)
			ereport(ERROR,
					(errcode(ERRCODE_DUPLICATE_OBJECT),
					 errmsg("there are kept rows \"%s\" already", name),
					 errhint("Take another name, or give replace => true.")));
		check_owner(&old);
		claim->replaces = old.id;
	}
	/* nothing is to be given up before it is taken */
	claim->published = true;
	claim->callback.func = give_up_claim;
	claim->callback.arg = claim;
	MemoryContextRegisterResetCallback(CurrentMemoryContext, &claim->callback);
	take_name(control, claim, name, client);
	claim->published = false;
	return claim;
}

/* A pinned segment that has these bytes */
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

void
gr_kept_publish(GrKeptClaim *claim, const char *query, int64 nrows, uint64 nbytes, const StringInfoData *description)
{
	GrControl  *control = get_control();
	dsm_handle	handle = publish_bytes(description);
	GrKeptEntry *entry = claim->entry;
	GrKeptEntry *old;
	bool		alive;

	LWLockAcquire(&control->lock, LW_EXCLUSIVE);
	alive = entry->id == claim->id && gr_kept_is_alive(control, entry);
	if (alive)
	{
		old = claim->replaces == 0 ? NULL : find_id(control, claim->replaces);
		if (old != NULL)
			clear_and_tell(control, old);
		memcpy(entry->query, query, pg_mbcliplen(query, strlen(query), GR_KEPT_QUERY_NBYTES));
		entry->nrows = nrows;
		entry->nbytes = nbytes;
		entry->kept_at = GetCurrentTimestamp();
		entry->description = handle;
		entry->description_nbytes = description->len;
		entry->state = GR_KEPT_THERE;
		claim->published = true;
	}
	LWLockRelease(&control->lock);
	if (alive)
		return;
	dsm_unpin_segment(handle);
	gr_raise_no_service("the device service has ended");
}

/*
 * Using
 */

/* A copy of what the entry's segment has, if the entry is still there; with the lock, which keeps the segment */
static void
copy_description(const GrKeptEntry *entry, StringInfo description)
{
	dsm_segment *segment = dsm_attach(entry->description);

	if (segment == NULL)
		elog(ERROR, "kept rows \"%s\" have no description", entry->name);
	appendBinaryStringInfo(description, dsm_segment_address(segment), (int) entry->description_nbytes);
	dsm_detach(segment);
}

bool
gr_kept_describe(const GrKeptEntry *entry, StringInfo description)
{
	GrControl  *control = get_control();
	const GrKeptEntry *now;

	LWLockAcquire(&control->lock, LW_SHARED);
	now = find_id(control, entry->id);
	if (now != NULL)
		copy_description(now, description);
	LWLockRelease(&control->lock);
	return now != NULL;
}

void
gr_kept_find(const char *name, GrKeptEntry *entry, StringInfo description)
{
	GrControl  *control = get_control();
	GrKeptEntry *now;

	/* again, where another takes its place meanwhile */
	do
	{
		CHECK_FOR_INTERRUPTS();
		if (!copy_entry(control, name, entry))
			raise_unknown(name);
		check_owner(entry);
		LWLockAcquire(&control->lock, LW_SHARED);
		now = find_id(control, entry->id);
		if (now != NULL)
		{
			copy_description(now, description);
			__atomic_fetch_add(&now->hits, 1, __ATOMIC_RELAXED);
		}
		LWLockRelease(&control->lock);
	} while (now == NULL);
}

bool
gr_kept_forget(const char *name)
{
	const char *reason;
	GrControl  *control = gr_control(&reason);
	GrKeptEntry copy;
	GrKeptEntry *entry;

	if (control == NULL || !copy_entry(control, name, &copy))
		return false;
	check_owner(&copy);
	LWLockAcquire(&control->lock, LW_EXCLUSIVE);
	entry = find_id(control, copy.id);
	if (entry != NULL)
		clear_and_tell(control, entry);
	LWLockRelease(&control->lock);
	return entry != NULL;
}

int
gr_kept_list(GrKeptEntry *entries, int max)
{
	const char *reason;
	GrControl  *control = gr_control(&reason);
	int			n = 0;
	int			nshown = 0;

	if (control == NULL)
		return 0;
	forget_dropped(control);
	LWLockAcquire(&control->lock, LW_SHARED);
	for (int k = 0; k < GR_KEPT_MAX && n < max; k++)
	{
		const GrKeptEntry *entry = &control->kept[k];

		if (entry->state == GR_KEPT_THERE && entry->database == MyDatabaseId && gr_kept_is_alive(control, entry))
			entries[n++] = *entry;
	}
	LWLockRelease(&control->lock);
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
