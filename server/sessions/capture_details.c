#include "server/sessions/capture_details.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sampler/base/buffer.h"
#include "sampler/base/scoped.h"
#include "server/files/files.h"
#include "server/sessions/capture_entry.h"
#include "server/wire/json.h"
#include "server/wire/range_notes.h"

enum { PATH_BYTES = CAPTURES_NAME_BYTES + 24, MAX_BYTES = 16 * 1024 };
/* Each byte of a note may be written as six. */
enum { NOTES_BYTES = RANGE_NOTES_MAX * (6 * RANGE_NOTE_MAX_TEXT + 128) };

#define WORDS_SUFFIX ".json"
/* No name has this character: ".notes.json" would belong to a capture "NAME.notes". */
#define NOTES_SUFFIX "~notes.json"

enum { WORDS_TITLE, WORDS_NOTE, WORDS_LABELS, WORDS_CONTINUOUS, WORDS_MEMBERS };

/* -1: there is none. */
static ssize_t read_beside(const struct files_folder *folder, const char *name,
                           const char *suffix, char *out, size_t size)
{
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "%s%s", name, suffix);
    SCOPED_FD int fd = files_open(folder, path, FILES_READ);
    return fd < 0 ? -1 : read(fd, out, size);
}

void captures_words_read(const struct files_folder *folder, const char *name,
                         struct capture_words *out)
{
    char text[MAX_BYTES];
    struct body_member members[WORDS_MEMBERS] = {
        [WORDS_TITLE] = { .name = "title" },
        [WORDS_NOTE] = { .name = "note" },
        [WORDS_LABELS] = { .name = "labels",
                           .kind = BODY_WORDS,
                           .words = out->labels,
                           .room = CAPTURES_MAX_LABELS },
        [WORDS_CONTINUOUS] = { .name = "continuous", .kind = BODY_FLAG },
    };
    memset(out, 0, sizeof *out);
    const ssize_t bytes = read_beside(folder, name, WORDS_SUFFIX, text, sizeof text);
    if (bytes > 0 && !body_read(text, (size_t)bytes, members, WORDS_MEMBERS, NULL)) {
        snprintf(out->title, sizeof out->title, "%.*s", SESSION_MAX_NAME,
                 members[WORDS_TITLE].text);
        snprintf(out->note, sizeof out->note, "%.*s", SESSION_MAX_NOTE,
                 members[WORDS_NOTE].text);
        out->label_count = members[WORDS_LABELS].count;
        out->is_continuous = members[WORDS_CONTINUOUS].flag;
    } else
        memset(out, 0, sizeof *out);
}

static enum err_code put_beside(const struct files_folder *folder, const char *name,
                                const char *suffix, const struct buffer *data, struct err *err)
{
    char path[PATH_BYTES], fresh[PATH_BYTES];
    snprintf(path, sizeof path, "%s%s", name, suffix);
    snprintf(fresh, sizeof fresh, "%s%s.new", name, suffix);
    SCOPED_FD int fd = files_open(folder, fresh, FILES_REPLACE);
    if (fd < 0)
        return err_sys(err, errno, "cannot write '%s'", fresh);
    const ssize_t written = write(fd, data->data, data->length);
    if (written >= 0 && written < (ssize_t)data->length)
        errno = ENOSPC; /* the rest of what was written in part */
    else if (written >= 0 && fsync(fd) == 0 && files_rename(folder, fresh, path) == 0)
        return ERR_OK;
    const int sys = errno;
    (void)files_remove(folder, fresh);
    return err_sys(err, sys, "cannot write '%s'", path);
}

enum err_code captures_words_write(const struct files_folder *folder, const char *name,
                                   const struct capture_words *words, struct err *err)
{
    struct buffer buffer = { 0 };
    struct json json;
    json_init(&json, &buffer);

    json_object(&json);
    json_member_text(&json, "title", words->title);
    json_member_text(&json, "note", words->note);
    json_member_array(&json, "labels");
    for (size_t i = 0; i < words->label_count; i++)
        json_text(&json, words->labels[i]);
    json_end(&json);
    json_member_bool(&json, "continuous", words->is_continuous);
    json_end(&json);

    enum err_code rc = json_finish(&json, err);
    if (!rc)
        rc = put_beside(folder, name, WORDS_SUFFIX, &buffer, err);
    buffer_deinit(&buffer);
    return rc;
}

void captures_notes_read(const struct files_folder *folder, const char *name,
                         struct range_notes *out)
{
    char *const text = malloc(NOTES_BYTES);
    const ssize_t bytes =
        text ? read_beside(folder, name, NOTES_SUFFIX, text, NOTES_BYTES) : -1;
    *out = (struct range_notes){ 0 };
    if (bytes > 0)
        range_notes_read(text, (size_t)bytes, out);
    free(text);
}

enum err_code captures_notes_write(const struct files_folder *folder, const char *name,
                                   const struct range_notes *notes, struct err *err)
{
    struct buffer buffer = { 0 };
    struct json json;
    json_init(&json, &buffer);
    range_notes_write(&json, notes);
    enum err_code rc = json_finish(&json, err);
    if (!rc)
        rc = put_beside(folder, name, NOTES_SUFFIX, &buffer, err);
    buffer_deinit(&buffer);
    return rc;
}

bool captures_name_of_words(const char *file, char out[CAPTURES_NAME_BYTES])
{
    const size_t length = strlen(file), suffix = strlen(WORDS_SUFFIX);
    if (length <= suffix || length - suffix >= CAPTURES_NAME_BYTES ||
        strcmp(file + length - suffix, WORDS_SUFFIX) != 0)
        return false;
    snprintf(out, CAPTURES_NAME_BYTES, "%.*s", (int)(length - suffix), file);
    return true;
}

void captures_words_remove(const struct files_folder *folder, const char *name)
{
    static const char *const suffixes[] = { WORDS_SUFFIX, NOTES_SUFFIX };
    char path[PATH_BYTES];
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
        snprintf(path, sizeof path, "%s%s", name, suffixes[i]);
        (void)files_remove(folder, path);
    }
}
