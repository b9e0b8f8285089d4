"""Does tasks of ``mayhap`` on a Ray cluster.

``mayhap corpus --ray ADDRESS`` and ``mayhap explore --ray ADDRESS`` run this as their driver. They write a line of JSON that says
what to do, and then one for each task; this answers with a line for each task that is done. A task is done by a worker process of the
``mayhap`` executable, which is sent to machines that do not have it. Ray places tasks and does those again whose worker or machine is
lost.
"""

from __future__ import annotations

import json
import os
import stat
import sys
import tempfile

# Tasks whose workers are lost are done again so often.
RETRIES = 20


def stamp(path):
    """What says that a file here and one there are the same."""
    status = os.stat(path)
    return [status.st_size, status.st_mtime_ns]


def fingerprint(paths):
    """A name for files, by their contents."""
    import hashlib

    found = hashlib.sha256()
    for name, path in sorted(paths):
        with open(path, "rb") as file:
            found.update(f"{name}\0{os.stat(path).st_mode & 0o777}\0".encode())
            found.update(hashlib.file_digest(file, "sha256").digest())
    return found.hexdigest()[:32]


def folder_of(bundle):
    """Where a machine keeps the files of a bundle. The name has the same length everywhere."""
    return os.path.join("/tmp", f"mayhap-{os.getuid():06d}-{bundle}")


def is_own(folder):
    """Whether a folder is there and nobody else may have written to it."""
    try:
        status = os.lstat(folder)
    except OSError:
        return False
    return stat.S_ISDIR(status.st_mode) and status.st_uid == os.getuid() and not status.st_mode & 0o022


def unpack(bundle, files):
    """Puts the files of a bundle where they belong, unless they are there. ``files`` gives name, mode and contents of each."""
    folder = folder_of(bundle)
    if is_own(folder):
        return folder
    new = tempfile.mkdtemp(prefix="mayhap-new-", dir="/tmp")
    for name, mode, contents in files():
        with open(os.path.join(new, name), "wb") as file:
            file.write(contents)
        os.chmod(file.name, mode)
    try:
        os.rename(new, folder)
    except OSError:
        # Another worker of the same machine was first.
        import shutil

        shutil.rmtree(new, ignore_errors=True)
    if not is_own(folder):
        raise PermissionError(f"{folder} belongs to another user")
    return folder


class Child:
    """A worker process, which does one task after the other."""

    def __init__(self, command, environment, start):
        import subprocess

        self.said = tempfile.TemporaryFile()
        self.start = start
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.said, env=environment
        )
        self.send(start)

    def send(self, line):
        try:
            self.process.stdin.write(line.encode() + b"\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            pass

    def line(self, seconds):
        """The next line that it prints; ``None`` if the time is up, empty if it is gone."""
        import select
        import time

        end, pieces, pipe = time.monotonic() + seconds, [], self.process.stdout.fileno()
        while True:
            ready, _, _ = select.select([pipe], [], [], max(0.0, end - time.monotonic()))
            if not ready:
                return None
            piece = os.read(pipe, 1 << 20)
            pieces.append(piece)
            if not piece:
                return ""
            if piece.endswith(b"\n"):
                return b"".join(pieces).decode()

    def end(self):
        self.process.kill()
        return self.process.wait()

    def ended(self):
        """How it ended by itself, and the last that it said."""
        code = self.process.wait()
        size = self.said.seek(0, os.SEEK_END)
        self.said.seek(max(0, size - (1 << 14)))
        how = f"signal {-code}" if code < 0 else f"exit code {code}"
        return {"ended": how, "said": self.said.read().decode(errors="replace")}


def child_for(command, environment, start):
    """The worker process of this Ray worker; a new one if there is none or it was started otherwise."""
    # The functions of this file come by value, so it is a module that keeps what lasts.
    children = sys.modules.setdefault("_mayhap_children", type(sys)("_mayhap_children"))
    child = getattr(children, "child", None)
    if child is not None and (child.start != start or child.process.poll() is not None):
        child.end()
        child = None
    if child is None:
        child = children.child = Child(command, environment, start)
    return child


def perform(bundle, command, start, task, seconds, file, contents):
    """Does a task on a machine of the cluster."""
    import ray

    def bundled():
        return ray.get(bundle[1][0])

    command = [os.path.join(unpack(bundle[0], bundled), command[0]), *command[1:]]
    with tempfile.TemporaryDirectory(prefix="mayhap-task-") as folder:
        if file is not None:
            path, stamped = file
            try:
                here = stamp(path) == stamped
            except OSError:
                here = False
            if not here:
                if contents is None:
                    return {"absent": True}
                copy = os.path.join(folder, os.path.basename(path))
                with open(copy, "wb") as to:
                    to.write(ray.get(contents[0]))
                task = json.dumps({**json.loads(task), "path": copy})
        child = child_for(command, bundle[2], start)
        child.send(task)
        answer = child.line(seconds)
        if answer is None:
            child.end()
            return {"late": True}
        return {"answer": answer} if answer else child.ended()


class Driver:
    """Passes tasks on to Ray, and answers back."""

    def __init__(self, opening):
        # Settings of object stores are in it, and its size decides where the stack of a program begins. Ray adds to it, so this comes
        # before the import.
        environment = dict(os.environ)
        import ray

        self.ray = ray
        # A local cluster must not report its use.
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        connect(ray, opening["address"], opening["workers"])
        files = [("mayhap", opening["executable"]), *map(tuple, opening["files"])]
        name = fingerprint(files)

        def read():
            return [(name, os.stat(path).st_mode & 0o777, open(path, "rb").read()) for name, path in files]

        # On this machine they are needed, too: a program's addresses depend on its path.
        self.folder = unpack(name, read)
        self.bundle = (name, [ray.put(read())], environment)
        self.command = ["mayhap", *opening["arguments"]]
        self.perform = ray.remote(num_cpus=1, max_retries=RETRIES)(perform)
        self.running = {}
        # Whether some machine does not see the files of this one.
        self.apart = False

    def submit(self, asked):
        path = asked["file"]
        file = contents = None
        if path is not None:
            path = os.path.abspath(path)
            try:
                file = (path, stamp(path))
                if self.apart:
                    with open(path, "rb") as opened:
                        contents = [self.ray.put(opened.read())]
            except OSError:
                # The worker says what is wrong with it.
                file = None
        task = asked["task"]
        if file is not None:
            task = json.dumps({**json.loads(task), "path": path})
        came = self.perform.remote(
            self.bundle, self.command, asked["start"], task, asked["seconds"], file, contents
        )
        self.running[came] = asked

    def collect(self, seconds):
        """Answers for tasks that are done by then."""
        if not self.running:
            return
        done, _ = self.ray.wait(list(self.running), num_returns=1, timeout=seconds)
        for came in done:
            asked = self.running.pop(came)
            try:
                found = self.ray.get(came)
            except self.ray.exceptions.OutOfMemoryError:
                found = {"ended": "Ray ended it", "said": "out of memory"}
            except Exception as error:
                found = {"ended": f"Ray: {type(error).__name__}", "said": ""}
                print(error, file=sys.stderr, flush=True)
            if found.get("absent"):
                self.apart = True
                self.submit(asked)
                continue
            print(json.dumps({"number": asked["number"], **found}), flush=True)


def connect(ray, address, workers):
    import logging

    settings = {"log_to_driver": False, "logging_level": logging.ERROR}
    if address == "auto":
        try:
            ray.init(address="auto", **settings)
        except ConnectionError:
            ray.init(address="local", num_cpus=workers, include_dashboard=False, **settings)
    elif address == "local":
        ray.init(address="local", num_cpus=workers, include_dashboard=False, **settings)
    else:
        ray.init(address=address, **settings)


def lines(queue):
    for line in sys.stdin:
        queue.put(json.loads(line))
    queue.put(None)


def main():
    import queue
    import threading

    opening = json.loads(sys.stdin.readline())
    # What Ray prints is not an answer.
    answers, sys.stdout = sys.stdout, sys.stderr
    try:
        driver = Driver(opening)
        nodes = [node["Resources"] for node in driver.ray.nodes() if node["Alive"]]
        memory = [int(node.get("memory", 0)) for node in nodes]
        ready = {
            "processors": int(sum(node.get("CPU", 0) for node in nodes)),
            "nodes": len(nodes),
            "memory": sum(memory),
            "largest": max(memory, default=0),
            "folder": driver.folder,
        }
    except ModuleNotFoundError as error:
        if error.name != "ray":
            raise
        ready = {"error": f"{sys.executable} has no Ray: pip install ray, or name another Python in MAYHAP_PYTHON"}
    except Exception as error:
        ready = {"error": f"{type(error).__name__}: {error}".strip().splitlines()[0]}
    sys.stdout = answers
    print(json.dumps(ready), flush=True)
    if "error" in ready:
        return
    asked = queue.SimpleQueue()
    threading.Thread(target=lines, args=(asked,), daemon=True).start()
    while True:
        try:
            while True:
                task = asked.get(block=not driver.running)
                if task is None:
                    driver.ray.shutdown()
                    return
                driver.submit(task)
        except queue.Empty:
            pass
        driver.collect(0.02)


if __name__ == "__main__":
    main()
