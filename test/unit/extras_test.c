/*
 * extras_test.c: tests the records in front of a model's design: written and read again, invalid texts, and texts cut
 * off or changed in any byte.
 */
#include <stdlib.h>
#include <string.h>

#include "compute/design/extras.h"
#include "unit.h"

static GrString
string(const char *text)
{
	return (GrString) {text, (int) strlen(text)};
}

static bool
is(const GrString *value, const char *text)
{
	return value != NULL && value->nbytes == (int) strlen(text) && memcmp(value->bytes, text, strlen(text)) == 0;
}

static size_t
write_text(const GrExtras *extras, char *text, size_t size)
{
	GrWriter	w = {.text = text,.size = size};

	gr_extras_write(&w, extras);
	return w.nbytes;
}

static void
test_written_is_read(void)
{
	GrExtras	extras = {.design = string("1 \"\" 0 0")};
	GrExtras	again;
	char		text[200];
	size_t		n;

	check(gr_extras_add(&extras, GR_EXTRA_OFFSETS, string("log days 2 x")) &&
	   gr_extras_add(&extras, GR_EXTRA_WEIGHTS, string("")), "records are added");
	n = write_text(&extras, text, sizeof(text));
	check(n == strlen("2 2 offsets 12 log days 2 x weights 0  1 \"\" 0 0") &&
	   memcmp(text, "2 2 offsets 12 log days 2 x weights 0  1 \"\" 0 0", n) == 0, "they are written as extras.h says");
	check(gr_extras_read(text, n, &again) && again.n == 2 && is(gr_extras_find(&again, "offsets"), "log days 2 x") &&
	   is(gr_extras_find(&again, "weights"), "") && gr_extras_find(&again, "offset") == NULL &&
	   is(&again.design, "1 \"\" 0 0"), "and read again");
	extras.design = string("");
	n = write_text(&extras, text, sizeof(text));
	check(gr_extras_read(text, n, &again) && again.n == 2 && is(&again.design, ""), "likewise without a design");
	extras.n = 0;
	extras.design = string("1 \"y ~ x\" 0 0");
	n = write_text(&extras, text, sizeof(text));
	check(n == 13 && gr_extras_read(text, n, &again) && again.n == 0 && is(&again.design, "1 \"y ~ x\" 0 0"),
	   "without records the text is the design");
	check(gr_extras_read("", 0, &again) && again.n == 0 && is(&again.design, ""), "an empty text has neither");
}

static void
test_too_many(void)
{
	GrExtras	extras = {.design = string("")};
	bool		added = true;

	for (int k = 0; k < GR_EXTRAS_MAX; k++)
		added &= gr_extras_add(&extras, "key", string("value"));
	check(added && !gr_extras_add(&extras, "key", string("value")), "%d records have room, and no more", GR_EXTRAS_MAX);
}

static void
test_malformed(void)
{
	static const char *const texts[] = {
		"2", "2 ", "2 0", "2 0 1", "2 x", "2 01", "2 65", "2 99999999999999999999", "2 1", "2 1 offsets",
		"2 1 offsets ",
		"2 1 offsets 1", "2 1 offsets 1 ", "2 1 offsets 2 a", "2 1 offsets 18446744073709551616 a",
		"2 1 offsets 4294967297 a", "2 1 Offsets 1 a", "2 1  1 a", "2 1 offsets -1 a", "2 1 offsets 1 ab",
		"2 2 a 1 x a 1 y", "2 1 aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa 1 x", "2  1 a 1 x", "21 a 1 x"
	};
	GrExtras	extras;

	for (int k = 0; k < COUNT(texts); k++)
		check(!gr_extras_read(texts[k], strlen(texts[k]), &extras), "not records: %s", texts[k]);
}

/*
 * Reads texts that are cut off or changed in a byte, in memory of their own length: a sanitizer sees reads beyond it.
 */
static void
test_damaged(void)
{
	static const char whole[] = "2 3 offsets 4 days weights 2 ww vcov_low 3 abc 1 \"\" 0 0";
	size_t		n = strlen(whole);
	bool		within = true;

	for (size_t cut = 0; cut <= n; cut++)
		for (int change = 0; change < 256; change++)
		{
			char	   *text = malloc(cut + 1);
			GrExtras	extras;

			memcpy(text, whole, cut);
			if (cut > 0)
				text[(size_t) change * 7 % cut] = (char) change;
			text = realloc(text, cut + (cut == 0));
			if (gr_extras_read(text, cut, &extras))
				for (int k = 0; k < extras.n; k++)
					within &= extras.record[k].value.bytes >= text &&
						extras.record[k].value.bytes + extras.record[k].value.nbytes <= text + cut;
			free(text);
		}
	check(within, "records of damaged texts lie within these");
}

int
main(void)
{
	test_written_is_read();
	test_too_many();
	test_malformed();
	test_damaged();
	return unit_done();
}
