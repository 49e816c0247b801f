"""Golden files of what is nearly the same for every version of Python: parts with names, each of which says from which minor version on it
is so. GOLDEN_REFRESH=1 writes them again, from all interpreters of the machine."""

import json
import os
import re
import threading

from harness import ROOT

FOLDER = os.path.join(ROOT, "tests", "golden")
OLDEST = 8
_made = {}
_lock = threading.Lock()


class Golden:
    """A file NAME.txt, whose parts are lists of lines, or NAME.json, whose parts are any values. A part that is not there is None."""

    def __init__(self, name):
        self.path = os.path.join(FOLDER, name)
        self.is_text = name.endswith(".txt")

    def parts(self, minor):
        """The parts for a minor version."""
        with _lock, open(self.path, encoding="utf-8") as file:
            rows = _rows_of_text(file.read()) if self.is_text else _rows_of_json(json.load(file))
        parts = {}
        for name, first, part in rows:
            if first <= minor:
                parts[name] = part
        return {name: part for name, part in parts.items() if part}

    def refresh(self, minor, parts):
        """Writes the file from what was made until now."""
        with _lock:
            made = _made.setdefault(self.path, {})
            made[minor] = parts
            rows = []
            for name in sorted(set().union(*made.values())):
                last = None
                for first in sorted(made):
                    part = made[first].get(name)
                    if part != last:
                        rows.append((name, OLDEST if first == min(made) else first, part))
                        last = part
            os.makedirs(os.path.dirname(self.path), exist_ok=True)
            with open(self.path, "w", encoding="utf-8") as file:
                file.write(_text_of(rows) if self.is_text else _json_of(rows))


def _text_of(rows):
    return "".join("%s%s\n%s" % (name, "" if first == OLDEST else ", from 3.%d on" % first, "".join("  %s\n" % line for line in part or []))
                   for name, first, part in rows)


def _rows_of_text(text):
    rows = []
    for line in text.splitlines():
        if line.startswith("  "):
            rows[-1][2].append(line[2:])
        else:
            name, first = re.fullmatch(r"(.*?)(?:, from 3\.(\d+) on)?", line).groups()
            rows.append((name, int(first or OLDEST), []))
    return rows


def _json_of(rows):
    value = {}
    for name, first, part in rows:
        value.setdefault(name, {})["from 3.%d on" % first] = part
    return json.dumps(value, indent=1, ensure_ascii=False) + "\n"


def _rows_of_json(value):
    return [(name, int(re.search(r"3\.(\d+)", first).group(1)), part) for name, versions in value.items() for first, part in versions.items()]
