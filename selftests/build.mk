# SPDX-License-Identifier: GPL-2.0
# The tests, the programs they profile, and the two commands of the README.
#
# A file is a test: selftests/host/NAME.c runs on this machine, selftests/guest/NAME.c as root in
# the guest, selftests/targets/NAME.c or .cc is a program to profile; targets/libNAME.c becomes
# a shared object. A test is linked with what it uses of selftests/lib, massif-ctl and libmassif; what
# else it needs stands in host/build.mk, and how a target is compiled, if not with -g -O1, in targets/build.mk:
#	LDLIBS-NAME := -lfoo
#	CFLAGS-NAME := ...

HOST_TESTS  := $(patsubst %.c,$(O)/%,$(wildcard selftests/host/*.c))
GUEST_TESTS := $(patsubst %.c,$(O)/%,$(wildcard selftests/guest/*.c))
TARGET_LIBS := $(patsubst %.c,$(O)/%.so,$(wildcard selftests/targets/lib*.c))
TARGETS_C   := $(patsubst %.c,$(O)/%,$(filter-out selftests/targets/lib%,$(wildcard selftests/targets/*.c)))
TARGETS_CC  := $(patsubst %.cc,$(O)/%,$(wildcard selftests/targets/*.cc))
TESTS_ALL   := $(HOST_TESTS) $(GUEST_TESTS) $(TARGET_LIBS) $(TARGETS_C) $(TARGETS_CC)

KSELFTEST := $(O)/kselftest/kselftest_harness.h

include selftests/host/build.mk selftests/targets/build.mk

# What these say of a test is obeyed again when they change.
$(HOST_TESTS:%=%.o) $(GUEST_TESTS:%=%.o): selftests/host/build.mk
$(TARGET_LIBS) $(TARGETS_C) $(TARGETS_CC): selftests/targets/build.mk

TEST_LIBS := $(O)/selftests/lib/lib.a $(O)/libmassif-ctl.a $(O)/libmassif.a

# Not report_fake.c, which takes libmassif's place in tests that name it.
$(O)/selftests/lib/lib.a: $(patsubst %.c,$(O)/%.o,$(filter-out %/report_fake.c,$(wildcard selftests/lib/*.c))) \
		selftests/build.mk
	@rm -f $@
	$(call QUIET,AR)$(AR) rcs $@ $(filter %.o,$^)

$(KSELFTEST):
	selftests/tools/fetch-kselftest.sh $(@D)

# The harness is the kernel's: -isystem keeps our warnings out of it, except that a fixture's
# functions are defined in our files without a declaration.
$(HOST_TESTS:%=%.o) $(GUEST_TESTS:%=%.o): MF_CFLAGS += -isystem $(O)/kselftest -Wno-missing-prototypes
$(HOST_TESTS:%=%.o) $(GUEST_TESTS:%=%.o): | $(KSELFTEST)
$(GUEST_TESTS:%=%.o): MF_CFLAGS += -include selftests/lib/patience.h -include selftests/lib/cases.h

# A test's own objects first: what they define is not taken from the archives.
$(HOST_TESTS) $(GUEST_TESTS): %: %.o $(TEST_LIBS)
	$(call QUIET,LD)$(CC) $(CFLAGS) $(SANITIZE_FLAGS) $(LDFLAGS) -o $@ $(filter %.o,$^) $(TEST_LIBS) \
		$(LDLIBS-$(@F)) -Wl,--as-needed $(LIBMASSIF_LIBS)

target_flags = $(or $(CFLAGS-$(basename $(@F))),-g -O1) -MMD -MP -MF $@.d -MT $@

$(TARGETS_C): $(O)/%: %.c
	@mkdir -p $(@D)
	$(call QUIET,CC)$(CC) -std=gnu11 -Wall $(target_flags) -o $@ $< $(LDLIBS-$(@F))

$(TARGETS_CC): $(O)/%: %.cc
	@mkdir -p $(@D)
	$(call QUIET,CXX)$(CXX) -Wall $(target_flags) -o $@ $< $(LDLIBS-$(@F))

$(TARGET_LIBS): $(O)/%.so: %.c
	@mkdir -p $(@D)
	$(call QUIET,CC)$(CC) -std=gnu11 -Wall $(target_flags) -fPIC -shared -o $@ $< $(LDLIBS-$(basename $(@F)))

.PHONY: tests test check-recordings test-modules packages sanitized-units guest-module check check-elsewhere check-kernels check-debug-kernel check-random check-sanitize check-attach check-storm check-storm-kernel check-torture check-rules check-viewers check-packages check-userlands check-builds bench-kernel demo pictures

#: tests            the selftests and the programs they profile
tests: $(TESTS_ALL)

# Modules that only tests load; in a directory of their own within massif.ko's.
test-modules: modules
	@mkdir -p $(MODULE_DIR)/selftests
	@find selftests/modules -type f \( -name '*.c' -o -name Kbuild \) ! -name '*.mod.c' | while read -r file; do \
		ln -sf "$(CURDIR)/$$file" "$(MODULE_DIR)/selftests/$${file##*/}"; \
	done
	$(KBUILD_MAKE)/selftests modules

#: packages         install what is missing from Debian's packages
packages:
	selftests/tools/packages.sh build guest test

# Kernels on which the guest tests run, as selftests/vm/kernel.sh names them: the first has all of
# them, the others those that selftests/guest/tests.conf wants on all.
KERNELS     ?= 6.1 6.12
ALL_KERNELS  = $(shell selftests/vm/kernel.sh list)

guest-module:
	+@status=0; for kernel in $(KERNELS); do \
		MASSIF_BUILD=$(abspath $(O)) selftests/vm/kernel.sh module "$$kernel" || status=1; \
	done; exit $$status

# Packages first, then a make of its own: the parts' build.mk ask for what packages brought.
# V=1 shows what is compiled how.
SUBMAKE = $(MAKE) $(if $(V),,-s) --no-print-directory $(if $(findstring jobserver,$(MAKEFLAGS)),,-j$(JOBS))

#: check            install what is missing, build, run every test (TESTS='pattern...' selects)
check:
	@selftests/tools/packages.sh build guest test
	@echo 'building'
	@$(SUBMAKE) all $(if $(filter-out host/%,$(or $(TESTS),all)),guest-module)
	@$(if $(filter-out guest/%,$(or $(TESTS),all)),$(SUBMAKE) sanitized-units fuzzers)
	@selftests/tools/fetch-python-tests.sh $(O)/python || echo 'host/heap_foreign will have one test less'
	@MASSIF_BUILD=$(abspath $(O)) TESTS='$(TESTS)' KERNELS='$(KERNELS)' selftests/tools/run-tests.sh

# What needs no other program, no guest and no network: each file is the test of one part.
UNIT_TESTS := base_* cfi_* kmod_[bh]* limits_table model_[cestl]* model_heap ctl_options ctl_outfile ctl_program msprint_errors \
	pages_* preload_* recording_file recording_section report report_filter report_tree style symbols_files symbols_limits symbols_namefile symbols_parser \
	symbols_symtab unwind_*

#: test             the unit tests, built and run here in less than a minute (the first make downloads their harness)
test:
	@$(SUBMAKE) programs tests
	@MASSIF_BUILD=$(abspath $(O)) TESTS='$(UNIT_TESTS:%=host/%)' selftests/tools/run-tests.sh

# Twice as long as check.
#: check-elsewhere  check in clones elsewhere: hostile surroundings, another user (ELSEWHERE=folder, TESTS=)
check-elsewhere:
	@selftests/tools/packages.sh build guest test
	@MASSIF_BUILD=$(abspath $(O)) TESTS='$(TESTS)' ELSEWHERE='$(ELSEWHERE)' selftests/tools/check-elsewhere.sh

# Downloads 300 MB the first time. A kernel for which the module cannot be built fails its tests, and
# the others go on.
#: check-kernels    all guest tests on each kernel that is supported (KERNELS='5.10 7.2': on these)
check-kernels: KERNELS = $(ALL_KERNELS)
check-kernels:
	@selftests/tools/packages.sh build guest test
	@echo 'building'
	@$(SUBMAKE) all
	@$(SUBMAKE) guest-module KERNELS='$(KERNELS)' || :
	@MASSIF_BUILD=$(abspath $(O)) TESTS='$(or $(TESTS),guest/*)' KERNELS='$(KERNELS)' EVERYWHERE=yes \
		selftests/tools/run-tests.sh

# The first time that kernel is built, which takes 2 GB. CHECKS=races has KCSAN instead of KASAN, lockdep and the like.
#: check-debug-kernel  the guest tests on a KERNEL=6.12 built with CHECKS=memory or races; a warning ends it (TESTS=)
check-debug-kernel:
	@selftests/tools/packages.sh build guest test debug
	@echo 'building'
	@$(SUBMAKE) all
	@set -e; kernel=$$(MASSIF_BUILD=$(abspath $(O)) JOBS=$(JOBS) selftests/vm/debug-kernel.sh $(KERNEL) $(CHECKS)); \
		$(SUBMAKE) guest-module KERNELS="$$kernel"; \
		MASSIF_GUEST_APPEND=numa=fake=2 MASSIF_BUILD=$(abspath $(O)) TESTS='$(or $(TESTS),guest/*)' \
			KERNELS="$$kernel" selftests/tools/run-tests.sh

# What differs stays in $(O)/selftests/random.
#: check-random     N=2000 random programs under Valgrind's Massif and under ours (SEED=, FIRST=)
check-random:
	@$(SUBMAKE) programs tests
	@rm -rf $(O)/selftests/random && mkdir -p $(O)/selftests/random
	@cd $(O)/selftests/random && MASSIF_BUILD=$(abspath $(O)) \
		MASSIF_RANDOM_N=$(or $(N),2000) MASSIF_RANDOM_SEED='$(SEED)' \
		MASSIF_RANDOM_FIRST='$(FIRST)' $(abspath $(O))/selftests/host/random_programs

# Ten minutes. The figures are printed.
#: check-recordings  N=10000 damaged recordings and massif.out files with AddressSanitizer, and some of STACKS=1000000
check-recordings:
	@$(SUBMAKE) programs tests
	@$(SUBMAKE) sanitized-units
	@rm -rf $(O)/selftests/recordings && mkdir -p $(O)/selftests/recordings
	@cd $(O)/selftests/recordings && export MASSIF_BUILD=$(abspath $(O)) && \
		MASSIF_MUTANTS=$(or $(N),10000) $(abspath $(O))/sanitize/unit/selftests/host/recording_mutants && \
		MASSIF_STACKS=$(or $(STACKS),1000000) $(abspath $(O))/selftests/host/recording_huge

#: check-storm      MINUTES=5 of threads, children, libraries and signals, in three ways
check-storm:
	@$(SUBMAKE) programs tests
	@MASSIF_BUILD=$(abspath $(O)) MASSIF_LIMIT=36000 MASSIF_STORM=$$(($(or $(MINUTES),5) * 60)) \
		TESTS=host/heap_weather selftests/tools/run-tests.sh

#: check-attach     massif-ctl attach is killed at each moment in each of eight situations: half an hour (host/heap_attach_killed)
check-attach:
	@$(SUBMAKE) programs tests
	@MASSIF_BUILD=$(abspath $(O)) MASSIF_STRIDE=1 MASSIF_LIMIT=36000 \
		TESTS=host/heap_attach_killed selftests/tools/run-tests.sh

# The shim and the programs that it is in are as ever; massif-ctl, its library and the tests are not.
# ThreadSanitizer is for those that have threads. Left out are tests that copy their own stack or limit
# their address space, which the sanitizers do not like, and those that only need more time.
SANITIZED_address := ctl_control ctl_defaults ctl_errors ctl_killed ctl_log ctl_options ctl_outfile \
	ctl_reference ctl_top ctl_top_screen heap_children heap_door heap_weather heap_xtree model_heap model_log model_snapshots \
	model_store model_trie pages_accounting pages_ring pages_space pages_stream report_filter \
	preload_definitions report_tree symbols_files symbols_golden symbols_namefile symbols_symtab \
	unwind_elfmap unwind_rows
SANITIZED_thread  := ctl_control ctl_killed heap_children heap_door heap_weather heap_xtree symbols_files \
	symbols_golden

# What host/sanitized runs.
SANITIZED_units := ctl_outfile ctl_top kmod_btf kmod_hash model_details model_heap model_ledger model_log model_snapshots model_store \
	model_trie pages_accounting pages_cfi pages_ring pages_space pages_stream recording_file recording_mutants recording_section report_filter \
	report_tree symbols_namefile symbols_symtab

sanitized-units: $(KSELFTEST)
	@mkdir -p $(O)/sanitize/unit && cp -r $(O)/kselftest $(O)/sanitize/unit/
	+@$(SUBMAKE) O=$(O)/sanitize/unit SANITIZE=address,undefined CFLAGS='-O1 -g' \
		$(SANITIZED_units:%=$(O)/sanitize/unit/selftests/host/%)

#: check-sanitize   userland with AddressSanitizer and UBSan, then with ThreadSanitizer, built in $(O)/sanitize
check-sanitize:
	@$(SUBMAKE) $(O)/kselftest/kselftest_harness.h
	@status=0; for kind in address thread; do \
		dir=$(O)/sanitize/$$kind; mkdir -p $$dir && cp -r $(O)/kselftest $$dir/ && \
		$(SUBMAKE) O=$$dir SANITIZE=$$kind$$([ $$kind = thread ] || echo ,undefined) programs tests && \
		MASSIF_BUILD=$(abspath $(O))/sanitize/$$kind MASSIF_LIMIT=1200 \
			ASAN_OPTIONS=verify_asan_link_order=0 TSAN_OPTIONS=suppressions=$(CURDIR)/selftests/tools/tsan.supp \
			TESTS="$$([ $$kind = thread ] && echo '$(SANITIZED_thread:%=host/%)' || \
				echo '$(SANITIZED_address:%=host/%)')" \
			selftests/tools/run-tests.sh || status=1; \
	done; exit $$status

#: check-viewers    massif-visualizer, KCachegrind and speedscope open what is exported (SPEEDSCOPE=its folder)
check-viewers:
	@selftests/tools/packages.sh build viewers
	@$(SUBMAKE) programs
	@MASSIF_BUILD=$(abspath $(O)) SPEEDSCOPE='$(SPEEDSCOPE)' selftests/tools/check-viewers.sh

# Half an hour, and 1 GB of downloads, for each of RELEASES. Needs root.
#: check-packages   build, install, use, upgrade and purge the Debian packages of HEAD in clean systems (RELEASES=bookworm)
check-packages:
	@selftests/tools/packages.sh build guest packages
	@MASSIF_BUILD=$(abspath $(O)) selftests/tools/check-packages.sh $(or $(RELEASES),bookworm)

# Ten minutes, and 300 MB of downloads a release. Needs root.
#: check-userlands  programs with the C libraries of other releases, beside Massif (RELEASES='bullseye bookworm trixie sid')
check-userlands:
	@selftests/tools/packages.sh build systems
	@$(SUBMAKE) programs
	@MASSIF_BUILD=$(abspath $(O)) selftests/tools/check-userlands.sh $(RELEASES)

# Ten minutes, and 300 MB of downloads, for each of RELEASES. Needs root.
#: check-builds     compile massif.ko for other kernels and configurations (RELEASES='trixie sid trixie-source')
check-builds:
	@selftests/tools/packages.sh build systems
	@MASSIF_BUILD=$(abspath $(O)) selftests/tools/check-builds.sh $(RELEASES)

# An hour; with what stays the same from rule to rule, one takes a minute (RULES='map-*').
#: check-rules      see the test of each rule of Documentation/security.rst fail without it (RULES=, KERNEL=6.12)
check-rules:
	@selftests/tools/packages.sh build guest test
	@echo 'building'
	@$(SUBMAKE) programs tests guest-module KERNELS='$(or $(KERNEL),6.12)'
	@MASSIF_BUILD=$(abspath $(O)) RULES='$(RULES)' KERNEL='$(KERNEL)' selftests/tools/check-rules.sh

# An hour or two in the guest, most of which is spent in comparing.
#: check-torture    N=1000000 random operations in the guest, every one held to the truth
check-torture:
	@selftests/tools/packages.sh build guest test
	@$(SUBMAKE) tests guest-module
	@MASSIF_BUILD=$(abspath $(O)) MASSIF_LIMIT=36000 MASSIF_TORTURE=$(or $(N),1000000) \
		TESTS=guest/kmod_torture selftests/tools/run-tests.sh

# The guest has two NUMA nodes, between which pages move.
#: check-storm-kernel  MINUTES=30 of storms around a member of a session in the guest, then RELOADS=1000 of the module (KERNELS=)
check-storm-kernel: KERNELS = 6.1 6.12
check-storm-kernel:
	@selftests/tools/packages.sh build guest test
	@$(SUBMAKE) tests guest-module KERNELS='$(KERNELS)'
	@MASSIF_BUILD=$(abspath $(O)) MASSIF_LIMIT=36000 MASSIF_STORM=$$(($(or $(MINUTES),30) * 60 / 13)) \
		MASSIF_RELOADS=$(or $(RELOADS),1000) MASSIF_GUEST_APPEND=numa=fake=2 KERNELS='$(KERNELS)' EVERYWHERE=yes \
		TESTS='guest/kmod_storm guest/kmod_reload' selftests/tools/run-tests.sh

#: bench-kernel     what massif.ko adds to paths through the kernel and to programs, in guest instructions
bench-kernel: KERNELS = 6.1 6.12
bench-kernel:
	@selftests/tools/packages.sh build guest bench
	@$(SUBMAKE) programs $(O)/selftests/bench/kernel_paths $(O)/selftests/bench/own guest-module KERNELS='$(KERNELS)'
	@MASSIF_BUILD=$(abspath $(O)) selftests/bench/kernel.sh $(KERNELS)

$(O)/selftests/bench/kernel_paths $(O)/selftests/bench/own: %: %.o
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $<

include selftests/bench/build.mk
include selftests/search/build.mk
include selftests/fuzz/build.mk

#: demo             install what is missing, build, show a heap and a pages report of a real program
demo:
	@selftests/tools/packages.sh build guest
	@echo 'building'
	@$(SUBMAKE) programs guest-module KERNELS=6.1
	@MASSIF_BUILD=$(abspath $(O)) selftests/tools/demo.sh

#: pictures         make the pictures in Documentation/pictures anew, from real runs (PICTURES='show.png': only these)
pictures:
	@selftests/tools/packages.sh build guest pictures
	@echo 'building'
	@$(SUBMAKE) programs guest-module KERNELS=6.1
	@MASSIF_BUILD=$(abspath $(O)) selftests/tools/pictures.sh $(PICTURES)
