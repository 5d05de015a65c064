"""How a job ends: ranks and launchers that are killed or stopped, ranks that fail, and what is left afterwards."""

import os
import re
import signal
import subprocess
import threading
import time
import unittest

PROGRAM = os.environ["COHORT_JOB_END"]
MPIRUN = os.environ["COHORT_MPIRUN"]
LIMIT = 10.0  # seconds that a job may take to end


def alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def shared_files(pid):
    """The files in /dev/shm that a process has mapped, with or without a name."""
    with open(f"/proc/{pid}/maps") as maps:
        return set(re.findall(r"(/dev/shm/\S+)", maps.read()))


class Job:
    def __init__(self, np, mode, wait_limit_ms=60_000):
        words = [MPIRUN, "-np", str(np), PROGRAM, mode, str(wait_limit_ms)]
        self.process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT, text=True, start_new_session=True)
        self.lines = []
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        for line in self.process.stdout:
            self.lines.append(line.rstrip())

    def text(self):
        return "\n".join(self.lines)

    def ready_pids(self, np):
        """Process ids by rank, once all of them wait."""
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            found = dict(re.findall(r"ready (\d+) of (\d+)", self.text()))
            if len(found) == np:
                return [int(pid) for pid, _ in sorted(found.items(), key=lambda item: int(item[1]))]
            time.sleep(0.02)
        raise AssertionError("the ranks did not start: " + self.text())

    def wait(self, limit=60.0):
        try:
            self.process.wait(limit)
        finally:
            if self.process.poll() is None:
                os.killpg(self.process.pid, signal.SIGKILL)
                self.process.wait()
        self.reader.join(5)
        self.process.stdout.close()
        return self.process.returncode


class JobEnd(unittest.TestCase):
    def start(self, np, mode, **more):
        self.job = Job(np, mode, **more)
        self.pids = self.job.ready_pids(np)
        self.files = set().union(*map(shared_files, self.pids))
        self.assertTrue(np == 1 or self.files, "no shared memory was seen: the test looks in the wrong place")

    def ended(self):
        """The job ends in time, not with success, and leaves no process and no file."""
        begin = time.monotonic()
        code = self.job.wait(LIMIT)
        while any(map(alive, self.pids)) and time.monotonic() - begin < LIMIT:
            time.sleep(0.05)
        self.assertEqual([pid for pid in self.pids if alive(pid)], [], self.job.text())
        self.assertNotEqual(code, 0, self.job.text())
        self.assertEqual([path for path in self.files if os.path.exists(path)], [])

    def test_one_rank_killed(self):
        for mode in ("memory", "collective"):
            for victim in range(3):
                with self.subTest(mode=mode, victim=victim):
                    self.start(3, mode)
                    os.kill(self.pids[victim], signal.SIGKILL)
                    self.ended()

    def test_all_ranks_killed(self):
        self.start(3, "memory")
        for pid in self.pids:
            os.kill(pid, signal.SIGKILL)
        self.ended()

    def test_launcher_killed(self):
        for np, mode in ((3, "memory"), (2, "collective"), (1, "memory")):
            with self.subTest(np=np, mode=mode):
                self.start(np, mode)
                os.kill(self.job.process.pid, signal.SIGKILL)
                self.ended()

    def test_launcher_and_ranks_killed_together(self):
        self.start(3, "memory")
        for pid in [self.job.process.pid] + self.pids:
            os.kill(pid, signal.SIGKILL)
        self.ended()

    def test_rank_stopped(self):
        """Nobody but the waiting ranks themselves notices a rank that is stopped: their limit ends the job."""
        self.start(3, "memory", wait_limit_ms=2_000)
        os.kill(self.pids[1], signal.SIGSTOP)
        self.ended()
        self.assertIn("a flag that nobody raises", self.job.text())

    def test_rank_stopped_while_mpi_ends(self):
        job = Job(3, "late", wait_limit_ms=2_000)
        self.assertEqual(job.wait(LIMIT), 1, job.text())
        self.assertIn("this process has not ended MPI within 2 s", job.text())

    def test_rank_that_fails_ends_the_job(self):
        job = Job(3, "throw")
        self.assertEqual(job.wait(), 1, job.text())
        self.assertRegex(job.text(), r"\[rank 2/3 \S+:\d+\] io: the last rank cannot read its file at test/collectives")

    def test_difference_is_printed_once_and_ends_in_order(self):
        job = Job(3, "differ")
        self.assertEqual(job.wait(), 2, job.text())
        text = r"--lr must be the same on all ranks: rank 0 \(\S+\) has \"0.1\", rank 1 \(\S+\) has \"0.2\""
        self.assertEqual(len(re.findall(text, job.text())), 1, job.text())

    def test_promise_of_more_ranks(self):
        job = Job(1, "promise")
        self.assertEqual(job.wait(), 2, job.text())
        self.assertIn("SLURM_NTASKS=4 but MPI sees 1 process: start with srun --mpi=pmix or mpirun", job.text())
        self.assertIn("--allow-singleton", job.text())

    def test_wrong_usage_is_said_before_any_rank_leaves(self):
        job = Job(3, "sizes")
        self.assertEqual(job.wait(), 2, job.text())
        text = r"\[rank 0/3 \S+\] pretended nodes of 1, 1 ranks are 2 ranks together; there are 3"
        self.assertEqual([bool(re.fullmatch(text, line)) for line in job.lines if "pretended" in line], [True],
                         job.text())

    def test_good_end_says_nothing(self):
        for np in (1, 2, 3, 4):
            job = Job(np, "finish")
            self.assertEqual((job.wait(), job.text()), (0, ""))

    def test_solo_starts_no_mpi(self):
        result = subprocess.run([PROGRAM, "solo"], stdin=subprocess.DEVNULL, capture_output=True, text=True)
        self.assertEqual((result.returncode, result.stdout + result.stderr), (0, ""))


if __name__ == "__main__":
    unittest.main()
