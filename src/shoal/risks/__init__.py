"""How likely people in a table are to be re-identified."""
