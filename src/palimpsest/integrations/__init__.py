"""The engine in agents and loops of other makers; each module stands for itself."""
