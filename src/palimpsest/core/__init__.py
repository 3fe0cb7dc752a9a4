"""The pure engine: values and functions; no I/O, clock, ids or randomness."""
