import pytest


@pytest.mark.parametrize(
    ("settings", "parameters"),
    [([], 103_136), (["model.layers=3", "model.latent=32"], 73_744)],
)
def test_the_toy_cells_have_the_papers_parameter_counts(slisde, settings, parameters):
    arguments = [part for setting in settings for part in ("--set", setting)]
    assert slisde("inspect", "--json", *arguments).json()["parameters"] == parameters


def test_the_plain_output_shows_the_same_numbers_as_json(slisde):
    values = slisde("inspect", "--json").json()
    plain = slisde("inspect").out
    assert f"{values['parameters']:,}" in plain
    assert f"{values['gflop_per_step']:.4g}" in plain
    assert f"{values['memory_gb']:.4g}" in plain


def test_a_configuration_file_is_read_and_settings_go_over_it(slisde, tmp_path):
    file = tmp_path / "model.toml"
    file.write_text("[model]\nlayers = 1\nlatent = 16\n")
    from_file = slisde("inspect", "--json", "--config", str(file)).json()
    deeper = slisde("inspect", "--json", "--config", str(file), "--set", "model.layers=2").json()
    assert "1 layers, latent 16" in from_file["model"]
    assert deeper["parameters"] > from_file["parameters"]


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("model.blocksize=8", "[model] has no key `blocksize`. Did you mean `block_size`?"),
        ("modle.layers=2", "There is no table `[modle]`. Did you mean `model`?"),
        ("model.layers=two", "[model] `layers` must be a valid integer, got 'two'."),
        ("model.norm=batch", "[model] `norm` must be 'rms' or 'layer', got 'batch'."),
        ("train.memory=long", "[train] `memory` must be a valid number or 'auto', got 'long'."),
        ("model.prior=1", "[model] `prior` must be a valid boolean, got 1."),
        (
            "model.block_size=7",
            "[model] `block_size` must divide `latent` = 64, got 7: "
            "blocks must tile the latent dimension 64.",
        ),
        (
            "model.rho=1.0",
            "[model] `rho` must be in [0, 1), got 1.0: at 1 no innovation is left to tilt.",
        ),
        (
            "model.amplitude=1",
            "[model] `amplitude` must be in (0, 1), got 1.0: the scale 1 ± ε has to stay positive.",
        ),
        (
            "grid.steps=0",
            "[grid] `steps` must be an integer ≥ 1, got 0: a grid has at least one step.",
        ),
        (
            "train.paths=0",
            "[train] `paths` must be at least 1, got 0: an empty batch has no average.",
        ),
        ("layers=3", "`--set layers=3` must look like `--set model.layers=3`."),
    ],
)
def test_a_bad_setting_ends_in_one_line_that_says_what_to_do(slisde, setting, message):
    outcome = slisde("inspect", "--set", setting)
    assert outcome == (2, "", f"slisde: error: {message}\n")


def test_a_missing_file_and_a_file_that_is_not_toml_are_named(slisde, tmp_path):
    missing = slisde("inspect", "--config", str(tmp_path / "none.toml"))
    broken = tmp_path / "broken.toml"
    broken.write_text("[model\n")
    refused = slisde("inspect", "--config", str(broken))
    assert (missing.code, refused.code) == (2, 2)
    assert "none.toml: No such file or directory" in missing.err
    assert "broken.toml is not TOML" in refused.err
