"""The main job on MNIST itself: one epoch each, or with --whole the ten epochs and the accuracy that are promised.

Skips, with code 77, where COHORT_TEST_DATA names no directory that has mnist/.
"""

import os
import sys

import job

MNIST = os.path.join(job.DATA, "mnist")
WHOLE = "--whole" in sys.argv
SKIPPED = 77


class Mnist(job.TrainerTest):
    def accuracy(self, network, np, store, seed=1):
        epochs = 10 if WHOLE else 1
        self.good(np, ["--network", network, "--kv-store", store, "--data-dir", MNIST, "--batch-size", 64, "--lr", 0.05,
                       "--num-epochs", epochs, "--seed", seed, "--run-log", self.path("log")], limit=1200)
        return self.log_records("log", "epoch")[-1]["validation"]["accuracy"]

    def test_lenet(self):
        for np, store in ((0, "local"), (2, "dist_sync")):
            self.assertGreaterEqual(self.accuracy("lenet", np, store), 0.989 if WHOLE else 0.97)

    def test_mlp(self):
        for np, store in ((0, "local"), (2, "dist_sync")):
            self.assertGreaterEqual(self.accuracy("mlp", np, store), 0.975 if WHOLE else 0.93)

    def test_mean_over_seeds(self):
        if not WHOLE:
            self.skipTest("belongs to the whole job")
        accuracies = [self.accuracy("lenet", 2, "dist_sync", seed) for seed in (1, 2, 3)]
        self.assertGreaterEqual(sum(accuracies) / 3, 0.99, accuracies)


if __name__ == "__main__":
    if not job.DATA or not os.path.isdir(MNIST):
        print("SKIP: COHORT_TEST_DATA names no directory that has mnist/")
        sys.exit(SKIPPED)
    sys.argv = [argument for argument in sys.argv if argument != "--whole"]
    job.main()
