/*
 * fake_threads - the memory of a process that keeps thread-local variables as glibc does: its dynamic linker, its C library
 * and other files, and threads.  Offsets differ from all of glibc's.
 *
 * Ownership: the caller's storage.
 * Limits: FAKE_FILE_SYMBOLS symbols of a file, FAKE_NUMBERS files with variables, each with FAKE_BLOCK_BYTES of them.
 */
#ifndef TESTS_SUPPORT_FAKE_THREADS_H
#define TESTS_SUPPORT_FAKE_THREADS_H

#include <stddef.h>
#include <stdint.h>

#include "sampler/process/maps.h"
#include "tests/support/fake_memory.h"

enum {
    FAKE_FILE_SYMBOLS = 32,
    FAKE_NUMBERS = 8,
    FAKE_BLOCK_BYTES = 64,
    FAKE_BLOCK_DISTANCE = 512, /* of a block that has one */
    /* Offsets in a file. */
    FAKE_DYNAMIC = 0x200,
    FAKE_SYMBOLS = 0x400,
    FAKE_HASH = 0x2000,
    FAKE_CHAIN = FAKE_HASH + 16 + 8 + 4, /* behind a filter of one word and one bucket */
};

struct fake_file {
    remote_addr base;
    size_t count, name_bytes;
};

struct fake_threads {
    struct fake_memory memory;
    struct maps maps;
    struct fake_file linker, library;
    remote_addr list; /* of the files with variables */
};

void fake_threads_init(struct fake_threads *threads);
void fake_threads_deinit(struct fake_threads *threads);

/* An empty file, mapped at `base`; add it to the maps by hand.  type: STT_TLS or another one. */
void fake_file_map(struct fake_threads *threads, struct fake_file *file, remote_addr base);
void fake_file_add(struct fake_threads *threads, struct fake_file *file, const char *name,
                   unsigned type, uint64_t value, uint64_t bytes);

/* Gives the file a number, so that its variables exist; distance 0: blocks are anywhere.  Returns its description. */
remote_addr fake_threads_load(struct fake_threads *threads, const struct fake_file *file,
                              unsigned number, uint64_t generation, uint64_t distance);
void fake_threads_unload(struct fake_threads *threads, unsigned number);

/* A thread; returns what pthread_self does there. */
remote_addr fake_thread_start(struct fake_threads *threads, remote_addr addr);
/* The thread's vector then knows files of this generation, and its block of the number; returns the block. */
remote_addr fake_thread_block(struct fake_threads *threads, remote_addr thread, unsigned number,
                              uint64_t generation);
/* The place of the block of a file that has a distance. */
remote_addr fake_thread_near(remote_addr thread);
remote_addr fake_thread_tid(remote_addr thread);

#endif /* TESTS_SUPPORT_FAKE_THREADS_H */
