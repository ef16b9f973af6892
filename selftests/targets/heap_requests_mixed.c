// SPDX-License-Identifier: GPL-2.0
// heap_requests with constants and code in the same segment.

#include "heap_requests.c"
