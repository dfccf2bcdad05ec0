/*
 * project_gpu_philox.h: the part of project_gpu_test about random words: the published vectors, and cuRAND's generator.
 */
#ifndef GPUREG_PROJECT_GPU_PHILOX_H
#define GPUREG_PROJECT_GPU_PHILOX_H

typedef struct WordsCase
{
	uint64_t	seed;
	uint64_t	column;
	uint32_t	stratum;
	uint32_t	block;
} WordsCase;

static __global__ void
philox_kernel(const GrPhilox *counters, const uint2 *keys, int n, GrPhilox *words)
{
	int			i = (int) (blockIdx.x * blockDim.x + threadIdx.x);

	if (i < n)
		words[i] = gr_philox(counters[i], keys[i].x, keys[i].y);
}

static __global__ void
curand_kernel(const WordsCase *cases, int n, GrPhilox *ours, uint4 *theirs)
{
	int			i = (int) (blockIdx.x * blockDim.x + threadIdx.x);
	curandStatePhilox4_32_10_t state;

	if (i >= n)
		return;
	ours[i] = gr_draw_words(cases[i].seed, (int64_t) cases[i].column, cases[i].stratum, cases[i].block);
	curand_init(cases[i].seed, cases[i].column, 4 * ((uint64_t) cases[i].block + ((uint64_t) cases[i].stratum << 32)),
				&state);
	theirs[i] = curand4(&state);
}

static void
check_philox(void)
{
	const uint32_t ones = UINT32_MAX;
	const GrPhilox counters[] = {{{0, 0, 0, 0}}, {{ones, ones, ones, ones}},
		{{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}}};
	const uint2 keys[] = {{0, 0}, {ones, ones}, {0xa4093822, 0x299f31d0}};
	const GrPhilox published[] = {
		{{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
		{{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
		{{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}}
	};
	GrPhilox	words[3] = {};
	WordsCase	cases[64];
	GrPhilox	ours[64] = {};
	uint4		theirs[64];
	GrPhilox   *device_counters = to_device(counters, 3);
	uint2	   *device_keys = to_device(keys, 3);
	GrPhilox   *device_words = to_device(words, 3);

	philox_kernel<<<1, 32>>>(device_counters, device_keys, 3, device_words);
	cuda_ok(cudaGetLastError());
	cuda_ok(cudaMemcpy(words, device_words, sizeof(words), cudaMemcpyDeviceToHost));
	check(memcmp(words, published, sizeof(words)) == 0, "Philox on the device: the published vectors");
	for (int i = 0; i < 3; i++)
		words[i] = gr_philox(counters[i], keys[i].x, keys[i].y);
	check(memcmp(words, published, sizeof(words)) == 0, "... and on the host");
	for (int i = 0; i < 64; i++)
	{
		WordsCase	words_case = {i % 4 == 0 ? (uint64_t) i : random_word(), i % 3 == 0 ? random_word() :
			(uint64_t) i * 1000003,
			i % 5 == 0 ? 0 : (uint32_t) (random_word() >> 34), i % 2 == 0 ? (uint32_t) i / 2 :
			(uint32_t) random_word()};

		cases[i] = words_case;
	}
	memset(theirs, 0xff, sizeof(theirs));

	WordsCase  *device_cases = to_device(cases, 64);
	GrPhilox   *device_ours = to_device(ours, 64);
	uint4	   *device_theirs = to_device(theirs, 64);

	curand_kernel<<<2, 32>>>(device_cases, 64, device_ours, device_theirs);
	cuda_ok(cudaGetLastError());
	cuda_ok(cudaMemcpy(ours, device_ours, sizeof(ours), cudaMemcpyDeviceToHost));
	cuda_ok(cudaMemcpy(theirs, device_theirs, sizeof(theirs), cudaMemcpyDeviceToHost));
	check(first_code == cudaSuccess && memcmp(ours, theirs, sizeof(ours)) == 0, "the words of strata are cuRAND's");
	device_free(device_counters, device_keys, device_words, device_cases, device_ours, device_theirs);
}

#endif							/* GPUREG_PROJECT_GPU_PHILOX_H */
