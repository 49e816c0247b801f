"""Prints numbers in columns, and keeps every one of them for the file."""

import math

import stats


def number(value, unit=""):
    """Short text of a number: 3 digits that matter, k and M; shares as %."""
    if value is None:
        return "-"
    if isinstance(value, str):
        return value
    if math.isnan(value) or math.isinf(value):
        return "-"
    if unit == "%":
        value *= 100
        digits = 1 if abs(value) >= 10 else 2 if abs(value) >= 0.095 or value == 0 else 4
        return "%.*f %%" % (digits, value)
    if unit == "B":
        return "%.1f MB" % (value / 1e6)
    if unit == "s":
        return "%s us" % number(value * 1e6) if value < 1e-3 else "%.2f ms" % (value * 1e3)
    if abs(value) >= 1e6:
        text = "%.2fM" % (value / 1e6)
    elif abs(value) >= 1e4:
        text = "%.0fk" % (value / 1e3)
    elif abs(value) >= 100:
        text = "%.0f" % value
    else:
        text = "%.3g" % value
    return (text + " " + unit).strip()


def points(value):
    """A difference of shares, in hundredths."""
    return "-" if value is None or math.isnan(value) else "%.2f" % (100 * value)


def summary(values, unit=""):
    """Median and range of the rounds."""
    values = [value for value in values if value is not None and not math.isnan(value)]
    if not values:
        return "-"
    middle = number(stats.median(values), unit)
    if len(values) == 1 or min(values) == max(values):
        return middle
    return "%s [%s..%s]" % (middle, number(min(values), unit), number(max(values), unit))


class Goal:
    """The goal for a number: at most, or at least; `text` is what the table says."""

    def __init__(self, text, at_most=None, at_least=None):
        self.text, self.at_most, self.at_least = text, at_most, at_least

    def verdict(self, value):
        if value is None or math.isnan(value):
            return "not measured"
        if self.at_most is not None and value > self.at_most:
            return "MISS"
        if self.at_least is not None and value < self.at_least:
            return "MISS"
        return "ok"


def columns(header, rows):
    """The rows as text, each column as wide as it must be; the last cell of a row that is short runs over the columns behind it."""
    rows = [[str(cell) for cell in row] for row in [header] + rows]
    widths = [max([len(row[at]) for row in rows if len(row) > at + (len(row) < len(header))]) for at in range(len(header))]
    lines = []
    for row in rows[:1] + [["-" * width for width in widths]] + rows[1:]:
        lines.append("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip())
    return "\n".join(lines)
