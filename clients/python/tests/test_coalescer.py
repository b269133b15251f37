from __future__ import annotations

import random
import unittest.mock
from dataclasses import dataclass

from foliot._coalescer import MAX_BYTES, Coalescer, Flight  # pyright: ignore[reportPrivateUsage]


@dataclass(eq=False)
class Item:
    id: int
    size: int = 10
    most: int = 1000


@dataclass
class Sent:
    ids: list[int]
    start: float
    end: float | None = None


def fits(items: list[Item]) -> bool:
    return all(len(items) <= item.most for item in items) and sum(item.size for item in items) <= MAX_BYTES


class Model:
    """The naive model: it remembers every request that was ever sent, and tries every length of a batch."""

    def __init__(self) -> None:
        self.waiting: list[Item] = []
        self.sent: list[Sent] = []

    def send(self, now: float) -> list[list[int]]:
        """Send what can be sent, and return the ids of each request."""
        before = len(self.sent)
        while self.waiting and len([one for one in self.sent if one.end is None and now - one.start < 100]) < 4:
            length = 1
            while length < len(self.waiting) and fits(self.waiting[: length + 1]):
                length += 1
            self.sent.append(Sent([item.id for item in self.waiting[:length]], now))
            del self.waiting[:length]
        return [one.ids for one in self.sent[before:]]


class Coalescers(unittest.TestCase):
    def setUp(self) -> None:
        patch = unittest.mock.patch("foliot._coalescer._SLOW", 100)  # whole numbers are exact
        patch.start()
        self.addCleanup(patch.stop)

    def test_the_coalescer_sends_what_a_naive_model_sends_at_the_same_times(self) -> None:
        for seed in range(300):
            self.compare(random.Random(seed))

    def compare(self, chance: random.Random) -> None:
        core: Coalescer[Item] = Coalescer()
        model = Model()
        flights: list[Flight[Item]] = []
        now, ids = 0, 0

        def check() -> None:
            sent: list[list[int]] = []
            while flight := core.next(now):
                flights.append(flight)
                sent.append([item.id for item in flight.items])
            self.assertEqual(sent, model.send(now), now)

        for _ in range(100):
            what = chance.randrange(4)
            if what < 2:
                for _ in range(chance.randrange(1, 9)):
                    ids += 1
                    size = MAX_BYTES - chance.randrange(3) if chance.randrange(20) == 0 else chance.randrange(1000)
                    item = Item(ids, size, chance.choice((1000, 1000, 1000, 1, 2, 5)))
                    core.add(item)
                    model.waiting.append(item)
                    if chance.random() < 0.5:  # otherwise several arrive at once
                        check()
            elif what == 2 and flights:
                flight = flights.pop(chance.randrange(len(flights)))
                core.end(flight)
                next(one for one in model.sent if one.ids == [item.id for item in flight.items]).end = now
            elif what == 3:
                if model.waiting:
                    item = model.waiting.pop(chance.randrange(len(model.waiting)))
                    self.assertEqual((core.remove(item), core.remove(item)), (True, False))
                check()
                until = now + chance.randrange(60)
                while (wake := core.wake()) is not None and wake <= until:  # the user calls next then, and at no other time
                    self.assertGreater(wake, now)
                    for now in range(now + 1, int(wake)):
                        self.assertEqual(model.send(now), [])
                    now = int(wake)
                    check()
                now = until
            check()

    def test_a_call_goes_out_at_once_and_alone_unless_4_are_under_way(self) -> None:
        core: Coalescer[Item] = Coalescer()
        for id in (1, 2, 3, 4):
            core.add(Item(id))
            flight = core.next(0)
            self.assertEqual([item.id for item in flight.items] if flight else None, [id])
        for id in (5, 6, 7):
            core.add(Item(id))
        self.assertIsNone(core.next(0))
        self.assertEqual(core.wake(), 100)
        flight = core.next(100)  # the 4 are slow, so they do not count
        self.assertEqual([item.id for item in flight.items] if flight else None, [5, 6, 7])
        self.assertIsNone(core.wake())
