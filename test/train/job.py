"""Runs the trainer under mpirun for the tests of this folder: bounded in time, output kept, nothing left behind."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest

BIN = os.environ["COHORT_BIN"]
TRAINER = os.path.join(BIN, "trainer")
DATA = os.environ.get("COHORT_TEST_DATA", "")
SHARED_MEMORY = "/dev/shm"

ENVIRONMENT = dict(
    os.environ,
    OMPI_ALLOW_RUN_AS_ROOT="1",
    OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
    OMPI_MCA_rmaps_base_oversubscribe="1",
    OMPI_MCA_hwloc_base_binding_policy="none",
    OMPI_MCA_mpi_yield_when_idle="1",
    OMPI_MCA_pml="ob1",
    OMPI_MCA_btl="self,vader,tcp",
)


class Result:
    def __init__(self, code, out, err, seconds):
        self.code, self.out, self.err, self.seconds = code, out, err, seconds

    def hashes(self):
        lines = [line.split() for line in self.out.splitlines() if line.startswith("hash ")]
        return {int(words[3]): words[1] for words in lines}


def command(np, flags, program=TRAINER):
    """np 0 means without mpirun."""
    flags = [str(flag) for flag in flags]
    return [program] + flags if np == 0 else ["mpirun", "-np", str(np), program] + flags


def start(words, environment=None, cwd=None):
    return subprocess.Popen(
        words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=cwd,
        env=dict(ENVIRONMENT, **(environment or {})), start_new_session=True)


def finish(process, limit=120):
    """Waits at most `limit` seconds; a job that takes longer is ended and fails the test."""
    begin = time.monotonic()
    try:
        out, err = process.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        out, err = process.communicate()
        raise AssertionError(f"the job did not end within {limit} s: {process.args}\n{out}\n{err}")
    return Result(process.returncode, out, err, time.monotonic() - begin)


def run_words(words, environment=None, limit=120, cwd=None):
    return finish(start(words, environment, cwd), limit)


def run(np, flags, environment=None, limit=120, cwd=None, program=TRAINER):
    return run_words(command(np, flags, program), environment, limit, cwd)


class TrainerTest(unittest.TestCase):
    """A scratch folder per test, and the check that a job leaves no process and no shared-memory file."""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="cohort-test-")
        self.addCleanup(self.folder.cleanup)

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def good(self, np, flags, **more):
        result = run(np, flags, **more)
        self.assertEqual(result.code, 0, f"{flags}\n{result.out}\n{result.err}")
        return result

    def bad(self, np, flags, code, *parts, **more):
        """The job ends with `code`; one line of standard error has all the parts, and it stands there once."""
        result = run(np, flags, **more)
        self.assertEqual(result.code, code, f"{flags}\n{result.out}\n{result.err}")
        lines = [line for line in result.err.splitlines() if all(part in line for part in parts)]
        self.assertEqual(len(lines), 1, f"{flags}: wanted one line with {parts}\n{result.err}")
        return result

    def log_records(self, name, kind):
        with open(self.path(name)) as lines:
            return [record for record in map(json.loads, lines) if record["type"] == kind]

    def losses(self, name):
        return [record["loss"] for record in self.log_records(name, "step")]

    def ids_by_step(self, name):
        steps = {}
        with open(self.path(name)) as lines:
            for line in lines:
                step, _, *ids = map(int, line.split())
                steps.setdefault(step, []).extend(ids)
        return steps


def shared_memory_files():
    return set(os.listdir(SHARED_MEMORY)) if os.path.isdir(SHARED_MEMORY) else set()


def main():
    unittest.main(verbosity=2, argv=[sys.argv[0]] + sys.argv[1:])
