/*
 * fake_kernel - an engine.h whose records a test makes.
 *
 * It replaces sampler/kernel/engine.c.  kernel_drain gives out what the test has put, after the same
 * check as the engine's.
 *
 * Ownership: kernel_open makes, kernel_close frees.
 */
#ifndef TESTS_SUPPORT_FAKE_KERNEL_H
#define TESTS_SUPPORT_FAKE_KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct kernel;
struct kernel_counts;
struct kernel_pages;
struct kernel_record;

/* The next record of the ring buffer: any bytes. */
void fake_kernel_put_bytes(struct kernel *kernel, const void *data, size_t bytes);
/* Puts a record of structures, and sets record->bytes to those of the spans. */
void fake_kernel_put(struct kernel *kernel, struct kernel_record *record, const void *spans,
                     size_t bytes);
/* Sets the counts of kernel_count besides `damaged`. */
void fake_kernel_set_counts(struct kernel *kernel, const struct kernel_counts *counts);
/* The threads that the engine was given and that were not removed. */
size_t fake_kernel_threads(const struct kernel *kernel);
/* How often a process was described to the engine. */
size_t fake_kernel_descriptions(const struct kernel *kernel);
/* How often kernel_forget was called. */
size_t fake_kernel_forgets(const struct kernel *kernel);
/* The next kernel_wait returns true. */
void fake_kernel_call(struct kernel *kernel);
/* Sets the result of kernel_is_filling. */
void fake_kernel_set_filling(struct kernel *kernel, bool is_filling);
/* Sets the result of kernel_left_ns for every thread. */
void fake_kernel_set_left_ns(struct kernel *kernel, uint64_t left_ns);
/* Since when it only lacks a processor, if it is away; 0: it waits. */
void fake_kernel_set_woken_ns(struct kernel *kernel, uint64_t woken_ns);
/* kernel_drain takes so many records at most; 0: all. */
void fake_kernel_set_most(struct kernel *kernel, size_t records);
/* Every thread has lost a record, of so many instants and of an absence so long. */
void fake_kernel_lose(struct kernel *kernel, uint64_t instants, uint64_t away_ns);
/* Records of memory are lost that stood for so many pages. */
void fake_kernel_lose_pages(struct kernel *kernel, struct kernel_pages pages);
/* The process has given so many pages back, whatever records say. */
void fake_kernel_return_pages(struct kernel *kernel, uint64_t pages);

#endif /* TESTS_SUPPORT_FAKE_KERNEL_H */
