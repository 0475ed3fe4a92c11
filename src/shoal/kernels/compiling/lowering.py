"""How the statements of kernels become instructions of LLVM: as Numba does it, with fewer of them.

Every instruction is an object, then text, then parsed, then optimised, in each entry anew. Numba prepares for
what kernels do not contain: references to count, exceptions to catch, debuggers to inform. And it unpacks a
whole array for each element and asks whether the number counts from the end, where a few instructions say
where the element is. NUMBA_BOUNDSCHECK=1 makes a number below 0 or beyond the end an error.
"""

from __future__ import annotations

from typing import Any

from numba.core import cgutils, ir, types
from numba.core.lowering import Lower


class KernelLower(Lower):
    """Lowering as usual, except for variables and single elements of arrays."""

    def pre_block(self, block: Any) -> None:
        """Note the block; Numba would look for `try` in it, and for variables that end there."""
        self._cur_ir_block = block

    def lower_inst(self, inst: Any) -> Any:
        """Lower a statement. Most assign something: Numba would first write each one down for debuggers."""
        if isinstance(inst, ir.Assign):
            name = inst.target.name
            self.storevar(self.lower_assign(self.typeof(name), inst), name)
            return
        if isinstance(inst, ir.SetItem | ir.StaticSetItem):
            index = inst.index if isinstance(inst, ir.SetItem) else inst.index_var
            if self._is_element(inst.target, index) and not _is_from_end(inst):
                self._store_element(inst, index)
                return
        super().lower_inst(inst)

    def lower_expr(self, resty: Any, expr: Any) -> Any:
        """Lower an expression."""
        if expr.op in ("getitem", "static_getitem"):
            index = expr.index if expr.op == "getitem" else expr.index_var
            if self._is_element(expr.value, index) and not _is_from_end(expr):
                dtype = self.typeof(expr.value.name).dtype
                place = self._place(expr.value, index)
                found = self.context.unpack_value(self.builder, dtype, place)
                return self.context.cast(self.builder, found, dtype, resty)
        return super().lower_expr(resty, expr)

    def storevar(self, value: Any, name: str, argidx: int | None = None) -> None:
        """Give a variable its value; what it was before needs no release."""
        if name in self._singly_assigned_vars:
            self._blk_local_varmap[name] = value
        else:
            self.builder.store(value, self.getvar(name))

    def alloca_lltype(self, name: str, lltype: Any, datamodel: Any = None) -> Any:
        """Make room for a variable; Numba would ask LLVM for its size, for debuggers."""
        return cgutils.alloca_once(self.builder, lltype, name=name)

    def _is_element(self, array: Any, index: Any) -> bool:
        """Return whether the brackets have a whole number for each axis."""
        kind = self.typeof(array.name)
        if index is None or not isinstance(kind, types.Array) or kind.layout != "C" or not kind.aligned:
            return False
        axes = self._axes(index)
        return len(axes) == kind.ndim and all(isinstance(axis, types.Integer) for axis in axes)

    def _axes(self, index: Any) -> tuple[Any, ...]:
        """Return the types in the brackets."""
        kind = self.typeof(index.name)
        return tuple(kind) if isinstance(kind, types.UniTuple | types.Tuple) else (kind,)

    def _place(self, array: Any, index: Any) -> Any:
        """Return a pointer to an element."""
        builder, whole, at = self.builder, self.loadvar(array.name), self.loadvar(index.name)
        model, axes = self.context.data_model_manager[self.typeof(array.name)], self._axes(index)
        shape = model.get_field_position("shape")
        place: Any = None
        for axis, kind in enumerate(axes):
            number = at
            if isinstance(self.typeof(index.name), types.UniTuple | types.Tuple):
                number = builder.extract_value(at, axis)
            number = self.context.cast(builder, number, kind, types.intp if kind.signed else types.uintp)
            size = builder.extract_value(whole, [shape, axis])
            if self.context.enable_boundscheck:
                cgutils.do_boundscheck(self.context, builder, number, size, axis)
            place = number if place is None else builder.add(builder.mul(place, size), number)
        return builder.gep(builder.extract_value(whole, model.get_field_position("data")), [place])

    def _store_element(self, inst: Any, index: Any) -> None:
        """Write one element of an array."""
        dtype, typed = self.typeof(inst.target.name).dtype, self.fndesc.calltypes[inst].args[2]
        value = self.loadvar(inst.value.name)
        value = self.context.cast(self.builder, value, self.typeof(inst.value.name), typed)
        value = self.context.cast(self.builder, value, typed, dtype)
        self.context.pack_value(self.builder, dtype, value, self._place(inst.target, index))


def _is_from_end(inst: Any) -> bool:
    """Return whether a constant in the brackets is below 0: it counts from the end of its axis."""
    constants = getattr(inst, "index", None)  # of other statements a variable, which never counts from there
    numbers = constants if isinstance(constants, tuple) else (constants,)
    return any(isinstance(number, int) and number < 0 for number in numbers)
