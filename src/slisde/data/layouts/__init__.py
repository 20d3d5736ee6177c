"""The layouts that quotes come in, recognised by their columns; one file per layout."""
