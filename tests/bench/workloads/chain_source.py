"""The source of a chain of functions letter_1 > letter_2 > ... > letter_DEPTH, each adding and calling the next one."""


def file_name(letter):
    return "chain_%s.py" % letter


def chain_source(letter, depth, local_count=0):
    """Python source; local_count local variables make every frame larger."""
    lines = []
    for number in range(depth, 0, -1):
        more = "".join(" v%d =" % local for local in range(local_count))
        lines.append("def %s_%d(value):" % (letter, number))
        lines.append("   %s value + 1" % (more or " value ="))
        lines.append("    return value" if number == depth else "    return %s_%d(value)" % (letter, number + 1))
    return "\n".join(lines) + "\n"
