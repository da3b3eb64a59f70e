"""The schedules of a sweep as files: a folder for each configuration, with the hardware that it runs on."""

import re
from collections.abc import Iterable

from hwgen.ir.document import dump_yaml
from hwgen.ir.hardware import Cluster, Hardware
from hwgen.ir.names import file_names, plain_name
from hwgen.ir.schedule import Schedule
from hwgen.studies.regress.hwc import Row
from hwgen.studies.regress.plans import Configuration
from hwgen.studies.sweep.clusters import ClusterConfiguration
from hwgen.studies.sweep.request import AnyConfiguration, Question
from hwgen.tools.cache import digest_of

__all__ = ["documents_of", "hardware_of", "schedule_file"]

FOLDER = "schedules"


def schedule_file(question: Question, configuration: AnyConfiguration, layer: str) -> str:
    """The name of a layer's schedule file in the folder of the results."""
    names = [one.name for one in question.layers]
    file = dict(zip(names, file_names(names), strict=True))[layer]
    return f"{FOLDER}/{_name(question, configuration)}/{file}.yaml"


def documents_of(
    question: Question, configuration: AnyConfiguration, schedules: Iterable[Schedule], hardware: Hardware
) -> dict[str, str]:
    """Name and text of the schedules' files, and of the hardware file beside them."""
    name = _name(question, configuration)
    hardware = hardware.model_copy(update={"name": name})
    found = {f"{FOLDER}/{name}/{name}.hardware.yaml": dump_yaml(hardware.as_data())}
    for schedule in schedules:
        found[schedule_file(question, configuration, schedule.layer.name)] = dump_yaml(schedule.as_data())
    return found


def hardware_of(configuration: Configuration, rows: Iterable[Row]) -> Hardware:
    """What the rows of a configuration run on; without order and buffers where each has an HWC of its own."""
    if configuration.given is not None:
        return configuration.given.hardware
    shared = next((row.entry.hardware for row in rows if row.entry.hardware is not None), None)
    if configuration.kind == "shared" and shared is not None:
        return shared
    return Hardware(name="own", lanes=configuration.lanes, budget=configuration.budget)


def _name(question: Question, configuration: AnyConfiguration) -> str:
    parts = [question.place, _words(configuration.name)]
    if isinstance(configuration, ClusterConfiguration):
        cluster = configuration.cluster
        if cluster != Cluster(hwcs=cluster.hwcs, tcdm=cluster.tcdm):  # its name does not say what else differs
            parts.append(digest_of(cluster.model_dump(mode="json"))[:6])
    if question.scale > 1:
        parts.append(f"scale{question.scale}")
    return plain_name("_".join(filter(None, parts)))


def _words(name: str) -> str:
    """The name of a configuration, which says what it is: blanks and brackets do not tell one from another."""
    return re.sub(r"[^A-Za-z0-9.+-]+", "_", name).strip("_.+-")
