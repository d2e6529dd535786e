"""Draws plans and runs as SVG, by code of our own: where every box and line goes is decided in cores."""
