"""The learned change of measure, for rare events (paper: sec:girsanov)."""
