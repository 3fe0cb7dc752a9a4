"""Public doubles for tests of code that uses Palimpsest; the product never imports them."""
