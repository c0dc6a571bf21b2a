import unittest

from bookshelf import Book, Catalogue


def shelf(count, page_size=10):
    return Catalogue([Book(f"Volume {number:03}", "A. Writer") for number in range(count)], page_size)


class PagesTest(unittest.TestCase):
    def test_an_empty_catalogue_has_one_empty_page(self):
        self.assertEqual(shelf(0).pages(), [[]])

    def test_the_last_page_may_be_short(self):
        self.assertEqual([len(page) for page in shelf(23).pages()], [10, 10, 3])

    def test_a_full_last_page_is_the_last(self):
        self.assertEqual([len(page) for page in shelf(20).pages()], [10, 10])

    def test_books_are_sorted_by_title(self):
        books = [Book("Walden", "Thoreau"), Book("Emma", "Austen")]
        self.assertEqual([book.title for book in Catalogue(books).pages()[0]], ["Emma", "Walden"])

    def test_a_page_holds_at_least_one_book(self):
        with self.assertRaises(ValueError):
            shelf(3, page_size=0).pages()


if __name__ == "__main__":
    unittest.main()
