"""``hwgen paper``: the figures of a publication, computed anew, beside what it claims: which one is asked for."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from hwgen.api.arguments import buffer_sizes
from hwgen.cli.console import Json
from hwgen.cli.jobs import MEMORY_OF_A_SEARCH, jobs_option
from hwgen.ir.document import InputError
from hwgen.papers.cecconi.command import cecconi
from hwgen.papers.goetschalckx.command import goetschalckx
from hwgen.papers.goetschalckx.command_rtl import goetschalckx_measured
from hwgen.papers.sousa.command import sousa
from hwgen.papers.stoutchinin.command import stoutchinin, stoutchinin_measured
from hwgen.papers.stoutchinin.rows import TABLE
from hwgen.papers.yang.command import yang
from hwgen.papers.yang.command_rtl import yang_measured

__all__ = ["paper"]

Publication = Annotated[
    Literal["stoutchinin-2019", "goetschalckx-2019", "cecconi-2017", "sousa-2022", "yang-2016"],
    typer.Argument(
        metavar="PAPER",
        help="The paper: stoutchinin-2019, goetschalckx-2019, cecconi-2017, sousa-2022 or yang-2016. All take -o, "
        "--networks and --rtl; which of the other options belong to which paper, these say.",
    ),
]
Folder = Annotated[
    Path,
    typer.Option(
        "-o", "--output", metavar="DIR", help="Folder for the figures; finished layers in it are not searched again."
    ),
]
Networks = Annotated[
    str | None, typer.Option("--networks", metavar="NAME[,NAME...]", help="Only these networks or rows.")
]
Buffers = Annotated[str, typer.Option("--buffer", metavar="SIZE[,SIZE...]", help="Buffer sizes of Fig. 4, 5 and 7.")]
Orders = Annotated[bool, typer.Option("--orders/--no-orders", help="Fig. 7 too: about two seconds for each layer.")]
AllTiles = Annotated[
    bool,
    typer.Option(
        "--all-tiles",
        help="Fig. 7 over all integer tiles, too, not only over the paper's sampled ones: minutes more.",
    ),
]
Rtl = Annotated[
    bool,
    typer.Option(
        "--rtl",
        help="stoutchinin-2019: Fig. 10 alone, from what hwgen regress counted in the RTL (make regress-hwce). "
        "cecconi-2017: Fig. 3 at full size on our own cluster, four of the layers simulated, and Fig. 4, transfers "
        "alone, of all layers on its DMA. sousa-2022: two small layers on our own cluster, simulated, and all layers "
        "on four clusters, with our DRAM and with the paper's, simulated up to --limit. "
        "goetschalckx-2019: VGG-E's first five layers as a pipeline, and stacks of SRGAN and DMCNN-VD with "
        "all channels, 24 rows of them. yang-2016: three layers on a cluster designed for them, simulated.",
    ),
]
Small = Annotated[
    bool,
    typer.Option(
        "--small",
        help="With --rtl and cecconi-2017, goetschalckx-2019 or yang-2016: smaller layers, in less than a minute.",
    ),
]
Results = Annotated[Path, typer.Option("--results", metavar="DIR", help="With --rtl: where hwgen regress left them.")]
LayerSet = Annotated[str, typer.Option("--layers", metavar="SET", help="With --rtl: layers other than the paper's.")]
Measured = Annotated[
    str | None,
    typer.Option(
        "--hardware",
        metavar="FILE",
        help="With cecconi-2017, sousa-2022: also with what hwgen calibrate stored in this file.",
    ),
]
Caches = Annotated[
    Path | None,
    typer.Option(
        "--cpu",
        metavar="FILE",
        help="With yang-2016: accesses of caches for Fig. 3 and 4, as make cpu leaves them in "
        "results/cpu/accesses.csv, which is taken if it is there.",
    ),
]
System = Annotated[
    str,
    typer.Option(
        "--system",
        metavar="FILE[,FILE...]",
        help="With sousa-2022 --rtl: one of its four clusters; several are computed one after the other.",
    ),
]
Limit = Annotated[
    int,
    typer.Option(
        "--limit",
        metavar="CYCLES",
        min=0,
        help="With sousa-2022 --rtl: layers of more predicted cycles are not simulated, but for the three shortest "
        "of each network; 0: none is.",
    ),
]
Jobs = Annotated[int, jobs_option("Number of layers searched at a time.", MEMORY_OF_A_SEARCH)]

SYSTEM, LIMIT = "sousa_2022,sousa_2022_bursts", 100_000
ON_CLUSTER = ("cecconi-2017", "sousa-2022")
RTL_ALONE = ("goetschalckx-2019", "yang-2016")
"""Papers whose --rtl prints what was simulated and nothing else."""
OF_PAPER = {
    "goetschalckx-2019": ("--networks", "--rtl", "--small", "--results"),
    "cecconi-2017": ("--networks", "--hardware", "--rtl", "--small"),
    "sousa-2022": ("--networks", "--hardware", "--rtl", "--system", "--limit"),
    "yang-2016": ("--networks", "--jobs", "--cpu", "--rtl", "--small"),
}
"""The options of each of the other papers, as its refusals list them."""
PAPER_SIZES = "1KiB,2KiB,4KiB,8KiB,16KiB,32KiB,64KiB,128KiB,256KiB,512KiB"


def paper(
    name: Publication,
    *,
    output: Folder,
    networks: Networks = None,
    buffer: Buffers = PAPER_SIZES,
    orders: Orders = True,
    all_tiles: AllTiles = False,
    jobs: Jobs = 1,
    rtl: Rtl = False,
    small: Small = False,
    results: Results = Path("results/regress"),
    layer_set: LayerSet = TABLE,
    hardware: Measured = None,
    system: System = SYSTEM,
    limit: Limit = LIMIT,
    cpu: Caches = None,
    as_json: Json = False,
) -> int:
    """Compute the figures of a publication anew: plots, CSV, and a README.md of its claims beside what was found."""
    if hardware is not None and name not in ON_CLUSTER:
        raise InputError(f"--hardware: expected with {' or '.join(ON_CLUSTER)}")
    if (system, limit) != (SYSTEM, LIMIT) and not (rtl and name == "sousa-2022"):
        raise InputError("--system, --limit: expected with sousa-2022 --rtl")
    if small and not (rtl and name in ("cecconi-2017", *RTL_ALONE)):
        raise InputError(f"--small: expected with --rtl and {', '.join(('cecconi-2017', *RTL_ALONE))}")
    if all_tiles and (rtl or name != "stoutchinin-2019"):
        raise InputError("--all-tiles: expected with stoutchinin-2019, without --rtl")
    if cpu is not None and name != "yang-2016":
        raise InputError("--cpu: expected with yang-2016")
    if rtl and name in RTL_ALONE:
        if (networks, buffer, layer_set, orders, cpu) != (None, PAPER_SIZES, TABLE, True, None):
            raise InputError(f"{name} --rtl: expected no options but -o, --small, --results and --json")
        if name == "yang-2016":
            return yang_measured(output, small=small, as_json=as_json)
        return goetschalckx_measured(output, results, small=small, as_json=as_json)
    if name != "stoutchinin-2019":
        if (rtl and name not in ON_CLUSTER) or buffer != PAPER_SIZES or layer_set != TABLE or not orders:
            raise InputError(f"{name}: expected no options but -o, {', '.join(OF_PAPER[name])} and --json")
        if name == "cecconi-2017":
            return cecconi(output, networks, hardware, rtl=rtl, small=small, as_json=as_json)
        if name == "sousa-2022":
            return sousa(output, networks, hardware, system, limit, rtl=rtl, as_json=as_json)
        if name == "yang-2016":
            return yang(output, networks, cpu, jobs=jobs, as_json=as_json)
        return goetschalckx(output, networks, as_json=as_json)
    if layer_set != TABLE and not rtl:
        raise InputError("--layers: expected with --rtl")
    if rtl:
        return stoutchinin_measured(output, networks, layer_set, results, as_json=as_json)
    return stoutchinin(
        output, networks, buffer_sizes(buffer), orders=orders, all_tiles=all_tiles, jobs=jobs, as_json=as_json
    )
