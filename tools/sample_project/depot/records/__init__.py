"""One module a record: its fields, their checks, and a book to look records up."""
