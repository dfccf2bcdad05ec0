# gpureg: built with PGXS. The only file that knows whether nvcc exists.
#
#   make                      with CUDA if nvcc is found
#   make CUDA=no              without CUDA; CUDA=yes requires it
#   make NVCC_ARCH=sm_90      for one GPU architecture; default: every major one that nvcc supports
#   make NVCC_OPTIMIZE=1      kernels that are compiled sooner and run slower; default: 3
#   make WERROR=yes           warnings are errors
#   make FOR_TESTS=yes        without debug information and bitcode for the server's JIT compiler: takes half the time
#   make SANITIZE=undefined   without CUDA; a process ends when its behaviour is undefined; or
#                             SANITIZE=address,undefined
#   make FAULTS=yes           with settings that make an allocation fail (test/faults/faults.h); without CUDA, unless
#                             CUDA=yes is given: then CUDA's calls fail, too
#   make install, make installcheck, make check-unit, make check-layers, make check-version, make check-links,
#   make check-floats, make check-gpu-stamp
#   make dist                 build/gpureg-VERSION.zip for PGXN: the last commit's files

EXTENSION = gpureg
EXTVERSION := $(shell sed -n "s/^default_version *= *'\(.*\)'/\1/p" gpureg.control)
DATA_built = sql/gpureg--$(EXTVERSION).sql
DATA = $(wildcard sql/gpureg--*--*.sql)

MODULE_big = gpureg
OBJS = $(patsubst %.c,%.o,$(wildcard src/run/*.c src/rows/*/*.c src/sql/*/*.c src/projection/*.c))

comma = ,
PG_CONFIG ?= pg_config
NVCC ?= $(firstword $(shell command -v nvcc 2>/dev/null) $(wildcard /usr/local/cuda/bin/nvcc))
CUDA ?= $(if $(NVCC),$(if $(SANITIZE)$(FAULTS),no,yes),no)
NVCC_ARCH ?= all-major
NVCC_OPTIMIZE ?= 3
CHOICE = CUDA=$(CUDA) $(if $(filter yes,$(CUDA)),NVCC_ARCH=$(NVCC_ARCH) -O$(NVCC_OPTIMIZE)) WERROR=$(WERROR) \
	SANITIZE=$(SANITIZE) FAULTS=$(FAULTS) $(VERSION) $(GIVEN_CFLAGS) $(GIVEN_CXXFLAGS) $(GIVEN_CPPFLAGS) \
	$(COPT) $(PROFILE) dependencies by compiler

# The caller's value of a flag (make CFLAGS=..., or make -e), else empty, as PGXS sets defaults of its own.
given = $(if $(filter command override,$(origin $(1))),$($(1)))
GIVEN_CFLAGS := $(call given,CFLAGS)
GIVEN_CXXFLAGS := $(call given,CXXFLAGS)
GIVEN_CPPFLAGS := $(call given,CPPFLAGS)

# The last flags of every compile line: no compiler may contract a * b + c, neither for objects nor for bitcode, as an
# IMMUTABLE function must return the same bits whatever the other flags are. The header refuses -ffast-math.
EXACT_FLOATS = -include compute/base/exact_floats.h -ffp-contract=off

# Sanitizers apply to the extension's C and C++ alone. Dividing by zero is allowed, as IEEE's infinities are intended.
# Warnings aren't errors with sanitizers, as GCC advises: the code that they add misleads the analysis.
ifneq ($(SANITIZE),)
ifneq ($(CUDA),no)
$(error SANITIZE is for a build without CUDA)
endif
SANITIZERS = $(SANITIZE)$(if $(findstring undefined,$(SANITIZE)),$(comma)float-cast-overflow)
SANITIZE_FLAGS = -fsanitize=$(SANITIZERS) -fno-sanitize-recover=$(SANITIZERS) -fno-omit-frame-pointer -Wno-error \
	-U_FORTIFY_SOURCE
# the server's JIT compiler would inline bitcode, which has no checks
override with_llvm = no
endif

ifeq ($(FOR_TESTS),yes)
override with_llvm = no
endif

# The compute layer and the kernels are linked directly, not through OBJS: PGXS's flags aren't theirs, and a server with
# LLVM would require bitcode of each.
COMPUTE_SOURCES = $(wildcard src/compute/*/*.c src/compute/*/*.cpp)
COMPUTE_OBJS = $(filter-out %/backend_none.o,$(patsubst %.c,%.o,$(patsubst %.cpp,%.o,$(COMPUTE_SOURCES))))
NO_DEVICE = src/compute/backend/backend_none.o
ifeq ($(CUDA),yes)
KERNEL_OBJS = $(patsubst %.cu,%.o,$(wildcard kernels/*.cu))
CUDA_HOME ?= $(patsubst %/bin/,%,$(dir $(realpath $(NVCC))))
CUDA_LIBDIR = $(firstword $(wildcard $(CUDA_HOME)/lib64 $(CUDA_HOME)/targets/*/lib $(CUDA_HOME)/lib \
	/usr/lib/x86_64-linux-gnu))
CUDA_LIBS = -L$(CUDA_LIBDIR) -lcudart_static -lrt -lpthread -ldl
else
COMPUTE_OBJS += $(NO_DEVICE)
endif

PG_CPPFLAGS = -Isrc
ifeq ($(FAULTS),yes)
OBJS += test/faults/faults.o
PG_CPPFLAGS += -include test/faults/faults.h
FAULT_FLAGS = -DGPUREG_FAULTS_PLAIN -include test/faults/faults.h
ifeq ($(CUDA),yes)
KERNEL_OBJS += test/faults/cuda.o
FAULTY_CALLS = cudaGetLastError $(shell sed -En 's/^(SHORT|LOST|DONE).(\w+),.*/\2/p' test/faults/cuda.c)
CUDA_LIBS += $(addprefix -Wl$(comma)--wrap=,$(FAULTY_CALLS))
endif
endif
WARNINGS = -Wall -Wextra -Wno-unused-parameter -Wno-missing-field-initializers -Wno-sign-compare \
	$(if $(filter yes,$(WERROR)),-Werror)
PG_CFLAGS = $(WARNINGS) -Wno-declaration-after-statement $(SANITIZE_FLAGS)
SHLIB_LINK = build/identity.o $(COMPUTE_OBJS) $(KERNEL_OBJS) $(CUDA_LIBS) -lstdc++ -lpthread -lm

# pg_regress: up to PostgreSQL 15 it looks for expected/ in the output directory, from 16 on it is told.
# setup loads data and functions that the other tests use
REGRESS = setup cells scan scan_edges scan_groups weights weights_errors frequencies glm units glm_errors edge negbin negbin_fits tiny bigint \
	ols_arrays ols_agg ols_stats states ols_offsets ols_fit absorb absorb_glm ring many numeric model predict predict_row predict_query predict_cache predict_interval offset_predict \
	margins distributions compare summary score auc roc augment means anova drop firth covariance covariance_errors zero_variance satterthwaite boot no_terms \
	permute cv enet enet_logit folds iv select rolling states_clusters mixed logreg logreg_fit logreg_step glm_step factors \
	formula formula_functions classes dot separation separation_exact nist reference invariance metamorphic projection project_bits \
	project_rows feature_hash examples explain rewrite errors columns_at_fault logreg_errors projection_errors \
	settings edges spi plans
REGRESS_OPTS = --inputdir=test --outputdir=.
# The TAP tests start servers, which PostgreSQL refuses to root; script/test runs them as another user.
ifneq ($(shell id -u),0)
TAP_TESTS = 1
endif
PROVE_TESTS = $(wildcard test/t/*.pl)
PROVE_FLAGS += -I test/t

UNIT_TESTS = $(addprefix build/unit/,error_test inference_test gram_test gram_shift_test weights_test sends_test \
	sink_many_test many_derive_test ols_test glm_test means_test negbin_test logreg_test conditions_test scores_test \
	start_test separation_test congruence_test projection_test elementary_test formula_test extras_test margins_test derive_test \
	filter_test gram_subset_test remote_check_test path_test logit_path_test boot_test studentized_range_test remote_test remote_stand_in_test passes_test iv_test \
	select_test sum_clusters_test lmm_test wild_test satterthwaite_test vcov_low_test request_test cluster_middle_test \
	simd_test rotation_test sort_keys_test block_test effects_test)
ifeq ($(CUDA),yes)
UNIT_TESTS += $(addprefix build/unit/,gram_gpu_test weighted_gram_gpu_test glm_gpu_test ascent_gpu_test \
	change_gpu_test derive_gpu_test weights_gpu_test many_gpu_test project_gpu_test cholesky_gpu_test \
	boot_gpu_test cluster_middle_gpu_test multinom_gpu_test memory_gpu_test)
endif

EXTRA_CLEAN = $(COMPUTE_OBJS) $(NO_DEVICE) kernels/*.o test/faults/cuda.o build \
	$(wildcard src/*/*.d src/*/*/*.d kernels/*.d test/faults/*.d) \
	regression.diffs regression.out results test/tmp_check tmp_check

PGXS := $(shell $(PG_CONFIG) --pgxs)
include $(PGXS)

# Outside the compute layer, optimising a sanitizer's checks costs the compiler more time than it saves the tests.
ifneq ($(SANITIZE),)
override CFLAGS += -O1
endif
ifeq ($(FOR_TESTS),yes)
override CFLAGS += -g0
endif

ifeq ($(shell test $(MAJORVERSION) -ge 16 && echo yes),yes)
REGRESS_OPTS += --expecteddir=.
endif

# CPPFLAGS come behind CFLAGS, whoever set them. Bitcode is compiled with CPPFLAGS, and without CFLAGS.
override CPPFLAGS += $(EXACT_FLOATS)

# The compiler writes which headers an object depends on into a .d file beside it; -MP so that a header may go.
DEPENDENCIES = -MMD -MP
override CFLAGS += $(DEPENDENCIES)
-include $(patsubst %.o,%.d,$(OBJS) $(COMPUTE_OBJS) $(NO_DEVICE) $(KERNEL_OBJS)) $(wildcard build/unit/*.d)

# The compute layer uses the caller's flags, and the hardening ones of the server's: others could change its speed,
# as its objects are optimised by -O2 whatever the server's are. COPT and PROFILE are PGXS's.
HARDENING = -fstack-protector% -fstack-clash-protection -fcf-protection% -mbranch-protection% -fhardened \
	-fzero-call-used-regs% -ftrivial-auto-var-init% -Wformat% -Werror=format-security -Wdate-time -ffile-prefix-map% \
	-fdebug-prefix-map% -fmacro-prefix-map% -D_FORTIFY_SOURCE% -U_FORTIFY_SOURCE -D_GLIBCXX_ASSERTIONS
SHARED_FLAGS = $(or $(GIVEN_CPPFLAGS),$(filter $(HARDENING),$(CPPFLAGS))) $(COPT) $(PROFILE)
CALLER_CFLAGS = $(or $(GIVEN_CFLAGS),$(filter $(HARDENING),$(CFLAGS))) $(SHARED_FLAGS)
CALLER_CXXFLAGS = $(or $(GIVEN_CXXFLAGS),$(filter $(HARDENING),$(CXXFLAGS))) $(SHARED_FLAGS)
COMPUTE_FLAGS = -Isrc -D_GNU_SOURCE $(if $(filter yes,$(FOR_TESTS)),-g0,-g) -fPIC -fvisibility=hidden \
	-fno-math-errno -Wall -Wextra $(if $(filter yes,$(WERROR)),-Werror) $(SANITIZE_FLAGS) $(FAULT_FLAGS)
COMPUTE_CC = $(CC) -O2 $(CALLER_CFLAGS) -std=gnu11 $(COMPUTE_FLAGS) $(EXACT_FLOATS)
COMPUTE_CXX = $(CXX) -O2 $(CALLER_CXXFLAGS) -std=c++17 $(COMPUTE_FLAGS) $(EXACT_FLOATS)
NVCC_FLAGS = -std=c++17 -O3 -fmad=false -arch=$(NVCC_ARCH) -Isrc \
	$(if $(filter-out 3,$(NVCC_OPTIMIZE)),-Xcicc -O$(NVCC_OPTIMIZE) -Xptxas -O$(NVCC_OPTIMIZE)) \
	-Xcompiler -fPIC,-fvisibility=hidden,-Wall,-Wextra $(if $(filter yes,$(WERROR)),-Werror all-warnings) \
	$(addprefix -Xcompiler ,$(filter -fstack-% -fcf-protection% -mbranch-protection%,$(CALLER_CXXFLAGS))) \
	-include compute/base/exact_floats.h -Xcompiler -ffp-contract=off

# A stamp holds the choices that objects depend on besides the sources, so that make CUDA=no after make, or another
# server, builds again.
QUOTED_CHOICE = $(subst ','\'',$(CHOICE))
.PHONY: FORCE
build/choice: FORCE
	@mkdir -p build/unit
	@echo '$(QUOTED_CHOICE)' | cmp -s - $@ || echo '$(QUOTED_CHOICE)' > $@

src/compute/%.o: src/compute/%.c build/choice
	$(COMPUTE_CC) $(DEPENDENCIES) -c $< -o $@

# -O3 vectorises loops over double-double
src/compute/enet/path_rows.o src/compute/design/design_block.o: COMPUTE_FLAGS += -O3
# a loop's place among cache lines is worth some percent of its time: it must not depend on the objects linked before
src/compute/backend/kernels_cpu.o: COMPUTE_FLAGS += -falign-functions=64

src/compute/%.o: src/compute/%.cpp build/choice
	$(COMPUTE_CXX) $(DEPENDENCIES) -c $< -o $@

kernels/%.o: kernels/%.cu build/choice
	$(NVCC) $(NVCC_FLAGS) $(DEPENDENCIES) -c $< -o $@

test/faults/cuda.o: test/faults/cuda.c test/faults/faults.h build/choice
	$(COMPUTE_CC) -isystem $(CUDA_HOME)/include -c $< -o $@

# clang writes no .d files for bitcode: it depends on every header
$(OBJS) $(OBJS:.o=.bc): build/choice
$(OBJS:.o=.bc): $(wildcard src/*/*.h src/*/*/*.h)
$(shlib): $(COMPUTE_OBJS) $(KERNEL_OBJS) build/identity.o build/choice

sql/gpureg--$(EXTVERSION).sql: sql/gpureg.sql gpureg.control
	cp $< $@

# The build's identity. A server's sessions share memory only with sessions of the same build
# (src/run/service_shared.c), so the hash covers all that determines its structures: the sources and the choices above.
IDENTITY_SOURCES = $(sort $(shell find src kernels -name '*.[ch]' -o -name '*.cpp' -o -name '*.cu' -o -name '*.cuh')) \
	Makefile gpureg.control
define IDENTITY
#include "run/build_identity.h"
const char gr_build_identity[] = "gpureg build HASH";
const char gr_build_version[] = "$(EXTVERSION)";
endef
export IDENTITY
build/identity.c: FORCE build/choice
	@hash=$$(cat $(IDENTITY_SOURCES) build/choice | sha256sum | cut -d ' ' -f 1) && \
	printf '%s\n' "$$IDENTITY" | sed "s/HASH/$$hash/" > $@.new && \
	if cmp -s $@.new $@; then rm $@.new; else mv $@.new $@; fi
build/identity.o: build/identity.c src/run/build_identity.h
	$(COMPUTE_CC) -c $< -o $@

REFERENCE_OBJS = $(addprefix build/unit/,gram_reference.o glm_reference.o projection_reference.o cholesky_reference.o)

# Unit tests: plain programs over the compute layer, without a device, and over the kernels if there is nvcc.
PLAIN_OBJS = $(sort $(COMPUTE_OBJS) $(NO_DEVICE))
build/unit/%: test/unit/%.c $(PLAIN_OBJS) $(REFERENCE_OBJS) build/choice
	$(COMPUTE_CC) $(DEPENDENCIES) -MF $@.d -MT $@ -Itest/unit $< $(REFERENCE_OBJS) $(PLAIN_OBJS) -lstdc++ -lpthread -lm -o $@

build/unit/%: test/unit/%.cu $(wildcard test/unit/*.h src/compute/*/*.h kernels/*.cuh) $(COMPUTE_OBJS) $(KERNEL_OBJS) \
		$(REFERENCE_OBJS) build/choice
	$(NVCC) $(NVCC_FLAGS) -Itest/unit $< $(REFERENCE_OBJS) $(COMPUTE_OBJS) $(KERNEL_OBJS) -lstdc++ -lm -o $@

build/unit/%_reference.o: test/unit/%_reference.c build/choice
	$(COMPUTE_CC) $(DEPENDENCIES) -Itest/unit -c $< -o $@

.PHONY: units check-unit check-layers check-version check-links check-floats check-gpu-stamp dist
units: $(UNIT_TESTS)

check-unit: units
	prove -e '' $(UNIT_TESTS)

# The include rules: what each folder may see, and no circles
check-layers:
	@script/check-layers

# All files name gpureg.control's version
check-version:
	@script/check-version

# The documentation's links, and the pages of its site
check-links:
	@script/check-links

# No compile line lets a compiler change results
check-floats:
	@script/check-floats

check-gpu-stamp:
	@script/gpu-stamp check

dist: check-version
	@mkdir -p build
	git archive --format=zip --prefix=gpureg-$(EXTVERSION)/ -o build/gpureg-$(EXTVERSION).zip HEAD
