"""One line for each way to use the Python clients: see run.sh."""

import asyncio
import os
import threading
import time

import foliot._core as core
from foliot import AsyncClient, Client

SECONDS, CALLERS = float(os.environ["SECONDS_EACH"]), int(os.environ["CALLERS"])
TASK = {"delay": "1h", "http": {"url": "http://127.0.0.1:9/"}}

requests, make = [0], core.message


def count(*parts):
    requests[0] += 1
    return make(*parts)


core.message = count


def threads(batching):
    creates = [0] * CALLERS
    with Client.from_env(batching=batching) as client:

        def work(i, until):
            while time.monotonic() < until:
                client.tasks.create(TASK)
                creates[i] += 1

        def all(seconds):
            until = time.monotonic() + seconds
            workers = [threading.Thread(target=work, args=(i, until)) for i in range(CALLERS)]
            for worker in workers:
                worker.start()
            for worker in workers:
                worker.join()

        all(min(0.5, SECONDS))  # warm
        creates, requests[0], began = [0] * CALLERS, 0, time.monotonic()
        all(SECONDS)
        return sum(creates), time.monotonic() - began


async def tasks(batching):
    creates = 0
    async with AsyncClient.from_env(batching=batching) as client:

        async def work(until):
            nonlocal creates
            while time.monotonic() < until:
                await client.tasks.create(TASK)
                creates += 1

        async def all(seconds):
            until = time.monotonic() + seconds
            await asyncio.gather(*(work(until) for _ in range(CALLERS)))

        await all(min(0.5, SECONDS))  # warm
        creates, requests[0], began = 0, 0, time.monotonic()
        await all(SECONDS)
        return creates, time.monotonic() - began


for name, run in (("Python", threads), ("asyncio", lambda batching: asyncio.run(tasks(batching)))):
    for batching in (False, True):
        creates, took = run(batching)
        print(f"{name:12} {str(batching).lower():9} {creates / took:12.0f} {requests[0] / took:12.0f}", flush=True)
