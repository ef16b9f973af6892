# SPDX-License-Identifier: GPL-2.0
# Some compilations side by side.
FILES := $(foreach i,1 2 3 4 5 6 7 8,$(O)/work$(i).o)
all: $(FILES)
	@echo $(notdir $^)
$(O)/work%.o: work.c
	@gcc -O1 -DNUMBER=$* -c -o $@ $<
