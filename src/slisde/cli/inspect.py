"""`slisde inspect`: how large a model is before anything runs."""

from pathlib import Path

from slisde.cli.output import ConfigFile, Json, Settings, show


def inspect(config: ConfigFile = None, settings: Settings = None, json: Json = False) -> None:
    """Show parameter count, memory and arithmetic of a model.

    Example: slisde inspect --set model.layers=3 --set model.latent=32
    """
    from slisde.experiments.config import load
    from slisde.experiments.cost import model_cost

    loaded = load(None if config is None else Path(config), settings or ())
    cost = model_cost(loaded)
    labels = {
        "model": "model",
        "parameters": "parameters",
        "shape": "paths x steps",
        "evaluation": "evaluation",
        "memory_gb": "memory of a training step (GB)",
        "fits": "which fits here now",
        "gflop_per_step": "arithmetic of a training step (GFLOP)",
    }
    show(cost, as_json=json, labels=labels)
