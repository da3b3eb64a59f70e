"""The kept files of the page of results: where the command that leaves each of them puts it.

``python -m manual.results.files`` takes over those that are there, and writes the tables of the page.
"""

import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

from manual.results.kept import DOCS
from manual.results.page import write_page

__all__ = ["FILES", "File", "take_over"]


@dataclass(frozen=True)
class File:
    """A kept file.

    Members
    -------
    command : as the Makefile has it, or a target of it.
    left : what the command leaves, from the root of the project.
    """

    command: str
    left: str


REGRESS, PAPERS, BENCHMARKS = "results/regress", "results/papers", "results/benchmarks"
FILES: dict[str, File] = {
    "results/demo.json": File("make demo", "results/demo.json"),
    "results/busy_16.csv": File("hwgen regress stoutchinin_2019 --buffer 1KiB,2KiB,4KiB", f"{REGRESS}/busy_16.csv"),
    "results/model_16.csv": File("make regress-model", f"{REGRESS}/model_16.csv"),
    "results/model_64.csv": File("make regress-model", f"{REGRESS}/model_64.csv"),
    "results/model_256.csv": File("make regress-model", f"{REGRESS}/model_256.csv"),
    "results/alexnet_cluster.csv": File(
        "hwgen regress-clusters schedules/alexnet_cluster", f"{REGRESS}/alexnet_cluster.csv"
    ),
    "results/alexnet_16bit.csv": File(
        "hwgen regress-clusters schedules/alexnet_16bit", f"{REGRESS}/alexnet_16bit.csv"
    ),
    "results/four_clusters.csv": File(
        "hwgen regress-clusters schedules/four_clusters", f"{REGRESS}/four_clusters/clusters.csv"
    ),
    "results/designed.json": File("hwgen design stoutchinin_2019:alexnet", f"{REGRESS}/designed.json"),
    "results/stacks.csv": File("hwgen regress-stacks -j", f"{REGRESS}/stacks.csv"),
    "results/stacks_full_size.csv": File("hwgen regress-stacks --full-size", f"{REGRESS}/stacks_full_size.csv"),
    "results/borders.csv": File("hwgen regress-stacks --full-size", f"{REGRESS}/borders.csv"),
    "results/ways.csv": File("hwgen regress-ways", f"{REGRESS}/ways.csv"),
    "results/networks.csv": File("make bench", f"{BENCHMARKS}/networks.csv"),
    "results/networks_planned.csv": File("make bench", f"{BENCHMARKS}/networks_planned.csv"),
    "results/network_runs.csv": File("make bench", f"{BENCHMARKS}/network_runs.csv"),
    "results/hierarchy.csv": File("make bench", f"{BENCHMARKS}/hierarchy.csv"),
    "results/area.csv": File("make synth", f"{BENCHMARKS}/area.csv"),
    "results/cells.json": File("hwgen synth hwc_16 --liberty", "results/cells.json"),
    "papers/stoutchinin-2019_fig8.csv": File("make papers", f"{PAPERS}/stoutchinin-2019/fig8_sums.csv"),
    "papers/stoutchinin-2019_printed.csv": File(
        "hwgen regress stoutchinin_2019 --buffer 1KiB --printed", f"{REGRESS}/printed.csv"
    ),
    "papers/stoutchinin-2019_four_hwcs.csv": File("make regress-cluster", f"{REGRESS}/four_hwcs/clusters.csv"),
    "papers/cecconi-2017_fig3.csv": File("hwgen paper cecconi-2017 --rtl", f"{REGRESS}/cecconi/fig3.csv"),
    "papers/cecconi-2017_rtl.csv": File("hwgen paper cecconi-2017 --rtl", f"{REGRESS}/cecconi/rtl.csv"),
    "papers/cecconi-2017_transfers.csv": File("hwgen paper cecconi-2017 --rtl", f"{REGRESS}/cecconi/transfers.csv"),
    "papers/sousa-2022_system.csv": File("hwgen paper sousa-2022 --rtl", f"{REGRESS}/sousa/system.csv"),
    "papers/goetschalckx-2019_rtl.csv": File(
        "hwgen paper goetschalckx-2019 --rtl", f"{REGRESS}/goetschalckx/rtl.csv"
    ),
    "papers/yang-2016_rtl.csv": File("hwgen paper yang-2016 --rtl", f"{REGRESS}/yang/rtl.csv"),
    "papers/cpu_accesses.csv": File("make cpu", "results/cpu/accesses.csv"),
}
"""The files in the documentation, by their place in `docs`."""


def take_over(root: Path) -> list[str]:
    """Copy what the commands have left, and write the page; the lines that say which files there are none of."""
    missing = []
    for name, file in FILES.items():
        if (root / file.left).exists():
            shutil.copyfile(root / file.left, DOCS / name)
        else:
            missing.append(f"{file.left}: {file.command} has not left it; docs/{name} stays as it is")
    write_page()
    return missing


if __name__ == "__main__":
    sys.stderr.writelines(f"{line}\n" for line in take_over(DOCS.parent))
