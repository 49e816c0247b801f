#include "server/command/options/suggest.h"

#include <stdbool.h>
#include <string.h>

enum { MAX_WORD = 32 };

static size_t smallest(size_t a, size_t b, size_t c)
{
    const size_t d = a < b ? a : b;
    return d < c ? d : c;
}

/* Optimal string alignment; rows[i % 3] is the row of the first i characters of a. */
size_t suggest_distance(const char *a, const char *b)
{
    size_t rows[3][MAX_WORD + 1];
    const size_t m = strlen(a), n = strlen(b);
    if (m > MAX_WORD || n > MAX_WORD)
        return MAX_WORD;
    for (size_t j = 0; j <= n; j++)
        rows[0][j] = j;
    for (size_t i = 1; i <= m; i++) {
        size_t *const row = rows[i % 3], *const above = rows[(i + 2) % 3];
        row[0] = i;
        for (size_t j = 1; j <= n; j++) {
            const bool differs = a[i - 1] != b[j - 1];
            row[j] = smallest(above[j] + 1, row[j - 1] + 1, above[j - 1] + differs);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                row[j] = smallest(row[j], rows[(i + 1) % 3][j - 2] + 1, row[j]);
        }
    }
    return rows[m % 3][n];
}

void suggest_offer(struct suggestion *best, const char *word, const char *candidate)
{
    const size_t distance = suggest_distance(word, candidate);
    const size_t near_enough = strlen(candidate) / 3 + 1;
    if (distance > near_enough || (best->word && distance >= best->distance))
        return;
    *best = (struct suggestion){ candidate, distance };
}
