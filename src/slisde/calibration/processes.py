"""Several processes, of one machine or of many, as one run (`jax.distributed`).

Each process is started by itself and told who coordinates, how many there are and which one it is.
From then on `jax.devices()` lists the devices of all of them. On CPUs they exchange arrays by gloo,
which is what JAX takes unless `jax_cpu_collectives_implementation` says otherwise.
"""

import os
import socket
import time

import jax

from slisde.errors import ConfigError

COORDINATOR = "SLISDE_COORDINATOR"
PROCESSES = "SLISDE_PROCESSES"
PROCESS = "SLISDE_PROCESS"

TIMEOUT = 300
"""Seconds in which all processes must have come."""


def join_processes(
    coordinator: str | None = None,
    processes: int | None = None,
    process: int | None = None,
    *,
    bind: str | None = None,
    timeout: int = TIMEOUT,
) -> bool:
    """Join the other processes of a run, and return whether there are any.

    It must come before the first computation. What is not given is read from the environment; with
    nothing there either, the process stays alone.

    Args:
        coordinator: `host:port` of process 0, where the others report; or `SLISDE_COORDINATOR`.
        processes: how many there are; or `SLISDE_PROCESSES`.
        process: which one this is, from 0; or `SLISDE_PROCESS`.
        bind: where process 0 listens. By default it is the coordinator's address and nothing wider,
            so that `127.0.0.1:port` cannot be reached from another machine.
        timeout: seconds to wait for the others.
    """
    coordinator = coordinator or os.environ.get(COORDINATOR) or None
    processes = _from_environment(PROCESSES) if processes is None else processes
    process = _from_environment(PROCESS) if process is None else process
    if coordinator is None and processes is None and process is None:
        return False
    if coordinator is None or processes is None or process is None:
        given = {COORDINATOR: coordinator, PROCESSES: processes, PROCESS: process}
        missing = " and ".join(name for name, value in given.items() if value is None)
        raise ConfigError(f"a run of several processes also needs {missing}.")
    if not 0 <= process < processes:
        raise ConfigError(
            f"{PROCESS} must be at least 0 and below {PROCESSES} = {processes}, got {process}."
        )
    if not jax.distributed.is_initialized():
        _initialize(coordinator, processes, process, bind or coordinator, timeout)
    return processes > 1


def is_writer() -> bool:
    """Return whether this is the one process that writes files."""
    return jax.process_index() == 0


def _from_environment(variable: str) -> int | None:
    text = os.environ.get(variable)
    if not text:
        return None
    try:
        return int(text)
    except ValueError:
        raise ConfigError(f"{variable} must be an integer, got {text!r}.") from None


def _initialize(coordinator: str, processes: int, process: int, bind: str, timeout: int) -> None:
    # JAX ends the process without an exception when it cannot listen or reach the coordinator.
    if process == 0:
        _check_listens(bind)
    else:
        _wait_for(coordinator, timeout)
    try:
        jax.distributed.initialize(
            coordinator,
            processes,
            process,
            # What the user says is all there is: no guesses from the variables of a cluster.
            cluster_detection_method="deactivate",
            initialization_timeout=timeout,
            coordinator_bind_address=bind,
        )
    except RuntimeError as error:
        reason = str(error).splitlines()[0]
        raise ConfigError(f"process {process} could not join the others: {reason}") from error


def _check_listens(address: str) -> None:
    host, port = _host_and_port(address)
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        socket.create_server((host, port), family=family).close()
    except OSError as error:
        raise ConfigError(f"process 0 cannot listen at {address}: {_reason(error)}.") from error


def _wait_for(address: str, timeout: int) -> None:
    deadline = time.monotonic() + timeout
    while True:
        try:
            socket.create_connection(_host_and_port(address), timeout=timeout).close()
            return
        except OSError as error:
            if time.monotonic() > deadline:
                raise ConfigError(
                    f"process 0 does not answer at {address} after {timeout} s: {_reason(error)}."
                ) from error
        time.sleep(0.1)


def _host_and_port(address: str) -> tuple[str, int]:
    host, _, port = address.rpartition(":")
    if not host or not port.isdigit():
        raise ConfigError(f"{COORDINATOR} must be `host:port`, got {address!r}.")
    return host.strip("[]"), int(port)


def _reason(error: OSError) -> str:
    # Python appends the address in brackets; the message has it already.
    return (error.strerror or str(error)).partition(" (")[0]
