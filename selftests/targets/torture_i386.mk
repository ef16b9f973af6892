# SPDX-License-Identifier: GPL-2.0
# Nothing of a 32-bit C library or compiler runtime is needed for it.
CFLAGS-torture_i386 := -m32 -O1 -g -nostdlib -static -ffreestanding -fno-pic -no-pie -fno-stack-protector -Wl,--build-id=none
