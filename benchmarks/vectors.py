"""Rows of an array as values that stay in SIMD registers, for the loops of outsiders that numba compiles.

The compiler proves of few arrays that they do not overlap, and else writes every sum back to memory term by
term. A vector here is one value of LLVM, `LANES` numbers wide, that lives in registers from `load` to `store`
whatever the loop around it does; LLVM makes as many registers of it as the machine's are wide.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic, models, register_model

LANES = 32
"""SIMD lanes: two registers of AVX-512 in float32, so that two rows are two lines of the cache."""

FLAGS = ("reassoc", "nsz", "arcp", "contract")
"""Sums may be taken in any order, but infinities and NaN stay what they are."""


class Vector(types.Type):  # type: ignore[misc]
    """`LANES` numbers of one dtype."""

    def __init__(self, dtype: Any) -> None:
        self.dtype = dtype
        super().__init__(name=f"{LANES} × {dtype}")


@register_model(Vector)
class _Registers(models.PrimitiveModel):  # type: ignore[misc]
    def __init__(self, manager: Any, kind: Any) -> None:
        number = manager.lookup(kind.dtype).get_value_type()
        super().__init__(manager, kind, ir.VectorType(number, LANES))


def _pointer(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    """Where a row of `LANES` numbers of an array is, as a pointer to a vector."""
    kind = signature.args[0]
    array = context.make_array(kind)(context, builder, args[0])
    vector = ir.VectorType(context.get_value_type(kind.dtype), LANES)
    return builder.gep(builder.bitcast(array.data, vector.as_pointer()), [args[1]])


@intrinsic  # type: ignore[untyped-decorator]
def load(typing: Any, array: Any, row: Any) -> Any:
    """A row of an array […, LANES] without gaps; rows are counted through all its dimensions."""

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pointer = _pointer(context, builder, signature, args)
        return builder.load(pointer, align=array.dtype.bitwidth // 8)

    return Vector(array.dtype)(array, row), emit


@intrinsic  # type: ignore[untyped-decorator]
def store(typing: Any, array: Any, row: Any, vector: Any) -> Any:
    """Store a vector in a row of an array […, LANES] without gaps."""

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pointer = _pointer(context, builder, signature, args)
        builder.store(args[2], pointer, align=array.dtype.bitwidth // 8)
        return context.get_dummy_value()

    return types.void(array, row, vector), emit


@intrinsic  # type: ignore[untyped-decorator]
def full(typing: Any, value: Any) -> Any:
    """A vector of one number."""

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        kind, place = context.get_value_type(signature.return_type), ir.IntType(32)
        empty = ir.Constant(kind, ir.Undefined)
        first = builder.insert_element(empty, args[0], place(0))
        return builder.shuffle_vector(first, empty, ir.Constant(ir.VectorType(place, LANES), [0] * LANES))

    return Vector(value)(value), emit


def _of_two(instruction: str) -> Any:
    @intrinsic  # type: ignore[untyped-decorator]
    def operation(typing: Any, x: Any, y: Any) -> Any:
        def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            return getattr(builder, instruction)(*args, flags=FLAGS)

        return x(x, y), emit

    return operation


add, sub, mul = _of_two("fadd"), _of_two("fsub"), _of_two("fmul")


@intrinsic  # type: ignore[untyped-decorator]
def fma(typing: Any, x: Any, y: Any, z: Any) -> Any:
    """x y + z."""

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.fadd(builder.fmul(args[0], args[1], flags=FLAGS), args[2], flags=FLAGS)

    return x(x, y, z), emit


@intrinsic  # type: ignore[untyped-decorator]
def above(typing: Any, x: Any, y: Any) -> Any:
    """1 where x > y, and 0 where it is not."""

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        none, unit = (ir.Constant(args[0].type, [value] * LANES) for value in (0.0, 1.0))
        return builder.select(builder.fcmp_ordered(">", *args), unit, none)

    return x(x, y), emit
