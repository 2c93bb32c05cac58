"""Takes parts of a sweep from divvy to a Dask cluster, and brings the answers back: `divvy sweep --cluster` runs this with `python3 -c`.

Lines of JSON come on stdin: first the address of the scheduler and all that the parts share, then a part a line. When stdin ends, all
is cancelled: divvy is done, was interrupted, or was killed. What comes back on stdout is, a line each, `workers`, `answer`, `failed` or `error`.
"""

import sys

# A file beside the workload is no module, though it may be called json.py. Python before 3.11 does not know PYTHONSAFEPATH.
if sys.path[:1] == [""]:
    del sys.path[0]

import json
import os
import signal
import threading
import time
import warnings

# The lines for divvy are kept apart from what packages print, as they are imported or later.
FOR_DIVVY = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)

# A part whose divvy was killed by a signal is run again so often. Dask itself counts workers that were lost.
RETRIES = 2
LOOK_S = 0.5


def run_part(command, request, part):
    """Runs on a worker, which gets it by value: it uses nothing of this file. divvy there ends when its stdin does, so also when this
    worker is killed. A part that was cancelled is ended."""
    import json
    import os
    import selectors
    import subprocess
    import time

    from distributed import get_worker

    worker = get_worker()
    key = worker.get_current_task()

    def is_cancelled():
        task = worker.state.tasks.get(key)
        return task is None or task.state == "cancelled"

    begin = time.monotonic()
    pipes = {name: subprocess.PIPE for name in ("stdin", "stdout", "stderr")}
    try:
        # Dask runs as many parts at a time as the worker has threads.
        program = subprocess.Popen([command, "sweep", "--part"], env={**os.environ, "RAYON_NUM_THREADS": "1"}, **pipes)
    except (FileNotFoundError, NotADirectoryError, PermissionError) as error:
        return {"worker": worker.address, "cannot": f"{error.strerror}"}
    said = {program.stdout: b"", program.stderr: b""}
    try:
        try:
            program.stdin.write(f"{request}\n{part}\n".encode())
            program.stdin.flush()
        except BrokenPipeError:
            pass  # It says why on stderr.
        with selectors.DefaultSelector() as selector:
            for pipe in said:
                selector.register(pipe, selectors.EVENT_READ)
            while selector.get_map():
                for ready, _ in selector.select(0.25):
                    data = os.read(ready.fd, 65536)
                    said[ready.fileobj] += data
                    if not data:
                        selector.unregister(ready.fileobj)
                if is_cancelled():
                    raise RuntimeError("cancelled")
        code = program.wait()
    finally:
        try:
            program.stdin.close()
        except BrokenPipeError:
            pass
        try:
            program.wait(2)
        except subprocess.TimeoutExpired:
            program.kill()
            program.wait()
        program.stdout.close()
        program.stderr.close()
    error = said[program.stderr].decode(errors="replace").strip()
    if code < 0:
        raise RuntimeError(f"`{command}` on worker {worker.address} was ended by signal {-code}: {error or 'it said nothing'}")
    try:
        answer = json.loads(said[program.stdout])
    except ValueError:
        return {"worker": worker.address, "cannot": error or f"it ended with exit code {code} and no answer"}
    return {"worker": worker.address, "seconds": time.monotonic() - begin, "answer": answer}


def say(what, lock=threading.Lock(), **more):
    with lock:
        try:
            print(json.dumps({"is": what, **more}), file=FOR_DIVVY, flush=True)
        except BrokenPipeError:
            os._exit(1)


def fail(text):
    say("error", text=text)
    os._exit(1)


class Parts:
    """The parts that are with the cluster."""

    def __init__(self, client, shared):
        self.client, self.shared = client, shared
        self.futures = {}
        self.is_ending = False

    def submit(self, number, part):
        shared = self.shared
        # The first rows are written first, so they are also run first when they have to be run again.
        future = self.client.submit(
            run_part, shared["command"], shared["request"], part, pure=False, retries=RETRIES, priority=-number
        )
        self.futures[number] = future
        future.add_done_callback(lambda future: self.end(number, future))

    def end(self, number, future):
        try:
            say("answer", part=number, **future.result())
        except BaseException as error:
            if self.is_ending:
                return
            if future.status == "cancelled":
                lost(self.shared, "it ended, or the network broke")
            said = str(error) or type(error).__name__
            if type(error).__name__ == "KilledWorker":
                said = f"{error.allowed_failures + 1} workers were lost while they ran it, the last of them {error.last_worker.address}"
            try:
                said = differences(self.client) or said
            except Exception:
                pass  # They do not answer; what is known is said.
            say("failed", part=number, text=said)
        finally:
            self.futures.pop(number, None)

    def cancel(self):
        self.is_ending = True
        try:
            self.client.cancel(list(self.futures.values()), force=True)
            self.client.close(timeout=2)
        finally:
            os._exit(0)


def lost(shared, why):
    fail(f"the connection to the Dask scheduler at {shared['shown']} is lost: {why}")


def differences(client):
    """Versions that are not the same here and there, in a sentence; nothing if all are."""

    def of(one):
        # A function is sent as the byte code of one Python, such as 3.12.
        packages = one["packages"]
        return packages["distributed"], ".".join(packages["python"].split(".")[:2])

    def text(versions):
        return "distributed {} on Python {}".format(*versions)

    versions = client.get_versions()
    mine = of(versions["client"])
    others = {"the scheduler": versions["scheduler"], **{f"worker {name}": one for name, one in versions["workers"].items()}}
    for name, one in others.items():
        if one and of(one) != mine:
            return f"{name} has {text(of(one))}, and this machine has {text(mine)}; install the same versions"
    return None


def watch(client, shared):
    """Says how many workers there are, whenever that changes."""
    known = None
    while True:
        try:
            now = client.nthreads()
            if now != known:
                different = differences(client) if now.keys() - (known or {}).keys() or known is None else None
        except Exception as error:
            lost(shared, str(error) or type(error).__name__)
        if now != known:
            if different:
                fail(different)
            say("workers", workers=len(now), threads=sum(now.values()))
            known = now
        time.sleep(LOOK_S)


def main():
    # divvy gets the same Ctrl-C, and its end is the end of stdin.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    warnings.simplefilter("ignore")
    shared = json.loads(sys.stdin.readline())
    try:
        import logging

        import distributed
    except ImportError as error:
        fail(f"{sys.executable} has no package distributed ({error}): pip install distributed, of the version that the cluster has")
    logging.getLogger("distributed").setLevel(logging.CRITICAL + 1)
    patience_s = shared["patience_s"]
    try:
        client = distributed.Client(
            shared["address"], timeout=patience_s, name="divvy", set_as_default=False, direct_to_workers=False
        )
    except Exception as error:
        fail(
            f"no Dask scheduler answers at {shared['shown']} within {patience_s} s: {error or type(error).__name__}\n"
            "start one with `dask scheduler`, or look whether it has another version of distributed"
        )
    parts = Parts(client, shared)
    threading.Thread(target=watch, args=(client, shared), daemon=True).start()
    for line in sys.stdin:
        one = json.loads(line)
        parts.submit(one["part"], one["text"])
    parts.cancel()


if __name__ == "__main__":
    main()
