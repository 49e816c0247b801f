"""One module per section. Each has TITLE and measure(bench); SECTIONS says in which order they run."""

SECTIONS = ["truth", "alike", "rate", "cpu", "slowdown", "bpf", "native", "memory", "memory-events", "aliasing", "coverage", "capture", "compare", "http", "page"]
