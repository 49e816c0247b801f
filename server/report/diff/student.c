#include "server/report/diff/student.h"

#include <math.h>
#include <stdbool.h>

enum { MAX_TERMS = 200, MAX_STEPS = 100 };

#define PRECISION          1e-14
#define TINY               1e-300
#define QUANTILE_PRECISION 1e-12
/* With more degrees the normal distribution differs by less than 1e-7. */
#define NORMAL_DEGREES 1e7
#define MAX_QUANTILE   1e8

/* The continued fraction of the incomplete beta function, by Lentz's method. */
static double continued_fraction(double a, double b, double x)
{
    double c = 1, d = 1 - (a + b) * x / (a + 1);
    d = 1 / (fabs(d) < TINY ? TINY : d);
    double value = d;
    for (int m = 1; m <= MAX_TERMS; m++) {
        for (int odd = 0; odd <= 1; odd++) {
            const double term =
                odd ? -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
                    : m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
            d = 1 + term * d;
            c = 1 + term / c;
            d = 1 / (fabs(d) < TINY ? TINY : d);
            c = fabs(c) < TINY ? TINY : c;
            value *= c * d;
        }
        if (fabs(c * d - 1) < PRECISION)
            break;
    }
    return value;
}

/* The regularized incomplete beta function; x and rest = 1 - x are both exact. */
static double incomplete_beta(double a, double b, double x, double rest)
{
    if (!(x > 0))
        return 0;
    if (!(rest > 0))
        return 1;
    const double front =
        exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log(rest));
    return x < (a + 1) / (a + b + 2) ? front * continued_fraction(a, b, x) / a
                                     : 1 - front * continued_fraction(b, a, rest) / b;
}

double student_tails(double t, double degrees)
{
    if (!(degrees < NORMAL_DEGREES))
        return erfc(fabs(t) / sqrt(2.0));
    const double square = t * t, sum = degrees + square;
    return isinf(square) ? 0 : incomplete_beta(degrees / 2, 0.5, degrees / sum, square / sum);
}

/* Regula falsi in its Illinois form: the end that stays counts half the next time. */
double student_quantile(double tails, double degrees)
{
    double low = 0, high = 1, below = 1 - tails, above = student_tails(1, degrees) - tails;
    while (above > 0 && high < MAX_QUANTILE) {
        low = high;
        below = above;
        high *= 2;
        above = student_tails(high, degrees) - tails;
    }
    if (above > 0)
        return high;
    bool was_low = false, was_high = false;
    for (int i = 0; i < MAX_STEPS && above < 0 && high - low > QUANTILE_PRECISION * high; i++) {
        const double middle = high - above * (high - low) / (above - below);
        const double excess = student_tails(middle, degrees) - tails;
        if (excess > 0) {
            low = middle;
            below = excess;
            above = was_low ? above / 2 : above;
        } else {
            high = middle;
            above = excess;
            below = was_high ? below / 2 : below;
        }
        was_low = excess > 0;
        was_high = !was_low;
    }
    return high;
}
