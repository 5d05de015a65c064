"""Everything a user can get wrong: one clear line, the right exit code, nothing half done."""

import gzip
import os
import struct
import subprocess
import unittest

import job


def idx(magic, sizes, payload):
    return struct.pack(">I", magic) + b"".join(struct.pack(">I", size) for size in sizes) + payload


class Usage(job.TrainerTest):
    def test_flags(self):
        cases = (
            (["--no-such-flag", 1], ["--no-such-flag"]),
            (["--network", "lenett"], ["--network", "lenett", "mlp", "lenet"]),
            (["--optimizer", "sgdd"], ["sgdd", "sgd"]),
            (["--kv-store", "foo"], ["foo", "local", "dist_sync"]),
            (["--initializer", "foo"], ["foo", "xavier"]),
            (["--preset", "foo"], ["foo", "mnist"]),
            (["--tail", "foo"], ["foo", "exact", "mxnet"]),
            (["--batch-size", 0], ["--batch-size", "0"]),
            (["--batch-size", -5], ["--batch-size", "-5"]),
            (["--batch-size", "many"], ["--batch-size", "many"]),
            (["--lr", "nan"], ["--lr"]),
            (["--lr", 0], ["--lr"]),
            (["--num-examples", 10**9], ["--num-examples", "1000000000"]),
            (["--lr-step-epochs", "5,x"], ["--lr-step-epochs"]),
            (["--lr-step-epochs", "5,3"], ["--lr-step-epochs"]),
            (["--inject", "delay@rank1"], ["--inject", "delay@rank1"]),
            (["--loss", "foo"], ["foo", "ce"]),
            (["--image-shape", "3,32,32"], ["--image-shape", "28"]),
            (["--load-epoch", 3], ["--model-prefix"]),
            (["--ranks-per-node", "0"], ["--ranks-per-node"]),
            (["--gpus", "0"], ["--gpus", "GPU"]),
            (["--network", "/no/such/net.json"], ["/no/such/net.json"]),
            (["--model-prefix", "/no/such/folder/m"], ["/no/such/folder/m"]),
            (["--run-log", "/no/such/folder/log"], ["/no/such/folder/log"]),
        )
        for flags, parts in cases:
            with self.subTest(flags=flags):
                self.bad(0, ["--max-steps", 1] + flags, 2, *parts)
        for flags, parts in cases[:3] + cases[-3:]:
            with self.subTest(flags=flags, np=3):
                self.bad(3, ["--max-steps", 1] + flags, 2, *parts)

    def test_help_and_version(self):
        self.assertIn("--kv-store", self.good(0, ["--help"]).out)
        self.assertIn("cohort", self.good(0, ["--version"]).out)
        self.assertIn("--batch-size = 7", self.good(0, ["--print-config", "--batch-size", 7]).out)
        self.assertEqual(self.good(2, ["--help"]).out.count("--kv-store TEXT"), 1)

    def test_other_name_of_the_binary(self):
        result = self.good(0, ["--print-config"], program=os.path.join(job.BIN, "train_mnist"))
        for line in ("--network = mlp", "--batch-size = 64", "--num-epochs = 20", "--lr = 0.05", "--lr-step-epochs = 10"):
            self.assertIn(line, result.out)
        self.good(0, ["--print-config", "--image_shape", "1, 28, 28"], program=os.path.join(job.BIN, "train_mnist"))


class Data(job.TrainerTest):
    names = ("train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte")

    def make(self, replace=None):
        count, rows = 40, 28
        images = idx(2051, [count, rows, rows], bytes(range(200)) * (count * rows * rows // 200) + bytes(count * rows * rows % 200))
        labels = idx(2049, [count], bytes(i % 10 for i in range(count)))
        folder = self.path("data")
        os.makedirs(folder, exist_ok=True)
        for name in self.names:
            content = images if "images" in name else labels
            if replace and name in replace:
                content = replace[name](content)
            path = os.path.join(folder, name)
            if os.path.exists(path):
                os.remove(path)
            if content is not None:
                with open(path, "wb") as file:
                    file.write(content)
        return folder

    def flags(self, folder):
        return ["--data-dir", folder, "--num-epochs", 1, "--batch-size", 5]

    def test_whole_set_trains(self):
        for np in (0, 2, 3):
            self.good(np, self.flags(self.make()))

    def test_damage(self):
        images, labels = self.names[0], self.names[1]
        cases = (
            ({images: lambda c: None}, images),
            ({labels: lambda c: None}, labels),
            ({images: lambda c: c[:-1]}, images),
            ({images: lambda c: c[:7]}, images),
            ({images: lambda c: b""}, images),
            ({images: lambda c: c + b"x"}, images),
            ({images: lambda c: b"\0\0\x08\x02" + c[4:]}, images),
            ({labels: lambda c: b"\0\0\x08\x03" + c[4:]}, labels),
            ({labels: lambda c: idx(2049, [39], bytes(39))}, "39"),
            ({images: lambda c: idx(2051, [2**31, 28, 28], b"123")}, images),
            ({images: lambda c: gzip.compress(c)[:100]}, images),
        )
        for number, (replace, part) in enumerate(cases):
            for np in (0, 2):
                with self.subTest(case=number, np=np):
                    result = self.bad(np, self.flags(self.make(replace)), 2, "trainer:", part)
                    self.assertNotIn("Epoch[", result.err)

    def test_no_directory(self):
        self.bad(2, self.flags("/no/such/folder"), 2, "/no/such/folder")
        self.bad(2, self.flags(__file__), 2, os.path.basename(__file__))

    def test_one_rank_lacks_the_data(self):
        words = ["mpirun", "-np", "2", job.TRAINER] + [str(f) for f in self.flags("data")]
        self.make()
        good, empty = self.folder.name, self.path("empty")
        os.makedirs(empty)
        words = ["mpirun", "-np", "1", "--wdir", good] + words[3:] + [":", "-np", "1", "--wdir", empty] + words[3:]
        result = job.run_words(words, limit=60)
        self.assertEqual(result.code, 2, result.err)
        lines = [line for line in result.err.splitlines() if line.startswith("trainer:") and "rank 1" in line]
        self.assertEqual(len(lines), 1, result.err)


@unittest.skipUnless(os.geteuid() == 0, "needs root to mount a small file system")
class FullDisk(job.TrainerTest):
    def setUp(self):
        super().setUp()
        self.disk = self.path("disk")
        os.makedirs(self.disk)
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", self.disk], capture_output=True)
        if mounted.returncode != 0:
            self.skipTest("mounting is not allowed here")
        self.addCleanup(subprocess.run, ["umount", "-l", self.disk], check=True)

    def test_checkpoint(self):
        result = self.bad(2, ["--network", "lenet", "--num-examples", 200, "--num-epochs", 2, "--model-prefix",
                              os.path.join(self.disk, "m")], 1, "m-0001.params", "No space left")
        self.assertIn("rank 0", result.err)
        self.assertNotIn("m-0001.params", os.listdir(self.disk))
        self.assertEqual([name for name in os.listdir(self.disk) if "tmp" in name], [])

    def test_run_log(self):
        with open(os.path.join(self.disk, "filler"), "wb") as filler:
            filler.write(b"x" * 240 * 1024)
        self.bad(2, ["--num-epochs", 2, "--num-examples", 5000, "--batch-size", 5, "--run-log",
                     os.path.join(self.disk, "log")], 1, "log", "No space left")


if __name__ == "__main__":
    job.main()
