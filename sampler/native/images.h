/*
 * images - the executable mappings of a process: ELF files, the vdso, and code without a file.
 *
 * An image keeps its id while the same part of the same file is mapped at the same addresses.  No id
 * is used twice, so what is remembered for an id never applies to other code.
 *
 * The list is read again when an address is in no image, and when it is IMAGES_MAX_AGE_NS old, because a
 * library may have taken the place of another one.  A process cannot cause more work by this than 1 /
 * IMAGES_COST_SHARE of the time.
 *
 * The ELF header of an image is read from the process's memory when images_examine is called: a file
 * may be deleted, replaced, or lie in another namespace.
 *
 * Ownership: the caller's storage; images_deinit frees it.  A struct image is good until the next
 * images_refresh or images_update.
 * Threads: one at a time.
 * Limits: IMAGES_MAX images; the mappings above them are ignored.
 * Units: nanoseconds of CLOCK_MONOTONIC.
 */
#ifndef SAMPLER_NATIVE_IMAGES_H
#define SAMPLER_NATIVE_IMAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/base/err.h"
#include "sampler/native/blocks.h"
#include "sampler/native/cfi.h"
#include "sampler/process/maps.h"

#define IMAGES_MIN_INTERVAL_NS UINT64_C(50000000)
#define IMAGES_MAX_AGE_NS      UINT64_C(2000000000)

enum { IMAGES_MAX = 1 << 12, IMAGES_COST_SHARE = 100 };

struct image {
    uint32_t id; /* > 0 */
    remote_addr start, end;
    uint64_t offset; /* in the file */
    uint64_t inode;  /* 0: no file, so also the vdso */
    uint32_t device_major, device_minor;
    char *path; /* as in struct mapping */
    /* All mappings of the file around this one; low is where its ELF header is, if it has one. */
    remote_addr low, high;
    enum {
        IMAGE_NEW,       /* not examined */
        IMAGE_ELF,       /* load_bias is known */
        IMAGE_ANONYMOUS, /* generated code, in memory without a file */
        IMAGE_OTHER,     /* no ELF file, or one that makes no sense */
    } state;
    uint64_t load_bias; /* what to add to an address as linked */
    bool has_tables;
    struct cfi_tables tables;
};

struct images {
    int pid;             /* 0: only images_update sets the list */
    struct image *items; /* by address */
    size_t count;
    uint32_t last_id;
    uint64_t read_ns, next_ns; /* when the list was read, and when it may be read again */
    uint64_t refreshes;
};

void images_init(struct images *images, int pid);
void images_deinit(struct images *images);

/* Takes a list of mappings.  *has_changed_out: an image is gone or new. */
MUST_CHECK enum err_code images_update(struct images *images, const struct maps *maps,
                                       bool *has_changed_out);

/* Reads the list of mappings, if it is time; is_wanted: the list seems to be out of date.
 * ERR_OK also: it is not time.  On failure the images stay as they were. */
MUST_CHECK enum err_code images_refresh(struct images *images, uint64_t now_ns, bool is_wanted,
                                        bool *has_changed_out);

/* NULL: no image holds addr. */
struct image *images_find(const struct images *images, remote_addr addr);

/* Leaves state and tables as the process's memory has them; does nothing the second time.
 * An error other than ERR_FAULT and ERR_CORRUPT leaves the image new. */
void images_examine(struct image *image, struct blocks *blocks);

size_t images_bytes(const struct images *images);

#endif /* SAMPLER_NATIVE_IMAGES_H */
