import subprocess
import sys

import slisde as package


def test_the_version_is_the_packages(slisde):
    assert slisde("--version").out == f"slisde {package.__version__}\n"


def test_help_shows_every_command_with_an_example(slisde):
    overview = slisde("--help").out
    for command in ("bench", "doctor", "inspect"):
        assert command in overview
        assert f"Example: slisde {command}" in slisde(command, "--help").out


def test_no_command_at_all_shows_the_help(slisde):
    assert slisde() == (0, slisde("--help").out, "")


def test_an_unknown_command_or_option_is_one_line(slisde):
    for arguments in (("calibrat",), ("inspect", "--colour")):
        outcome = slisde(*arguments)
        assert outcome.code == 2
        assert outcome.err.startswith("slisde: error: ")
        assert outcome.err.count("\n") == 1


def test_help_does_not_load_jax():
    program = "import sys, slisde.cli.main; sys.exit('jax' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
