#include "sampler/base/buffer.h"
#include "sampler/base/clock.h"
#include "sampler/profile/profile.h"
#include "server/report/encoding/marshal.h"
#include "server/report/flat.h"
#include "server/report/formats/writers.h"
#include "server/report/header.h"
#include "server/report/names.h"
#include "server/report/report_source.h"

struct stats {
    const struct report_source *source;
    struct flat flat,
        time; /* time: in nanoseconds; zeroed where samples all stand for the same */
    double sample_s;
    struct buffer *out;
};

/* ns: the same in the flat of time; NULL: there is none. */
static double seconds_of(const struct stats *stats, uint64_t samples, const uint64_t *ns)
{
    return ns ? (double)*ns / (double)NS_PER_S : (double)samples * stats->sample_s;
}

/* (file, line, name), as pstats names a function.  Functions of two libraries may be of one file. */
static void put_key(const struct stats *stats, function_id id)
{
    const struct named_frame function = names_function(stats->source->snapshot, id);
    const struct strtab_string file = function.is_native ? function.library : function.file;
    marshal_tuple(stats->out, 3);
    marshal_text(stats->out, file.text, file.length);
    marshal_int(stats->out, function.first_line);
    marshal_text(stats->out, function.name.text, function.name.length);
}

/* Samples replace the calls of cProfile: those of the function with all it called in place of
 * all calls, those of the function itself in place of calls that are no recursion. */
static void put_callers(const struct stats *stats, size_t first, size_t end)
{
    const struct flat_edge *const edges = stats->flat.edges, *const time = stats->time.edges;
    marshal_dict(stats->out);
    for (size_t i = first; i < end; i++) {
        put_key(stats, edges[i].caller);
        marshal_tuple(stats->out, 4);
        marshal_int(stats->out, (int64_t)edges[i].count);
        marshal_int(stats->out, (int64_t)edges[i].self);
        marshal_float(stats->out,
                      seconds_of(stats, edges[i].self, time ? &time[i].self : NULL));
        marshal_float(stats->out,
                      seconds_of(stats, edges[i].count, time ? &time[i].count : NULL));
    }
    marshal_end(stats->out);
}

enum err_code report_write_pstats(const struct report_source *source, struct buffer *out,
                                  struct err *err)
{
    struct stats stats = { .source = source,
                           .out = out,
                           .sample_s = (double)source->header->period_ns / (double)NS_PER_S };
    enum err_code rc =
        flat_init(&stats.flat, source->snapshot, source->query, FLAT_FUNCTIONS, err);
    if (!rc && source->header->has_periods)
        rc = flat_init_ns(&stats.time, source->snapshot, source->query, FLAT_FUNCTIONS,
                          source->header->period_ns, err);
    if (!rc) {
        /* Edges are sorted by callee, as functions are. */
        const struct flat *const flat = &stats.flat;
        size_t at = 0;
        bool has_any = false;
        marshal_dict(stats.out);
        for (function_id id = 1; id < flat->row_count; id++) {
            const size_t first = at;
            while (at < flat->edge_count && flat->edges[at].callee == id)
                at++;
            if (flat->total[id] > 0) {
                const struct flat *const time = stats.time.self ? &stats.time : NULL;
                const uint64_t self = stats.flat.self[id], total = stats.flat.total[id];
                put_key(&stats, id);
                marshal_tuple(stats.out, 5);
                marshal_int(stats.out, (int64_t)self);
                marshal_int(stats.out, (int64_t)total);
                marshal_float(stats.out,
                              seconds_of(&stats, self, time ? &time->self[id] : NULL));
                marshal_float(stats.out,
                              seconds_of(&stats, total, time ? &time->total[id] : NULL));
                put_callers(&stats, first, at);
            }
            has_any |= flat->total[id] > 0;
        }
        if (!has_any) {
            /* pstats takes no file without a function. */
            static const char name[] = "<no samples>";
            marshal_tuple(stats.out, 3);
            marshal_text(stats.out, "~", 1);
            marshal_int(stats.out, 0);
            marshal_text(stats.out, name, sizeof name - 1);
            marshal_tuple(stats.out, 5);
            marshal_int(stats.out, 0);
            marshal_int(stats.out, 0);
            marshal_float(stats.out, 0);
            marshal_float(stats.out, 0);
            put_callers(&stats, 0, 0);
        }
        marshal_end(stats.out);
    }
    flat_deinit(&stats.time);
    flat_deinit(&stats.flat);
    return rc ? rc : buffer_check(out, err);
}
