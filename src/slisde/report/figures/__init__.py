"""The figures of a report, one file each; every one is an ordinary plotly figure."""
