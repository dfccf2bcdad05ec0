/*
 * fuzz_extras.c: records in front of a model's design, which anyone may write. Records that are read must lie within
 * the text, and stay the same when written and read again.
 */
#include "compute/design/extras.h"
#include "fuzz.h"

static bool
same(const GrString *a, const GrString *b)
{
	return a->nbytes == b->nbytes && memcmp(a->bytes, b->bytes, (size_t) a->nbytes) == 0;
}

static void
must_lie_within(const GrString *string, const char *text, size_t nbytes)
{
	must(string->nbytes == 0 || (string->bytes >= text && string->bytes + string->nbytes <= text + nbytes));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text;
	GrExtras	extras;
	GrExtras	again;
	GrWriter	w = {0};

	fuzz_begin(size);
	text = fuzz_copy(data, size);
	if (gr_extras_read(text, size, &extras))
	{
		must(extras.n >= 0 && extras.n <= GR_EXTRAS_MAX);
		must_lie_within(&extras.design, text, size);
		for (int k = 0; k < extras.n; k++)
		{
			must_lie_within(&extras.record[k].key, text, size);
			must_lie_within(&extras.record[k].value, text, size);
		}
		gr_extras_write(&w, &extras);
		w = (GrWriter) {.text = fuzz_take(NULL, w.nbytes + 1),.size = w.nbytes};
		gr_extras_write(&w, &extras);
		must(gr_extras_read(w.text, w.nbytes, &again) && again.n == extras.n && same(&again.design, &extras.design));
		for (int k = 0; k < again.n; k++)
			must(same(&again.record[k].key, &extras.record[k].key) &&
				 same(&again.record[k].value, &extras.record[k].value));
	}
	fuzz_end();
	return 0;
}
