"""Writes a profile for viewers: an HTML page or an SVG of our own, or the formats of others."""
