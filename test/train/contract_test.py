"""Ranks that were told different things are stopped before the first step, all of them, with one line."""

import re

import job


class Contract(job.TrainerTest):
    def mismatched(self, first, second, *parts):
        words = ["mpirun", "-np", "1", job.TRAINER] + first + [":", "-np", "2", job.TRAINER] + second
        result = job.run_words(words, limit=60)
        self.assertEqual(result.code, 2, result.err)
        lines = [line for line in result.err.splitlines() if all(part in line for part in parts)]
        self.assertEqual(len(lines), 1, f"{parts}\n{result.err}")
        self.assertNotIn("Epoch[", result.err)

    def test_flags(self):
        base = ["--network", "mlp", "--max-steps", "1"]
        for flag, a, b in (("--lr", "0.05", "0.1"), ("--seed", "1", "2"), ("--batch-size", "8", "16"),
                           ("--network", "mlp", "lenet"), ("--wd", "0", "0.5"), ("--num-epochs", "3", "4")):
            self.mismatched(base + [flag, a], base + [flag, b], flag, a, b, "rank 1")

    def test_flag_that_one_rank_does_not_know(self):
        base = ["--max-steps", "1", "--ranks-per-node", "1"]
        self.mismatched(base, base + ["--bogus"], "command line", "--bogus", "rank 1")

    def test_per_rank_flags_may_differ(self):
        words = ["mpirun", "-np", "1", job.TRAINER, "--max-steps", "1", "--log-style", "quiet", ":", "-np", "1", job.TRAINER,
                 "--max-steps", "1", "--log-style", "mxnet"]
        result = job.run_words(words, limit=60)
        self.assertEqual(result.code, 0, result.err)

    def test_one_process_of_a_promised_four(self):
        result = self.bad(0, ["--max-steps", 1], 2, "SLURM_NTASKS=4", "srun", environment={"SLURM_NTASKS": "4"})
        self.assertNotIn("Epoch[", result.err)
        self.good(0, ["--max-steps", 1, "--allow-singleton"], environment={"SLURM_NTASKS": "4"})

    def test_local_store_with_several_ranks(self):
        self.bad(2, ["--kv-store", "local"], 2, "local", "dist_sync")

    def test_several_ranks_mean_dist_sync(self):
        result = self.good(2, ["--max-steps", 1])
        said = [line for line in result.err.splitlines() if "dist_sync" in line and "no --kv-store" in line]
        self.assertEqual(len(said), 1, result.err)

    def test_data_that_differs(self):
        first = ["--max-steps", "1", "--num-examples", "0"]
        self.mismatched(first + ["--num-examples", "100"], first + ["--num-examples", "200"], "--num-examples", "100", "200")


class Log(job.TrainerTest):
    def test_lines_that_scripts_parse(self):
        result = self.good(2, ["--network", "mlp", "--num-examples", 2000, "--batch-size", 20, "--num-epochs", 2,
                               "--disp-batches", 20, "--model-prefix", self.path("m"), "--lr-step-epochs", "1"])
        text = result.err
        speed = re.findall(r"Epoch\[(\d+)\] Batch \[(?:(\d+)-)?(\d+)\]\s+Speed: ([\d.]+|inf) samples/sec\taccuracy=[\d.]+", text)
        self.assertEqual([line[:3] for line in speed], [("0", "0", "20"), ("0", "20", "40"), ("1", "0", "20"), ("1", "20", "40")])
        values = re.findall(r"INFO:root:Epoch\[(\d+)\] (Train|Validation)-([\w-]+)=([-\d.naif]+)", text)
        self.assertEqual([value[:3] for value in values],
                         [(epoch, kind, "accuracy") for epoch in "01" for kind in ("Train", "Validation")])
        self.assertEqual(len(re.findall(r"Epoch\[(\d+)\] Time cost=([\d.]+)", text)), 2)
        self.assertIn(f'Saved checkpoint to "{self.path("m")}-0002.params"', text)
        self.assertIn("Update[51]: Change learning rate to 5.00000e-03", text)
        self.assertIn("Namespace(", text)
        order = [text.index(part) for part in ("Epoch[0] Train-", "Epoch[0] Time cost", "-0001.params", "Epoch[0] Validation-")]
        self.assertEqual(order, sorted(order))

    def test_metrics_and_monitor(self):
        result = self.good(1, ["--num-examples", 300, "--num-epochs", 1, "--top-k", 3, "--loss", "ce,nll", "--monitor", 2])
        for name in ("accuracy", "top_k_accuracy_3", "cross-entropy", "nll-loss"):
            self.assertIn(f"Epoch[0] Train-{name}=", result.err)
            self.assertIn(f"Epoch[0] Validation-{name}=", result.err)
        self.assertRegex(result.err, r"Batch: +2 fc1_weight +[\d.e-]+")
        self.assertRegex(result.err, r"Batch: +2 softmax_output +[\d.e-]+")

    def test_explanation_of_the_rate(self):
        result = self.good(2, ["--max-steps", 1, "--explain-lr", "--batch-size", 32, "--lr", "0.1"])
        self.assertIn("global batch 64", result.out)
        self.assertIn("lr 0.1", result.out)

    def test_seconds_and_steps_stop_every_rank_alike(self):
        result = self.good(2, ["--max-seconds", "1", "--print-hash", "--inject", "delay@*:5ms", "--run-log", self.path("log")])
        self.assertEqual(len(set(result.hashes().values())), 1)
        self.assertGreater(len(self.log_records("log", "step")), 3)

    def test_rank_logs_and_quiet(self):
        result = self.good(2, ["--max-steps", 3, "--log-style", "quiet", "--log-dir", self.path("logs")])
        self.assertNotIn("Epoch", result.err)

    def test_test_io(self):
        result = self.good(2, ["--test-io", 1, "--num-examples", 1000, "--disp-batches", 5])
        self.assertRegex(result.err, r"Batch \[4\]\tSpeed: [\d.]+ samples/sec")
        self.assertNotIn("Train-accuracy", result.err)


if __name__ == "__main__":
    job.main()
