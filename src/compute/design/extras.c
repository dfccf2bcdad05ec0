/*
 * extras.c: reads and writes the records in front of a model's design.
 */
#include <stdio.h>
#include <string.h>

#include "compute/design/extras.h"

/* The unread rest of a text */
typedef struct Rest
{
	const char *at;
	const char *end;
} Rest;

static bool
take_space(Rest *rest)
{
	return rest->at < rest->end && *rest->at++ == ' ';
}

/* Takes a space and a decimal number of at most most, without leading zeros. */
static bool
take_number(Rest *rest, size_t most, size_t *n)
{
	const char *first;

	*n = 0;
	if (!take_space(rest))
		return false;
	first = rest->at;
	for (; rest->at < rest->end && *rest->at >= '0' && *rest->at <= '9'; rest->at++)
	{
		size_t		digit = (size_t) (*rest->at - '0');

		if (digit > most || *n > (most - digit) / 10)
			return false;
		*n = 10 * *n + digit;
	}
	return rest->at > first && (*first != '0' || rest->at == first + 1);
}

static bool
is_key_byte(char c)
{
	return (c >= 'a' && c <= 'z') || c == '_';
}

/* Takes a space and a key. */
static bool
take_key(Rest *rest, GrString *key)
{
	if (!take_space(rest))
		return false;
	key->bytes = rest->at;
	while (rest->at < rest->end && is_key_byte(*rest->at))
		rest->at++;
	if (rest->at == key->bytes || rest->at - key->bytes > GR_EXTRA_KEY_MAX)
		return false;
	key->nbytes = (int) (rest->at - key->bytes);
	return true;
}

static bool
take_record(Rest *rest, GrExtra *record)
{
	size_t		nbytes;

	if (!take_key(rest, &record->key) || !take_number(rest, (size_t) (rest->end - rest->at), &nbytes) ||
		!take_space(rest) || (size_t) (rest->end - rest->at) < nbytes || nbytes > INT32_MAX)
		return false;
	record->value = (GrString) {.bytes = rest->at,.nbytes = (int) nbytes};
	rest->at += nbytes;
	return true;
}

static bool
is_key(const GrExtra *record, const char *key, size_t nbytes)
{
	return (size_t) record->key.nbytes == nbytes && memcmp(record->key.bytes, key, nbytes) == 0;
}

static const GrString *
find(const GrExtras *extras, const char *key, size_t nbytes)
{
	for (int k = 0; k < extras->n; k++)
		if (is_key(&extras->record[k], key, nbytes))
			return &extras->record[k].value;
	return NULL;
}

/* Takes the records, after the 2 that they begin with. */
static bool
take_records(Rest *rest, GrExtras *extras)
{
	size_t		n;

	if (!take_number(rest, GR_EXTRAS_MAX, &n) || n == 0)
		return false;
	for (size_t k = 0; k < n; k++)
	{
		GrExtra    *record = &extras->record[k];

		if (!take_record(rest, record) || find(extras, record->key.bytes, (size_t) record->key.nbytes) != NULL)
			return false;
		extras->n++;
	}
	return rest->at == rest->end || take_space(rest);
}

bool
gr_extras_read(const char *text, size_t nbytes, GrExtras *extras)
{
	Rest		rest = {.at = text,.end = text + nbytes};

	extras->n = 0;
	extras->design = (GrString) {.bytes = "",.nbytes = 0};
	if (nbytes > INT32_MAX)
		return false;
	if (nbytes > 0 && *rest.at == '2')
	{
		rest.at++;
		if (!take_records(&rest, extras))
			return false;
	}
	if (rest.at < rest.end)
		extras->design = (GrString) {.bytes = rest.at,.nbytes = (int) (rest.end - rest.at)};
	return true;
}

const GrString *
gr_extras_find(const GrExtras *extras, const char *key)
{
	return find(extras, key, strlen(key));
}

bool
gr_extras_add(GrExtras *extras, const char *key, GrString value)
{
	if (extras->n >= GR_EXTRAS_MAX)
		return false;
	extras->record[extras->n++] = (GrExtra) {
		.key = {.bytes = key,.nbytes = (int) strlen(key)},
		.value = value
	};
	return true;
}

/* Returns the value of a lower-case hexadecimal digit, or -1. */
static int
digit_of(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool
gr_extras_numbers(GrString value, int n, double *numbers)
{
	if (n < 1 || (int64_t) value.nbytes != (int64_t) GR_EXTRA_NUMBER_SIZE * n - 1)
		return false;
	for (int k = 0; k < n; k++)
	{
		const char *at = value.bytes + (size_t) k * GR_EXTRA_NUMBER_SIZE;
		uint64_t	bits = 0;

		for (int i = 0; i < GR_EXTRA_NUMBER_SIZE - 1; i++)
		{
			int			digit = digit_of(at[i]);

			if (digit < 0)
				return false;
			bits = bits << 4 | (uint64_t) digit;
		}
		if (k < n - 1 && at[GR_EXTRA_NUMBER_SIZE - 1] != ' ')
			return false;
		memcpy(&numbers[k], &bits, sizeof(bits));
	}
	return true;
}

void
gr_extras_put_numbers(const double *numbers, int n, char *text)
{
	for (int k = 0; k < n; k++, text += GR_EXTRA_NUMBER_SIZE)
	{
		uint64_t	bits;

		memcpy(&bits, &numbers[k], sizeof(bits));
		for (int i = 0; i < GR_EXTRA_NUMBER_SIZE - 1; i++)
			text[i] = "0123456789abcdef"[bits >> (60 - 4 * i) & 15];
		text[GR_EXTRA_NUMBER_SIZE - 1] = k < n - 1 ? ' ' : '\0';
	}
}

static void
put_number(GrWriter *writer, int n)
{
	char		text[20];

	gr_write_bytes(writer, text, (size_t) snprintf(text, sizeof(text), " %d", n));
}

void
gr_extras_write(GrWriter *writer, const GrExtras *extras)
{
	if (extras->n > 0)
	{
		gr_write_bytes(writer, "2", 1);
		put_number(writer, extras->n);
	}
	for (int k = 0; k < extras->n; k++)
	{
		const GrExtra *record = &extras->record[k];

		gr_write_bytes(writer, " ", 1);
		gr_write_bytes(writer, record->key.bytes, (size_t) record->key.nbytes);
		put_number(writer, record->value.nbytes);
		gr_write_bytes(writer, " ", 1);
		gr_write_bytes(writer, record->value.bytes, (size_t) record->value.nbytes);
	}
	if (extras->n > 0 && extras->design.nbytes > 0)
		gr_write_bytes(writer, " ", 1);
	gr_write_bytes(writer, extras->design.bytes, (size_t) extras->design.nbytes);
}
