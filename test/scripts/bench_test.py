"""scripts/bench measures every case and every ratio, a peer's among them, and says what failed.

    bench_test.py BUILD_DIRECTORY
"""
import os
import pathlib
import re
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(sys.argv.pop(1))


def bench(*flags):
    words = [ROOT / "scripts" / "bench", "--bin", BUILD / "bin", "--network", "mlp", "--rounds", "1", "--seconds", "0.4", *flags]
    return subprocess.run(words, capture_output=True, text=True, timeout=200, env=dict(os.environ, OMP_NUM_THREADS="1"))


class Bench(unittest.TestCase):
    def test_cases_and_ratios(self):
        done = bench("--peer", "echo {network} at {batch}: 1000.5")
        self.assertEqual(done.returncode, 0, done.stderr)
        for case in ("local", "dist_sync np 1", "local, 2 threads", "2 independent", "dist_sync np 2"):
            self.assertRegex(done.stdout, rf"(?m)^  {re.escape(case)} +median +[1-9]\d*  best +[1-9]\d*$")
        self.assertRegex(done.stdout, r"(?m)^  peer +median +1000  best +1000$")
        for ratio in ("dist_sync np 1 / local", "dist_sync np 2 / 2 independent", "local / peer"):
            self.assertRegex(done.stdout, rf"(?m)^  {re.escape(ratio)}: \d+\.\d+ ")

    def test_failures(self):
        self.assertIn("no-such-network", bench("--network", "no-such-network").stderr)
        self.assertIn("printed no number", bench("--peer", "echo none").stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
