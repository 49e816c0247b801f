#include "sampler/base/strtab.h"

#include <stdlib.h>
#include <string.h>

#include "sampler/base/hash.h"
#include "sampler/base/utf8.h"

enum { STRTAB_BLOCK_BYTES = 1 << 16 };

struct strtab_block {
    struct strtab_block *next;
    size_t used, size;
    char text[];
};

enum err_code strtab_init(struct strtab *tab, struct err *err)
{
    memset(tab, 0, sizeof *tab);
    pool_init(&tab->strings, sizeof(struct strtab_string), STRTAB_MAX_STRINGS);
    idmap_init(&tab->index);
    str_id id;
    return strtab_intern(tab, "", 0, &id, err);
}

void strtab_deinit(struct strtab *tab)
{
    while (tab->blocks) {
        struct strtab_block *const next = tab->blocks->next;
        free(tab->blocks);
        tab->blocks = next;
    }
    pool_deinit(&tab->strings);
    idmap_deinit(&tab->index);
    memset(tab, 0, sizeof *tab);
}

static bool is_text(struct strtab_string s, const char *text, size_t length)
{
    return s.length == length && memcmp(s.text, text, length) == 0;
}

/* NUL-terminated copy in the newest block, or in one of its own if it is long. */
static char *copy_text(struct strtab *tab, const char *text, size_t length)
{
    struct strtab_block *block = tab->blocks;
    if (!block || block->size - block->used < length + 1) {
        const size_t size = length + 1 > STRTAB_BLOCK_BYTES ? length + 1 : STRTAB_BLOCK_BYTES;
        block = malloc(sizeof *block + size);
        if (!block)
            return NULL;
        *block = (struct strtab_block){ .next = tab->blocks, .size = size };
        tab->blocks = block;
        tab->text_bytes += sizeof *block + size;
    }
    char *const copy = block->text + block->used;
    memcpy(copy, text, length);
    copy[length] = '\0';
    block->used += length + 1;
    return copy;
}

/* Gives back the room of the newest copy. */
static void drop_text(struct strtab *tab, size_t length)
{
    tab->blocks->used -= length + 1;
}

static enum err_code intern_valid(struct strtab *tab, const char *text, size_t length,
                                  str_id *id_out, struct err *err)
{
    const uint32_t hash = hash_mix(hash_bytes(text, length, HASH_SEED), length);
    struct idmap_slot *at;
    IDMAP_FIND(at, &tab->index, hash, is_text(strtab_get(tab, at->id), text, length));
    if (at) {
        *id_out = at->id;
        return ERR_OK;
    }
    if (tab->is_closed) {
        *id_out = tab->instead;
        return ERR_OK;
    }

    const struct strtab_string s = { copy_text(tab, text, length), (uint32_t)length };
    uint32_t id;
    if (!s.text)
        return err_nomem(err);
    enum err_code rc = pool_push(&tab->strings, &s, &id, err);
    if (rc) {
        drop_text(tab, length);
        return rc;
    }
    rc = idmap_add(&tab->index, hash, id, err);
    if (rc) {
        pool_pop(&tab->strings);
        drop_text(tab, length);
        return rc;
    }
    *id_out = id;
    return ERR_OK;
}

enum err_code strtab_intern(struct strtab *tab, const char *text, size_t length, str_id *id_out,
                            struct err *err)
{
    if (length <= STRTAB_MAX_LENGTH && utf8_is_valid(text, length))
        return intern_valid(tab, text, length, id_out, err);

    static const char ellipsis[] = "\xe2\x80\xa6";
    const size_t room = STRTAB_MAX_LENGTH - (sizeof ellipsis - 1);
    char *const copy = malloc(STRTAB_MAX_LENGTH);
    if (!copy)
        return err_nomem(err);
    size_t used = 0;
    while (length && used + 4 <= room) {
        const size_t n = utf8_char_length(text, length);
        if (n)
            memcpy(copy + used, text, n);
        used += n ? n : utf8_encode(0xfffd, copy + used);
        text += n ? n : 1;
        length -= n ? n : 1;
    }
    if (length) {
        memcpy(copy + used, ellipsis, sizeof ellipsis - 1);
        used += sizeof ellipsis - 1;
    }
    const enum err_code rc = intern_valid(tab, copy, used, id_out, err);
    free(copy);
    return rc;
}

void strtab_cut(struct strtab *tab, str_id id, uint32_t length)
{
    struct strtab_string *const s = pool_at(&tab->strings, id);
    if (length >= s->length)
        return;
    /* The text is in a block of ours. */
    memset((char *)(uintptr_t)s->text + length, 0, s->length - length);
    s->length = length;
}

enum err_code strtab_close(struct strtab *tab, const char *instead, struct err *err)
{
    const enum err_code rc = strtab_intern(tab, instead, strlen(instead), &tab->instead, err);
    if (!rc)
        tab->is_closed = true;
    return rc;
}

size_t strtab_bytes(const struct strtab *tab)
{
    return tab->text_bytes + pool_bytes(&tab->strings) + idmap_bytes(&tab->index);
}
