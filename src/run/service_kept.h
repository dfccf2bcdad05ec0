/*
 * service_kept.h: the rows that a device service keeps for all sessions, on the side of the service.
 */
#ifndef GPUREG_SERVICE_KEPT_H
#define GPUREG_SERVICE_KEPT_H

#include "postgres.h"

#include "compute/remote/remote.h"
#include "run/service_shared.h"

/*
 * The service's own store of kept rows; see compute/remote/remote.h. release: is called with the bytes that rows had
 * which are gone. The session must stay until gr_kept_end().
 */
extern const GrRemoteStore *gr_kept_begin(const GrBackend *backend, GrSession *session,
										  void (*release) (GrRemoteServer *server, size_t nbytes,
														   const GrStay *stay));

/* gr_kept_sweep() drops stored rows that are not in the list; gr_kept_end() drops all, at the end of the service. */
extern void gr_kept_sweep(GrControl *control);
extern void gr_kept_end(void);

/* True if anything is in store. */
extern bool gr_kept_has_any(void);

/* Bytes of the stored rows with this id and of their description; 0 if there are none. */
extern uint64 gr_kept_item_nbytes(uint64 id);

#endif							/* GPUREG_SERVICE_KEPT_H */
