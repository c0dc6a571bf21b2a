"""Books in the order of their titles."""

from dataclasses import dataclass

from bookshelf.pages import page_count, page_of


@dataclass(frozen=True)
class Book:
    title: str
    author: str


class Catalogue:
    def __init__(self, books, page_size=10):
        self.books = sorted(books, key=lambda book: book.title)
        self.page_size = page_size

    def pages(self):
        """Every page, first to last."""
        return [page_of(self.books, number, self.page_size) for number in range(1, self.last_page + 1)]

    @property
    def last_page(self):
        return page_count(len(self.books), self.page_size)
