"""The command line: one file per command, each declares, unpacks and calls the library."""
