"""What stands in the view where a tool output was cleared."""

PRUNE_PLACEHOLDER = "[Old tool result content cleared]"
