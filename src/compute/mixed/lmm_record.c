/* lmm_record.c: reads and writes the record of a mixed model; see lmm_record.h. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "compute/mixed/lmm_record.h"

#define NOTHING_LEFT 1e-10		/* share of a variance that counts as 0: a standard deviation of 1e-5 of its size */

/* The unread rest of a text */
typedef struct Rest
{
	const char *at;
	const char *end;
} Rest;

/* Takes a word that must come next. */
static bool
take_word(Rest *rest, const char *word)
{
	size_t		nbytes = strlen(word);

	if ((size_t) (rest->end - rest->at) < nbytes || memcmp(rest->at, word, nbytes) != 0)
		return false;
	rest->at += nbytes;
	return true;
}

/* Takes a space and a decimal number from least to most. */
static bool
take_count(Rest *rest, int64_t least, int64_t most, int64_t *n)
{
	const char *first = rest->at + 1;

	*n = 0;
	if (!take_word(rest, " "))
		return false;
	for (; rest->at < rest->end && *rest->at >= '0' && *rest->at <= '9'; rest->at++)
	{
		int			digit = *rest->at - '0';

		if (*n > (most - digit) / 10)
			return false;
		*n = 10 * *n + digit;
	}
	return rest->at > first && *n >= least && *n <= most;
}

/* Takes a space, a number of bytes, a space and the bytes. */
static bool
take_string(Rest *rest, GrString *string)
{
	int64_t		nbytes;

	if (!take_count(rest, 0, INT32_MAX, &nbytes) || !take_word(rest, " ") || rest->end - rest->at < nbytes)
		return false;
	*string = (GrString) {.bytes = rest->at,.nbytes = (int) nbytes};
	rest->at += nbytes;
	return true;
}

static bool
take_term(Rest *rest, GrLmmRecordTerm *term)
{
	int64_t		n;

	if (!take_string(rest, &term->group) || !take_count(rest, 1, INT64_MAX / 16, &term->ngroups) ||
		!take_count(rest, 1, GR_LMM_COLUMNS_MAX, &n))
		return false;
	term->ncolumns = (int) n;
	for (int k = 0; k < term->ncolumns; k++)
		if (!take_string(rest, &term->columns[k]))
			return false;
	return true;
}

/* Takes the numbers, which end the text. */
static bool
take_numbers(Rest *rest, GrLmmRecord *record)
{
	double		numbers[3 + GR_LMM_TERMS_MAX * GR_LMM_PARAMETERS_MAX / 2];
	int			n = 3 + gr_lmm_record_nparameters(record);
	const double *at = numbers + 3;

	if (!take_word(rest, " ") || !gr_extras_numbers((GrString) {rest->at, (int) (rest->end - rest->at)}, n, numbers))
		return false;
	record->variance = numbers[0];
	record->fixed_variance = numbers[1];
	record->random_variance = numbers[2];
	for (int k = 0; k < record->nterms; k++)
		for (int j = 0; j < gr_triangle(record->terms[k].ncolumns); j++)
			record->terms[k].covariance[j] = *at++;
	return true;
}

bool
gr_lmm_record_read(GrString text, GrLmmRecord *record)
{
	Rest		rest = {.at = text.bytes,.end = text.bytes + text.nbytes};
	int64_t		n;

	record->reml = take_word(&rest, "1 reml");
	if ((!record->reml && !take_word(&rest, "1 ml")) || !take_count(&rest, 1, GR_LMM_TERMS_MAX, &n))
		return false;
	record->nterms = (int) n;
	for (int k = 0; k < record->nterms; k++)
		if (!take_term(&rest, &record->terms[k]))
			return false;
	return take_numbers(&rest, record);
}

static void
put_count(GrWriter *writer, int64_t n)
{
	char		text[24];

	gr_write_bytes(writer, text, (size_t) snprintf(text, sizeof(text), " %" PRId64, n));
}

static void
put_string(GrWriter *writer, GrString string)
{
	put_count(writer, string.nbytes);
	gr_write_bytes(writer, " ", 1);
	gr_write_bytes(writer, string.bytes, (size_t) string.nbytes);
}

void
gr_lmm_record_write(GrWriter *writer, const GrLmmRecord *record)
{
	double		numbers[3 + GR_LMM_TERMS_MAX * GR_LMM_PARAMETERS_MAX / 2] = {
		record->variance, record->fixed_variance, record->random_variance
	};
	char		text[GR_EXTRA_NUMBER_SIZE * sizeof(numbers) / sizeof(double)];
	int			n = 3;

	gr_write_bytes(writer, "1 ", 2);
	gr_write_bytes(writer, record->reml ? "reml" : "ml", record->reml ? 4 : 2);
	put_count(writer, record->nterms);
	for (int k = 0; k < record->nterms; k++)
	{
		const GrLmmRecordTerm *term = &record->terms[k];

		put_string(writer, term->group);
		put_count(writer, term->ngroups);
		put_count(writer, term->ncolumns);
		for (int j = 0; j < term->ncolumns; j++)
			put_string(writer, term->columns[j]);
		for (int j = 0; j < gr_triangle(term->ncolumns); j++)
			numbers[n++] = term->covariance[j];
	}
	gr_extras_put_numbers(numbers, n, text);
	gr_write_bytes(writer, " ", 1);
	gr_write_bytes(writer, text, (size_t) n * GR_EXTRA_NUMBER_SIZE - 1);
}

int
gr_lmm_record_rank(const GrLmmRecordTerm *term)
{
	double		a[GR_LMM_PARAMETERS_MAX / 2];
	int			q = term->ncolumns;
	int			rank = 0;

	memcpy(a, term->covariance, sizeof(a));
	for (int k = 0; k < q; k++)
	{
		double		d = a[gr_packed(k, k)];

		if (!(d > NOTHING_LEFT * term->covariance[gr_packed(k, k)]))
			continue;
		rank++;
		for (int i = k + 1; i < q; i++)
			for (int j = k + 1; j <= i; j++)
				a[gr_packed(i, j)] -= a[gr_packed(i, k)] * a[gr_packed(j, k)] / d;
	}
	return rank;
}
