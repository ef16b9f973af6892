# SPDX-License-Identifier: GPL-2.0
CFLAGS-own_static_pie := -O1 -static-pie -fno-builtin
