"""What several workers counted, as the metrics of one server."""

from hypothesis import given
from hypothesis import strategies as st
from prometheus_client.parser import text_string_to_metric_families

from policyd.server.workers.channel import MessageDecoder, WorkerMessage, encode
from policyd.server.workers.hub import Hub
from policyd.server.workers.summing import MetricFamily, Sums


def counted(count: float, policy: str = "") -> MetricFamily:
    labels = {"policy": policy} if policy else {"result": "allowed"}
    name = "policyd_policy_cost_units" if policy else "policyd_requests"
    return name, "doc", "counter", "", [(f"{name}_total", labels, float(count))]


def gauge(name: str, value: float, **labels: str) -> MetricFamily:
    return name, "doc", "gauge", "", [(name, labels, value)]


def value(sums: Sums, name: str) -> float | None:
    found = [
        sample.value
        for metric in sums.metrics()
        for sample in metric.samples
        if sample.name == name
    ]
    return found[0] if found else None


# For each worker: how much it counts next, or that it dies.
STEPS = st.lists(st.tuples(st.integers(0, 2), st.one_of(st.integers(0, 9), st.none())), max_size=40)


@given(STEPS)
def test_a_counter_is_the_sum_of_what_was_reported_and_never_goes_back(
    steps: list[tuple[int, int | None]],
) -> None:
    sums, counts, total, shown = Sums(), dict.fromkeys(range(3), 0), 0, 0.0
    for worker, count in steps:
        if count is None:
            sums.end(worker)
            counts[worker] = 0
            continue
        counts[worker] += count
        total += count
        sums.take(worker, [counted(counts[worker])])
        now = value(sums, "policyd_requests_total")
        assert now == total
        assert now >= shown
        shown = now


def test_a_policy_that_begins_anew_keeps_its_counts() -> None:
    sums = Sums()
    for worker in (0, 1):
        sums.take(worker, [counted(10, "p")])
    sums.take(0, [counted(1, "p")])  # a reload replaced it
    assert value(sums, "policyd_policy_cost_units_total") == 21
    assert sums.of_policies()["p"]["cost"] == 21


def test_a_policy_that_no_worker_has_is_forgotten() -> None:
    sums = Sums()
    for worker in (0, 1):
        sums.take(worker, [counted(10, "p")])
    sums.take(0, [counted(0, "other")])
    assert sums.of_policies()["p"]["cost"] == 20
    sums.take(1, [counted(0, "other")])
    assert set(sums.of_policies()) == {"other"}
    sums.take(1, [counted(3, "p")])
    assert sums.of_policies()["p"]["cost"] == 3


def test_buckets_are_summed() -> None:
    sums = Sums()
    for worker in (0, 1):
        rows = [("d_bucket", {"le": each}, 2.0) for each in ("0.1", "+Inf")]
        sums.take(worker, [("d", "doc", "histogram", "", [*rows, ("d_count", {}, 2.0)])])
    page = sums.page("")[0].decode()
    assert 'd_bucket{le="+Inf"} 4.0' in page
    assert "d_count 4.0" in page


def test_gauges_are_combined_by_their_meaning() -> None:
    sums = Sums()
    for worker, number in ((0, 3.0), (1, 5.0)):
        rows = [
            gauge("policyd_in_flight_requests", number),
            gauge("policyd_policies", number, state="active"),
            gauge("policyd_watch_healthy", number, watch="policies"),
        ]
        sums.take(worker, rows)
    assert value(sums, "policyd_in_flight_requests") == 8
    assert value(sums, "policyd_policies") == 5
    assert value(sums, "policyd_watch_healthy") == 3


def test_the_set_of_the_slowest_worker_is_shown() -> None:
    sums = Sums()
    for worker, generation in ((0, "new"), (1, "old")):
        row = ("policyd_policy_set_info", {"generation": generation}, 1.0)
        sums.take(worker, [("policyd_policy_set", "doc", "info", "", [row])])
    page = sums.page("", oldest=1)[0].decode()
    assert 'generation="old"' in page
    assert 'generation="new"' not in page


def test_a_page_can_be_read_by_prometheus() -> None:
    sums = Sums()
    sums.take(0, [counted(1), gauge("policyd_x", 1.0)])
    names = [each.name for each in text_string_to_metric_families(sums.page("")[0].decode())]
    assert names == ["policyd_requests", "policyd_x"]


@given(st.lists(st.dictionaries(st.text(), st.text()), max_size=5), st.integers(1, 7))
def test_messages_arrive_in_any_pieces(messages: list[WorkerMessage], size: int) -> None:
    stream = b"".join(map(encode, messages))
    decoder = MessageDecoder()
    got: list[WorkerMessage] = []
    for start in range(0, len(stream), size):
        got += decoder.feed(stream[start : start + size])
    assert got == messages


class Sent:
    """A hub of two workers with a clock, and what it sends."""

    def __init__(self) -> None:
        self.now = 0.0
        self.messages: list[tuple[int, WorkerMessage]] = []
        self.hub = Hub(2, self.send, clock=lambda: self.now)
        for worker in (0, 1):
            self.hub.began(worker)

    def send(self, worker: int, message: WorkerMessage) -> None:
        self.messages.append((worker, message))

    def report(self, worker: int, *missing: str, serving: bool = True, began: float = 1.0) -> None:
        state = {"serving": serving, "missing": [*missing], "generation": "g", "began": began}
        self.hub.receive(worker, {"state": state})

    def is_ready(self) -> list[str]:
        self.hub.receive(0, {"ask": "ready", "number": 7})
        worker, answer = self.messages.pop()
        assert (worker, answer["answer"]) == (0, 7)
        missing: list[str] = answer["missing"]
        return missing


def test_ready_when_all_are() -> None:
    sent = Sent()
    sent.report(0)
    assert sent.is_ready() == ["starting"]
    sent.report(1, "no policies are loaded", "not listening", serving=False)
    assert sent.is_ready() == ["no policies are loaded", "not listening"]
    sent.report(1)
    assert sent.is_ready() == []
    sent.report(1, "the watch failed")
    assert sent.is_ready() == ["the watch failed"]


def test_ready_while_one_is_started_again() -> None:
    sent = Sent()
    sent.report(0)
    sent.report(1)
    sent.hub.ended(1)
    assert sent.is_ready() == []
    sent.hub.began(1)
    sent.report(1, "not listening", serving=False)
    assert sent.is_ready() == []
    sent.hub.ended(0)
    assert "no worker serves" in sent.hub.missing


def test_metrics_wait_for_all_but_not_for_ever() -> None:
    sent = Sent()
    for worker in (0, 1):
        sent.report(worker)
    question = {"ask": "prometheus", "accept": "", "number": 1, "metrics": [counted(1)]}
    sent.hub.receive(0, question)
    assert [worker for worker, _ in sent.messages] == [1]
    sent.hub.receive(1, {"gave": sent.messages[0][1]["give"], "metrics": [counted(2)]})
    assert b'policyd_requests_total{result="allowed"} 3.0' in sent.messages[1][1]["page"]
    sent.hub.receive(0, {**question, "number": 2})
    sent.now = 0.9
    sent.hub.expire()
    assert len(sent.messages) == 3
    sent.now = 1.0
    sent.hub.expire()
    assert sent.messages[3][1]["answer"] == 2


def test_nobody_waits_for_a_worker_that_ended() -> None:
    sent = Sent()
    for worker in (0, 1):
        sent.report(worker)
    sent.hub.receive(1, {"metrics": [counted(2)]})
    sent.hub.receive(0, {"ask": "prometheus", "accept": "", "number": 1, "metrics": [counted(1)]})
    sent.hub.ended(1)
    assert b'policyd_requests_total{result="allowed"} 3.0' in sent.messages[-1][1]["page"]
    assert sent.hub.next_deadline is None
