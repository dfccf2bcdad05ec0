/*
 * counts.h: included before all else by a build with gcov; writes the counts when a process ends
 * (test/mutate/preload.c).
 */
#ifdef __cplusplus
extern "C"
{
#endif
extern void __gcov_dump(void);
extern __attribute__((weak, visibility("default"))) void gpureg_counts(void);

void
gpureg_counts(void)
{
	__gcov_dump();
}
#ifdef __cplusplus
}
#endif
