/*
 * feature_names.c: finds a model's features by name. Names are in a sorted list. A name that ends in a subscript is
 * listed twice: whole, and as the array's name with the subscript. So the elements of an array are adjacent.
 */
#include "postgres.h"

#include "access/tupmacs.h"
#include "catalog/pg_type.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "utils/memutils.h"

#include "run/args.h"
#include "sql/model/feature_names.h"

/* Largest number of digits of a subscript. No model has a feature whose subscript has more. */
#define SUBSCRIPT_DIGITS 9

static int
compare_names(const char *a, int a_len, const char *b, int b_len)
{
	return a_len != b_len ? a_len - b_len : memcmp(a, b, a_len);
}

static int
compare_features(const void *a, const void *b, void *arg)
{
	const GrFeatureName *u = a;
	const GrFeatureName *v = b;
	int			order = compare_names(u->name, u->len, v->name, v->len);

	return order != 0 ? order : u->subscript - v->subscript;
}

/* Splits whole into element's name and subscript. Returns false if whole is not written as in "a[3]". */
static bool
split_name(const GrFeatureName *whole, GrFeatureName *element)
{
	int			at = whole->len - 1;
	int			digits = 0;
	int			unit = 1;

	if (whole->len < 3 || whole->name[at] != ']')
		return false;
	*element = *whole;
	while (--at > 0 && whole->name[at] >= '0' && whole->name[at] <= '9' && ++digits <= SUBSCRIPT_DIGITS)
	{
		element->subscript += unit * (whole->name[at] - '0');
		unit *= 10;
	}
	element->len = at;
	return digits > 0 && digits <= SUBSCRIPT_DIGITS && at >= 0 && whole->name[at] == '[' && whole->name[at + 1] != '0';
}

/* Returns the position of the first entry that does not sort before name and subscript. */
static int
find(const GrFeatureNames *names, const char *name, int len, int subscript)
{
	const GrFeatureName wanted = {.name = name,.len = len,.subscript = subscript};
	int			low = 0;
	int			high = names->n;

	while (low < high)
	{
		int			middle = low + (high - low) / 2;

		if (compare_features(&names->sorted[middle], &wanted, NULL) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool
is_name(const GrFeatureNames *names, int k, const char *name, int len)
{
	return k < names->n && compare_names(names->sorted[k].name, names->sorted[k].len, name, len) == 0;
}

static void
check_distinct(const GrFeatureNames *names)
{
	for (int k = 1; k < names->n; k++)
	{
		if (compare_features(&names->sorted[k - 1], &names->sorted[k], NULL) == 0)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("the model has several features called \"%s\"",
							gr_feature_name(names, names->sorted[k].feature)),
					 errhint("Pass the values one by one, in the order of the model's terms.")));
		gr_poll_loop(k);
	}
}

/* Lists the names of all terms except the intercept, in the terms' order. */
static void
list_names(GrFeatureNames *names, bool intercept)
{
	const char *at = ARR_DATA_PTR(names->terms);
	int			nterms = names->nfeatures + (intercept ? 1 : 0);

	names->sorted = palloc_extended(2 * (Size) Max(names->nfeatures, 1) * sizeof(GrFeatureName), MCXT_ALLOC_HUGE);
	for (int k = 0; k < nterms; k++)
	{
		GrFeatureName whole;

		/* elements of a text[] are never compressed or out of line; those with a short header are not aligned */
		at = (const char *) att_align_pointer(at, TYPALIGN_INT, -1, at);
		whole = (GrFeatureName) {
			.name = VARDATA_ANY(at),.len = VARSIZE_ANY_EXHDR(at),.feature = k - (intercept ? 1 : 0)
		};
		at += VARSIZE_ANY(at);
		if (whole.feature >= 0)
		{
			names->sorted[names->n++] = whole;
			if (split_name(&whole, &names->sorted[names->n]))
				names->n++;
		}
		gr_poll_loop(k);
	}
}

GrFeatureNames *
gr_name_features(const ArrayType *terms, bool intercept)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "gpureg feature names", ALLOCSET_SMALL_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	GrFeatureNames *names = palloc0(sizeof(GrFeatureNames));

	names->context = context;
	names->terms = memcpy(palloc_extended(VARSIZE(terms), MCXT_ALLOC_HUGE), terms, VARSIZE(terms));
	names->nfeatures = ARR_DIMS(terms)[0] - (intercept ? 1 : 0);
	list_names(names, intercept);
	qsort_interruptible(names->sorted, names->n, sizeof(GrFeatureName), compare_features, NULL);
	check_distinct(names);
	MemoryContextSwitchTo(old);
	return names;
}

bool
gr_are_names_of(const GrFeatureNames *names, const ArrayType *terms)
{
	return VARSIZE(names->terms) == VARSIZE(terms) && memcmp(names->terms, terms, VARSIZE(terms)) == 0;
}

int
gr_find_feature(const GrFeatureNames *names, const char *name, int len)
{
	int			k = find(names, name, len, 0);

	return is_name(names, k, name, len) && names->sorted[k].subscript == 0 ? names->sorted[k].feature : -1;
}

GrFeatureRange
gr_find_elements(const GrFeatureNames *names, const char *name, int len)
{
	int			k = find(names, name, len, 1);
	int			end = find(names, name, len, PG_INT32_MAX);

	return (GrFeatureRange) {.first = &names->sorted[k],.n = end - k};
}

const char *
gr_feature_name(const GrFeatureNames *names, int feature)
{
	for (int k = 0; k < names->n; k++)
		if (names->sorted[k].feature == feature && names->sorted[k].subscript == 0)
			return pnstrdup(names->sorted[k].name, names->sorted[k].len);
	return "";
}
