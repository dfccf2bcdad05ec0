/*
 * build_identity.h: which build of the library this is. The Makefile makes build/identity.c.
 */
#ifndef GPUREG_BUILD_IDENTITY_H
#define GPUREG_BUILD_IDENTITY_H

/* A hash of all sources and of the build's choices and flags: builds whose structures may differ have another one. */
extern const char gr_build_identity[];

extern const char gr_build_version[];

#endif							/* GPUREG_BUILD_IDENTITY_H */
