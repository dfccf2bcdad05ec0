/*
 * state_text.c: what the text forms of the aggregates' states share.
 */
#include "postgres.h"

#include <math.h>

#include "common/shortest_dec.h"

#include "rows/state_text.h"

void
gr_text_bad(const GrTextReader *reader)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_TEXT_REPRESENTATION),
			 errmsg("invalid input syntax for type %s: \"%.64s\"", reader->type, reader->string),
			 errhint("The text form of %s is what its output gives; it isn't meant to be written by hand.", reader->type)));
}

static void
skip_space(GrTextReader *reader)
{
	while (*reader->at == ' ' || *reader->at == '\t' || *reader->at == '\n' || *reader->at == '\r')
		reader->at++;
}

void
gr_text_expect(GrTextReader *reader, const char *token)
{
	skip_space(reader);
	if (strncmp(reader->at, token, strlen(token)) != 0)
		gr_text_bad(reader);
	reader->at += strlen(token);
	skip_space(reader);
}

void
gr_text_key(GrTextReader *reader, const char *key)
{
	char		token[32];

	snprintf(token, sizeof(token), "\"%s\"", key);
	gr_text_expect(reader, token);
	gr_text_expect(reader, ":");
}

int64
gr_text_integer(GrTextReader *reader, int64 min, int64 max)
{
	char	   *end;
	int64		value;

	errno = 0;
	value = strtoll(reader->at, &end, 10);
	if (end == reader->at || errno != 0 || value < min || value > max)
		gr_text_bad(reader);
	reader->at = end;
	return value;
}

double
gr_text_number(GrTextReader *reader, double null_value)
{
	char	   *end;
	double		value;

	if (!isnan(null_value) && strncmp(reader->at, "null", 4) == 0)
	{
		gr_text_expect(reader, "null");
		return null_value;
	}
	/* strtod() would take "inf", "nan" and hexadecimal too */
	if (strchr("-0123456789", *reader->at) == NULL || *reader->at == '\0')
		gr_text_bad(reader);
	value = strtod(reader->at, &end);
	if (end == reader->at || memchr(reader->at, 'x', end - reader->at) != NULL ||
		memchr(reader->at, 'X', end - reader->at) != NULL || !isfinite(value))
		gr_text_bad(reader);
	reader->at = end;
	skip_space(reader);
	return value;
}

void
gr_text_end(const GrTextReader *reader)
{
	if (*reader->at != '\0')
		gr_text_bad(reader);
}

void
gr_append_number(StringInfo buf, double value)
{
	char		number[DOUBLE_SHORTEST_DECIMAL_LEN];

	if (!isfinite(value))
	{
		appendStringInfoString(buf, "null");
		return;
	}
	double_to_shortest_decimal_buf(value, number);
	appendStringInfoString(buf, number);
}
