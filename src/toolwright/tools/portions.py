"""How much of a file Read shows at once: what its description says and its readers keep to."""

DEFAULT_LINES = 2000
MAX_LINE_LENGTH = 2000
MAX_PAGES_UNASKED = 10
