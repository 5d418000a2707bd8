#!/usr/bin/env python3
"""Measures `kernel-builder serve` beside `python -m http.server`: the time to get 1 GB in files of
100 MB, by one client and by eight at a time.

time-serve.py PROGRAM [ROUNDS]; PROGRAM is a release build of kernel-builder.
"""

import http.client
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from statistics import median

SIZE, COUNT = 100_000_000, 10


def get(port, paths):
    """Gets files over one connection, and throws their bytes away."""
    connection = http.client.HTTPConnection("127.0.0.1", port)
    buffer = bytearray(1 << 20)
    for path in paths:
        connection.request("GET", path)
        answer = connection.getresponse()
        assert answer.status == 200, (path, answer.status)
        got = 0
        while length := answer.readinto(buffer):
            got += length
        assert got == SIZE, (path, got)
    connection.close()


def measure(port, paths, clients):
    """Gigabytes in a second."""
    shares = [paths[number::clients] for number in range(clients)]
    threads = [threading.Thread(target=get, args=(port, share)) for share in shares if share]
    start = time.monotonic()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return len(paths) * SIZE / (time.monotonic() - start) / 1e9


def main(program, rounds):
    with tempfile.TemporaryDirectory() as work:
        variant = Path(work) / "acme/large/build/torch-universal"
        variant.mkdir(parents=True)
        (variant / "metadata.json").write_text('{"version": 1}')
        for number in range(COUNT):
            (variant / f"{number}.bin").write_bytes(b"\0" + os.urandom(SIZE - 1))
        start = time.monotonic()
        own = subprocess.Popen(
            [program, "serve", work, "--listen", "127.0.0.1:0", "--json", "-q"], stdout=subprocess.PIPE, text=True
        )
        own_port = int(json.loads(own.stdout.readline())["url"].rsplit(":", 1)[1])
        print(f"serve: {time.monotonic() - start:.2f} s to hash 1 GB and listen")
        threading.Thread(target=own.stdout.read, daemon=True).start()
        command = [sys.executable, "-u", "-m", "http.server", "0", "--bind", "127.0.0.1"]
        python = subprocess.Popen(
            [*command, "--protocol", "HTTP/1.1", "--directory", work],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        python_port = int(python.stdout.readline().split(" port ")[1].split()[0])
        try:
            names = [f"build/torch-universal/{number}.bin" for number in range(COUNT)]
            servers = {
                "kernel-builder serve": (own_port, [f"/acme/large/resolve/v1/{name}" for name in names]),
                "python -m http.server": (python_port, [f"/acme/large/{name}" for name in names]),
            }
            for clients in (1, 8):
                times = {name: [] for name in servers}
                for _ in range(rounds):
                    for name, (port, paths) in servers.items():
                        times[name].append(measure(port, paths, clients))
                for name, own_times in times.items():
                    print(f"{name}, {clients} at a time: median {median(own_times):.2f} GB/s of {rounds}")
        finally:
            own.terminate()
            python.terminate()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 5)
