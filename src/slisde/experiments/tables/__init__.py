"""Tables as data and their rendering."""
