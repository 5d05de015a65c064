"""Ranks that die or stop: the job ends by itself, non-zero, and leaves nothing."""

import os
import signal
import time

import job


def children_of(pid):
    found = []
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{entry}/stat") as stat:
                fields = stat.read().rsplit(")", 1)[1].split()
        except OSError:
            continue
        if int(fields[1]) == pid and fields[0] != "Z":
            found.append(int(entry))
    return sorted(found)


def alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


class Failure(job.TrainerTest):
    def launch(self, np, flags):
        """Starts a job and waits until it trains; returns it with the ranks' processes."""
        self.before = job.shared_memory_files()
        if os.path.exists(self.path("log")):
            os.remove(self.path("log"))
        words = job.command(np, ["--network", "mlp", "--num-epochs", 10000, "--num-examples", 2000, "--run-log",
                                 self.path("log")] + flags)
        process = job.start(words)
        limit = time.monotonic() + 60
        while time.monotonic() < limit:
            if os.path.exists(self.path("log")) and self.lines() > 5:
                return process, children_of(process.pid)
            time.sleep(0.05)
        process.kill()
        self.fail("the job did not start to train: " + process.communicate()[1])

    def lines(self):
        with open(self.path("log")) as log:
            return sum(1 for _ in log)

    def ends(self, process, ranks, limit, *parts):
        result = job.finish(process, limit)
        self.assertNotEqual(result.code, 0)
        deadline = time.monotonic() + 3
        while any(map(alive, ranks)) and time.monotonic() < deadline:
            time.sleep(0.05)
        self.assertEqual([pid for pid in ranks if alive(pid)], [])
        self.assertEqual(job.shared_memory_files() - self.before, set())
        for part in parts:
            self.assertIn(part, result.err)
        return result

    def test_killed_rank(self):
        for np, victim, nodes in ((2, 0, []), (2, 1, []), (3, 2, []), (3, 1, ["--ranks-per-node", "2,1"]), (1, 0, [])):
            with self.subTest(np=np, victim=victim, nodes=nodes):
                process, ranks = self.launch(np, ["--kv-store", "dist_sync"] + nodes)
                self.assertEqual(len(ranks), np)
                os.kill(ranks[victim], signal.SIGKILL)
                self.ends(process, ranks, 10)

    def test_stopped_rank_is_named(self):
        for nodes in ([], ["--ranks-per-node", "1"]):
            with self.subTest(nodes=nodes):
                process, ranks = self.launch(3, ["--stall-abort", 3] + nodes)
                os.kill(ranks[1], signal.SIGSTOP)
                self.ends(process, ranks, 20, "rank 1")

    def test_rank_that_never_starts(self):
        self.before = job.shared_memory_files()
        trainer = [job.TRAINER, "--kv-store", "dist_sync", "--stall-abort", "3"]
        result = job.run_words(["mpirun", "-np", "1"] + trainer + [":", "-np", "1", "sleep", "50"], limit=40)
        self.assertEqual(result.code, 1)
        self.assertIn("has not started MPI within 3 s", result.err)
        self.assertEqual(job.shared_memory_files() - self.before, set())

    def test_killed_while_saving(self):
        """However a save is hit, every file that is left is whole."""
        for number in range(4):
            with self.subTest(number=number):
                folder = self.path(f"saves{number}")
                os.mkdir(folder)
                process, ranks = self.launch(2, ["--network", "lenet", "--num-examples", 64, "--model-prefix",
                                                 os.path.join(folder, "m")])
                time.sleep(0.07 * number)
                os.kill(ranks[0], signal.SIGKILL)
                self.ends(process, ranks, 10)
                sizes = {os.path.getsize(os.path.join(folder, name)) for name in os.listdir(folder) if ".params" in name}
                self.assertLessEqual(len(sizes), 1)

    def test_terminated_job(self):
        process, ranks = self.launch(2, [])
        process.send_signal(signal.SIGTERM)
        self.ends(process, ranks, 20)


if __name__ == "__main__":
    job.main()
