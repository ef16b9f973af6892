# SPDX-License-Identifier: GPL-2.0
# Flags and libraries of the target programs, where they differ from the default: "-g -O1" and no library.

# The compiler must not change the calls of allocation functions. No red zone, because assembly pushes flags; functions
# are bound when they are first called.
CFLAGS-attach := -g -O1 -D_GNU_SOURCE -fno-builtin -mno-red-zone
LDLIBS-attach := -lpthread -ldl -Wl,-z,lazy
CFLAGS-attach_fixed := $(CFLAGS-attach) -fno-pie -no-pie
LDLIBS-attach_fixed := -lpthread -ldl
# -z now: lazy binding would need more stack than there is.
CFLAGS-attach_killed := -g -O1 -D_GNU_SOURCE -fno-builtin
LDLIBS-attach_killed := -Wl,-z,now -lpthread
# The same program, as libjemalloc.so.2 itself, binds functions when they are first called; the last is linked at a fixed
# address and has a pointer to malloc.
ATTACH_JEMALLOC := $(addprefix $(O)/selftests/targets/attach_jemalloc,_lazy _fixed)
CFLAGS-attach_jemalloc_fixed := -fno-pie -no-pie

$(ATTACH_JEMALLOC): $(O)/selftests/targets/attach_jemalloc_%: selftests/targets/attach.c
	@mkdir -p $(@D)
	$(call QUIET,CC)$(CC) $(CFLAGS-attach) $(CFLAGS-$(@F)) -o $@ $< -Wl,--no-as-needed -l:libjemalloc.so.2 \
		-Wl,-z,lazy -lpthread -ldl

tests: $(ATTACH_JEMALLOC)
CFLAGS-attach_own := -g -O1 -D_GNU_SOURCE -fno-builtin
CFLAGS-attach_pointers := -g -O1 -D_GNU_SOURCE
CFLAGS-churn := -g -O1
LDLIBS-churn := -lpthread
LDLIBS-ctl_orphan := -lpthread
CFLAGS-ctl_live_deep := -g -O0 -std=c++17
CFLAGS-attach_fake := -O1 -static
CFLAGS-ctl_static := -O1 -static
CFLAGS-ctl_static_waits := -O1 -static
# The compiler must not change the calls of allocation functions.
CFLAGS-diff_calls := -g -O1 -fno-builtin -D_GNU_SOURCE -Wno-alloc-size-larger-than -Wno-use-after-free
CFLAGS-diff_ends := -g -O0 -D_GNU_SOURCE
LDLIBS-diff_ends := -lpthread
CFLAGS-diff_frames := -g -O2 -fno-builtin -D_GNU_SOURCE
CFLAGS-diff_frames_bare := -O2 -fno-builtin -D_GNU_SOURCE
CFLAGS-diff_frames_old := -gdwarf-4 -gz -O3 -fno-builtin -D_GNU_SOURCE -no-pie
CFLAGS-diff_ignored := -g -O1 -fno-builtin -fno-optimize-sibling-calls
CFLAGS-diff_library := -g -O0 -D_GNU_SOURCE
LDLIBS-diff_library := -lpthread
CFLAGS-diff_new := -g -O1 -std=c++17 -fno-builtin
CFLAGS-diff_new_fast := -g -O2 -std=c++17
# Prevents tail calls, so that every function has a frame.
CFLAGS-diff_places := -g -O1 -fno-builtin -fno-optimize-sibling-calls
CFLAGS-diff_requests := -g -O1 -D_GNU_SOURCE -Wno-use-after-free
LDLIBS-diff_requests := -lpthread
# The compiler must not change the calls of allocation functions.
CFLAGS-diff_shapes := -g -O0 -fno-builtin
CFLAGS-diff_stripped := -O2 -s
LDLIBS-ends := -lpthread
CFLAGS-heap_ask := -g -O1 -Wl,--build-id=0x6d61737369662061736b
CFLAGS-heap_ask_nothing := $(CFLAGS-heap_ask)
CFLAGS-heap_borrow := -g -O1 -D_GNU_SOURCE -Iuserland
# The compiler must not change the calls of operators.
CFLAGS-heap_calls := -g -O0 -std=c++17 -fno-builtin
CFLAGS-heap_children := -g -O1 -D_GNU_SOURCE
LDLIBS-heap_children := -lpthread
CFLAGS-heap_counted := -g -O1 -D_GNU_SOURCE
LDLIBS-heap_counted := -lpthread
# Without a red zone, which the assembly that pushes flags would overwrite.
CFLAGS-heap_deferred := -g -O1 -mno-red-zone
CFLAGS-heap_depth := -g -O1 -D_GNU_SOURCE -fno-builtin -Wl,-z,now
LDLIBS-heap_depth := -lpthread
CFLAGS-heap_far_stack := -g -O1 -fno-optimize-sibling-calls -fno-ipa-cp
CFLAGS-heap_guess := -g -O1 -D_GNU_SOURCE
LDLIBS-heap_guess := -lpthread
LDLIBS-heap_load_waits := -lpthread -ldl
CFLAGS-heap_limits := -g -O1 -D_GNU_SOURCE
LDLIBS-heap_limits := -lpthread
CFLAGS-heap_links := -g -O1 -D_GNU_SOURCE -fomit-frame-pointer
CFLAGS-heap_load_many := -g -O1 -D_GNU_SOURCE
# With a frame pointer, which must be the same at each call in main.
CFLAGS-heap_made_code := -g -O1 -D_GNU_SOURCE -fno-builtin -fno-omit-frame-pointer
# With a frame pointer, by which the caller is found, since the assembly changes the stack pointer.
CFLAGS-heap_misaligned := -g -O1 -fno-builtin -fno-omit-frame-pointer
CFLAGS-heap_no_id := -g -O1 -Wl,--build-id=none
CFLAGS-heap_no_index := -g -O2 -fomit-frame-pointer -D_GNU_SOURCE -Wl,--no-eh-frame-hdr
LDLIBS-heap_no_index := -lpthread
# The compiler must not change the calls of operators.
CFLAGS-heap_operators := -g -O0 -std=c++17 -fno-builtin -Wno-alloc-size-larger-than
CFLAGS-heap_own_calls := -g -O1 -D_GNU_SOURCE -fno-builtin
LDLIBS-heap_own_calls := -rdynamic -lpthread
# The compiler must not make assumptions about the result of malloc_usable_size.
CFLAGS-heap_real_sizes := -g -O1 -fno-builtin
LDLIBS-heap_replay := -lpthread
# heap_requests_mixed and libheap_requests have constants and code in one segment.
CFLAGS-heap_requests := -g -O1 -D_GNU_SOURCE -I.
LDLIBS-heap_requests := -lpthread
CFLAGS-heap_requests_mixed := $(CFLAGS-heap_requests) -Wl,-z,noseparate-code
LDLIBS-heap_requests_mixed := -lpthread
CFLAGS-libheap_requests := -g -O1 -D_GNU_SOURCE -Wl,-z,noseparate-code
# -z now: lazy binding would need 3 KiB of stack at the first call of each function.
LDLIBS-heap_small_stacks := -Wl,-z,now -lpthread
CFLAGS-heap_realtime := -g -O1 -D_GNU_SOURCE
LDLIBS-heap_realtime := -lpthread
CFLAGS-heap_environments := -g -O1 -D_GNU_SOURCE
LDLIBS-heap_environments := -Wl,-z,now -lpthread
CFLAGS-heap_space := -g -O1 -D_GNU_SOURCE
LDLIBS-heap_space := -ldl -pthread
# Needs the gold linker, which enlarges the stack for functions that call code without split stacks.
CFLAGS-heap_split_stack := -g -O0 -D_GNU_SOURCE -fsplit-stack -fcf-protection=none
LDLIBS-heap_split_stack := -fuse-ld=gold
LDLIBS-heap_storm := -lpthread
LDLIBS-heap_thread_names := -lpthread
LDLIBS-heap_threads := -lpthread
CFLAGS-heap_verify_where := -g -O1 -D_GNU_SOURCE
LDLIBS-heap_verify_where := -lpthread
LDLIBS-heap_weather := -lpthread -ldl
CFLAGS-heap_weather := -I. -g -O1 -fno-builtin -D_GNU_SOURCE
LDLIBS-heap_xtree := -lpthread
CFLAGS-libheap_no_index := -g -O2 -fomit-frame-pointer -Wl,--no-eh-frame-hdr
# Without start files and PLT, whose FDEs would come first, before all code.
CFLAGS-libheap_no_rules := -g -O1 -nostartfiles
CFLAGS-libown_bound := -g -O1 -fno-builtin -Wl,-Bsymbolic
CFLAGS-libown_chosen := -g -O1 -fno-builtin -Wl,-Bsymbolic
CFLAGS-libown_jumps := -g -O1 -fno-builtin
CFLAGS-libown_library := -g -O1 -fno-builtin
CFLAGS-libown_none := -g -O1 -fno-builtin
CFLAGS-libown_others := -g -O1 -fno-builtin
CFLAGS-libown_versions := -g -O1 -fno-builtin -Wl,--version-script=selftests/targets/libown_versions.map
CFLAGS-libpages_debug_frame := -g -O1 -fno-asynchronous-unwind-tables -fno-unwind-tables -fomit-frame-pointer
CFLAGS-libpages_compressed := $(CFLAGS-libpages_debug_frame) -gz=zlib
CFLAGS-libpages_no_table := -g0 -O1 -fomit-frame-pointer -Wl,--no-eh-frame-hdr
CFLAGS-own_deep := -g -O1 -fno-builtin -D_GNU_SOURCE
CFLAGS-own_direct := -g -O1 -std=c++17
CFLAGS-own_escapes := -g -O1 -fno-builtin
CFLAGS-own_ipa := -g -O2 -fno-builtin
CFLAGS-own_ipa_avx2 := -g -O3 -fno-builtin -mavx2 -mfma
CFLAGS-own_ipa_avx512 := -g -O3 -fno-builtin -mavx512f -mavx512vl -mavx512bw -mprefer-vector-width=512
CFLAGS-own_ipa_frames := -g -O2 -fno-builtin -fno-omit-frame-pointer -fcf-protection=full
CFLAGS-own_ipa_o3 := -g -O3 -fno-builtin -fno-pie -no-pie
CFLAGS-own_ipa_plain := -g -O0 -fno-builtin
CFLAGS-own_jemalloc := -g -O1 -fno-builtin
LDLIBS-own_jemalloc := -Wl,--no-as-needed -l:libjemalloc.so.2
CFLAGS-own_left := -g -O1 -fno-builtin
# linked_with(PROGRAM,LIBRARY): the program is linked with libLIBRARY.so, which lies beside it.
define linked_with
CFLAGS-$(1) := -g -O1 -fno-builtin
$$(O)/selftests/targets/$(1): $$(O)/selftests/targets/lib$(2).so
LDLIBS-$(1) := -L$$(O)/selftests/targets -l$(2) -Wl,-rpath,'$$$$ORIGIN'

endef
$(eval $(call linked_with,own_linked,own_library))
$(eval $(call linked_with,attach_waits,jemalloc_waits))
LDLIBS-attach_waits += -lpthread
CFLAGS-libjemalloc_waits := -g -O1 -fno-builtin
LDLIBS-libjemalloc_waits := -Wl,-soname,libjemalloc_waits.so
$(eval $(foreach way,bound chosen jumps others versions,$(call linked_with,own_linked_$(way),own_$(way))))
CFLAGS-own_malloc := -g -O1 -fno-builtin
CFLAGS-own_segment := -g -O1 -fno-builtin
CFLAGS-own_malloc_fast := -g -O2 -fno-builtin
CFLAGS-own_malloc_hidden := -g -O1 -fno-builtin
CFLAGS-own_malloc_next := -g -O1 -fno-builtin -D_GNU_SOURCE
CFLAGS-own_malloc_no_rules := -g -Os -fno-builtin -fomit-frame-pointer -fno-asynchronous-unwind-tables -Wl,--no-eh-frame-hdr
CFLAGS-own_malloc_plainest := -g -O0 -fno-builtin
CFLAGS-own_malloc_rdynamic := -g -O1 -fno-builtin -rdynamic
CFLAGS-own_malloc_stripped := -O2 -fno-builtin -s
CFLAGS-own_malloc_weak := -g -O1 -fno-builtin
LDLIBS-own_many := -ldl
CFLAGS-own_new := -g -O1 -std=c++17
CFLAGS-own_new_rdynamic := -g -O1 -std=c++17 -rdynamic
CFLAGS-own_odd := -g -O1 -fno-builtin
CFLAGS-own_plugin := -g -O1 -fno-builtin -D_GNU_SOURCE
LDLIBS-own_plugin := -Wl,--enable-new-dtags -Wl,-rpath,'$$ORIGIN'
CFLAGS-own_registers := -g -O1 -fno-builtin
CFLAGS-own_static_pie := -O1 -static-pie -fno-builtin
CFLAGS-own_tcmalloc := -g -O1 -fno-builtin
LDLIBS-own_tcmalloc := -Wl,--no-as-needed -l:libtcmalloc_minimal.so.4
CFLAGS-pages_calls := -g -O1 -D_GNU_SOURCE -fno-optimize-sibling-calls
# Without frame pointers, so that the stack through the library needs unwind rules.
LDLIBS-pages_hidden := -ldl
CFLAGS-pages_hidden := -D_GNU_SOURCE -g -O1 -fomit-frame-pointer
# Without frame pointers, so that unwinding needs the tables.
LDLIBS-pages_stacks := -lpthread -ldl
CFLAGS-pages_stacks := -g -O1 -fomit-frame-pointer -fno-ipa-icf
LDLIBS-pages_threads := -lpthread
# The compiler must not change the calls of allocation functions.
CFLAGS-random_calls := -g -O1 -fno-builtin -D_GNU_SOURCE
CFLAGS-random_classes := -std=gnu++20 -g -O1 -fno-builtin -fsized-deallocation
CFLAGS-random_inlined := -g -O2 -fno-builtin -D_GNU_SOURCE
CFLAGS-resident := -g -O1 -D_GNU_SOURCE -fno-omit-frame-pointer
LDLIBS-resident := -lpthread
LDLIBS-sanitizers := -lpthread
# Optimised, for inlined calls and clones; not PIE, for fixed addresses.
CFLAGS-symbols_names := -g -O2 -no-pie
LDLIBS-symbols_names := -lpthread
CFLAGS-torture := -g -O1 -D_GNU_SOURCE
LDLIBS-torture := -lpthread
# Needs no 32-bit C library or compiler runtime.
CFLAGS-torture_i386 := -m32 -O1 -g -nostdlib -static -ffreestanding -fno-pic -no-pie -fno-stack-protector -Wl,--build-id=none
CFLAGS-untouched_calls := -g -O1 -fno-builtin
LDLIBS-untouched_calls := -lpthread
CFLAGS-untouched_calls_bare := -g -O1 -fno-builtin -fno-omit-frame-pointer -Wl,--no-eh-frame-hdr
LDLIBS-untouched_calls_bare := -lpthread
CFLAGS-untouched_errno := -g -O1 -fno-builtin -D_GNU_SOURCE
LDLIBS-untouched_errno := -lpthread
CFLAGS-untouched_fp := -g -O1 -fno-builtin -D_GNU_SOURCE
LDLIBS-untouched_fp := -lm
CFLAGS-untouched_names := -g -O1 -fno-builtin -rdynamic
LDLIBS-untouched_names := -lpthread

# The same program built by each compiler with each sanitizer. clang is optional; it needs TMPDIR or a writable /tmp.
SANITIZERS := $(addprefix $(O)/selftests/targets/sanitizers-,gcc-address gcc-address-static gcc-thread gcc-undefined \
	gcc-leak clang-address clang-address-shared clang-thread clang-leak) \
	$(O)/selftests/targets/sanitizers-memory
comma := ,
# The directory of clang's shared run-time library.
CLANG_RPATH = -Wl$(comma)-rpath$(comma)$(dir $(shell clang++ -print-file-name=libclang_rt.asan-x86_64.so))

$(O)/selftests/targets/sanitizers-gcc-%: selftests/targets/sanitizers.cc
	@mkdir -p $(@D)
	$(call QUIET,CXX)$(CXX) -g -O1 -fsanitize=$(subst -static, -static-libasan,$*) -o $@ $< -lpthread

$(O)/selftests/targets/sanitizers-clang-%: selftests/targets/sanitizers.cc
	@mkdir -p $(@D)
	$(if $(shell command -v clang++),TMPDIR=$(abspath $(@D)) clang++ -g -O1 \
		-fsanitize=$(subst -shared, -shared-libsan $(CLANG_RPATH),$*) -o $@ $< -lpthread,@:)

# A C program, because C++ needs a library compiled with MemorySanitizer, too, and none is packaged.
$(O)/selftests/targets/sanitizers-memory: selftests/targets/heap_example.c
	@mkdir -p $(@D)
	$(if $(shell command -v clang),TMPDIR=$(abspath $(@D)) clang -g -O1 -fsanitize=memory -o $@ $<,@:)

tests: $(SANITIZERS)
CFLAGS-rss_touched := -g -O1 -D_GNU_SOURCE

LDLIBS-rss_shapes := -lpthread
CFLAGS-rss_shapes := -g -O1 -D_GNU_SOURCE
# The same program with other allocators.
RSS_SHAPES := $(addprefix $(O)/selftests/targets/rss_shapes_,jemalloc tcmalloc mimalloc)
LDLIBS-rss_shapes_jemalloc := -Wl,--no-as-needed -l:libjemalloc.so.2
LDLIBS-rss_shapes_tcmalloc := -Wl,--no-as-needed -l:libtcmalloc_minimal.so.4
LDLIBS-rss_shapes_mimalloc := -Wl,--no-as-needed -l:libmimalloc.so.2

$(RSS_SHAPES): $(O)/selftests/targets/rss_shapes_%: selftests/targets/rss_shapes.c
	@mkdir -p $(@D)
	$(call QUIET,CC)$(CC) -g -O1 -D_GNU_SOURCE -fno-builtin -o $@ $< $(LDLIBS-rss_shapes_$*) -lpthread

tests: $(RSS_SHAPES)
# What it writes is laid out as massif's own headers say.
CFLAGS-scribbler := -g -O1 -D_GNU_SOURCE -Iuserland
