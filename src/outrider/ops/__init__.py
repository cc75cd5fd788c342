"""What operators do with a frontier: look, move, export, repair."""
