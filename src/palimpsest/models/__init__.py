"""Models: resolving, limits, summarisers, and the engine around a model's requests."""
