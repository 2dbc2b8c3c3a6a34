"""Figures of a report: one module each, made of its frames alone, as Altair charts and as SVG."""
