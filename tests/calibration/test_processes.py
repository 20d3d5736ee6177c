import socket

import jax
import pytest

from slisde.calibration.processes import is_writer, join_processes
from slisde.errors import ConfigError, SlisdeError


def test_without_settings_a_process_stays_alone_and_writes():
    assert not join_processes()
    assert is_writer()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"SLISDE_PROCESSES": "2"}, "also needs SLISDE_COORDINATOR and SLISDE_PROCESS.$"),
        (
            {"SLISDE_COORDINATOR": "127.0.0.1:9999", "SLISDE_PROCESS": "0"},
            "also needs SLISDE_PROCESSES.$",
        ),
        ({"SLISDE_PROCESSES": "two"}, "SLISDE_PROCESSES must be an integer, got 'two'"),
    ],
)
def test_incomplete_settings_are_named(settings, message, monkeypatch):
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(ConfigError, match=message):
        join_processes()


def test_a_process_beyond_the_last_is_refused():
    with pytest.raises(ConfigError, match="below SLISDE_PROCESSES = 2, got 2"):
        join_processes("127.0.0.1:9999", 2, 2)


@pytest.mark.parametrize("address", ["127.0.0.1", ":9999", "127.0.0.1:http"])
def test_an_address_needs_a_host_and_a_port(address):
    with pytest.raises(ConfigError, match="must be `host:port`"):
        join_processes(address, 2, 0)


def test_a_port_in_use_and_a_coordinator_that_is_not_there_are_told_before_jax_dies_of_them():
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
        with pytest.raises(
            ConfigError, match=f"cannot listen at {address}: Address already in use"
        ):
            join_processes(address, 2, 0)
    with pytest.raises(ConfigError, match=f"does not answer at {address} after 0 s"):
        join_processes(address, 2, 1, timeout=0)


def test_joining_after_the_first_computation_is_refused_in_one_line():
    jax.devices()
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
    with pytest.raises(SlisdeError, match=r"^process 0 could not join .* before .*$"):
        join_processes(address, 2, 0)
    assert not jax.distributed.is_initialized()
