"""One adapter a library; each runs in an environment of its own, and knows no other."""
