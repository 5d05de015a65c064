"""Work that does not divide: short steps, ranks without samples, every tail rule."""

import collections

import job


class Uneven(job.TrainerTest):
    def test_exact_uses_every_sample_once(self):
        self.good(3, ["--num-examples", 1001, "--batch-size", 10, "--num-epochs", 3, "--tail", "exact", "--dump-ids",
                      self.path("ids"), "--run-log", self.path("log")])
        epochs = self.log_records("log", "epoch")
        self.assertEqual([epoch["samples"] for epoch in epochs], [1001, 1001, 1001])
        steps_per_epoch = epochs[0]["steps"]
        seen = collections.defaultdict(collections.Counter)
        for step, ids in self.ids_by_step("ids").items():
            seen[step // steps_per_epoch].update(ids)
        self.assertEqual(len(seen), 3)
        for counter in seen.values():
            self.assertEqual(sorted(counter), list(range(1001)))
            self.assertEqual(set(counter.values()), {1})
        self.assertNotEqual(self.ids_by_step("ids")[0], self.ids_by_step("ids")[steps_per_epoch])

    def test_seven_and_six_equal_thirteen(self):
        flags = ["--network", "mlp", "--num-examples", 13, "--global-batch", 14, "--max-steps", 3, "--seed", 3]
        self.good(2, flags + ["--run-log", self.path("two"), "--dump-ids", self.path("ids")])
        self.good(1, flags + ["--run-log", self.path("one")])
        with open(self.path("ids")) as lines:
            self.assertEqual([len(line.split()) - 2 for line in lines][:2], [7, 6])
        for a, b in zip(self.losses("two"), self.losses("one")):
            self.assertLess(abs(a - b) / abs(b), 1e-6)
        self.assertEqual(len(self.losses("two")), 3)

    def test_fewer_samples_than_ranks(self):
        for nodes in ([], ["--ranks-per-node", "3,1"]):
            self.good(4, ["--num-examples", 2, "--batch-size", 3, "--num-epochs", 2, "--run-log", self.path("log")] + nodes)
            self.assertEqual([epoch["samples"] for epoch in self.log_records("log", "epoch")], [2, 2])

    def test_other_tails(self):
        flags = ["--num-examples", 100, "--batch-size", 15, "--num-epochs", 1, "--run-log", self.path("log")]
        for tail, samples in (("discard", 90), ("pad", 120), ("mxnet", 120)):
            self.good(2, flags + ["--tail", tail])
            self.assertEqual(self.log_records("log", "epoch")[0]["samples"], samples, tail)
        self.bad(2, ["--num-examples", 101, "--batch-size", 15, "--tail", "error"], 2, "trainer:", "rank")


if __name__ == "__main__":
    job.main()
