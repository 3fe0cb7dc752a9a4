"""Session files: what their lines say, where they stand, and whether they are whole."""
