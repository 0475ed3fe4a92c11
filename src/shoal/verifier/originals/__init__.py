"""A release compared with the table that it was made from."""
