"""How much of a file Read shows at once: what its description says and its readers keep to."""

DEFAULT_LINES = 2000
LONGEST_LINE = 2000
MOST_PAGES_UNASKED = 10
