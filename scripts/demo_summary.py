#!/usr/bin/env python3
"""Says in a few lines what a run log (docs/run-log.md) tells: what was trained, on what, how well and how fast.

    scripts/demo_summary.py FILE [--wanted ACCURACY]     exit code 1 when the last validation accuracy is not above it
"""
import argparse
import json
import sys


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file")
    parser.add_argument("--wanted", type=float, default=0.0)
    arguments = parser.parse_args()
    with open(arguments.file, encoding="utf-8") as lines:
        records = [json.loads(line) for line in lines]
    start = next(r for r in records if r["type"] == "start")
    epochs = [r for r in records if r["type"] == "epoch"]
    end = next(r for r in records if r["type"] == "end")

    accuracy = epochs[-1]["validation"]["accuracy"]
    ranks = len(start["ranks"])
    hosts = len({rank["host"] for rank in start["ranks"]})
    samples = sum(r["samples"] for r in epochs)
    seconds = sum(r["seconds"] for r in epochs)
    print(f"Trained  {start['network']}, {start['parameters']:,} parameters, {len(epochs)} epochs, "
          f"{end['steps']:,} steps of {start['global_batch']} images")
    print(f"On       {start['data']}: {start['train_samples']:,} images to train, "
          f"{start['validation_samples']:,} to validate")
    print(f"With     {ranks} ranks on {hosts} host{'s' if hosts > 1 else ''}, {start['threads']} "
          f"thread{'s' if start['threads'] > 1 else ''} each, store {start['kv_store']}, {start['mpi']}")
    print(f"Speed    {samples / seconds:,.0f} images/s, {seconds:.1f} s of training")
    print(f"Result   {accuracy:.2%} of the validation images are classified correctly")
    if not accuracy > arguments.wanted:
        print(f"demo: expected more than {arguments.wanted:.0%}", file=sys.stderr)
        return 1
    return 0


sys.exit(main())
