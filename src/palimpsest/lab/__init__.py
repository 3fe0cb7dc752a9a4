"""Replay of recordings: policies side by side, metrics, reports."""
