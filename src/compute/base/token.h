/*
 * token.h: characters and names as SQL has them, for the parsers of formulas (formula.c) and row filters
 * (row_filter.c).
 */
#ifndef GPUREG_TOKEN_H
#define GPUREG_TOKEN_H

#include <stdbool.h>
#include <stddef.h>

static inline bool
gr_is_space(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

static inline bool
gr_is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Like the server, takes bytes from 128 on as letters. */
static inline bool
gr_begins_name(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (unsigned char) c >= 128;
}

static inline bool
gr_goes_on_name(char c)
{
	return gr_begins_name(c) || gr_is_digit(c) || c == '$';
}

/*
 * Returns the position after the quoted text that begins at text[at]; a doubled quote stands for the quote itself.
 * Returns 0 if there is no closing quote.
 */
static inline size_t
gr_end_of_quoted(const char *text, size_t nbytes, size_t at)
{
	char		quote = text[at];

	for (at++; at < nbytes; at++)
	{
		if (text[at] != quote)
			continue;
		if (at + 1 >= nbytes || text[at + 1] != quote)
			return at + 1;
		at++;
	}
	return 0;
}

/* True if the token text, of n bytes, equals name. Quoted tokens are compared as they are, others in lower case. */
static inline bool
gr_is_named(const char *text, size_t n, bool quoted, const char *name)
{
	for (size_t k = quoted ? 1 : 0; k < (quoted ? n - 1 : n); k++, name++)
	{
		char		c = text[k];

		if (!quoted && c >= 'A' && c <= 'Z')
			c = (char) (c - 'A' + 'a');
		if (*name == '\0' || *name != c)
			return false;
		k += quoted && c == '"' ? 1 : 0;
	}
	return *name == '\0';
}

#endif							/* GPUREG_TOKEN_H */
