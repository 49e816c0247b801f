"""One module per section. Each has TITLE and measure(bench); SECTIONS says in which order they run."""

SECTIONS = ["truth", "rate", "cpu", "slowdown", "memory", "aliasing", "coverage", "capture", "http", "page"]
