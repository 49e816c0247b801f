#include "server/settings/setting.h"
#include "tests/support/test.h"

struct unit_row {
    const char *text;
    double value; /* 0: not accepted */
};

static void rates_are_read(void **state)
{
    static const struct unit_row rows[] = {
        { "100", 100 },   { "100hz", 100 }, { "10khz", 1e4 }, { "1.5k", 1500 }, { "1mhz", 1e6 },
        { "1MHz", 1e6 },  { "1M", 1e6 },    { "1", 1 },       { "0.001k", 1 },  { "1e3", 0 },
        { "0.5", 0 },     { "0", 0 },       { "-5", 0 },      { "+5", 0 },      { "", 0 },
        { "k", 0 },       { "1.1mhz", 0 },  { "2000k", 0 },   { "inf", 0 },     { "nan", 0 },
        { "0x10", 0 },    { "1ghz", 0 },    { "1 k", 0 },     { "1.2.3", 0 },   { ".", 0 },
        { "1000001", 0 },
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        double hz = 0;
        assert_int_equal(setting_number(SETTING_RATE, rows[i].text, &hz), rows[i].value > 0);
        assert_true(rows[i].value == 0 || hz == rows[i].value);
    }
}

static void sizes_are_read(void **state)
{
    static const struct unit_row rows[] = {
        { "64m", 0x1p26 },
        { "64MiB", 0x1p26 },
        { "1.5g", 1.5 * 0x1p30 },
        { "1048576", 0x1p20 },
        { "1024k", 0x1p20 },
        { "1024g", 0x1p40 },
        { "1mb", 0x1p20 },
        { "1023k", 0 },
        { "1025g", 0 },
        { "0", 0 },
        { "", 0 },
        { "-1m", 0 },
        { "1t", 0 },
        { "m", 0 },
        { "inf", 0 },
        { "2097152b", 0x1p21 },
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        double bytes = 0;
        assert_int_equal(setting_number(SETTING_SIZE, rows[i].text, &bytes), rows[i].value > 0);
        assert_true(rows[i].value == 0 || bytes == rows[i].value);
    }
}

static void durations_are_read(void **state)
{
    static const struct unit_row rows[] = {
        { "10", 10e9 },  { "0.5", 0.5e9 },  { "500ms", 0.5e9 }, { "10s", 10e9 },
        { "2m", 120e9 }, { "1h", 3600e9 },  { "1.5M", 90e9 },   { "0", 0 },
        { "", 0 },       { "-1", 0 },       { "1d", 0 },        { "inf", 0 },
        { "m", 0 },      { "9999999h", 0 },
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        double ns = 0;
        assert_int_equal(setting_number(SETTING_DURATION, rows[i].text, &ns),
                         rows[i].value > 0);
        assert_true(rows[i].value == 0 || ns == rows[i].value);
    }
}

TEST_GROUP(cmocka_unit_test(rates_are_read), cmocka_unit_test(sizes_are_read),
           cmocka_unit_test(durations_are_read))
