"""Message dialects: measure, render, clear and summary message, one file a dialect."""
