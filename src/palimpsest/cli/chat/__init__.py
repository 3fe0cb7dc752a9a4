"""The interactive mode: events become a screen, lines become commands, a thin shell does them."""
