"""``hwgen paper goetschalckx-2019``: depth-first execution against layer by layer, computed anew."""

from pathlib import Path

from hwgen.api.arguments import chosen_names, claim_folder
from hwgen.cli.console import note, progress
from hwgen.papers.answer import answer
from hwgen.papers.goetschalckx.claims import depth_first_claims
from hwgen.papers.goetschalckx.documents import depth_first_files, depth_first_readme
from hwgen.papers.goetschalckx.rows import NETWORKS, RESOLUTIONS, SMALL, VARIANTS, Computed, bound_rows, compute
from hwgen.papers.kept import command_text

__all__ = ["goetschalckx"]

PAPER = "goetschalckx-2019"


def goetschalckx(output: Path, networks: str | None, *, as_json: bool) -> int:
    """Compute the figures: plots, CSV, the solutions as YAML, and a README.md of claims beside what was found."""
    names = chosen_names("--networks", networks, tuple(NETWORKS))
    claim_folder(output)
    fronts = (len(names) * len(RESOLUTIONS) + len(SMALL)) * len(VARIANTS)
    with progress(fronts, "searching") as step:
        computed = compute(names, step)
    bounds, stated = bound_rows(computed), depth_first_claims(computed)
    text = depth_first_readme(computed, stated)
    files = {"README.md": text.encode()}
    files |= {file: table.encode() for file, table in depth_first_files(computed, bounds).items()}
    note("drawing")
    files |= _drawn(computed)
    data = {"paper": PAPER}
    answer(output, command_text(PAPER, {"--networks": networks}), stated, files, text, data, as_json=as_json)
    return 0


def _drawn(computed: Computed) -> dict[str, bytes]:
    # The plotting library is slow to load, and no other command needs it.
    from hwgen.papers.figures import rendered
    from hwgen.papers.goetschalckx.figures import depth_first_5, depth_first_6, depth_first_7

    figures = {"fig5": depth_first_5(computed, bound_rows(computed)), "fig7": depth_first_7(computed)}
    if ("srgan", "720p") in computed.graphs:
        figures["fig6"] = depth_first_6(computed)
    return {f"{stem}.{suffix}": data for stem, figure in figures.items() for suffix, data in rendered(figure).items()}
