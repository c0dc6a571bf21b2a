"""Cutting a list into numbered pages. The first page is number 1."""


def page_count(total, page_size):
    """How many pages `total` items need. An empty list still has one page to show."""
    if page_size < 1:
        raise ValueError(f"page_size must be at least 1, got {page_size}")
    return total // page_size + 1


def page_of(items, number, page_size):
    """The items on page `number`."""
    start = (number - 1) * page_size
    return items[start : start + page_size]
