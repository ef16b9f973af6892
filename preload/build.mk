# SPDX-License-Identifier: GPL-2.0
# The preload shim. Where libgcc's unwinder is needed, it is linked in and hidden: the program keeps its own.

PRELOAD_SRCS := $(wildcard preload/*/*.c) \
	userland/elf/build_id.c userland/base/pattern.c \
	userland/model/store.c userland/model/model.c userland/model/trie.c \
	userland/model/tree_version.c userland/model/objects.c userland/model/blocks.c \
	userland/model/heap.c userland/model/filter_client.c \
	userland/model/tally.c userland/model/tolerance.c userland/model/details.c userland/model/ledger.c userland/model/stacks.c \
	userland/model/thread_table.c \
	userland/model/thread_totals.c \
	userland/cfi/callsite.c userland/cfi/request_site.c \
	userland/cfi/dwarf.c userland/cfi/cie.c userland/cfi/description.c userland/cfi/program.c userland/cfi/rows.c \
	userland/cfi/expression.c userland/cfi/frame.c userland/cfi/rowfile.c
PRELOAD_OBJS := $(PRELOAD_SRCS:%.c=$(O)/pic/%.o)

# What the shim cannot do without is in SHIM_CFLAGS: a CFLAGS on make's command line would replace what is added
# to that variable.
#
# The program's floating-point and vector registers, their flags and their modes are not the shim's: it has
# only integers, and moves memory with general registers.
$(PRELOAD_OBJS): SHIM_CFLAGS += -mgeneral-regs-only
# Whatever CFLAGS say, no checks that call the C library: distributions compile with these.
$(PRELOAD_OBJS): SHIM_CFLAGS += -fno-stack-protector -U_FORTIFY_SOURCE
# Without them gcc clears and copies small structures by string instructions, which take long to begin.
INLINE_UP_TO_256 := unrolled_loop:256:noalign,libcall:-1:noalign
$(PRELOAD_OBJS): SHIM_CFLAGS += $(if $(findstring clang,$(CC)),,-mmemset-strategy=$(INLINE_UP_TO_256) \
	-mmemcpy-strategy=$(INLINE_UP_TO_256))

# C++ exceptions thrown by the library's operator new pass through ours.
$(O)/pic/preload/event/operators.o: SHIM_CFLAGS += -fexceptions
# The names of the entry points are the C library's; calls between them must stay calls.
$(O)/pic/preload/event/allocator.o $(O)/pic/preload/event/operators.o $(O)/pic/preload/patch/hook.o: SHIM_CFLAGS += -fno-builtin
# They are what the compiler would have them call.
$(O)/pic/preload/core/freestanding.o: SHIM_CFLAGS += -fno-builtin -fno-tree-loop-distribute-patterns
# They know their caller's registers by their own frame.
$(O)/pic/preload/event/allocator.o $(O)/pic/preload/event/operators.o $(O)/pic/preload/patch/client.o \
	$(O)/pic/preload/stack/verify.o: SHIM_CFLAGS += -fno-omit-frame-pointer
# Counters that were written one by one are not to be read in pairs: that waits for the writes.
$(O)/pic/preload/event/exclusive.o $(O)/pic/preload/event/slowpath.o $(O)/pic/preload/event/fastpath.o: \
	SHIM_CFLAGS += -fno-tree-slp-vectorize

# The shim's own calls, which bare.c makes.
PRELOAD_BARE := close fcntl fstat ftruncate getcwd geteuid getpid getrlimit getuid madvise memfd_create \
	mmap mprotect munmap pread readlink syscall write

# Its constructor comes before all others, so that what they do is seen. Of the compiler's start files it has only
# the last one, which ends .eh_frame: the others call __gmon_start__ and more, if the program defines it. No call
# leaves it by a symbol: see libc.h and selftests/host/preload_symbols.c.
$(O)/libmassif-preload.so: $(PRELOAD_OBJS)
	$(call QUIET,LD)$(CC) $(CFLAGS) $(LDFLAGS) -shared -nostartfiles -Wl,-soname,libmassif-preload.so -Wl,-z,now -Wl,-z,initfirst -Wl,-z,defs -Wl,-Bsymbolic-functions \
		-Wl,--exclude-libs,ALL $(PRELOAD_BARE:%=-Wl,--wrap=%) -o $@ $^ -static-libgcc -lgcc_eh \
		$(shell $(CC) -print-file-name=crtendS.o)

ALL += $(O)/libmassif-preload.so
INSTALL_INCLUDE += preload/massif.h
INSTALL_PC      += preload/massif.pc.in
