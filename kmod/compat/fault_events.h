/* SPDX-License-Identifier: GPL-2.0 */
/* Includes the header in which this kernel declares its tracepoints on page faults. */
#ifndef MASSIF_COMPAT_FAULT_EVENTS_H
#define MASSIF_COMPAT_FAULT_EVENTS_H

#ifdef MASSIF_HAVE_generic_fault_events
#include <trace/events/exceptions.h>
#else
#include <asm/trace/exceptions.h>
#endif

#endif
