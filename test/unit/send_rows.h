/*
 * send_rows.h: sends rows to a job in pieces, from memory that is overwritten as soon as the job reports it as read;
 * for the tests on a device.
 */
#ifndef GPUREG_SEND_ROWS_H
#define GPUREG_SEND_ROWS_H

#include "compute/backend/backend.h"
#include "unit.h"

#include <stdlib.h>
#include <string.h>

#define SEND_BUFFERS 2
#define SEND_PAGE ((size_t) 4096)

/* Copies rows as float8, or as single rows, whose features must be values of float4. */
static inline void
pack_rows(const double *rows, int64_t nrows, int nfeatures, bool single, char *into)
{
	if (!single)
	{
		memcpy(into, rows, (size_t) nrows * gr_row_nbytes(gr_plain_shape(nfeatures)));
		return;
	}
	for (int64_t r = 0; r < nrows; r++)
	{
		const double *row = rows + r * (nfeatures + 1);
		float	   *narrow = (float *) (into + (size_t) r * gr_row_nbytes(shape_of(nfeatures, true)));

		for (int j = 0; j < nfeatures; j++)
			narrow[j] = (float) row[j];
		memcpy(narrow + nfeatures, row + nfeatures, sizeof(double));
	}
}

/*
 * Sends nrows rows. send(rows, n) and sent(wait, &ncalls) are the job's calls. piece: rows per call; ragged: calls of
 * changing sizes up to piece, some empty; pinned: from pinned memory.
 */
template <class Send, class Sent>
static bool
send_rows(const GrBackend *backend, GrSession *session, const double *rows, int64_t nrows, int nfeatures, bool single,
		  int64_t piece, bool ragged, bool pinned, Send send, Sent sent, GrError *err)
{
	const size_t piece_nbytes = (size_t) piece * gr_row_nbytes(shape_of(nfeatures, single));
	const size_t nbytes = (piece_nbytes + SEND_PAGE - 1) / SEND_PAGE * SEND_PAGE;
	char	   *memory = (char *) aligned_alloc(SEND_PAGE, SEND_BUFFERS * nbytes);
	int64_t		user[SEND_BUFFERS] = {};	/* the last call that read each buffer, from 1 */
	int64_t		nread = 0;
	/* the calls before must have been waited for */
	bool		ok = sent(false, &nread) &&
		(!pinned || backend->device->pin(session, memory, SEND_BUFFERS * nbytes, err));
	bool		is_pinned = pinned && ok;
	int64_t		ncalls = nread;

	for (int64_t done = 0; ok && done < nrows;)
	{
		const int	b = (int) (ncalls % SEND_BUFFERS);
		char	   *buffer = memory + (size_t) b * nbytes;
		int64_t		n = ragged ? (ncalls * 37 + 3) % (piece + 1) : piece;

		if (ragged && ncalls % 5 == 4)
			n = piece;
		if (n > nrows - done)
			n = nrows - done;
		while (ok && nread < user[b])
			ok = sent(true, &nread);
		if (!ok)
			break;
		memset(buffer, 0xff, nbytes);
		pack_rows(rows + done * (nfeatures + 1), n, nfeatures, single, buffer);
		ok = send(buffer, n);
		user[b] = ++ncalls;
		done += n;
	}
	while (ok && nread < ncalls)
		ok = sent(true, &nread);
	if (ok)
		memset(memory, 0xff, SEND_BUFFERS * nbytes);
	if (is_pinned)
		backend->device->unpin(session, memory);
	free(memory);
	return ok;
}

#endif							/* GPUREG_SEND_ROWS_H */
