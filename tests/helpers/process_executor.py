"""An executor in another process: shards are pickled once, when placed; every call, argument and result is pickled."""

from __future__ import annotations

import multiprocessing
import pickle
import traceback
from collections import Counter

from palmette.executors import Executor


class Remote:
    """A number for shards that are elsewhere."""

    def __init__(self, key, n):
        self.key, self.n = key, n

    def __len__(self):
        return self.n


class ProcessExecutor(Executor):
    """One child process; ``sent`` counts the bytes of every kind of call, and ``longest`` the largest message."""

    def __init__(self):
        context = multiprocessing.get_context("spawn")
        self._pipe, other = context.Pipe()
        self._child = context.Process(target=_serve, args=(other,), daemon=True)
        self._child.start()
        self._n = 0
        self.open = {}
        self.forget()

    def forget(self):
        self.sent, self.longest, self.calls = Counter(), Counter(), Counter()

    def _ask(self, what, *content):
        message = pickle.dumps((what, *content))
        self.sent[what] += len(message)
        self.longest[what] = max(self.longest[what], len(message))
        self.calls[what] += 1
        self._pipe.send_bytes(message)
        answer = self._pipe.recv_bytes()
        fine, found = pickle.loads(answer)
        if not fine:
            error, text = found
            error.add_note(text)
            raise error
        return found

    def place(self, shards):
        self._n += 1
        self.open[self._n] = len(shards)
        self._ask("place", self._n, list(shards))
        return Remote(self._n, len(shards))

    def run(self, function, placed, *broadcast):
        return self._ask("run", placed.key, function, broadcast)

    def collect(self, placed):
        return self._ask("collect", placed.key)

    def restore(self, placed, states):
        self._ask("restore", placed.key, list(states))

    def release(self, placed):
        del self.open[placed.key]
        self._ask("release", placed.key)

    def call(self, function, *arguments):
        """``function(*arguments)`` in the process, for tests that set something there."""
        return self._ask("call", function, arguments)

    def __exit__(self, *exc_info):
        self._pipe.close()
        self._child.join()


def _serve(pipe):
    shards, states = {}, {}

    def place(key, given):
        shards[key], states[key] = given, [{} for _ in given]

    def run(key, function, broadcast):
        return [function(shard, state, *broadcast) for shard, state in zip(shards[key], states[key])]

    def restore(key, given):
        states[key] = given

    def release(key):
        del shards[key], states[key]

    def call(function, arguments):
        return function(*arguments)

    known = {f.__name__: f for f in (place, run, restore, release, call)} | {"collect": states.__getitem__}
    while True:
        try:
            what, *content = pickle.loads(pipe.recv_bytes())
        except EOFError:
            return
        try:
            answer = (True, known[what](*content))
            message = pickle.dumps(answer)
        except Exception as error:
            message = pickle.dumps((False, (error, traceback.format_exc())))
        pipe.send_bytes(message)
