/*
 * build_identity.h: identifies the build of the library. The Makefile writes build/identity.c.
 */
#ifndef GPUREG_BUILD_IDENTITY_H
#define GPUREG_BUILD_IDENTITY_H

/* A hash of all sources and of the build's choices and flags: builds whose structures may differ have another one. */
extern const char gr_build_identity[];

extern const char gr_build_version[];

#endif							/* GPUREG_BUILD_IDENTITY_H */
