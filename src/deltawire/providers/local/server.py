"""The local model's own process: one line of configuration comes in on stdin, the port goes out on stdout.

In: a ``Configuration`` as a line of JSON. Out: the line ``{"port": N}`` once the server listens, or ``{"error": "…"}``;
then nothing more. What llama.cpp prints goes to stderr. The process lives as long as its stdin stays open, and so ends
with its parent, however the parent ends.

Run by its path, with the standard library alone: a start costs the model's load and no import of ours.
"""

import importlib
import json
import os
import select
import signal
import sys
from typing import Protocol, TypedDict, cast
from urllib.parse import urlsplit


class Configuration(TypedDict):
    model_path: str
    alias: str  # the name that /v1/models tells
    slots: int  # requests at once
    context: int  # tokens a slot
    threads: int
    api_key: str
    import_from: list[str]  # folders to find the inference server in, after this interpreter's own


class Server(Protocol):
    listening_address: str


def main() -> None:
    # The parent decides when we end: an interrupt or a stop sent to the whole group must not cut runs that it drains.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    parent = os.dup(1)
    os.dup2(2, 1)  # from here on whatever is printed is log

    configuration = cast("Configuration", json.loads(_read_line()))
    _end_with_stdin()
    try:
        server = _load(configuration)
    except Exception as error:  # noqa: BLE001 - the outermost handler: the parent tells its user
        _tell(parent, {"error": f"{type(error).__name__}: {error}"})
        sys.exit(1)  # an orderly end: a thread of llama.cpp's may still have the log to write
    _tell(parent, {"port": urlsplit(server.listening_address).port})
    while os.read(0, 1024):
        pass
    os._exit(0)  # at once: nothing in here is worth an orderly end


def _read_line() -> bytes:
    """The first line of stdin. Without it there is nothing to do."""
    line = bytearray()
    while not line.endswith(b"\n"):
        piece = os.read(0, 65536)
        if not piece:
            os._exit(0)
        line += piece
    return bytes(line)


def _end_with_stdin() -> None:
    """Have the kernel end us when stdin ends: loading holds the interpreter's lock, so no thread could notice."""
    if sys.platform == "win32":
        return  # there the read in main() notices, once the model is loaded
    import fcntl

    signal.signal(signal.SIGIO, signal.SIG_DFL)  # which is to end
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGIO})
    fcntl.fcntl(0, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(0, fcntl.F_SETFL, fcntl.fcntl(0, fcntl.F_GETFL) | os.O_ASYNC)
    if select.select([0], [], [], 0)[0]:  # it ended before the kernel was asked to tell
        os._exit(0)


def _load(configuration: Configuration) -> Server:
    """Load the model and listen on a free port of 127.0.0.1. The server ends when it is collected."""
    sys.path.extend(folder for folder in configuration["import_from"] if folder not in sys.path)
    xllamacpp = importlib.import_module("xllamacpp")

    parameters = xllamacpp.CommonParams()
    parameters.model.path = configuration["model_path"]
    parameters.model_alias = {configuration["alias"]}
    parameters.n_parallel = configuration["slots"]
    parameters.n_ctx = configuration["slots"] * configuration["context"]
    parameters.n_gpu_layers = 0
    parameters.cpuparams.n_threads = configuration["threads"]
    parameters.cpuparams_batch.n_threads = configuration["threads"]
    parameters.cache_ram_mib = 0
    parameters.hostnames = ["127.0.0.1"]
    parameters.port = 0
    parameters.api_keys = [configuration["api_key"]]
    parameters.cors_origins = "https://none.invalid"  # no web page is to read from this port
    parameters.ui = False
    return xllamacpp.Server(parameters)


def _tell(parent: int, message: dict[str, int | str | None]) -> None:
    os.write(parent, json.dumps(message).encode() + b"\n")
    os.close(parent)


if __name__ == "__main__":
    main()
