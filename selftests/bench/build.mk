# SPDX-License-Identifier: GPL-2.0
# What heap mode costs: measurements, not tests. Inputs and results are in $(O)/bench.

BENCH_C  := $(addprefix $(O)/selftests/bench/,measure deep mt tree micro)
BENCH_CC := $(addprefix $(O)/selftests/bench/,exc churn)

$(BENCH_C): $(O)/%: %.c
	@mkdir -p $(@D)
	$(call QUIET,CC)$(CC) -std=gnu11 -Wall -D_GNU_SOURCE -O2 -g -MMD -MP -MF $@.d -MT $@ -o $@ $< -lpthread

$(BENCH_CC): $(O)/%: %.cc
	@mkdir -p $(@D)
	$(call QUIET,CXX)$(CXX) -Wall -O2 -g -MMD -MP -MF $@.d -MT $@ -o $@ $<

BENCH_NAMES := $(O)/selftests/bench/names

$(BENCH_NAMES): selftests/bench/names.sh selftests/bench/names.cc
	@mkdir -p $(@D)
	CC='$(CC)' CXX='$(CXX)' selftests/bench/names.sh $@

.PHONY: bench bench-micro bench-watch bench-rss

#: bench            what heap mode costs, beside Valgrind and heaptrack (ROWS=, TOOLS=, PAIRS=5)
bench:
	@selftests/tools/packages.sh build bench
	@$(SUBMAKE) programs $(BENCH_C) $(BENCH_CC) $(BENCH_NAMES)
	@MASSIF_BUILD=$(abspath $(O)) selftests/bench/heap.py --rows '$(ROWS)' \
		--tools '$(or $(TOOLS),massif valgrind heaptrack)' --pairs $(or $(PAIRS),5)

# Not a measurement, but it needs the same programs.
#: check-exact      counts beside those of memcheck, DHAT and heaptrack, for 23 programs (PROGRAMS='sort ...'; four minutes)
.PHONY: check-exact
check-exact:
	@selftests/tools/packages.sh build bench
	@$(SUBMAKE) programs $(BENCH_C) $(BENCH_CC)
	@MASSIF_BUILD=$(abspath $(O)) selftests/bench/exact.py $(PROGRAMS)

#: check-rss        the resident set of ten programs as --rss finds it, beside the kernel's count, 1,000 times (a minute)
.PHONY: check-rss
check-rss:
	@selftests/tools/packages.sh build test
	@$(SUBMAKE) programs tests
	@TESTS=host/rss_equal MASSIF_RSS_SAMPLES=1000 OUTPUT=yes selftests/tools/run-tests.sh

#: check-rss-kernel  the same with massif.ko in the guest, 500 times on each of two kernels (KERNELS=)
.PHONY: check-rss-kernel
check-rss-kernel: KERNELS = 6.1 6.12
check-rss-kernel:
	@selftests/tools/packages.sh build guest test
	@$(SUBMAKE) programs tests guest-module KERNELS='$(KERNELS)'
	@MASSIF_BUILD=$(abspath $(O)) MASSIF_LIMIT=7200 MASSIF_RSS_SAMPLES=500 KERNELS='$(KERNELS)' EVERYWHERE=yes \
		TESTS=guest/rss_counted OUTPUT=yes selftests/tools/run-tests.sh

#: bench-micro      what it adds to one pair of malloc and free, and what threads gain (PAIRS=7)
bench-micro:
	@selftests/tools/packages.sh build
	@$(SUBMAKE) programs $(O)/selftests/bench/micro
	@MASSIF_BUILD=$(abspath $(O)) selftests/bench/micro.py --pairs $(or $(PAIRS),7)

#: bench-watch      what massif-ctl top takes of a processor, and of the program that it watches (ROWS=, PAIRS=9, SECONDS=5)
bench-watch:
	@selftests/tools/packages.sh build bench
	@$(SUBMAKE) programs $(BENCH_C) $(BENCH_CC)
	@MASSIF_BUILD=$(abspath $(O)) selftests/bench/watch.py --rows '$(if $(ROWS),$(ROWS),churn,cc1,tree)' --pairs $(or $(PAIRS),9) \
		--seconds $(or $(SECONDS),5)

#: bench-rss        what --rss adds to massif-ctl's own CPU time (ROWS=, PAIRS=10)
bench-rss:
	@selftests/tools/packages.sh build bench
	@$(SUBMAKE) programs $(BENCH_C) $(BENCH_CC) $(BENCH_NAMES)
	@MASSIF_BUILD=$(abspath $(O)) selftests/bench/rss.py --rows '$(ROWS)' --pairs $(or $(PAIRS),10)
