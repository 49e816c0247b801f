/* A flame graph as one picture: the outermost frames at the top, the largest first, without a script. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/base/buffer.h"
#include "sampler/base/clock.h"
#include "sampler/base/plain_text.h"
#include "sampler/base/utf8.h"
#include "sampler/profile/profile.h"
#include "sampler/profile/views/view.h"
#include "sampler/profile/wait.h"
#include "server/report/formats/writers.h"
#include "server/report/header.h"
#include "server/report/names.h"
#include "server/report/preorder.h"
#include "server/report/report_source.h"
#include "server/wire/session.h"

/* Sizes of the picture, in its own units. */
enum { WIDTH = 1200, MARGIN = 10, ROW = 18, HEAD = 58, FOOT = 12 };
/* Widths of a character of the font, in tenths (all are as wide), and of the room beside a name. */
enum { CHARACTER_TENTHS = 72, PADDING = 4, LEAST_CHARACTERS = 3 };
/* Most bytes of a name and of a file in a title. */
enum { MAX_NAME = 300, MAX_FILE = 300 };

/* Narrower frames cannot be seen, and there may be a million of them. */
static const double LEAST_WIDTH = 0.2;

/* Shares of all samples at which a frame glows one step hotter, as in web/model/page/picture.js. */
static const double heat_steps[] = { 0.002, 0.01, 0.025, 0.05, 0.1, 0.2, 0.4 };

/* The colours of web/tokens.css, light and then dark; waits follow the heat. */
struct fill {
    const char *name, *light, *dark, *light_ink, *dark_ink;
};
static const struct fill fills[] = {
    { "heat-0", "#e9e4da", "#34363e", "#3a342c", "#c9c7c6" },
    { "heat-1", "#f3e1c2", "#47353a", "#35291a", "#e6dcdc" },
    { "heat-2", "#f8d49c", "#613839", "#332310", "#f3e4e1" },
    { "heat-3", "#f9bf72", "#7f3d33", "#2e1d09", "#fbeae4" },
    { "heat-4", "#f3a24a", "#a1472a", "#2b1804", "#ffffff" },
    { "heat-5", "#e57f2a", "#d0611f", "#241102", "#170800" },
    { "heat-6", "#c2501f", "#ee8a26", "#ffffff", "#231002" },
    { "heat-7", "#952a17", "#ffc857", "#ffffff", "#2a1a02" },
    { "wait-gil", "#a9c4f2", "#2b4f94", "#241f1a", "#f2efea" },
    { "wait-processor", "#e3c4ea", "#6d3f7d", "#241f1a", "#f2efea" },
    { "wait-idle", "#d3d9e6", "#3c4459", "#241f1a", "#f2efea" },
    { "wait-lock", "#d6bff5", "#65409c", "#241f1a", "#f2efea" },
    { "wait-network", "#93cbff", "#1d5c9e", "#241f1a", "#f2efea" },
    { "wait-disk", "#dcc4a4", "#6b4a2a", "#241f1a", "#f2efea" },
    { "wait-process", "#bfe3a0", "#3f6b24", "#241f1a", "#f2efea" },
    { "neutral", "#dfe1e4", "#282b31", "#545b66", "#a3a9b4" },
};

enum { FILL_COUNT = sizeof fills / sizeof *fills };
enum {
    FILL_GIL = 8,
    FILL_PROCESSOR,
    FILL_IDLE,
    FILL_LOCK,
    FILL_NETWORK,
    FILL_DISK,
    FILL_PROCESS,
    NEUTRAL
};

/* Frames of one function (or line) below the same frames. */
struct box {
    uint32_t parent, depth;
    uint32_t
        entry; /* a function, or a frame if lines are asked for; of a thread's box its id */
    uint64_t self, total, before; /* samples; before: from the left edge of the picture */
};

struct picture {
    const struct report_source *source;
    struct preorder order;
    uint64_t *self;   /* by node, of the thread that is laid out */
    uint64_t *total;  /* by node, with all below it */
    uint32_t *box_of; /* by node */
    struct box *boxes;
    uint32_t box_count, box_room;
    uint64_t samples;
    uint32_t depth; /* of the deepest frame that is drawn */
};

static uint32_t entry_of(const struct picture *picture, node_id node)
{
    const struct profile_snapshot *const snapshot = picture->source->snapshot;
    const frame_id frame = profile_node_at(snapshot, node).frame;
    return picture->source->settings.by_line ? frame
                                             : profile_frame_at(snapshot, frame).function;
}

static enum err_code add_box(struct picture *picture, const struct box *box, struct err *err)
{
    if (picture->box_count == picture->box_room) {
        const uint32_t room = picture->box_room ? picture->box_room * 2 : 256;
        struct box *const boxes = realloc(picture->boxes, room * sizeof *boxes);
        if (!boxes)
            return err_nomem(err);
        picture->boxes = boxes;
        picture->box_room = room;
    }
    picture->boxes[picture->box_count++] = *box;
    return ERR_OK;
}

struct step {
    uint32_t depth, above, entry;
    node_id node;
};

static int by_step(const void *left, const void *right)
{
    const struct step *const a = left, *const b = right;
    if (a->depth != b->depth)
        return a->depth < b->depth ? -1 : 1;
    if (a->above != b->above)
        return a->above < b->above ? -1 : 1;
    return (a->entry > b->entry) - (a->entry < b->entry);
}

/* The boxes of these cells, which are of one thread or of all, below the box `root`. */
static enum err_code add_cells(struct picture *picture, const struct view_cell *cells,
                               size_t cell_count, uint32_t root, struct err *err)
{
    const struct profile_snapshot *const snapshot = picture->source->snapshot;
    const uint32_t nodes = picture->order.count;
    uint32_t count = 0;
    memset(picture->self, 0, nodes * sizeof *picture->self);
    for (size_t i = 0; i < cell_count; i++)
        picture->self[cells[i].node] += cells[i].count;
    memcpy(picture->total, picture->self, nodes * sizeof *picture->total);
    for (node_id id = nodes; id-- > 1;)
        picture->total[profile_node_at(snapshot, id).parent] += picture->total[id];
    for (node_id id = 1; id < nodes; id++)
        count += picture->total[id] > 0;
    struct step *const steps = malloc((count + 1) * sizeof *steps);
    if (!steps)
        return err_nomem(err);
    count = 0;
    for (node_id id = 1; id < nodes; id++)
        if (picture->total[id] > 0)
            steps[count++] = (struct step){ .depth = picture->order.depth[id],
                                            .entry = entry_of(picture, id),
                                            .node = id };
    picture->box_of[0] = root;
    picture->boxes[root].self = picture->self[0];
    picture->boxes[root].total = picture->total[0];

    /* The nodes that have samples, level by level. */
    const uint32_t base = picture->boxes[root].depth;
    enum err_code rc = ERR_OK;
    qsort(steps, count, sizeof *steps, by_step);
    for (uint32_t begin = 0, end = 0; begin < count && !rc; begin = end) {
        for (; end < count && steps[end].depth == steps[begin].depth; end++)
            steps[end].above =
                picture->box_of[profile_node_at(picture->source->snapshot, steps[end].node)
                                    .parent];
        qsort(steps + begin, end - begin, sizeof *steps, by_step);
        for (uint32_t i = begin; i < end && !rc; i++) {
            if (i == begin || by_step(&steps[i], &steps[i - 1]) != 0)
                rc = add_box(picture,
                             &(struct box){ .parent = steps[i].above,
                                            .depth = base + steps[i].depth,
                                            .entry = steps[i].entry },
                             err);
            if (rc)
                break;
            struct box *const box = &picture->boxes[picture->box_count - 1];
            box->self += picture->self[steps[i].node];
            box->total += picture->total[steps[i].node];
            picture->box_of[steps[i].node] = picture->box_count - 1;
        }
    }

    free(steps);
    return rc;
}

static int by_thread(const void *left, const void *right)
{
    const struct view_cell *const a = left, *const b = right;
    return (a->thread > b->thread) - (a->thread < b->thread);
}

/* A box for each thread, and what it does below it. */
static enum err_code add_threads(struct picture *picture, struct view_cells *cells,
                                 struct err *err)
{
    enum err_code rc = ERR_OK;
    uint64_t total = 0;
    qsort(cells->cells, cells->count, sizeof *cells->cells, by_thread);
    for (size_t begin = 0, end = 0; begin < cells->count && !rc; begin = end) {
        const thread_id thread = cells->cells[begin].thread;
        const uint32_t root = picture->box_count;
        while (end < cells->count && cells->cells[end].thread == thread)
            end++;
        rc = add_box(picture, &(struct box){ .depth = 1, .entry = thread }, err);
        if (!rc)
            rc = add_cells(picture, cells->cells + begin, end - begin, root, err);
        if (!rc)
            total += picture->boxes[root].total;
    }
    picture->boxes[0].total = total;
    return rc;
}

static int by_size(const void *left, const void *right, void *boxes_of)
{
    const struct box *const boxes = boxes_of;
    const struct box *const a = &boxes[*(const uint32_t *)left],
                            *const b = &boxes[*(const uint32_t *)right];
    if (a->depth != b->depth)
        return a->depth < b->depth ? -1 : 1;
    if (a->parent != b->parent)
        return a->parent < b->parent ? -1 : 1;
    if (a->total != b->total)
        return a->total < b->total ? 1 : -1;
    return (a->entry > b->entry) - (a->entry < b->entry);
}

static double width_of(const struct picture *picture, uint64_t samples)
{
    return (double)samples / (double)picture->samples * (WIDTH - 2 * MARGIN);
}

/* Writes text of XML, which has no place for two characters of Unicode either. */
static void put_xml(struct buffer *out, const char *text, size_t length)
{
    static const char special[] = "&<>\"'";
    static const char *const entities[] = { "&amp;", "&lt;", "&gt;", "&quot;", "&#39;" };
    while (length > 0) {
        char character[PLAIN_TEXT_CHARACTER];
        size_t bytes;
        const char *const found = *text ? strchr(special, *text) : NULL;
        const size_t used = plain_text_character(text, length, character, &bytes);
        if (found)
            buffer_text(out, entities[found - special]);
        else if (bytes == 3 && (utf8_decode(character, bytes) & 0xfffe) == 0xfffe)
            buffer_text(out, "\xef\xbf\xbd");
        else
            buffer_append(out, character, bytes);
        text += used;
        length -= used;
    }
}

/* Writes as much of a name as `most` characters show; a wide character takes the place of two. */
static void put_label(struct buffer *out, struct strtab_string name, size_t most)
{
    enum { FIRST_WIDE = 0x1100 };
    struct buffer plain = { 0 };
    size_t at = 0, end = 0, columns = 0;
    plain_text_put(&plain, name.text, utf8_cut(name.text, name.length, MAX_NAME));
    while (at < plain.length) {
        const size_t bytes = utf8_char_length(plain.data + at, plain.length - at);
        const size_t step = bytes ? bytes : 1;
        columns += bytes && utf8_decode(plain.data + at, bytes) >= FIRST_WIDE ? 2 : 1;
        at += step;
        if (columns < most)
            end = at;
    }
    if (columns <= most)
        end = plain.length;
    put_xml(out, plain.length ? plain.data : "", end);
    if (end < plain.length)
        buffer_text(out, "\xe2\x80\xa6");
    buffer_deinit(&plain);
}

static void put_cut(struct buffer *out, struct strtab_string text, size_t most)
{
    const size_t length = utf8_cut(text.text, text.length, most);
    put_xml(out, text.text, length);
    if (length < text.length)
        buffer_text(out, "\xe2\x80\xa6");
}

/* The name of a C function without its prefix, that of a wait without its brackets. */
static struct strtab_string shown_name(const struct named_frame *frame)
{
    struct strtab_string name;
    if (!names_c_function(frame, &name) && frame->is_synthetic && name.length > 2 &&
        name.text[0] == '<' && name.text[name.length - 1] == '>') {
        name.text++;
        name.length -= 2;
    }
    return name;
}

static unsigned choose_fill(const struct picture *picture, const struct box *box,
                            const struct named_frame *frame)
{
    const double share = (double)box->self / (double)picture->samples;
    struct wait_text wait;
    unsigned level = 0;
    if (frame->is_synthetic &&
        wait_of_function(picture->source->snapshot, frame->function, &wait)) {
        const enum wait_cause cause = wait.cause;
        if (wait_cause_is_idle(cause))
            return FILL_IDLE;
        if (cause == WAIT_GIL || cause == WAIT_PROCESSOR)
            return cause == WAIT_GIL ? FILL_GIL : FILL_PROCESSOR;
        if (cause == WAIT_NETWORK_READ || cause == WAIT_NETWORK_WRITE)
            return FILL_NETWORK;
        if (cause == WAIT_PIPE || cause == WAIT_CHILD)
            return FILL_PROCESS;
        return cause == WAIT_DISK || cause == WAIT_GPU ? FILL_DISK : FILL_LOCK;
    }
    while (level < sizeof heat_steps / sizeof *heat_steps && share >= heat_steps[level])
        level++;
    return frame->is_synthetic && level == 0 ? (unsigned)NEUTRAL : level;
}

/* index 0: all samples; with threads, those of depth 1 are threads. */
static bool is_frame(const struct picture *picture, uint32_t index)
{
    return index > 0 &&
           !(picture->source->settings.by_thread && picture->boxes[index].depth == 1);
}

static void put_box(struct picture *picture, uint32_t index, struct buffer *out)
{
    const struct box *const box = &picture->boxes[index];
    const double width = width_of(picture, box->total);
    const double x = MARGIN + width_of(picture, box->before);
    const uint32_t y = HEAD + box->depth * ROW;
    const size_t characters =
        width > 2 * PADDING ? (size_t)((width - 2 * PADDING) * 10 / CHARACTER_TENTHS) : 0;
    struct named_frame frame = { 0 };
    struct buffer thread = { 0 };
    struct strtab_string name = { "all", 3 };
    unsigned fill = NEUTRAL;
    if (is_frame(picture, index)) {
        frame = picture->source->settings.by_line
                    ? names_frame(picture->source->snapshot, box->entry)
                    : names_function(picture->source->snapshot, box->entry);
        name = shown_name(&frame);
        fill = choose_fill(picture, box, &frame);
    } else if (index > 0) {
        names_put_thread(&thread, picture->source->snapshot, box->entry);
        name = (struct strtab_string){ thread.data, (uint32_t)thread.length };
    }
    buffer_printf(out, "<g class=\"%s\"><title>", fills[fill].name);
    put_cut(out, name, MAX_NAME);

    if (is_frame(picture, index) && !frame.is_synthetic) {
        const int32_t line = picture->source->settings.by_line ? frame.line : frame.first_line;

        buffer_char(out, '\n');
        put_cut(out, frame.has_source ? frame.file : frame.library, MAX_FILE);
        if (frame.has_source && line > 0)
            buffer_printf(out, ":%d", (int)line);
    }
    const double all = (double)picture->samples / 100;
    buffer_printf(out, "\n%.1f %%, %" PRIu64 " samples; self %.1f %%, %" PRIu64,
                  (double)box->total / all, box->total, (double)box->self / all, box->self);
    buffer_printf(out, "</title><rect x=\"%.2f\" y=\"%u\" width=\"%.2f\" height=\"%d\"/>", x, y,
                  width, ROW - 1);
    if (characters >= LEAST_CHARACTERS) {
        buffer_printf(out, "<text x=\"%.2f\" y=\"%u\">", x + PADDING, y + ROW - 5);
        put_label(out, name, characters);
        buffer_text(out, "</text>");
    }
    buffer_text(out, "</g>\n");
    buffer_deinit(&thread);
}

/* The command, and what was selected of it. */
static void put_head(const struct picture *picture, struct buffer *out)
{
    const struct report_source *const source = picture->source;
    struct buffer command = { 0 }, selection = { 0 };
    report_header_put_command(source->session->target, &command);
    report_header_put_text(source->header, &selection);
    buffer_printf(out, "<text class=\"head\" x=\"%d\" y=\"24\">", MARGIN);
    put_label(out,
              (struct strtab_string){ command.length ? command.data : "all",
                                      command.length ? (uint32_t)command.length : 3 },
              (WIDTH - 2 * MARGIN) * 10 / CHARACTER_TENTHS);
    buffer_printf(out, "</text>\n<text class=\"soft\" x=\"%d\" y=\"44\">%" PRIu64 " samples, ",
                  MARGIN, picture->samples);
    buffer_printf(out, "%.2f s",
                  (double)report_header_duration_ns(source->header) / (double)NS_PER_S);
    if (!source->header->is_whole) {
        buffer_text(out, "; ");
        put_label(out,
                  (struct strtab_string){ selection.length ? selection.data : "",
                                          (uint32_t)selection.length },
                  120);
    }
    buffer_text(out, "</text>\n");
    buffer_deinit(&command);
    buffer_deinit(&selection);
}

static enum err_code lay_out(struct picture *picture, struct err *err)
{
    const struct report_source *const source = picture->source;
    struct view_cells cells = { 0 };
    const size_t nodes = (size_t)source->snapshot->sizes.nodes + 1;
    enum err_code rc = preorder_init(&picture->order, source->snapshot, err);
    if (!rc)
        rc = view_cells_init(&cells, source->snapshot, source->query, err);
    if (rc)
        return rc;
    picture->self = calloc(nodes, sizeof *picture->self);
    picture->total = calloc(nodes, sizeof *picture->total);
    picture->box_of = calloc(nodes, sizeof *picture->box_of);
    rc = picture->self && picture->total && picture->box_of
             ? add_box(picture, &(struct box){ 0 }, err)
             : err_nomem(err);
    if (!rc)
        rc = source->settings.by_thread ? add_threads(picture, &cells, err)
                                        : add_cells(picture, cells.cells, cells.count, 0, err);
    view_cells_deinit(&cells);

    if (rc)
        return rc;

    /* Siblings from left to right.  Boxes above have their places before those below. */
    const uint32_t count = picture->box_count;
    uint32_t *const sorted = malloc(((size_t)count + 1) * sizeof *sorted);
    if (!sorted)
        return err_nomem(err);
    for (uint32_t i = 0; i < count; i++)
        sorted[i] = i;
    qsort_r(sorted, count, sizeof *sorted, by_size, picture->boxes);
    for (uint32_t i = 1; i < count; i++) {
        struct box *const box = &picture->boxes[sorted[i]];
        const struct box *const left = &picture->boxes[sorted[i - 1]];
        const bool is_first = left->depth != box->depth || left->parent != box->parent;
        box->before =
            is_first ? picture->boxes[box->parent].before : left->before + left->total;
    }
    free(sorted);
    picture->samples = picture->boxes[0].total;
    return ERR_OK;
}

enum err_code report_write_svg(const struct report_source *source, struct buffer *out,
                               struct err *err)
{
    struct picture picture = { .source = source };
    enum err_code rc = lay_out(&picture, err);
    if (!rc) {
        for (uint32_t i = 0; i < picture.box_count; i++)
            if (picture.boxes[i].depth > picture.depth &&
                width_of(&picture, picture.boxes[i].total) >= LEAST_WIDTH)
                picture.depth = picture.boxes[i].depth;
        const uint32_t height = HEAD + (picture.depth + 1) * ROW + FOOT;
        buffer_printf(out,
                      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%u\" "
                      "viewBox=\"0 0 %d %u\">\n",
                      WIDTH, height, WIDTH, height);

        buffer_text(out, "<style>\n"
                         "svg{background:#f7f5f1}"
                         "text{font:12px ui-monospace,monospace;white-space:pre}"
                         ".head{fill:#211d19;font-weight:bold}.soft{fill:#6a635a}\n");
        for (size_t i = 0; i < FILL_COUNT; i++)
            buffer_printf(out, ".%s rect{fill:%s}.%s text{fill:%s}\n", fills[i].name,
                          fills[i].light, fills[i].name, fills[i].light_ink);
        buffer_text(out, "g:hover rect{stroke:#1f5fbf}\n"
                         "@media(prefers-color-scheme:dark){svg{background:#131417}"
                         ".head{fill:#ece9e3}.soft{fill:#a09fa6}\n");
        for (size_t i = 0; i < FILL_COUNT; i++)
            buffer_printf(out, ".%s rect{fill:%s}.%s text{fill:%s}\n", fills[i].name,
                          fills[i].dark, fills[i].name, fills[i].dark_ink);
        buffer_text(out, "g:hover rect{stroke:#7db2ff}}\n</style>\n");

        put_head(&picture, out);
        for (uint32_t i = 0; i < picture.box_count && !out->failed; i++)
            if (width_of(&picture, picture.boxes[i].total) >= LEAST_WIDTH)
                put_box(&picture, i, out);
        buffer_text(out, "</svg>\n");

        rc = buffer_check(out, err);
    }
    preorder_deinit(&picture.order);
    free(picture.self);
    free(picture.total);
    free(picture.box_of);
    free(picture.boxes);
    return rc;
}
