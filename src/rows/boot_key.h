/*
 * boot_key.h: the keys by which a bootstrap draws; boot_draw.h says what values have which.
 */
#ifndef GPUREG_BOOT_KEY_H
#define GPUREG_BOOT_KEY_H

#include "postgres.h"

/* ERROR unless values of the type, which the query's column of that name has, have keys. */
extern void gr_check_boot_key(Oid type, const char *name);

#endif							/* GPUREG_BOOT_KEY_H */
