#include "sampler/profile/views/own_lines.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/profile/views/expression.h"
#include "sampler/profile/views/pattern.h"
#include "sampler/profile/views/states.h"
#include "sampler/profile/views/view.h"

struct own_code {
    size_t count; /* 0: the rule */
    struct pattern patterns[OWN_LINES_MAX_PATTERNS];
};

static void own_code_deinit(struct own_code *code)
{
    for (size_t i = 0; i < code->count; i++)
        pattern_deinit(&code->patterns[i]);
}

static enum err_code own_code_init(struct own_code *code, const char *const *patterns,
                                   size_t count, struct err *err)
{
    char text[EXPRESSION_MAX_TEXT + 8];
    enum err_code rc = ERR_OK;
    memset(code, 0, sizeof *code);
    if (count > OWN_LINES_MAX_PATTERNS)
        return err_set(err, ERR_INVALID, "want at most %d patterns", OWN_LINES_MAX_PATTERNS);
    for (size_t i = 0; i < count && !rc; i++) {
        const int length = snprintf(text, sizeof text, "file:%s", patterns[i]);
        if (length < 0 || (size_t)length >= sizeof text)
            rc = err_set(err, ERR_INVALID, "want a pattern of at most %d bytes",
                         EXPRESSION_MAX_TEXT);
        else
            rc = pattern_init(&code->patterns[i], text, err);
        code->count += !rc;
    }
    if (rc)
        own_code_deinit(code);
    return rc;
}

/* Code made of text has no file; that of a notebook, a terminal or a command is somebody's. */
static bool is_generated(const char *file)
{
    return *file == '\0' || (*file == '<' && strncmp(file, "<ipython-input", 14) != 0 &&
                             strncmp(file, "<stdin", 6) != 0 && strcmp(file, "<command>") != 0);
}

/* "/c/unzipped_pexes/4/f8/__main__.py" and "/c/venvs/4/da/5f/pex" */
static bool is_start_of_pex(const char *file)
{
    static const char unzipped[] = "/unzipped_pexes/", venvs[] = "/venvs/";
    const char *const zip = strstr(file, unzipped), *const venv = strstr(file, venvs);
    const char *const slash = strrchr(file, '/');
    const char *const hash = zip ? strchr(zip + strlen(unzipped), '/') : NULL;
    if (venv && slash - venv >= (ptrdiff_t)strlen(venvs) && strcmp(slash, "/pex") == 0)
        return true;
    return hash && strchr(hash + 1, '/') == slash && strcmp(slash, "/__main__.py") == 0;
}

/* What pip puts into bin/ to start a program of a package, and what starts an unpacked pex. */
static bool is_launcher(const char *name, const char *file)
{
    static const char folder[] = "bin/";
    const char *const slash = strrchr(file, '/');
    const char *const base = slash ? slash + 1 : file;
    const size_t before = (size_t)(base - file), length = sizeof folder - 1;
    if (is_start_of_pex(file))
        return true;
    return strcmp(name, "<module>") == 0 && !strchr(base, '.') && before >= length &&
           strncmp(base - length, folder, length) == 0 &&
           (before == length || base[-1 - (ptrdiff_t)length] == '/');
}

static const char *text_of(const struct profile_snapshot *snapshot, str_id id)
{
    return profile_string(snapshot, id).text;
}

/* A longer text names no file, and costs nothing. */
static bool is_path(const struct profile_snapshot *snapshot, str_id file)
{
    return profile_string(snapshot, file).length < PATH_MAX;
}

static struct code_origin origin_of(const struct profile_snapshot *snapshot,
                                    const struct profile_function *function)
{
    return code_origin_of(profile_packages(snapshot->profile),
                          text_of(snapshot, function->name), text_of(snapshot, function->file),
                          NULL);
}

/* Python code, neither of a library nor generated. */
static bool is_own(const struct profile_snapshot *snapshot, function_id id)
{
    const struct profile_function function = profile_function_at(snapshot, id);
    const char *const name = text_of(snapshot, function.name);
    const char *const file = text_of(snapshot, function.file);
    return id && !function.library && is_path(snapshot, function.file) &&
           strcmp(file, "~") != 0 && origin_of(snapshot, &function).kind == CODE_OWN &&
           !is_generated(file) && !is_launcher(name, file);
}

void own_lines_mark(const struct profile_snapshot *snapshot, function_id first,
                    unsigned char *own)
{
    for (function_id id = first; id < snapshot->sizes.functions; id++)
        own[id] = is_own(snapshot, id);
}

static enum err_code mark_matching(const struct own_code *code,
                                   const struct profile_snapshot *snapshot,
                                   unsigned char *marks, struct err *err)
{
    for (function_id id = 1; id < snapshot->sizes.functions; id++) {
        const struct profile_function function = profile_function_at(snapshot, id);
        const struct pattern_subject subject = {
            .name = text_of(snapshot, function.name),
            .file = text_of(snapshot, function.file),
            .line = function.first_line,
        };
        bool matches = false;
        if (function.library || strcmp(subject.file, "~") == 0)
            continue;
        for (size_t i = 0; i < code->count && !matches; i++) {
            const enum err_code rc =
                pattern_matches(&code->patterns[i], &subject, &matches, err);
            if (rc)
                return rc;
        }
        marks[id] = matches;
    }
    return ERR_OK;
}

/* Of a function; what is neither is 0. */
enum { MARK_OWN = 1, MARK_STARTER };

/* What a function may be to the start of a program. */
enum role {
    ROLE_NONE,
    ROLE_OTHER,    /* no file */
    ROLE_MARK,     /* native code, or a mark of the thread */
    ROLE_OWN,      /* your code, or what starts a pex or a shiv */
    ROLE_STARTER,  /* starts programs */
    ROLE_BOOTSTRAP /* the same, and so does what calls it */
};

static enum role role_of(const struct profile_snapshot *snapshot,
                         const struct profile_function *function, unsigned char mark)
{
    const char *const name = text_of(snapshot, function->name);
    const char *const file = text_of(snapshot, function->file);
    const size_t length = profile_string(snapshot, function->file).length;
    if (function->library || strcmp(file, "~") == 0)
        return ROLE_MARK;
    if (mark)
        return mark == MARK_OWN ? ROLE_OWN : ROLE_STARTER;
    if (!is_path(snapshot, function->file))
        return ROLE_OTHER;
    if (strstr(file, "/.bootstrap/") || strstr(file, "/_bootstrap/"))
        return ROLE_BOOTSTRAP;
    return is_launcher(name, file) || strcmp(file, "<frozen runpy>") == 0 ||
                   (length >= 9 && strcmp(file + length - 9, "/runpy.py") == 0)
               ? ROLE_STARTER
               : ROLE_NONE;
}

/* What lies between a node and the root. */
enum above { ABOVE_OTHER, ABOVE_ROOT, ABOVE_STARTER, ABOVE_OWN };

static bool has_program(const struct own_programs *programs, const struct code_origin *origin)
{
    for (size_t i = 0; i < programs->count; i++)
        if (programs->packages[i].length == origin->length &&
            memcmp(programs->packages[i].name, origin->name, origin->length) == 0)
            return origin->kind == CODE_PACKAGE;
    return false;
}

/* What calls the bootstrap of a pex or a shiv starts it, and is not your code. */
static void mark_callers(const struct profile_snapshot *snapshot, node_id node,
                         unsigned char *above, unsigned char *marks)
{
    for (; above[node] == ABOVE_OWN; node = profile_node_at(snapshot, node).parent) {
        const frame_id frame = profile_node_at(snapshot, node).frame;
        marks[profile_frame_at(snapshot, frame).function] = MARK_STARTER;
        above[node] = ABOVE_STARTER;
    }
}

static void add_program(const struct profile_snapshot *snapshot,
                        const struct profile_function *function, struct own_programs *out)
{
    const struct code_origin origin = origin_of(snapshot, function);
    if (origin.kind == CODE_PACKAGE && out->count < OWN_PROGRAMS_MAX &&
        !has_program(out, &origin))
        out->packages[out->count++] = origin;
}

/* Follows stacks from the root while they only start something. */
static void find_programs(const struct profile_snapshot *snapshot, unsigned char *marks,
                          unsigned char *above, struct own_programs *out)
{
    above[0] = ABOVE_ROOT;
    for (node_id id = 1; id < snapshot->sizes.nodes; id++) {
        const struct profile_node node = profile_node_at(snapshot, id);
        const function_id called = profile_frame_at(snapshot, node.frame).function;
        const struct profile_function function = profile_function_at(snapshot, called);
        if (above[node.parent] == ABOVE_OTHER)
            continue;
        const enum role role = role_of(snapshot, &function, marks[called]);
        switch (role) {
        case ROLE_OTHER: break;
        case ROLE_MARK: above[id] = above[node.parent]; break;
        case ROLE_OWN: above[id] = ABOVE_OWN; break;
        case ROLE_BOOTSTRAP:
            mark_callers(snapshot, node.parent, above, marks);
            above[id] = ABOVE_STARTER;
            break;
        case ROLE_STARTER: above[id] = ABOVE_STARTER; break;
        case ROLE_NONE:
            if (above[node.parent] == ABOVE_STARTER ||
                (above[node.parent] == ABOVE_ROOT &&
                 strcmp(text_of(snapshot, function.name), "<module>") == 0))
                add_program(snapshot, &function, out);
        }
    }
}

/* marks: by own_lines_mark; what is your code has 0 or 1 then. */
static enum err_code list_programs(const struct profile_snapshot *snapshot,
                                   unsigned char *marks, struct own_programs *out,
                                   struct err *err)
{
    unsigned char *const above = calloc((size_t)snapshot->sizes.nodes + 1, sizeof *above);
    out->count = 0;
    if (!above)
        return err_nomem(err);
    find_programs(snapshot, marks, above, out);
    free(above);
    if (memchr(marks, MARK_OWN, snapshot->sizes.functions))
        out->count = 0;
    for (function_id id = 1; id < snapshot->sizes.functions; id++)
        marks[id] = marks[id] != 0;
    return ERR_OK;
}

enum err_code own_lines_programs(const struct profile_snapshot *snapshot,
                                 struct own_programs *out, struct err *err)
{
    unsigned char *const marks = calloc((size_t)snapshot->sizes.functions + 1, sizeof *marks);
    out->count = 0;
    if (!marks)
        return err_nomem(err);
    own_lines_mark(snapshot, 1, marks);
    const enum err_code rc = list_programs(snapshot, marks, out, err);
    free(marks);
    return rc;
}

/* Where nothing else is your code, the package is that the program was started in. */
static enum err_code mark_programs(const struct profile_snapshot *snapshot,
                                   unsigned char *marks, struct err *err)
{
    struct own_programs programs;
    const enum err_code rc = list_programs(snapshot, marks, &programs, err);
    for (function_id id = 1; programs.count && id < snapshot->sizes.functions; id++) {
        const struct profile_function function = profile_function_at(snapshot, id);
        const struct code_origin origin = origin_of(snapshot, &function);
        marks[id] = !function.library && has_program(&programs, &origin);
    }
    return rc;
}

/* The samples of the view by frame; those without your code at frame 0. */
struct counting {
    const struct profile_snapshot *snapshot;
    unsigned char *own; /* by function */
    frame_id *frame_of; /* by node: the innermost frame of your code, 0: none */
    uint64_t *samples;  /* by frame */
};

/* Parents come before children. */
static void count(struct counting *counting, const struct view *view)
{
    const struct profile_snapshot *const snapshot = counting->snapshot;
    for (node_id id = 1; id < snapshot->sizes.nodes; id++) {
        const struct profile_node node = profile_node_at(snapshot, id);
        const function_id function = profile_frame_at(snapshot, node.frame).function;
        counting->frame_of[id] =
            counting->own[function] ? node.frame : counting->frame_of[node.parent];
    }
    for (size_t i = 0; i < view->count; i++)
        counting->samples[counting->frame_of[view->node[i]]] += view->self[i];
}

struct place {
    str_id file;
    struct own_line line;
};

static int by_place(const void *left, const void *right)
{
    const struct place *const a = left, *const b = right;
    if (a->file != b->file)
        return a->file < b->file ? -1 : 1;
    if (a->line.line != b->line.line)
        return a->line.line < b->line.line ? -1 : 1;
    return (a->line.function > b->line.function) - (a->line.function < b->line.function);
}

static int by_samples(const void *left, const void *right)
{
    const struct place *const a = left, *const b = right;
    if (a->line.samples != b->line.samples)
        return a->line.samples > b->line.samples ? -1 : 1;
    return by_place(left, right);
}

/* The frames with samples; returns how many. */
static size_t list_places(const struct counting *counting, struct place *places)
{
    size_t count = 0;
    for (frame_id id = 1; id < counting->snapshot->sizes.frames; id++) {
        const struct profile_frame frame = profile_frame_at(counting->snapshot, id);
        if (counting->samples[id] > 0)
            places[count++] = (struct place){
                .file = profile_function_at(counting->snapshot, frame.function).file,
                .line = { frame.function, frame.line, counting->samples[id] },
            };
    }
    return count;
}

/* Functions may share a line: a comprehension and what it is in. */
static size_t merge(struct place *places, size_t count)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        struct place *const last = kept ? &places[kept - 1] : NULL;
        if (last && last->file == places[i].file && last->line.line == places[i].line.line)
            last->line.samples += places[i].line.samples;
        else
            places[kept++] = places[i];
    }
    return kept;
}

static enum err_code list_lines(struct own_lines *own, const struct counting *counting,
                                size_t most, struct err *err)
{
    const size_t room = (size_t)counting->snapshot->sizes.frames + 1;
    struct place *const places = malloc(room * sizeof *places);
    own->lines = malloc((most + 1) * sizeof *own->lines);
    if (!places || !own->lines) {
        free(places);
        return err_nomem(err);
    }
    size_t count = list_places(counting, places);
    qsort(places, count, sizeof *places, by_place);
    count = merge(places, count);
    qsort(places, count, sizeof *places, by_samples);
    for (size_t i = 0; i < count; i++) {
        own->own_samples += places[i].line.samples;
        if (own->count < most)
            own->lines[own->count++] = places[i].line;
    }
    free(places);
    return ERR_OK;
}

static enum err_code fill(struct own_lines *own, struct counting *counting,
                          const struct own_code *code, const struct view_query *query,
                          size_t most, struct err *err)
{
    struct view view = { 0 };
    own_lines_mark(counting->snapshot, 1, counting->own);
    enum err_code rc = code->count ? mark_matching(code, counting->snapshot, counting->own, err)
                                   : mark_programs(counting->snapshot, counting->own, err);
    if (!rc)
        rc = view_init(&view, counting->snapshot, query, err);
    if (rc)
        return rc;
    count(counting, &view);
    own->samples = view.total;
    view_deinit(&view);
    return list_lines(own, counting, most, err);
}

enum err_code own_lines_init(struct own_lines *own, const struct profile_snapshot *snapshot,
                             const struct view_query *query, const char *const *patterns,
                             size_t pattern_count, size_t most, struct err *err)
{
    struct own_code code;
    const size_t limit = most < OWN_LINES_MAX ? most : OWN_LINES_MAX;
    *own = (struct own_lines){ 0 };
    enum err_code rc = own_code_init(&code, patterns, pattern_count, err);
    if (rc)
        return rc;
    struct counting counting = {
        .snapshot = snapshot,
        .own = calloc((size_t)snapshot->sizes.functions + 1, sizeof *counting.own),
        .frame_of = calloc((size_t)snapshot->sizes.nodes + 1, sizeof *counting.frame_of),
        .samples = calloc((size_t)snapshot->sizes.frames + 1, sizeof *counting.samples),
    };
    rc = counting.own && counting.frame_of && counting.samples
             ? fill(own, &counting, &code, query, limit, err)
             : err_nomem(err);
    free(counting.own);
    free(counting.frame_of);
    free(counting.samples);
    own_code_deinit(&code);
    if (rc)
        own_lines_deinit(own);
    return rc;
}

void own_lines_deinit(struct own_lines *own)
{
    free(own->lines);
    *own = (struct own_lines){ 0 };
}
