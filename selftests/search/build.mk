# SPDX-License-Identifier: GPL-2.0
# The search for what massif does to programs: check-programs and check-hostile (Documentation/testing.rst).

SEARCH_TOOLS := $(O)/selftests/search/contain $(O)/selftests/search/hostile_make

$(O)/selftests/search/contain: $(O)/selftests/search/contain.o $(O)/selftests/search/end_state.o
	$(call QUIET,CC)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^

$(O)/selftests/search/hostile_make: $(O)/selftests/search/hostile/make.o
	$(call QUIET,CC)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^

tests: $(SEARCH_TOOLS)

.PHONY: check-alike check-programs check-hostile

#: check-alike      one command alone and under massif: COMMAND='...' (testing.rst)
check-alike: programs $(SEARCH_TOOLS)
	@MASSIF_BUILD=$(abspath $(O)) selftests/search/alike.sh -l -s -k '$(COMMAND)'

# Hours, and gigabytes of packages.
#: check-programs   Debian programs alone and under massif, installing them (PROGRAMS='pattern...')
check-programs:
	@selftests/tools/packages.sh build search
	@$(SUBMAKE) programs $(SEARCH_TOOLS)
	@MASSIF_BUILD=$(abspath $(O)) selftests/search/check-programs.sh $(PROGRAMS)

#: check-hostile    N=500 random hostile programs alone and under massif (SEED=, FIRST=)
check-hostile:
	@selftests/tools/packages.sh build search
	@$(SUBMAKE) programs $(SEARCH_TOOLS)
	@MASSIF_BUILD=$(abspath $(O)) selftests/search/check-hostile.sh -n $(or $(N),500) \
		-s $(or $(SEED),$$(date +%s)) -f $(or $(FIRST),0)
