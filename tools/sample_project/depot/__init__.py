"""Stock and billing for a small wholesaler."""
