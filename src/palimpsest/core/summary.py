"""Temporary: replaced by the summary branch."""


def summary_message_text(summary: str) -> str:
    """Wrap."""
    return f"lead-in\n<summary>\n{summary}\n</summary>"
