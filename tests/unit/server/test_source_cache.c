#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/base/buffer.h"
#include "sampler/base/random.h"
#include "server/source/cache.h"
#include "tests/support/test.h"

static struct cache_key key_of(unsigned owner, const char *path)
{
    return (struct cache_key){ owner, { path, (uint32_t)strlen(path) } };
}

static void put(struct cache *cache, const char *path, uint32_t rank, const struct buffer *text)
{
    const struct cache_key key = key_of(1, path);
    cache_put(cache, &key, rank, text, 7);
}

static bool has(struct cache *cache, unsigned owner, const char *path)
{
    const struct cache_key key = key_of(owner, path);
    struct buffer text = { 0 };
    uint64_t changed_ns = 0;
    const bool found = cache_get(cache, &key, &text, &changed_ns);
    buffer_deinit(&text);
    return found;
}

/* Text that cannot be compressed. */
static struct buffer noise(size_t bytes)
{
    struct buffer text = { 0 };
    struct random random;
    random_init_any(&random);
    while (text.length < bytes) {
        const uint64_t word = random_u64(&random);
        buffer_append(&text, &word, sizeof word);
    }
    return text;
}

static void texts_are_those_of_owner_and_path(void **state)
{
    struct cache *const cache = malloc(sizeof *cache);
    struct buffer text = { 0 }, found = { 0 };
    uint64_t changed_ns = 0;
    (void)state;
    cache_init(cache);
    buffer_text(&text, "import os\n");
    put(cache, "/a.py", 0, &text);
    put(cache, "/none.py", 1, NULL);
    const struct cache_key key = key_of(1, "/a.py"), none = key_of(1, "/none.py");
    assert_true(cache_get(cache, &key, &found, &changed_ns));
    assert_string_equal(buffer_string(&found), "import os\n");
    assert_int_equal(changed_ns, 7);
    assert_false(has(cache, 2, "/a.py"));
    assert_false(has(cache, 1, "/a.p"));
    assert_false(has(cache, 1, "/none.py"));
    /* A file that cannot be read need not be asked for again. */
    assert_true(cache_rank(cache, &none, 3));
    buffer_clear(&text);
    put(cache, "/empty.py", 2, &text);
    assert_true(has(cache, 1, "/empty.py"));
    buffer_deinit(&text);
    buffer_deinit(&found);
    cache_deinit(cache);
    free(cache);
}

static void the_hottest_stay_where_there_is_no_room(void **state)
{
    enum { EACH = CACHE_MAX_BYTES / 4 };
    struct cache *const cache = malloc(sizeof *cache);
    struct buffer text = noise(EACH - 4096);
    (void)state;
    cache_init(cache);
    put(cache, "/1.py", 1, &text);
    put(cache, "/2.py", 2, &text);
    put(cache, "/3.py", 3, &text);
    put(cache, "/4.py", 4, &text);
    assert_true(has(cache, 1, "/4.py"));
    put(cache, "/0.py", 0, &text);
    assert_true(has(cache, 1, "/0.py"));
    assert_true(has(cache, 1, "/3.py"));
    assert_false(has(cache, 1, "/4.py"));
    put(cache, "/9.py", 9, &text);
    assert_false(has(cache, 1, "/9.py"));
    assert_true(cache->packed_bytes <= CACHE_MAX_BYTES);
    /* The file that has cooled down goes first. */
    const struct cache_key cold = key_of(1, "/0.py");
    assert_true(cache_rank(cache, &cold, 8));
    put(cache, "/5.py", 5, &text);
    assert_true(has(cache, 1, "/5.py"));
    assert_false(has(cache, 1, "/0.py"));
    buffer_deinit(&text);
    cache_deinit(cache);
    free(cache);
}

static void so_many_files_and_no_more(void **state)
{
    struct cache *const cache = malloc(sizeof *cache);
    struct buffer text = { 0 };
    char path[32];
    (void)state;
    cache_init(cache);
    buffer_text(&text, "x");
    for (uint32_t i = 0; i < 2 * CACHE_MAX_FILES; i++) {
        snprintf(path, sizeof path, "/%u.py", 2 * CACHE_MAX_FILES - i);
        put(cache, path, 2 * CACHE_MAX_FILES - i, &text);
    }
    assert_int_equal(cache->count, CACHE_MAX_FILES);
    assert_true(has(cache, 1, "/1.py"));
    snprintf(path, sizeof path, "/%d.py", CACHE_MAX_FILES + 1);
    assert_false(has(cache, 1, path));
    buffer_deinit(&text);
    cache_deinit(cache);
    free(cache);
}

TEST_GROUP(cmocka_unit_test(texts_are_those_of_owner_and_path),
           cmocka_unit_test(the_hottest_stay_where_there_is_no_room),
           cmocka_unit_test(so_many_files_and_no_more))
