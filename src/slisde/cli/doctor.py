"""`slisde doctor`: versions, devices, and which engine is in use and why."""

from slisde.cli.output import Json, show


def doctor(json: Json = False) -> None:
    """Show versions, devices, which engine is used and why.

    Example: slisde doctor --json
    """
    from slisde.experiments.machine import describe

    show(describe(), as_json=json)
