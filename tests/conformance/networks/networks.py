"""Runs the cells of the table, and prints for each what the program stated and what was captured.

Usage: networks.py IDEMPOST FOLDER [PART-OF-A-NAME...]"""

import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from cells import CELLS
from operations import OPERATIONS, Result
from parts import Network, certificates

# A cell spends most of its time waiting.
AT_ONCE = 4
COLUMNS = "{:<10}{:<32}{:<8}{:>6}{:>7}{:>7}{:>8}{:>9}{:>7}  {}"


def run(cell, number, operation, program, folder):
    """Runs an operation in a network of its own."""
    result = Result()
    network = None
    try:
        network = Network(cell, folder / f"{number}-{operation}", program, folder)
        OPERATIONS[operation](network, result)
    except Exception as error:  # The other cells still count.
        result.problems.append(f"{type(error).__name__}: {error}")
    finally:
        if network is not None:
            network.close()
    unexpected = set(result.codes) - cell.expected[operation]
    if unexpected:
        result.problems.append(f"exit code {sorted(unexpected)} instead of {sorted(cell.expected[operation])}")
    if cell.excused and result.twice:
        result.problems = [problem for problem in result.problems if "captured 2 times" not in problem]
    return result


def main():
    program, folder, wanted = sys.argv[1], Path(sys.argv[2]), sys.argv[3:]
    certificates(folder)
    chosen = [
        (number, cell, operation)
        for number, cell in enumerate(CELLS)
        for operation in cell.expected
        if not wanted or any(part in f"{cell.proxy} {cell.name} {operation}" for part in wanted)
    ]
    began = time.monotonic()
    print(COLUMNS.format("proxy", "cell", "does", "codes", "emails", "once", "twice", "missing", "false", ""), flush=True)
    totals, failed = Result(), []
    with ThreadPoolExecutor(AT_ONCE) as threads:
        running = [
            (cell, operation, threads.submit(run, cell, number, operation, program, folder)) for number, cell, operation in chosen
        ]
        for cell, operation, future in running:
            result = future.result()
            for name in ("total", "once", "twice", "stated", "missing", "false"):
                setattr(totals, name, getattr(totals, name) + getattr(result, name))
            note = f"{result.stated} not captured, as stated" if result.stated else ""
            if result.problems:
                note = "FAILED"
                failed.append((cell, operation, result))
            elif result.twice:
                note = f"excused: {cell.excused}"
            codes = ",".join(str(code) for code in sorted(set(result.codes)))
            counts = (result.total, result.once, result.twice, result.missing, result.false)
            print(COLUMNS.format(cell.proxy or "-", cell.name, operation, codes, *counts, note).rstrip(), flush=True)
    for cell, operation, result in failed:
        print(f"\n{cell.proxy or '-'}: {cell.name}: {operation}:")
        for problem in result.problems[:8]:
            print(f"  {problem}")
    counts = f"{totals.total} emails: {totals.once} once, {totals.twice} twice, {totals.stated} not captured, as stated, {totals.missing} missing"
    print(f"\n{len(chosen)} operations in {len({number for number, _, _ in chosen})} cells, {time.monotonic() - began:.0f} s")
    print(f"{counts}, {totals.false} false statements; {len(failed)} operations failed")
    return 1 if failed or not chosen else 0


if __name__ == "__main__":
    sys.exit(main())
