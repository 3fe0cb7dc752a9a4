"""Readers of recorded sessions, one file a format."""
