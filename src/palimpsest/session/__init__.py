"""The runtime of a session: its storage, and what works on it."""
