"""`make bench-chunking`: our chunker beside those that people use, on the same Markdown files.

    python -m tests.benchmarks.chunking [FOLDER] [--only NAME] [--rounds N]

Each contender runs in a process of its own. CPU time is told in multiples of one
`encode_ordinary` pass (the best of three) over the same files in the same process. Every splitter
walks over the files once, with its caches cold, as a run does; on a machine that is not idle, ask
for some rounds.
"""

import argparse
import json
import platform
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from tests.benchmarks.chunking_contenders import CONTENDERS, MAX_TOKENS, PACKAGES, count, encoding

ROUNDS = 3
ROOT = Path(__file__).parents[2]
FOLDERS = (ROOT.parent / "shared" / "data" / "corpus", ROOT / "demo", ROOT / "docs")
"""Where Markdown is looked for when no folder is named: the first that exists."""
COLUMNS = (
    "passes",
    "chunks",
    "mean fill",
    "over budget",
    "rows without header",
    "open fences",
    "headings only",
    "U+FFFD",
    "inside a word",
    "words lost",
)


def main() -> None:
    arguments = _arguments()
    if arguments.child:
        print(json.dumps(_measure(arguments.child, read_markdown(arguments.folder))))
        return
    results = {name: _best(name, arguments) for name in arguments.only or CONTENDERS}
    texts = read_markdown(arguments.folder)
    size = sum(len(text.encode()) for text in texts)
    print(f"{len(texts)} files, {size / 1e6:.1f} MB, budget {MAX_TOKENS}; passes of tiktoken\n")
    print(f"| splitter | {' | '.join(COLUMNS)} |\n|---|{'---:|' * len(COLUMNS)}")
    for name, result in results.items():
        print(f"| {name} | {' | '.join(_cells(result))} |")
    print(f"\n{platform.python_implementation()} {platform.python_version()}, {_machine()}")
    print(
        ", ".join(
            f"{package} {found}" for package in PACKAGES.values() if (found := _version(package))
        )
    )


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    add_folder(parser)
    parser.add_argument("--only", action="append", choices=CONTENDERS, help="one of them")
    parser.add_argument("--rounds", type=int, default=1, help="processes each; the best is told")
    parser.add_argument("--child", choices=CONTENDERS, help=argparse.SUPPRESS)
    return parser.parse_args()


def add_folder(parser: argparse.ArgumentParser) -> None:
    default = next((folder for folder in FOLDERS if folder.is_dir()), None)
    parser.add_argument("folder", nargs="?", type=Path, default=default, help="of Markdown files")


def read_markdown(folder: Path) -> list[str]:
    files = sorted(folder.rglob("*.md"))
    return [file.read_bytes().decode(errors="ignore") for file in files]


def _best(name: str, arguments: argparse.Namespace) -> dict[str, Any]:
    rounds = [_in_process(name, arguments) for _ in range(arguments.rounds)]
    return min(rounds, key=lambda result: result.get("passes", 0))


def _in_process(name: str, arguments: argparse.Namespace) -> dict[str, Any]:
    command = [sys.executable, "-m", __spec__.name, str(arguments.folder.resolve()), "--child"]
    done = subprocess.run([*command, name], cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        reason = done.stderr.strip().rpartition("\n")[2]
        print(f"{name}: not measured: {reason}", file=sys.stderr)
        return {}
    result: dict[str, Any] = json.loads(done.stdout.strip().rpartition("\n")[2])
    print(f"{name}: {result['passes']:.2f} passes", file=sys.stderr)
    return result


def _measure(name: str, texts: list[str]) -> dict[str, Any]:
    from tests.benchmarks.chunking_faults import count_faults  # noqa: PLC0415

    prepare, split = CONTENDERS[name]()
    prepared = [prepare(text) for text in texts]
    encode = encoding().encode_ordinary
    chunked: list[list[str]] = []
    split(prepare("# Warm\n\nup"))
    encode("warm")
    one_pass = min(_seconds(lambda: [len(encode(text)) for text in texts]) for _ in range(ROUNDS))
    seconds = _seconds(lambda: chunked.extend(map(split, prepared)))  # once: caches are cold
    faults: Counter[str] = Counter()
    for text, chunks in zip(texts, chunked, strict=True):
        faults += count_faults(text, chunks)
    sizes = [count(chunk) for chunks in chunked for chunk in chunks]
    return {
        "passes": seconds / one_pass,
        "chunks": len(sizes),
        "mean fill": sum(sizes) / len(sizes) / MAX_TOKENS,
        **faults,
    }


def _seconds(work: Callable[[], object]) -> float:
    started = time.process_time()
    work()
    return time.process_time() - started


def _cells(result: dict[str, Any]) -> list[str]:
    if not result:
        return ["–"] * len(COLUMNS)
    told = {column: f"{result.get(column, 0):,}" for column in COLUMNS}
    told["passes"] = f"{result['passes']:.2f} ×"
    told["mean fill"] = f"{result['mean fill']:.2f}"
    told["words lost"] = f"{result.get('words lost', 0) / result['words']:.2%}"
    return list(told.values())


def _machine() -> str:
    info = Path("/proc/cpuinfo")
    lines = info.read_text().split("\n") if info.exists() else []
    model = next((line.partition(": ")[2] for line in lines if line.startswith("model name")), "")
    return f"{model or platform.processor()}, {platform.system()} {platform.machine()}"


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


if __name__ == "__main__":
    main()
