"""Which form of a layer is searched: bounds against iterations counted one by one, the choice against all forms."""

from itertools import product
from random import Random

import pytest

from hwgen.ir.document import InputError
from hwgen.ir.lanes import Lanes
from hwgen.ir.layer import AS_IT_IS, Form, Layer
from hwgen.lower.hwc.parameters import parameters_for
from hwgen.model.cycle_bound import least_busy, least_iterations
from hwgen.model.hwc.cycles import predicted_cycles
from hwgen.search.core.batch import search_layers
from hwgen.search.hwc.balanced import BalancedRequest, balanced
from hwgen.search.layer_forms import forms_of, in_best_form
from tests.random.layers import HWCS, hwc, random_layer, schedules_for


def depthwise(groups: int, each: int = 1) -> Layer:
    return Layer(name="dw", input_channels=groups, output_channels=groups * each, input_height=3, input_width=4,
                 kernel=(2, 3), padding=(0, 1, 1, 0), groups=groups)  # fmt: skip


def test_least_iterations_are_those_of_whole_lane_vectors() -> None:
    rng = Random(3)
    for _ in range(60):
        layer, lanes = random_layer(rng, "random", 2000), rng.choice(Lanes.shapes(16, ("m", "c", "y", "x")))
        sizes = {**layer.extents, "m": layer.outputs_per_group}
        places = product(*(range(0, size, lanes.along(dim)) for dim, size in sizes.items()))
        assert least_iterations(layer, lanes) == layer.groups * len(list(places))


@pytest.mark.parametrize("name", sorted(HWCS))
def test_no_schedule_is_busy_for_less(name: str) -> None:
    """Random schedules, forms and requantisations among them, by the exact model of an HWC."""
    for schedule in schedules_for(hwc(name), Random(name), 8, 3000):
        took = predicted_cycles(schedule, parameters_for(schedule)).total
        assert least_busy(schedule.layer, schedule.lanes) < took


def test_outputs_of_short_reductions_are_stored_one_after_the_other() -> None:
    """One operation for each vector of four outputs, and four cycles until they are stored."""
    layer = Layer(name="scale", input_channels=4, output_channels=4, input_height=14, input_width=56, kernel=1)
    hardware = hwc("sums_of_channels")
    ((found,),) = search_layers([layer], BalancedRequest((hardware.budget,), hardware), jobs=1)
    assert found.balance is not None
    busy = least_busy(layer, Lanes(m=4, c=4))
    assert busy == 4 * 14 * 56
    assert busy < found.balance.chosen.cycles < 1.1 * busy


def test_forms_of_fewer_iterations() -> None:
    def at_once(layer: Layer, lanes: Lanes) -> list[int]:
        return [one.form.groups_at_once for one in forms_of(layer, lanes)]

    assert at_once(depthwise(8), Lanes(m=4, c=4)) == [4, 2, 1]
    assert at_once(depthwise(7), Lanes(m=4, c=4)) == [7, 1]
    assert at_once(depthwise(5, 3), Lanes(m=4, c=4)) == [1]  # 4 * 2 blocks in place of 5
    assert at_once(depthwise(8), Lanes(m=16)) == [1]  # sums of several channels would take turns
    assert at_once(depthwise(8, 4), Lanes(m=4, c=4)) == [1]
    assert at_once(depthwise(1), Lanes(m=4, c=4)) == [1]
    chosen = depthwise(8).in_form(Form(groups_at_once=2))
    assert forms_of(chosen, Lanes(m=4, c=4)) == [chosen]


def test_what_is_left_out_is_never_better() -> None:
    layer, lanes = depthwise(8), Lanes(m=4, c=4)
    for took in product((0.5, 1, 1.7, 4), repeat=3):
        cycles = {
            one.form: factor * least_iterations(one, lanes)
            for one, factor in zip(forms_of(layer, lanes), (max(1, one) for one in took), strict=True)
        }
        found = in_best_form(forms_of(layer, lanes), lanes, lambda one: one.form, lambda form: cycles[form])  # noqa: B023
        assert cycles[found] == min(cycles.values())


def test_forms_that_do_not_fit_are_left_out() -> None:
    def search(one: Layer) -> Form:
        if one.form.groups_at_once != 2:
            raise InputError(f"{one.form.groups_at_once}: no room")
        return one.form

    assert in_best_form(forms_of(depthwise(8), Lanes(m=4, c=4)), Lanes(m=4, c=4), search, lambda form: 1e9) == Form(
        groups_at_once=2
    )
    with pytest.raises(InputError, match="1: no room"):
        in_best_form(forms_of(depthwise(9), Lanes(m=4, c=4)), Lanes(m=4, c=4), search, lambda form: 1e9)


def test_an_hwc_gets_the_form_of_the_fewest_cycles() -> None:
    hardware, layer = hwc("sums_of_channels"), depthwise(6)
    request = BalancedRequest((hardware.budget,), hardware)
    ((found,),) = search_layers([layer], request, jobs=1)
    cycles = {}
    for at_once in (1, 2, 3, 6):
        one = layer.in_form(Form(groups_at_once=at_once))
        result = balanced(one, [hardware.budget], hardware, request.slack)[0]
        assert result.balance is not None
        cycles[at_once] = result.balance.chosen.cycles
    assert found.balance is not None
    assert cycles[found.schedule.layer.form.groups_at_once] == found.balance.chosen.cycles == min(cycles.values())
    assert found.balance.chosen.cycles < cycles[1]
    plain = balanced(layer, [hardware.budget], hardware, request.slack)[0]
    assert plain.balance is not None
    assert found.balance.least_traffic == plain.balance.least_traffic
    assert search_layers([layer], request, jobs=1)[0][0].schedule.of_layer(layer) == found.schedule
    assert plain.schedule.layer.form == AS_IT_IS
