"""The ground floor: what every room may use, and what knows none of them."""
