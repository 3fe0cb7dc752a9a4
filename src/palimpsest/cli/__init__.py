"""The command line: renders and sends commands, decides nothing."""
