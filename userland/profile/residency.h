/* SPDX-License-Identifier: GPL-2.0 */
/* What the resident pages of a process hold: samples of the whole, and for some samples the sites that keep pages. */
#ifndef MASSIF_PROFILE_RESIDENCY_H
#define MASSIF_PROFILE_RESIDENCY_H

#include <stddef.h>
#include <stdint.h>

/* A part of the resident set. Each resident byte is in one band. */
enum mf_band {
	MF_BAND_LIVE,	    /* live blocks, as requested */
	MF_BAND_OVERHEAD,   /* what the allocator needs for them: headers, rounding */
	MF_BAND_FREE_PARTS, /* free memory of the allocator in pages that hold live blocks */
	MF_BAND_FREE_PAGES, /* pages of the allocator without a live block */
	MF_BAND_ANONYMOUS,  /* the program's own anonymous mappings */
	MF_BAND_STACKS,	    /* stacks of threads */
	MF_BAND_FILES,	    /* mapped files, and private copies of their pages: code, data */
	MF_BAND_SHARED,	    /* shared memory */
	MF_BAND_MASSIF,	    /* massif's own memory in the process */
	MF_BAND_OTHER,	    /* mappings of the kernel: [vdso] and the like */
	MF_BANDS,
};

/* Names of the bands: for machines, and for people. */
struct mf_band_name {
	const char *key, *words;
};

extern const struct mf_band_name mf_band_names[MF_BANDS];

/* Why a sample was taken. Bits; a sample can have several reasons. */
#define MF_SAMPLE_PERIODIC (1u << 0) /* the time had come */
#define MF_SAMPLE_END	   (1u << 1) /* the program was ending, and its memory was still there */
#define MF_SAMPLE_DETAILED (1u << 2) /* the profile has just got a detailed snapshot */
#define MF_SAMPLE_PEAK	   (1u << 3) /* the profile has just got a snapshot of a peak */
#define MF_SAMPLE_REQUEST  (1u << 4) /* massif-ctl snapshot, or the key s in massif-ctl top */
#define MF_SAMPLE_REASONS  (1u << 5) /* the first bit without a meaning */

struct mf_residency_sample {
	uint64_t time_ms; /* since the first event */
	uint64_t took_us; /* time in which the sample was taken; the process went on meanwhile */
	uint64_t bands[MF_BANDS]; /* in bytes */
	uint64_t mapped;    /* bytes of all mappings that can be accessed */
	uint64_t swapped;   /* bytes that are swapped out */
	uint64_t pss;	    /* the resident bytes, each page divided by the number of processes that have it mapped */
	uint64_t huge;	    /* resident bytes in huge pages */
	uint64_t untouched; /* bytes of live blocks on pages that have never been touched, or were given back */
	uint64_t heap_swapped; /* bytes of live blocks on pages that are swapped out */

	/* The following are 0 in recordings of massif 0.1's first format (massif.rec(5)). */
	int64_t time;	    /* in the profile's unit of time, as in its snapshots */
	uint32_t reasons;   /* MF_SAMPLE_... */
	uint64_t shared;    /* resident bytes that other processes have mapped, too */
	uint64_t shared_heap; /* the same in mappings that may hold blocks: shared with a parent or child since fork */
	/*
	 * Resident bytes that hold nothing but zeros and are in huge pages: nearly all of them are resident only because of
	 * the huge page.
	 */
	uint64_t huge_zeros;
};

/* Resident pages of the allocator by how much of them is used by live blocks, with their overhead. */
enum mf_filling {
	MF_FILLING_NONE, /* no live block */
	MF_FILLING_10,	 /* less than 10 % */
	MF_FILLING_25,	 /* less than 25 % */
	MF_FILLING_50,	 /* less than 50 % */
	MF_FILLING_MORE,
	MF_FILLINGS,
};

/* The live blocks of one context at the time of a sample. All but the number are bytes. */
struct mf_residency_site {
	uint32_t context;
	uint64_t live;	    /* all its live blocks, as requested */
	uint64_t untouched; /* those parts of them that are on pages never touched */
	/*
	 * Free memory in the pages that hold its blocks. If several contexts have blocks in a page, each has a share of the
	 * page's free memory that is in proportion to its live bytes there. The sum over all contexts is MF_BAND_FREE_PARTS.
	 */
	uint64_t pinned;
	/* The following are 0 in recordings of massif 0.1's first format. */
	uint64_t shared;     /* those parts of its live blocks that are on resident pages which other processes have, too */
	uint64_t huge;	     /* those in huge pages */
	uint64_t huge_zeros; /* those in pages of zeros in huge pages */
};

/*
 * A mapping, or several with the same name: a file, shared memory, a stack, an anonymous mapping. The resident bytes of all
 * areas of a band add up to the band; all areas of the allocator have the band MF_BAND_LIVE, and add up to MF_BAND_LIVE,
 * MF_BAND_OVERHEAD, MF_BAND_FREE_PARTS and MF_BAND_FREE_PAGES.
 */
struct mf_residency_area {
	enum mf_band band;
	char *name;	  /* as in /proc/PID/smaps; for stacks "thread TID (name)" (thread_stacks.h); "" if there is none */
	uint64_t start;	  /* address; 0 if the area has several mappings */
	uint64_t n;	  /* mappings; 0: the rest of this band, which consists of small ones */
	uint64_t mapped;  /* bytes, like all that follow */
	uint64_t rss, pss, swapped;
	uint64_t copied;  /* resident pages of a file's private mapping that were written to */
	uint64_t huge;	  /* resident in huge pages */
	/* The following are 0 in recordings of earlier versions, which did not count them. */
	uint64_t areas;	  /* 1; if this is the rest of a band, how many areas with resident bytes it consists of */
	uint64_t threads; /* if these are stacks, of how many threads */
};

/* Resident bytes of a band that the same code has touched first. */
struct mf_residency_touch {
	enum mf_band band; /* MF_BAND_LIVE stands for all bands of the allocator */
	uint32_t context;  /* in the profile of first touches (first_touches.h) */
	uint64_t bytes;
};

/* A sample with what its pages hold. */
struct mf_residency_detail {
	struct mf_residency_sample sample;
	int64_t of; /* in the profile's unit of time: when the snapshot was taken that was the reason for the sample */
	uint64_t fillings[MF_FILLINGS]; /* bytes of pages */
	struct mf_residency_site *sites; /* the contexts with live blocks, in ascending order of their numbers */
	size_t n_sites;
	struct mf_residency_area *areas; /* in the order of bands, the largest first; none in the first format */
	size_t n_areas;
	/* If massif.ko has recorded who touched the pages; in ascending order of bands and contexts. */
	struct mf_residency_touch *touches;
	size_t n_touches;
	uint64_t counted; /* the resident bytes that massif.ko has counted; 0: it has not */
};

struct mf_residency {
	struct mf_residency_sample *samples; /* in the order of time */
	size_t n_samples;
	struct mf_residency_detail peak; /* the sample with the largest resident set */
	struct mf_residency_detail last; /* the last one */
	/* samples at the profile's snapshots and on request, in the order of time; none in the first format */
	struct mf_residency_detail *moments;
	size_t n_moments;
	uint64_t peak_rss; /* the largest resident set according to the kernel (VmHWM), in bytes; 0: not known */
};

/* Returns the resident set in bytes: the sum of all bands. */
uint64_t mf_residency_rss(const struct mf_residency_sample *sample);

/* Replaces @to by a copy of @from. Returns 0 or -ENOMEM; then @to is as before. */
int mf_residency_detail_copy(struct mf_residency_detail *to, const struct mf_residency_detail *from);

void mf_residency_detail_deinit(struct mf_residency_detail *detail);
void mf_residency_deinit(struct mf_residency *residency);

#endif
