/*
 * boot_key.h: the keys by which a bootstrap draws; boot_draw.h says what values have which.
 */
#ifndef GPUREG_BOOT_KEY_H
#define GPUREG_BOOT_KEY_H

#include "postgres.h"

/* ERROR unless values of the type, which the query's column of that name has, have keys. */
extern void gr_check_boot_key(Oid type, const char *name);

/* The key of a text, whose blanks at the end count */
extern int64 gr_boot_text_key(const char *bytes, int nbytes);

#endif							/* GPUREG_BOOT_KEY_H */
