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
            (["--network", "mlp", "--num-layers", 3], ["--num-layers 3", "mlp"]),
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
            (["--num-classes", 0], ["--num-classes"]),
            (["--num-classes", 9], ["built-in digits: sample", "has label 9", "9 outputs"]),
            (["--num-classes", 2 * 10**9], ["--num-classes", "10,000,000"]),
            (["--lr", "inf"], ["--lr", "finite"]),
            (["--ranks-per-node", 2**32 + 1], ["--ranks-per-node"]),
            (["--top-k", 11], ["--top-k", "11", "10"]),
            (["--inject", "delay@rank3:3ms"], ["--inject", "rank 3"]),
            (["--num-servers", 4], ["4 servers", "node 0"]),
            (["--batch-size", "1e3"], ["--batch-size", "1e3"]),
            (["--batch-size", "0x10"], ["--batch-size", "0x10"]),
            (["--num-epochs", ""], ["--num-epochs", "''"]),
            (["--seed", 2**64 - 1], ["--seed", "18446744073709551615"]),
            (["--lr", ""], ["--lr", "''"]),
            (["--lr", "0.1x"], ["--lr", "0.1x"]),
            (["--lr-step-epochs", 2**62], ["--lr-step-epochs"]),
            (["--lr-step-epochs", "5,"], ["--lr-step-epochs", "comma"]),
            (["--warmup-epochs", 1e300], ["--warmup-epochs"]),
            (["--stall-abort", 0.0001], ["--stall-abort"]),
            (["--inject", "delay@*:1.2.3ms"], ["--inject", "1.2.3ms"]),
            (["--inject", "delay@*:1ms,p=x"], ["--inject", "p=x"]),
            (["--inject", "delay@*:5-ms"], ["--inject", "5-ms"]),
            (["--inject", "delay@*:1ms,"], ["--inject", "1ms,:"]),
            (["--inject", "delay@*:1ms;"], ["--inject", "must look like"]),
            (["--lr-step-epochs", "powx"], ["--lr-step-epochs", "powx"]),
            (["--inject", "delay@*:1ms" + ",p=2" * 30000], ["--inject", "characters)"]),
            (["--model-prefix", "m" * 240], ["--model-prefix", "too long"]),
            (["--data-dir", "no\nsuch"], ["no\\nsuch"]),
        )
        for flags, parts in cases:
            with self.subTest(flags=flags):
                self.bad(0, ["--max-steps", 1] + flags, 2, *parts)
        for flags, parts in cases[:3] + cases[-3:]:
            with self.subTest(flags=flags, np=3):
                self.bad(3, ["--max-steps", 1] + flags, 2, *parts)

    def test_numbers_are_decimal(self):
        self.assertIn("--batch-size = 10\n", self.good(0, ["--print-config", "--batch-size", "010"]).out)
        self.assertIn("--seed = 5\n", self.good(0, ["--print-config", "--seed", "+5"]).out)

    def test_pipes_that_nobody_serves(self):
        pipe = self.path("pipe")
        os.mkfifo(pipe)
        os.mkfifo(self.path("m-symbol.json"))
        os.mkdir(self.path("logs"))
        os.mkfifo(self.path("logs/rank0.log"))
        os.rename(pipe, pipe + ".json")
        for flags, part in ((["--network", pipe + ".json"], "pipe.json: not a regular file"),
                            (["--run-log", pipe + ".json"], "pipe.json"), (["--dump-ids", pipe + ".json"], "pipe.json"),
                            (["--log-dir", self.path("logs")], "rank0.log"),
                            (["--load-epoch", 1, "--model-prefix", self.path("m")], "m-symbol.json")):
            for np in (0, 2):
                with self.subTest(flags=flags, np=np):
                    self.bad(np, ["--max-steps", 1] + flags, 2, part, limit=30)

    def test_reader_of_the_messages_that_leaves(self):
        line = f"{job.TRAINER} --num-examples 500 --num-epochs 3 --disp-batches 1 --print-hash 2> >(head -1 >&2)"
        result = job.run_words(["bash", "-c", line])
        self.assertEqual(result.code, 0, result.err)
        self.assertIn("hash", result.out)

    def test_nodes_that_are_not_the_ranks(self):
        self.bad(3, ["--max-steps", 1, "--ranks-per-node", "3,1"], 2, "3, 1", "there are 3")
        self.bad(3, ["--max-steps", 1, "--ranks-per-node", "2,1", "--num-servers", 2], 2, "2 servers", "node 1")

    def test_loss_that_is_no_number(self):
        result = self.good(2, ["--num-examples", 500, "--num-epochs", 2, "--lr", 1e30])
        self.assertEqual(len([line for line in result.err.splitlines() if "warning" in line and "nan" in line]), 1)

    def test_output_that_cannot_be_written(self):
        few = ["--num-examples", 64, "--num-epochs", 1]
        for flags in (["--help"], ["--print-config"], few + ["--print-hash"], few + ["--explain-lr"]):
            for target in (">/dev/full", ">&-"):
                with self.subTest(flags=flags, target=target):
                    line = " ".join(map(str, [job.TRAINER] + flags)) + " " + target
                    result = job.run_words(["bash", "-c", line])
                    self.assertEqual(result.code, 1, result.err)
                    self.assertIn("standard output", result.err.splitlines()[-1])

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

    def test_labels_beyond_the_network(self):
        for name in (self.names[1], self.names[3]):
            folder = self.make({name: lambda c: c[:-1] + b"\xc8"})
            for np in (0, 2):
                result = self.bad(np, self.flags(folder), 2, "trainer:", "10 outputs", name, "sample 39 has label 200")
                self.assertNotIn("Epoch[", result.err)
        # A sample that is left out may have any label.
        folder = self.make({self.names[1]: lambda c: c[:-1] + b"\xc8"})
        self.good(0, self.flags(folder) + ["--num-examples", 39])

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


class FileSizeLimit(job.TrainerTest):
    def test_checkpoint(self):
        prefix = self.path("m")
        line = f"ulimit -f 100; exec {job.TRAINER} --num-examples 64 --num-epochs 1 --model-prefix {prefix}"
        result = job.run_words(["bash", "-c", line])
        self.assertEqual(result.code, 1, result.err)
        self.assertIn("m-0001.params", result.err.splitlines()[-1])
        self.assertIn("File too large", result.err.splitlines()[-1])
        self.assertEqual(os.listdir(self.folder.name), ["m-symbol.json"])

    def test_shared_memory(self):
        """The store does without memory that is shared when no file may be as large."""
        before = job.shared_memory_files()
        inner = f"ulimit -f 100; exec {job.TRAINER} --network lenet --num-examples 200 --num-epochs 1"
        result = job.run_words(["mpirun", "-np", "2", "bash", "-c", inner], limit=60)
        self.assertEqual(result.code, 0, result.err)
        self.assertIn("every rank keeps its own", result.err)
        self.assertEqual(job.shared_memory_files() - before, set())


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
