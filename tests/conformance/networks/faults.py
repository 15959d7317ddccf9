"""What fails while the commands of an operation run. A fault that didn't occur is an error: its cell would show nothing."""

import contextlib
import threading
from dataclasses import dataclass
from typing import Callable

from cable import ALWAYS


@dataclass(frozen=True)
class Fault:
    """Something that begins before the commands and is over after them, or as soon as it has occurred."""

    begin: Callable
    end: Callable
    occurred: Callable = lambda network: True
    briefly: bool = False
    # Whether it needs the cable between the program and the proxy.
    outer: bool = False

    @contextlib.contextmanager
    def on(self, network):
        over = threading.Event()

        def watch():
            while not over.wait(0.02):
                if self.occurred(network):
                    return self.end(network)

        watching = threading.Thread(target=watch)
        self.begin(network)
        if self.briefly:
            watching.start()
        try:
            yield
        finally:
            over.set()
            if self.briefly:
                watching.join()
            self.end(network)
        if not self.occurred(network):
            raise RuntimeError("the fault didn't occur")


class Repeated:
    """Steps that happen again and again while the commands run, each so many seconds after the one before; the last one also at the end."""

    outer = False

    def __init__(self, *steps, times, occurred=lambda network: True):
        self.steps, self.times, self.occurred = steps, times, occurred

    @contextlib.contextmanager
    def on(self, network):
        over = threading.Event()
        done, failed = [], []

        def repeat():
            try:
                for step, seconds in self.steps * self.times:
                    if over.wait(seconds):
                        return
                    step(network)
                    done.append(step)
            except Exception as error:  # Raised below.
                failed.append(error)

        repeating = threading.Thread(target=repeat)
        repeating.start()
        try:
            yield
        finally:
            over.set()
            repeating.join()
            self.steps[-1][0](network)
        if failed:
            raise failed[0]
        if not done or not self.occurred(network):
            raise RuntimeError("the fault didn't occur")


def flag(name, *, briefly=False):
    """nginx itself responds, with the status that the name begins with."""

    def occurred(network):
        log = network.folder / "nginx.access.log"
        return f'" {name[:3]} ' in log.read_text()

    return Fault(lambda network: network.flag(name), lambda network: network.unflag(name), occurred, briefly)


def inner(stage, action, times=1):
    """The cable between the proxy and the service fails; without a proxy, the one between the program and the service."""
    begin, end = lambda network: network.inner.fail(stage, action, times), lambda network: network.inner.mend()
    return Fault(begin, end, lambda network: network.inner.struck > 0)


def outer(stage, action, times=1):
    """The cable between the program and the proxy fails."""
    begin, end = lambda network: network.outer.fail(stage, action, times), lambda network: network.outer.mend()
    return Fault(begin, end, lambda network: network.outer.struck > 0, outer=True)


def proxy_user(user):
    """The program's setting has this user and password of the proxy, until it is corrected."""
    right = "ada:sesame@"
    return Fault(lambda network: network.set_proxy(user), lambda network: network.set_proxy(right))


def goaway(network):
    return "send GOAWAY" in (network.folder / "nginx.error.log").read_text()


NOTHING = Fault(lambda network: None, lambda network: None)
GOAWAY = Fault(lambda network: None, lambda network: None, goaway)
REFUSED = Fault(lambda network: network.inner.unplug(), lambda network: network.inner.mend())
DEAD = Fault(lambda network: network.outer.unplug(), lambda network: network.outer.mend(), outer=True)
HANGS = outer("accept", "hang", ALWAYS)
MAINTENANCE = Fault(lambda network: network.maintenance("maint"), lambda network: network.maintenance("ready"))
STOPPED = Fault(lambda network: network.pause(), lambda network: network.resume())
RELOAD = Repeated((lambda network: network.reload(), 0.25), times=8)
RELOAD_H2 = Repeated((lambda network: network.reload(), 0.25), times=8, occurred=goaway)
KILL = Repeated((lambda network: network.kill(), 0.3), (lambda network: network.restart(), 0.3), times=4)
PAUSE = Repeated((lambda network: network.pause(), 0.2), (lambda network: network.resume(), 0.6), times=4)
