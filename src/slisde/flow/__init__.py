"""Affine recurrences, fast: grids, drivers, matrix families, transitions and their evaluation."""
