/*
 * profile - the data of a session: interned tables, a call tree, and windows of cells.
 *
 * Strings, libraries, functions, frames, nodes, threads and processes are append-only tables whose
 * rows never change or move; parents come before children.  Samples are counted in cells
 * (thread, state bits, node) -> count of the open window.  profile_seal closes the open window
 * and publishes it together with the sizes of all tables: a generation.  So what was added between
 * two generations is the rows between the two sizes and the cells of the windows between them.
 *
 * A function is Python code, native code of a library, or a mark such as <GC> (file "~").
 *
 * Spots, if recorded, are exact places in functions: column and instruction.  A spot refers to the
 * spot of its caller, so only the innermost spot of a stack is counted: (node, spot) -> count, for
 * all threads and states together.
 *
 * A series counts every 20 ms the parts that samples are in, without places (series.h).  A log has the memory of
 * processes along time (memory_log.h).
 *
 * All of this is time.  Other measures (measure.h) have windows of their own over the same tables, whose cells are
 * counted by profile_add_measured and closed by profile_seal_measured.
 *
 * Old windows are merged into longer ones (history.h), and more of them if that is needed to stay
 * within the memory of the profile.  A merged window has the generations of all its parts.
 *
 * Ownership: the profile owns everything; a snapshot holds references to sealed windows.
 * Threads: one writer (the sampling thread) calls the functions of the first group without a
 * lock; any thread may take snapshots.  Only sealing and copying a snapshot hold the lock.
 * Limits: PROFILE_MAX_* rows, then ERR_LIMIT; the same for libraries, functions, frames, nodes and
 * spots once the tables have taken their part of the memory.  The caller then counts the sample at the
 * nearest parent that exists, and in quality.overflowed.  Counts of a cell stop at UINT32_MAX.
 * Errors: ERR_INVALID for an id that is not in its table; a call that fails changes nothing.
 * Units: times are nanoseconds since the profile was created.
 */
#ifndef SAMPLER_PROFILE_PROFILE_H
#define SAMPLER_PROFILE_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/base/err.h"
#include "sampler/base/strtab.h"
#include "sampler/profile/part.h"
#include "sampler/profile/profile_rows.h"
#include "sampler/profile/quality.h"
#include "sampler/profile/state.h"

struct buffer;
struct memory_log;
struct memory_step;
struct memory_use;
struct packages;
struct profile;
struct run;
struct series;

MUST_CHECK enum err_code profile_create(struct profile **out, struct err *err);
/* All snapshots must have been released. */
void profile_destroy(struct profile *profile);

/* The writer's part. */

struct strtab *profile_strings(struct profile *profile);
struct quality *profile_quality(struct profile *profile);
MUST_CHECK enum err_code profile_library(struct profile *profile,
                                         const struct profile_library *library,
                                         library_id *id_out, struct err *err);
/* A function without a library. */
MUST_CHECK enum err_code profile_function(struct profile *profile, str_id name, str_id file,
                                          int32_t first_line, function_id *id_out,
                                          struct err *err);
/* Ignores the origin, the entry and the cause of the row. */
MUST_CHECK enum err_code profile_function_row(struct profile *profile,
                                              const struct profile_function *row,
                                              function_id *id_out, struct err *err);
/* `function` must exist.  Readers see a change at once. */
profile_origin profile_origin_of(const struct profile *profile, function_id function);
void profile_set_origin(struct profile *profile, function_id function, profile_origin origin);
/* The first one that is set stays. */
void profile_set_entry(struct profile *profile, function_id function, uint64_t entry);
MUST_CHECK enum err_code profile_frame(struct profile *profile, function_id function,
                                       int32_t line, frame_id *id_out, struct err *err);
MUST_CHECK enum err_code profile_node(struct profile *profile, node_id parent, frame_id frame,
                                      node_id *id_out, struct err *err);
MUST_CHECK enum err_code profile_process(struct profile *profile, int32_t pid, str_id name,
                                         process_id *id_out, struct err *err);
/* Equal rows give the same id; a renamed thread is a new row. */
MUST_CHECK enum err_code profile_thread(struct profile *profile,
                                        const struct profile_thread *thread, thread_id *id_out,
                                        struct err *err);
/* Counts `count` samples into the open window. */
MUST_CHECK enum err_code profile_add(struct profile *profile, thread_id thread,
                                     state_bits state, node_id node, uint32_t count,
                                     struct err *err);
/* Adds samples that stand for other times than the period: together for `ns`. */
MUST_CHECK enum err_code profile_add_timed(struct profile *profile, thread_id thread,
                                           state_bits state, node_id node, uint32_t count,
                                           uint64_t ns, struct err *err);
/* Counts samples of another measure than time.  `state` only says what the thread was doing. */
MUST_CHECK enum err_code profile_add_measured(struct profile *profile, enum measure measure,
                                              thread_id thread, state_bits state, node_id node,
                                              uint32_t count, struct err *err);
/* Says when samples of time were taken that one of the first two has added.  The runs of a thread come in the order of
 * time.  A window that knows it of all its samples keeps it until memory is short: see window.h. */
void profile_order(struct profile *profile, const struct run *run);
MUST_CHECK enum err_code profile_spot(struct profile *profile, const struct profile_spot *spot,
                                      spot_id *id_out, struct err *err);
/* Counts samples of a spot; profile_add counts them as samples of the node. */
MUST_CHECK enum err_code profile_add_spot(struct profile *profile, node_id node, spot_id spot,
                                          uint32_t count, struct err *err);
/* Adds samples of this part to the series, from the first to the last instant. */
void profile_tick(struct profile *profile, uint64_t from_ns, uint64_t to_ns, enum part part,
                  uint32_t count);
/* The session lasted until end_ns, without another window.  Merges nothing. */
void profile_extend(struct profile *profile, uint64_t end_ns);
/* The packages of files; one thread adds, which need not be the writer. */
struct packages *profile_packages(struct profile *profile);
/* Bytes held by the tables, now. */
size_t profile_table_bytes(const struct profile *profile);
/* The memory that tables and windows may take together; 0 (the default): no bound.  When samples were
 * taken is forgotten first, from the oldest window on, and once that takes a quarter of the memory. */
void profile_set_memory(struct profile *profile, size_t bytes);
/* From now on only tables and counters are kept: samples are for a sink. */
void profile_drop_samples(struct profile *profile);
/* Has the memory no room for new places?  Samples that need them are known only as far as the tables go.  Any thread may ask. */
bool profile_is_full(const struct profile *profile);
/* The tables are never closed, because another profile decides which rows there are. */
void profile_keep_open(struct profile *profile);
/* The time that each sample of the open window and of later ones stands for; the value at the seal
 * counts.  If samples are added with profile_add_timed, change it only right after a seal.  0 (the
 * default): unknown. */
void profile_set_period(struct profile *profile, uint64_t period_ns);
/* Adds the memory of processes in a step of time (memory_log.h), whose rows the tables have.  Readers see it at once. */
MUST_CHECK enum err_code profile_add_memory(struct profile *profile,
                                            const struct memory_step *step,
                                            const struct memory_use *uses, struct err *err);
/* Closes the open window at now_ns and publishes it with all tables and the quality counters.
 * Makes no generation when neither samples nor rows were added; the counters and the time are
 * published all the same.  A now_ns before the last seal counts as the time of that seal. */
MUST_CHECK enum err_code profile_seal(struct profile *profile, uint64_t now_ns,
                                      struct err *err);
/* Closes the open window of another measure than time at now_ns; each of its samples stands for `period`.  Readers see
 * it with the next generation, which profile_seal makes.  Makes no window without samples. */
MUST_CHECK enum err_code profile_seal_measured(struct profile *profile, enum measure measure,
                                               uint64_t now_ns, uint64_t period,
                                               struct err *err);

/* For readers. */

/* Costs a lock, a copy of the window list, and nothing per row. */
MUST_CHECK enum err_code profile_snapshot(struct profile *profile, struct profile_snapshot *out,
                                          struct err *err);
/* The measure of a file that calls it so, in pprof's words; a new one if there is none yet.  Its name for users has letters, digits and
 * "_.-" alone, and is that of no other measure of the profile.  It is a known one if that has these words.  ERR_LIMIT: there are
 * MEASURE_MOST_FOREIGN. */
MUST_CHECK enum err_code profile_foreign_measure(struct profile *profile, const char *type,
                                                 const char *unit, enum measure *out,
                                                 struct err *err);
/* The facts of a measure that the snapshot has. */
const struct measure_facts *profile_measure(const struct profile_snapshot *snapshot,
                                            enum measure measure);
/* Finds one of the measures of the set by its name; MEASURE_COUNT: there is none. */
enum measure profile_find_measure(const struct profile_snapshot *snapshot, measure_set set,
                                  const char *name);
/* Appends the names of a set: "time, page-faults". */
void profile_put_measures(const struct profile_snapshot *snapshot, measure_set set,
                          struct buffer *out);

/* A snapshot with the windows of that measure. */
MUST_CHECK enum err_code profile_snapshot_measured(struct profile *profile,
                                                   enum measure measure,
                                                   struct profile_snapshot *out,
                                                   struct err *err);
/* The windows of another measure of the same profile, up to the generation of `from`, over the same rows. */
MUST_CHECK enum err_code profile_snapshot_beside(const struct profile_snapshot *from,
                                                 enum measure measure,
                                                 struct profile_snapshot *out, struct err *err);
/* Says of a copy of the samples of `from` what they count: a copy has them as if they were of time. */
void profile_snapshot_count_as(struct profile_snapshot *copy,
                               const struct profile_snapshot *from);
void profile_snapshot_release(struct profile_snapshot *snapshot);

/* The generation after which a client that has `generation` needs data: that generation itself, or 0
 * if the client must drop its data: windows from before and after that generation have been merged,
 * or it is not one of this profile. */
uint32_t profile_snapshot_since(const struct profile_snapshot *snapshot, uint32_t generation);

/* Sizes as they were at `generation` or shortly before it; zeros for 0. */
struct profile_sizes profile_snapshot_sizes_at(const struct profile_snapshot *snapshot,
                                               uint32_t generation);

/* A copy of the series from a second to before another; see series_copy.  series_deinit it. */
MUST_CHECK enum err_code profile_copy_series(struct profile *profile, uint64_t first,
                                             uint64_t end, struct series *out, struct err *err);

/* A copy of the steps of memory that start from from_ns to before to_ns (0: no end); memory_log_deinit it. */
MUST_CHECK enum err_code profile_copy_memory(struct profile *profile, uint64_t from_ns,
                                             uint64_t to_ns, struct memory_log *out,
                                             struct err *err);

/* Rows; ids must be below the snapshot's sizes. */
struct strtab_string profile_string(const struct profile_snapshot *snapshot, str_id id);
struct profile_library profile_library_at(const struct profile_snapshot *snapshot,
                                          library_id id);
struct profile_function profile_function_at(const struct profile_snapshot *snapshot,
                                            function_id id);
struct profile_frame profile_frame_at(const struct profile_snapshot *snapshot, frame_id id);
struct profile_node profile_node_at(const struct profile_snapshot *snapshot, node_id id);
/* The part that samples are in; false: in none, because waiting tasks are no thread. */
bool profile_part_at(const struct profile_snapshot *snapshot, thread_id thread,
                     state_bits state, node_id node, enum part *out);
/* The cause of the mark that a node is; WAIT_UNKNOWN: it is no such mark. */
enum wait_cause profile_cause_at(const struct profile_snapshot *snapshot, node_id id);
struct profile_thread profile_thread_at(const struct profile_snapshot *snapshot, thread_id id);
bool profile_is_waiting_tasks(const struct profile_snapshot *snapshot, thread_id id);
struct profile_process profile_process_at(const struct profile_snapshot *snapshot,
                                          process_id id);
struct profile_spot profile_spot_at(const struct profile_snapshot *snapshot, spot_id id);

#endif /* SAMPLER_PROFILE_PROFILE_H */
