/*
 * service_kept.h: the store, in a device service, of the rows that the service keeps for all sessions.
 */
#ifndef GPUREG_SERVICE_KEPT_H
#define GPUREG_SERVICE_KEPT_H

#include "postgres.h"

#include "compute/remote/remote.h"
#include "run/service_shared.h"

/*
 * Returns the service's store of kept rows; see compute/remote/remote.h. release() is called with the bytes of rows
 * that were dropped. session must stay open until gr_kept_end().
 */
extern const GrRemoteStore *gr_kept_begin(const GrBackend *backend, GrSession *session,
										  void (*release) (GrRemoteServer *server, size_t nbytes,
														   const GrStay *stay));

/* gr_kept_sweep() drops stored rows that are neither listed nor held; gr_kept_end() drops all when the service ends. */
extern void gr_kept_sweep(GrControl *control);
extern void gr_kept_end(void);

/* True if any rows are stored. */
extern bool gr_kept_has_any(void);

/* Bytes of the stored rows with this id and of their description; 0 if there are none. */
extern uint64 gr_kept_item_nbytes(uint64 id);

#endif							/* GPUREG_SERVICE_KEPT_H */
