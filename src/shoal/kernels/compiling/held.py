"""Named tuples of arrays, handed to kernels as one pointer.

Numba passes a named tuple by value: every array is seven or more numbers, and a tuple of thirty arrays is
hundreds of arguments in every call of every function, all of which LLVM has to compile. `held` writes where
the arrays are and how long they are into one table of words instead. A kernel gets the address of that
table and reads from it what it needs, by the names of the tuple: `block.size[c]` is written as before.

The table is made in Python and never changes, so LLVM may read a word once and keep it (`invariant.load`).
The arrays are C-contiguous and belong to the tuple's owner: kernels make no arrays and count no references.
A field that is None has no words and its type says so, so that what a kernel does only if there is something
else is not compiled.
"""

from __future__ import annotations

import hashlib
from operator import index
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.datamodel import models
from numba.core.datamodel.registry import register_default
from numba.core.typing.templates import AttributeTemplate
from numba.extending import NativeValue, infer_getattr, lower_getattr_generic, unbox
from numba.np import numpy_support

_WORD = ir.IntType(64)


class HeldType(types.Type):
    """The type of a held tuple: for each field its name, its type and the place of its first word."""

    def __init__(self, kind: str, fields: tuple[tuple[str, Any, int], ...], n_words: int) -> None:
        self.n_words = n_words
        self.by_name = {name: (field, place) for name, field, place in fields}
        layout = ",".join(f"{name}:{field}@{place}" for name, field, place in fields)
        # A short name: it is part of the name of every function that takes such a tuple.
        super().__init__(f"{kind}_{hashlib.sha256(layout.encode()).hexdigest()[:8]}")


@register_default(HeldType)
class _HeldModel(models.PrimitiveModel):
    def __init__(self, manager: Any, held: HeldType) -> None:
        super().__init__(manager, held, _WORD.as_pointer())


class Held:
    """A tuple and the table of its words."""

    __slots__ = ("_numba_type_", "address", "of", "words")

    def __init__(self, of: Any) -> None:
        words: list[int] = []
        shape = _write_words(of, words)
        if shape not in _types:
            _types[shape] = _type_of(shape)
        self.of, self._numba_type_ = of, _types[shape]
        self.words = np.array(words, np.int64)
        self.address = self.words.ctypes.data


_types: dict[Any, HeldType] = {}  # making one takes ten times as long as the rest


def held(of: Any) -> Held:
    """Hold a named tuple of arrays, whole numbers, None, and named tuples of these."""
    return Held(of)


def _write_words(of: Any, words: list[int]) -> tuple[Any, ...]:
    """Write the words of a tuple; return its class and what each field is."""
    shape: list[Any] = [type(of)]
    for name, value in zip(of._fields, of, strict=True):
        if isinstance(value, np.ndarray):
            if not value.flags.c_contiguous:
                raise ValueError(f"{type(of).__name__}.{name} is not C-contiguous, as kernels need it")
            words += [value.__array_interface__["data"][0], *value.shape]
            shape.append((value.dtype, value.ndim))
        elif isinstance(value, tuple):
            shape.append(_write_words(value, words))
        elif value is None:
            shape.append(None)
        else:
            words.append(index(value))
            shape.append(int)
    return tuple(shape)


def _type_of(shape: tuple[Any, ...]) -> HeldType:
    """Return the type of a tuple. Places count from its own first word: one type, held alone or inside."""
    fields: list[tuple[str, Any, int]] = []
    place = 0
    field: Any
    for name, part in zip(shape[0]._fields, shape[1:], strict=True):
        if part is None:
            field, size = types.none, 0
        elif part is int:
            field, size = types.int64, 1
        elif isinstance(part[0], np.dtype):
            field, size = types.Array(numpy_support.from_dtype(part[0]), part[1], "C"), 1 + part[1]
        else:
            field = _type_of(part)
            size = field.n_words
        fields.append((name, field, place))
        place += size
    return HeldType(shape[0].__name__, tuple(fields), place)


@unbox(HeldType)
def _unbox(held: HeldType, value: Any, c: Any) -> NativeValue:
    number = c.pyapi.object_getattr_string(value, "address")
    address = c.pyapi.long_as_longlong(number)
    c.pyapi.decref(number)
    return NativeValue(c.builder.inttoptr(address, _WORD.as_pointer()))


@infer_getattr
class _Attributes(AttributeTemplate):
    key = HeldType

    def generic_resolve(self, held: HeldType, name: str) -> Any:  # type: ignore[override]  # wrong stubs
        return held.by_name[name][0] if name in held.by_name else None


@lower_getattr_generic(HeldType)
def _attribute(context: Any, builder: Any, held: HeldType, value: Any, name: str) -> Any:
    field, place = held.by_name[name]
    if isinstance(field, types.NoneType):
        return context.get_dummy_value()
    if isinstance(field, HeldType):
        return _place(builder, value, place)
    first = _load(builder, value, place)
    if not isinstance(field, types.Array):
        return first
    # As `numba.np.arrayobj.populate_array`, in a third of the instructions.
    sizes = [_load(builder, value, place + 1 + axis) for axis in range(field.ndim)]
    itemsize = _WORD(numpy_support.as_dtype(field.dtype).itemsize)  # asking LLVM takes longer
    strides: list[Any] = []
    step = itemsize
    for size in reversed(sizes):
        strides.insert(0, step)
        step = builder.mul(step, size)
    model = context.data_model_manager[field]
    array = ir.Constant(model.get_value_type(), None)  # no owner, no Python object
    members = {
        "nitems": _product(builder, sizes),
        "itemsize": itemsize,
        "data": builder.inttoptr(first, context.get_data_type(field.dtype).as_pointer()),
        "shape": cgutils.pack_array(builder, sizes, ty=_WORD),
        "strides": cgutils.pack_array(builder, strides, ty=_WORD),
    }
    for member, loaded in members.items():
        array = builder.insert_value(array, loaded, model.get_field_position(member))
    return array


def _product(builder: Any, sizes: list[Any]) -> Any:
    total = sizes[0]
    for size in sizes[1:]:
        total = builder.mul(total, size)
    return total


def _place(builder: Any, words: Any, place: int) -> Any:
    return builder.gep(words, [ir.Constant(ir.IntType(32), place)], inbounds=True)


def _load(builder: Any, words: Any, place: int) -> Any:
    loaded = builder.load(_place(builder, words, place))
    loaded.set_metadata("invariant.load", builder.module.add_metadata([]))
    return loaded
