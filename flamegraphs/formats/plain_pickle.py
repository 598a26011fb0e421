"""Reads a pickle without executing anything: only lists, tuples, dictionaries, texts and numbers.

Python's own unpickler imports and calls whatever a pickle names; even without that, a number in
it can make the memo as large as the machine. This reads the operations that data are written in
(protocols 2 to 5) and refuses every other by name, counting what it builds.
"""

import pickletools
import struct
from collections.abc import Callable
from typing import cast

from flamegraphs.budget import Budget
from flamegraphs.errors import NotAProfileError

_NAMES = {ord(code.code): code.name for code in pickletools.opcodes}
_CALLING = frozenset(
    {"GLOBAL", "STACK_GLOBAL", "REDUCE", "INST", "OBJ", "NEWOBJ", "NEWOBJ_EX", "BUILD", "PERSID"}
    | {"BINPERSID", "EXT1", "EXT2", "EXT4"}
)


class NotPlainError(NotAProfileError):
    """A pickle that names code to run."""


def load(data: bytes | bytearray, budget: Budget) -> object:
    """Return what a pickle holds.

    Raises `NotPlainError` where it holds more than data, `NotAProfileError` where it is damaged.
    """
    machine = _Machine(bytes(data), budget)
    try:
        return machine.run()
    except (IndexError, KeyError, TypeError, struct.error, UnicodeDecodeError, ValueError) as error:
        raise NotAProfileError("Its pickle is damaged.") from error


class _Machine:
    """A stack, marks on it, and a memo."""

    def __init__(self, data: bytes, budget: Budget) -> None:
        self._data = data
        self._at = 0
        self._budget = budget
        self._stack: list[object] = []
        self._marks: list[int] = []
        self._memo: dict[int, object] = {}

    def run(self) -> object:
        data, budget, stack = self._data, self._budget, self._stack
        operations = _OPERATIONS
        while True:
            for _ in range(256):
                code = data[self._at]
                self._at += 1
                if code == ord("."):
                    return stack.pop()
                operation = operations.get(code)
                if operation is None:
                    raise self._refusal(code)
                operation(self)
            budget.take("values", memory=256 * 40, steps=256 * 25)

    def _refusal(self, code: int) -> NotAProfileError:
        name = _NAMES.get(code)
        if name in _CALLING:
            return NotPlainError(
                "It is a pickle of more than data, no memory snapshot of PyTorch: loading it would "
                f"run code ({name}). It was not loaded."
            )
        what = f"holds {name}" if name else "is damaged"
        return NotAProfileError(f"Its pickle {what}, which no memory snapshot of PyTorch has.")

    # ---- what operations do ----

    def take(self, size: int) -> bytes:
        part = self._data[self._at : self._at + size]
        if len(part) < size:
            raise IndexError
        self._at += size
        return part

    def number(self, size: int, *, signed: bool = False) -> int:
        return int.from_bytes(self.take(size), "little", signed=signed)

    def push(self, value: object) -> None:
        self._stack.append(value)

    def skip(self, size: int) -> None:
        self.take(size)

    def text(self, size: int) -> None:
        self._budget.take("texts", memory=4 * size)
        self.push(self.take(size).decode("utf-8", "surrogatepass"))

    def raw(self, size: int) -> None:
        self._budget.take("bytes", memory=size)
        self.push(self.take(size))

    def long(self, size: int) -> None:
        if size > 16:
            raise NotAProfileError("Its pickle has a number too large for a memory snapshot.")
        self.push(self.number(size, signed=True))

    def put(self, place: int) -> None:
        self._memo[place] = self._stack[-1]
        self._budget.take("values", memory=100)

    def memoize(self) -> None:
        self.put(len(self._memo))

    def get(self, place: int) -> None:
        self.push(self._memo[place])

    def mark(self) -> None:
        self._marks.append(len(self._stack))

    def marked(self) -> list[object]:
        start = self._marks.pop()
        items = self._stack[start:]
        del self._stack[start:]
        return items

    def collection(self, value: object) -> None:
        self._budget.take("values", memory=64)
        self.push(value)

    def tuple_of(self, size: int) -> None:
        start = len(self._stack) - size
        if start < 0:
            raise IndexError
        items = tuple(self._stack[start:])
        del self._stack[start:]
        self.collection(items)

    def append(self, items: list[object]) -> None:
        owner = self._stack[-1]
        if not isinstance(owner, list):
            raise TypeError
        cast("list[object]", owner).extend(items)

    def set_items(self, items: list[object]) -> None:
        owner = self._stack[-1]
        if not isinstance(owner, dict) or len(items) % 2:
            raise TypeError
        self._budget.take("values", memory=110 * (len(items) // 2))
        for key, value in zip(items[::2], items[1::2], strict=True):
            if not isinstance(key, str | int):
                raise TypeError
            owner[key] = value

    def pop(self) -> object:
        return self._stack.pop()

    def pair(self) -> list[object]:
        value, key = self.pop(), self.pop()
        return [key, value]


_BY_LETTER: dict[str, Callable[[_Machine], None]] = {
    "\x80": lambda m: m.skip(1),  # PROTO
    "\x95": lambda m: m.skip(8),  # FRAME
    "N": lambda m: m.push(None),
    "\x88": lambda m: m.push(True),
    "\x89": lambda m: m.push(False),
    "K": lambda m: m.push(m.number(1)),
    "M": lambda m: m.push(m.number(2)),
    "J": lambda m: m.push(m.number(4, signed=True)),
    "\x8a": lambda m: m.long(m.number(1)),
    "\x8b": lambda m: m.long(m.number(4, signed=True)),
    "G": lambda m: m.push(struct.unpack(">d", m.take(8))[0]),
    "X": lambda m: m.text(m.number(4)),
    "\x8c": lambda m: m.text(m.number(1)),
    "\x8d": lambda m: m.text(m.number(8)),
    "B": lambda m: m.raw(m.number(4)),
    "C": lambda m: m.raw(m.number(1)),
    "\x8e": lambda m: m.raw(m.number(8)),
    "]": lambda m: m.collection([]),
    "}": lambda m: m.collection({}),
    ")": lambda m: m.push(()),
    "(": lambda m: m.mark(),
    "t": lambda m: m.collection(tuple(m.marked())),
    "\x85": lambda m: m.tuple_of(1),
    "\x86": lambda m: m.tuple_of(2),
    "\x87": lambda m: m.tuple_of(3),
    "a": lambda m: m.append([m.pop()]),
    "e": lambda m: m.append(m.marked()),
    "s": lambda m: m.set_items(m.pair()),
    "u": lambda m: m.set_items(m.marked()),
    "\x94": lambda m: m.memoize(),
    "q": lambda m: m.put(m.number(1)),
    "r": lambda m: m.put(m.number(4)),
    "h": lambda m: m.get(m.number(1)),
    "j": lambda m: m.get(m.number(4)),
}
_OPERATIONS = {ord(letter): operation for letter, operation in _BY_LETTER.items()}
