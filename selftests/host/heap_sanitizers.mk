# SPDX-License-Identifier: GPL-2.0
# The same program by each compiler and sanitizer. clang need not be there; it wants a TMPDIR, or a writable /tmp.
SANITIZERS := $(addprefix $(O)/selftests/targets/sanitizers-,gcc-address gcc-address-static gcc-thread gcc-undefined \
	gcc-leak clang-address clang-address-shared clang-thread clang-leak) \
	$(O)/selftests/targets/sanitizers-memory
comma := ,
# Of clang's shared run-time library, which is in a directory of its own.
CLANG_RPATH = -Wl$(comma)-rpath$(comma)$(dir $(shell clang++ -print-file-name=libclang_rt.asan-x86_64.so))

$(O)/selftests/targets/sanitizers-gcc-%: selftests/targets/sanitizers.cc
	@mkdir -p $(@D)
	$(CXX) -g -O1 -fsanitize=$(subst -static, -static-libasan,$*) -o $@ $< -lpthread

$(O)/selftests/targets/sanitizers-clang-%: selftests/targets/sanitizers.cc
	@mkdir -p $(@D)
	$(if $(shell command -v clang++),TMPDIR=$(abspath $(@D)) clang++ -g -O1 \
		-fsanitize=$(subst -shared, -shared-libsan $(CLANG_RPATH),$*) -o $@ $< -lpthread,@:)

# It needs a C++ library that was compiled so, too, and none is packaged: a program in C.
$(O)/selftests/targets/sanitizers-memory: selftests/targets/heap_example.c
	@mkdir -p $(@D)
	$(if $(shell command -v clang),TMPDIR=$(abspath $(@D)) clang -g -O1 -fsanitize=memory -o $@ $<,@:)

$(O)/selftests/host/heap_sanitizers: $(O)/selftests/lib/ctl_run.o | $(SANITIZERS)
