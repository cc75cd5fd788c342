"""Plain files as a backend: what other programs read with nothing but a line reader."""
