"""A catalogue of books, shown page by page."""

from bookshelf.catalogue import Book, Catalogue

__all__ = ["Book", "Catalogue"]
