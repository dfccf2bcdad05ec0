/*
 * grams.h: Gram matrices in PostgreSQL's memory contexts.
 */
#ifndef GPUREG_GRAMS_H
#define GPUREG_GRAMS_H

#include "postgres.h"

#include "compute/linalg/gram.h"

/* Makes a matrix of nfeatures in the current memory context: sums over no rows, about 0. pfree(gram.hi) frees it. */
extern GrGram gr_gram_make(int nfeatures);

/* Returns a copy of gram in the current memory context. */
extern GrGram gr_gram_duplicate(const GrGram *gram);

/* Adds other to gram, counts included. */
extern void gr_gram_join(GrGram *gram, const GrGram *other);

/* Raises the ERROR of a cancel that stopped work on a Gram matrix. */
extern void gr_gram_raise_canceled(void) __attribute__((noreturn));

#endif							/* GPUREG_GRAMS_H */
