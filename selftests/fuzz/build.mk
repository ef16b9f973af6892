# SPDX-License-Identifier: GPL-2.0
# Fuzzers of everything that reads what others wrote (Documentation/testing.rst). A file is a fuzzer, by libFuzzer;
# all of it is compiled by clang, with the address and undefined sanitizers. seeds/NAME.c writes inputs for the fuzzer NAME
# that take massif's own writers; seeds.sh runs these, and writes the others.

FUZZ_CC     ?= clang
FUZZERS_ALL := $(patsubst selftests/fuzz/%.c,%,$(wildcard selftests/fuzz/*.c))
FUZZ_FLAGS  := -Wno-tautological-constant-compare -O1 -g -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
FUZZ_O      := $(O)/fuzz/objects

$(FUZZ_O)/%.o: %.c
	@mkdir -p $(@D)
	$(call QUIET,CC)$(FUZZ_CC) $(MF_CFLAGS) $(FUZZ_FLAGS) -MMD -MP -c -o $@ $<

$(FUZZ_O)/msprint/%.o $(FUZZ_O)/selftests/fuzz/msprint.o: MF_CFLAGS += -Imsprint

# Reports of comparisons would take most of the time: the table of blocks has a million slots, nearly all of them empty.
$(FUZZ_O)/userland/model/blocks.o: FUZZ_FLAGS += -fno-sanitize-coverage=trace-cmp

FUZZ_LIB := $(LIBMASSIF_SRCS:%.c=$(FUZZ_O)/%.o)

$(FUZZERS_ALL:%=$(O)/fuzz/%): $(O)/fuzz/%: $(FUZZ_O)/selftests/fuzz/%.o
	$(call QUIET,CC)$(FUZZ_CC) -fsanitize=fuzzer,address,undefined -o $@ $^ $(LIBMASSIF_LIBS) -lz -lzstd

FUZZ_CTL := $(patsubst %.c,$(FUZZ_O)/%.o,$(filter-out userland/ctl/main.c userland/ctl/cmd/% userland/ctl/completion/% userland/ctl/live/%,$(CTL_SRCS)))
FUZZ_SESSION := $(addprefix $(FUZZ_O)/selftests/fuzz/session/,session.o damage.o)

$(addprefix $(O)/fuzz/,budgets caches elf names recording ring rules samples store): $(FUZZ_LIB)
$(addprefix $(O)/fuzz/,budgets recording): $(FUZZ_CTL)
$(O)/fuzz/recording: $(patsubst %.c,$(FUZZ_O)/%.o,$(wildcard selftests/fuzz/recording/*.c) selftests/lib/section_list.c)
$(O)/fuzz/samples: $(FUZZ_SESSION) $(FUZZ_O)/userland/ctl/live/reader.o
$(O)/fuzz/store: $(FUZZ_SESSION) $(FUZZ_CTL)
$(O)/fuzz/code: $(addprefix $(FUZZ_O)/,preload/patch/instruction.o userland/cfi/callsite.o userland/cfi/request_site.o \
	userland/elf/build_id.o)
$(O)/fuzz/msprint: $(patsubst %.c,$(FUZZ_O)/msprint/%.o,$(filter-out main.c,$(MSPRINT_SRCS)))

$(O)/fuzz/seeds/recording: $(patsubst %,$(FUZZ_O)/selftests/%.o,fuzz/seeds/recording lib/full_recording lib/section_list) $(FUZZ_LIB)
	@mkdir -p $(@D)
	$(call QUIET,CC)$(FUZZ_CC) -fsanitize=address,undefined -o $@ $^ $(LIBMASSIF_LIBS)

# The first inputs, in a directory for each fuzzer.
$(O)/fuzz/inputs/made: selftests/fuzz/seeds.sh selftests/fuzz/rules.S kmod/include/uapi/linux/massif.h $(O)/fuzz/seeds/recording
	@rm -rf $(@D)
	@mkdir -p $(@D)
	@MASSIF_BUILD=$(abspath $(O)) selftests/fuzz/seeds.sh $(@D)
	@touch $@

.PHONY: fuzz fuzzers

fuzzers: $(FUZZERS_ALL:%=$(O)/fuzz/%) $(O)/fuzz/inputs/made

# An hour each, two at a time on two processors.
#: fuzz             MINUTES=60 of each fuzzer of what reads files, rules, names, rings, sessions (FUZZERS='name...')
fuzz:
	@selftests/tools/packages.sh build test
	@$(SUBMAKE) fuzzers
	@MASSIF_BUILD=$(abspath $(O)) JOBS=$(JOBS) selftests/fuzz/fuzz.sh $$(($(or $(MINUTES),60) * 60)) $(FUZZERS)

#: fuzz-coverage    how much of each source file the inputs that fuzz has collected reach (FUZZERS='name...')
.PHONY: fuzz-coverage
fuzz-coverage:
	@selftests/tools/packages.sh build test coverage
	@$(SUBMAKE) O=$(O)/fuzz-coverage FUZZ_CC='$(FUZZ_CC) -fprofile-instr-generate -fcoverage-mapping' fuzzers
	@MASSIF_BUILD=$(abspath $(O)) selftests/fuzz/coverage.sh $(or $(FUZZERS),$(FUZZERS_ALL))

# Programs of random calls of the module, in the kernel for debugging: what is wrong ends it.
#: fuzz-kernel      MINUTES=60 of random calls of massif.ko in the debug kernel (KERNEL=6.12); its coverage by line (SEED=1)
.PHONY: fuzz-kernel
fuzz-kernel:
	@selftests/tools/packages.sh build guest test debug
	@$(SUBMAKE) programs $(O)/selftests/guest/kmod_fuzz
	@set -e; export MASSIF_BUILD=$(abspath $(O)); \
		kernel=$$(JOBS=$(JOBS) selftests/vm/debug-kernel.sh $(KERNEL)); \
		release=$$(selftests/vm/kernel.sh release "$$kernel"); \
		$(SUBMAKE) guest-module KERNELS="$$kernel"; \
		rm -f $(O)/guest/results/reached; \
		export MASSIF_KO=$$MASSIF_BUILD/kmod/$$release/massif.ko MASSIF_PATIENCE=8 \
			MASSIF_FUZZ_SECONDS=$$(($(or $(MINUTES),60) * 60)) MASSIF_FUZZ_SEED=$(or $(SEED),1); \
		selftests/vm/run.sh --kernel "$$kernel" --append panic_on_warn=1 --results $(O)/guest/results \
			--timeout $$((MASSIF_FUZZ_SECONDS + 900)) -- \
			sh -c 'MASSIF_FUZZ_REACHED=$$MASSIF_RESULTS/reached exec $(abspath $(O))/selftests/guest/kmod_fuzz'; \
		selftests/vm/coverage.sh $$MASSIF_KO $(O)/guest/results/reached
