"""From a chain of quotes to a problem, by one of three conventions (`docs/surfaces.md`)."""
