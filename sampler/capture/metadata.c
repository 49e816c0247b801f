#include "sampler/capture/metadata.h"

#include <stdlib.h>
#include <string.h>

#include "sampler/base/buffer.h"
#include "sampler/base/byte_reader.h"
#include "sampler/capture/format.h"

/* The form of a value; another form is unknown and cannot be skipped. */
enum form { FORM_NUMBER = 'n', FORM_TEXT = 't', FORM_LIST = 'l' };

enum { MAX_PAIRS = 1 << 10, PAIR_BYTES = 4 };

struct key {
    const char *name;
    enum form form;
    size_t offset;
};

static const struct key keys[] = {
#define X(name) { #name, FORM_NUMBER, offsetof(struct capture_metadata, name) },
    CAPTURE_NUMBERS(X)
#undef X
#define X(name) { #name, FORM_TEXT, offsetof(struct capture_metadata, name) },
        CAPTURE_TEXTS(X)
#undef X
#define X(name) { #name, FORM_LIST, offsetof(struct capture_metadata, name) },
            CAPTURE_LISTS(X)
#undef X
};

enum { KEYS = sizeof keys / sizeof *keys };

static uint64_t number_of(const struct capture_metadata *metadata, const struct key *key)
{
    return *(const uint64_t *)(const void *)((const char *)metadata + key->offset);
}

static const char *text_of(const struct capture_metadata *metadata, const struct key *key)
{
    return *(const char *const *)(const void *)((const char *)metadata + key->offset);
}

static const struct capture_texts *list_of(const struct capture_metadata *metadata,
                                           const struct key *key)
{
    return (const void *)((const char *)metadata + key->offset);
}

static bool is_set(const struct capture_metadata *metadata, const struct key *key)
{
    switch (key->form) {
    case FORM_NUMBER: return number_of(metadata, key) != 0;
    case FORM_TEXT: return text_of(metadata, key) && *text_of(metadata, key);
    case FORM_LIST: break;
    }
    return list_of(metadata, key)->count > 0;
}

static void put_list(const struct capture_texts *list, struct buffer *out)
{
    buffer_number(out, list->count);
    for (size_t i = 0; i < list->count; i++)
        buffer_sized_text(out, list->items[i]);
}

void metadata_encode(const struct capture_metadata *metadata, struct buffer *out)
{
    size_t count = 0;
    for (size_t i = 0; i < KEYS; i++)
        count += is_set(metadata, &keys[i]);
    buffer_number(out, count);
    for (size_t i = 0; i < KEYS; i++)
        if (is_set(metadata, &keys[i])) {
            const struct key *const key = &keys[i];
            buffer_sized_text(out, key->name);
            buffer_u8(out, key->form);
            switch (key->form) {
            case FORM_NUMBER: buffer_number(out, number_of(metadata, key)); break;
            case FORM_TEXT: buffer_sized_text(out, text_of(metadata, key)); break;
            case FORM_LIST: put_list(list_of(metadata, key), out); break;
            }
        }
}

/* NULL: an unknown key. */
static const struct key *find_key(const char *name, unsigned form)
{
    for (size_t i = 0; i < KEYS; i++)
        if (keys[i].form == form && strcmp(keys[i].name, name) == 0)
            return &keys[i];
    return NULL;
}

static enum err_code take_list(struct capture_texts *list, struct byte_reader *in,
                               struct err *err)
{
    const size_t count = byte_reader_count(in, 2, CAPTURE_MAX_TEXTS);
    const char **const items = calloc(count + 1, sizeof *items);
    if (!items)
        return err_nomem(err);
    for (size_t i = 0; i < count; i++)
        items[i] = byte_reader_text(in);
    free(list->items);
    *list = (struct capture_texts){ count, items };
    return ERR_OK;
}

enum err_code metadata_decode(struct capture_metadata *metadata, struct byte_reader *in,
                              struct err *err)
{
    const size_t count = byte_reader_count(in, PAIR_BYTES, MAX_PAIRS);
    enum err_code rc = ERR_OK;
    for (size_t i = 0; i < count && !rc && !in->is_bad; i++) {
        const char *const name = byte_reader_text(in);
        const unsigned form = byte_reader_u8(in);
        const struct key *const key = find_key(name, form);
        struct capture_texts unknown = { 0 };
        /* The value of an unknown key is skipped. */
        char *const to = key ? (char *)metadata + key->offset : NULL;
        if (form == FORM_NUMBER) {
            const uint64_t number = byte_reader_number(in);
            if (to)
                memcpy(to, &number, sizeof number);
        } else if (form == FORM_TEXT) {
            const char *const text = byte_reader_text(in);
            if (to)
                memcpy(to, &text, sizeof text);
        } else if (form == FORM_LIST) {
            rc = take_list(to ? (void *)to : &unknown, in, err);
            free(unknown.items);
        } else {
            in->is_bad = true;
        }
    }

#define X(name) metadata->name = metadata->name ? metadata->name : "";

    CAPTURE_TEXTS(X)

#undef X

    if (!rc && in->is_bad)
        rc = err_set(err, ERR_CORRUPT, "its metadata is invalid");
    return rc;
}

void metadata_deinit(struct capture_metadata *metadata)
{
#define X(name) free(metadata->name.items);
    CAPTURE_LISTS(X)
#undef X
    memset(metadata, 0, sizeof *metadata);
}
