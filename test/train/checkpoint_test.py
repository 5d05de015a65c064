"""Model files: written, read again, trained on; networks that come as symbol files."""

import json
import os
import struct

import job

# A branch, a shared weight and a layer without bias: no built-in network.
BRANCHED = {
    "nodes": [
        {"op": "null", "name": "data", "inputs": []},
        {"op": "Flatten", "name": "flat", "inputs": [[0, 0, 0]]},
        {"op": "null", "name": "in_weight", "inputs": []},
        {"op": "null", "name": "in_bias", "inputs": []},
        {"op": "FullyConnected", "name": "in", "attrs": {"num_hidden": "32"}, "inputs": [[1, 0, 0], [2, 0, 0], [3, 0, 0]]},
        {"op": "Activation", "name": "act", "attrs": {"act_type": "tanh"}, "inputs": [[4, 0, 0]]},
        {"op": "null", "name": "shared_weight", "inputs": []},
        {"op": "FullyConnected", "name": "left", "attrs": {"num_hidden": "32", "no_bias": "True"}, "inputs": [[5, 0, 0], [6, 0, 0]]},
        {"op": "Activation", "name": "left_act", "attrs": {"act_type": "relu"}, "inputs": [[7, 0, 0]]},
        {"op": "FullyConnected", "name": "right", "attrs": {"num_hidden": "32", "no_bias": "True"}, "inputs": [[8, 0, 0], [6, 0, 0]]},
        {"op": "elemwise_add", "name": "join", "inputs": [[5, 0, 0], [9, 0, 0]]},
        {"op": "null", "name": "out_weight", "inputs": []},
        {"op": "null", "name": "out_bias", "inputs": []},
        {"op": "FullyConnected", "name": "out", "attrs": {"num_hidden": "10"}, "inputs": [[10, 0, 0], [11, 0, 0], [12, 0, 0]]},
        {"op": "null", "name": "softmax_label", "inputs": []},
        {"op": "SoftmaxOutput", "name": "softmax", "inputs": [[13, 0, 0], [14, 0, 0]]},
    ],
    "arg_nodes": [0, 2, 3, 6, 11, 12, 14],
    "heads": [[15, 0, 0]],
    "attrs": {"mxnet_version": ["int", 10700]},
}


class Checkpoints(job.TrainerTest):
    flags = ["--num-examples", 500, "--batch-size", 25, "--threads", 1, "--print-hash", "--seed", 4]

    def test_files(self):
        self.good(2, self.flags + ["--num-epochs", 4, "--save-period", 2, "--model-prefix", self.path("m")])
        self.assertEqual(sorted(os.listdir(self.folder.name)), ["m-0002.params", "m-0004.params", "m-symbol.json"])
        with open(self.path("m-0002.params"), "rb") as file:
            self.assertEqual(file.read(8), b"\x12\x01\0\0\0\0\0\0")
        with open(self.path("m-symbol.json")) as file:
            self.assertEqual(json.load(file)["attrs"]["mxnet_version"][0], "int")

    def test_resuming_without_momentum_is_exact(self):
        # Momentum is not in MXNet's files, so only a run without it can go on to the same bits.
        flags = self.flags + ["--mom", 0, "--lr-step-epochs", "1,2,3", "--model-prefix", self.path("m")]
        whole = self.good(2, flags + ["--num-epochs", 4]).hashes()
        resumed = self.good(2, flags + ["--num-epochs", 4, "--load-epoch", 2])
        self.assertEqual(whole, resumed.hashes())
        self.assertIn(f"Loaded model {self.path('m')}_0002.params", resumed.err)
        self.assertIn("Adjust learning rate to 5.000000e-04 for epoch 2", resumed.err)
        self.assertNotIn("Epoch[1]", resumed.err)
        self.assertIn("Epoch[2]", resumed.err)

    def test_files_that_do_not_fit(self):
        prefix = ["--model-prefix", self.path("m")]
        self.good(0, self.flags + prefix + ["--num-epochs", 1])
        self.bad(2, self.flags + prefix + ["--load-epoch", 7], 2, "m-0007.params")
        self.bad(2, self.flags + prefix + ["--load-epoch", 1, "--network", "lenet"], 2, "m-symbol.json")
        whole = open(self.path("m-0001.params"), "rb").read()
        with open(self.path("m-0001.params"), "wb") as file:
            file.write(whole[:-3])
        self.bad(2, self.flags + prefix + ["--load-epoch", 1], 2, "m-0001.params")
        for old, new, part in ((b"arg:fc1_bias", b"arg:fc9_bias", "fc9_bias"), (b"arg:fc1_bias", b"xxx:fc1_bias", "xxx"),
                               (b"arg:fc1_bias", b"arg:fc2_bias", "fc2_bias")):
            self.assertEqual(whole.count(old), 1)
            with open(self.path("m-0001.params"), "wb") as file:
                file.write(whole.replace(old, new))
            self.bad(2, self.flags + prefix + ["--load-epoch", 1], 2, "trainer:", "m-0001.params", part)
        os.remove(self.path("m-0001.params"))
        os.mkdir(self.path("m-0001.params"))
        self.bad(2, self.flags + prefix, 2, "--model-prefix", "m-0001.params is a directory")

    def test_parameters_of_another_element_type(self):
        prefix = ["--model-prefix", self.path("m")]
        self.good(0, self.flags + prefix + ["--num-epochs", 1])
        with open(self.path("m-0001.params"), "rb") as file:
            whole = bytearray(file.read())
        # The first array is fc1_bias or fc1_weight, float32 (code 0); int32 (4) has as many bytes.
        axes = struct.unpack_from("<i", whole, 32)[0]
        struct.pack_into("<i", whole, 36 + 8 * axes + 8, 4)
        with open(self.path("m-0001.params"), "wb") as file:
            file.write(whole)
        self.bad(2, self.flags + prefix + ["--load-epoch", 1], 2, "m-0001.params", "parameter fc1_", "int32")

    def test_symbol_file_with_branch_and_shared_weight(self):
        with open(self.path("net.json"), "w") as file:
            json.dump(BRANCHED, file)
        flags = ["--network", self.path("net.json"), "--num-examples", 6000, "--num-epochs", 3, "--global-batch", 30,
                 "--seed", 2, "--run-log", self.path("log")]
        losses = {}
        for np, nodes in ((0, []), (2, []), (3, ["--ranks-per-node", "2,1"])):
            self.good(np, flags + nodes)
            losses[np] = self.losses("log")
            self.assertGreater(self.log_records("log", "epoch")[-1]["validation"]["accuracy"], 0.75)
        for np in (2, 3):
            for a, b in zip(losses[0][:20], losses[np][:20]):
                self.assertLess(abs(a - b) / abs(a), 1e-5)

    def test_symbol_files_that_are_wrong(self):
        cases = {"cut": json.dumps(BRANCHED)[:300], "empty": "", "list": "[]",
                 "operator": json.dumps(BRANCHED).replace("elemwise_add", "NoSuchOperator"),
                 "loop": json.dumps(BRANCHED).replace("[[10, 0, 0]", "[[13, 0, 0]"),
                 "index": json.dumps(BRANCHED).replace("[[10, 0, 0]", "[[99, 0, 0]"),
                 "output": json.dumps(BRANCHED).replace("[[10, 0, 0]", "[[10, 4294967295, 0]"),
                 "twice": json.dumps(BRANCHED).replace('"in_bias"', '"in_weight"'),
                 "no-loss": json.dumps(BRANCHED).replace("[[15, 0, 0]]", "[[13, 0, 0]]"),
                 "variable": json.dumps(BRANCHED).replace("[[15, 0, 0]]", "[[0, 0, 0]]"),
                 "huge": json.dumps(BRANCHED).replace('"num_hidden": "10"', '"num_hidden": "99999999999"'),
                 "large": json.dumps(BRANCHED).replace('"num_hidden": "32"', '"num_hidden": "2147483647"'),
                 "shape": json.dumps(BRANCHED).replace('"num_hidden": "32", "no_bias"', '"num_hidden": "31", "no_bias"')}
        for name, text in cases.items():
            with self.subTest(name=name):
                path = self.path(name + ".json")
                with open(path, "w") as file:
                    file.write(text)
                self.bad(2, ["--network", path, "--max-steps", 1], 2, "trainer:", name + ".json")


    def test_network_larger_than_memory(self):
        with open(self.path("wide.json"), "w") as file:
            file.write(json.dumps(BRANCHED).replace('"num_hidden": "10"', '"num_hidden": "2000000000"'))
        self.bad(2, ["--network", self.path("wide.json"), "--max-steps", 1], 1, "trainer: memory", "GB",
                 "out_weight of shape (2000000000, 32), takes 256000000000 bytes")


class Accuracy(job.TrainerTest):
    def test_digits(self):
        self.good(2, ["--network", "lenet", "--num-examples", 12000, "--num-epochs", 2, "--run-log", self.path("log")])
        self.assertGreater(self.log_records("log", "epoch")[-1]["validation"]["accuracy"], 0.95)


if __name__ == "__main__":
    job.main()
