"""Traffic against the size of the buffers, as a picture."""

from collections.abc import Sequence

import altair as alt

from hwgen.report.charts import DASHED, SIZES, SOLID, Look, axis, compiled, dashes, images, log_axis

__all__ = ["size_curve"]

BEST, BOUND = "best schedules", "lower bound, proven"


def size_curve(sizes: Sequence[tuple[int, int, int]]) -> dict[str, bytes]:
    """Bytes that the best schedules of all layers move, and a bound of them, by bytes of buffers, as PNG and SVG."""
    rows = [
        {
            "size": size,
            "bytes": amount,
            "line": line,
            "counted": True,
            "text": f"{size:,} B: {amount:,} bytes, {line}",
        }
        for size, moved, bound in sizes
        for line, amount in ((BEST, moved), (BOUND, bound))
    ]
    look = Look.of([BEST], {BOUND: ("bound", "square")})
    x, y = log_axis(alt.X, "size", "local buffers", SIZES, base=2), alt.Y("bytes:Q", axis=axis("bytes moved"))
    data = alt.Chart(alt.NamedData("rows"))
    lines = look.line("line", data).encode(x=x, y=y, strokeDash=dashes({BEST: SOLID, BOUND: DASHED}))
    chart = alt.layer(lines, look.points("line", data.transform_filter(f"datum.line == '{BEST}'")).encode(x=x, y=y))
    return images(compiled(chart.add_params(look.shown([BEST, BOUND]))), {"rows": rows})
