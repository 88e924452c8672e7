"""Rows of a tile as values that stay in SIMD registers, for loops that numba compiles.

The compiler proves of few arrays that they do not overlap, and else writes every sum back to memory term by
term. A vector here is one value of LLVM, `LANES` numbers wide, that lives in registers from `load` to `store`
whatever the loop around it does; LLVM makes as many registers of it as the machine's are wide.
"""

from __future__ import annotations

import math
from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic, models, register_model

LANES = 32
"""SIMD lanes: two registers of AVX-512 in float32, so that two rows of a tile are two lines of the cache."""

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
def load_as(typing: Any, array: Any, row: Any, like: Any) -> Any:
    """The same of an array of whole numbers, as numbers like those of a vector."""

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        loaded = builder.load(_pointer(context, builder, signature, args), align=array.dtype.bitwidth // 8)
        return builder.sitofp(loaded, args[2].type)

    return like(array, row, like), emit


@intrinsic  # type: ignore[untyped-decorator]
def store(typing: Any, array: Any, row: Any, vector: Any) -> Any:
    """Put a vector into the place of a row of an array […, LANES] without gaps."""

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


add, sub, mul, div = _of_two("fadd"), _of_two("fsub"), _of_two("fmul"), _of_two("fdiv")


@intrinsic  # type: ignore[untyped-decorator]
def fma(typing: Any, x: Any, y: Any, z: Any) -> Any:
    """x y + z."""

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.fadd(builder.fmul(args[0], args[1], flags=FLAGS), args[2], flags=FLAGS)

    return x(x, y, z), emit


@intrinsic  # type: ignore[untyped-decorator]
def positive(typing: Any, x: Any) -> Any:
    """x, but 0 where it is below; NaN stays."""

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        none = ir.Constant(args[0].type, [0.0] * LANES)
        return builder.select(builder.fcmp_ordered("<", args[0], none), none, args[0])

    return x(x), emit


@intrinsic  # type: ignore[untyped-decorator]
def above(typing: Any, x: Any, y: Any) -> Any:
    """1 where x > y, and 0 where it is not."""

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        none, one = (ir.Constant(args[0].type, [value] * LANES) for value in (0.0, 1.0))
        return builder.select(builder.fcmp_ordered(">", *args), one, none)

    return x(x, y), emit


@intrinsic  # type: ignore[untyped-decorator]
def where(typing: Any, sign: Any, x: Any, y: Any) -> Any:
    """x where a vector of signs is above 0, and y elsewhere."""

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        none = ir.Constant(args[0].type, [0.0] * LANES)
        return builder.select(builder.fcmp_ordered(">", args[0], none), args[1], args[2])

    return x(sign, x, y), emit


@intrinsic  # type: ignore[untyped-decorator]
def double(typing: Any, x: Any) -> Any:
    """The same numbers in float64."""

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return args[0] if x.dtype == types.float64 else builder.fpext(args[0], _doubles(ir.DoubleType()))

    return Vector(types.float64)(x), emit


@intrinsic  # type: ignore[untyped-decorator]
def rounded(typing: Any, x: Any, like: Any) -> Any:
    """Numbers of float64 in the dtype of another vector."""

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return args[0] if like.dtype == types.float64 else builder.fptrunc(args[0], args[1].type)

    return like(x, like), emit


def _doubles(kind: Any) -> Any:
    return ir.VectorType(kind, LANES)


LN_2 = float.fromhex("0x1.62e42fefap-1"), float.fromhex("0x1.cf79abc9e3b3ap-40")
"""ln 2 in two parts: products of the first with whole numbers up to 2¹¹ are exact."""

TERMS = 14
"""Of the power series of e^r for |r| ≤ ½ ln 2: what is left out is below 2⁻⁵⁶."""


@intrinsic  # type: ignore[untyped-decorator]
def exp(typing: Any, x: Any) -> Any:
    """e^x in float64 to two units in the last place; beyond ±708 that of ±708, and NaN stays."""

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        of, whole = _doubles(ir.DoubleType()), _doubles(ir.IntType(64))

        def constant(value: float) -> Any:
            return ir.Constant(of, [value] * LANES)

        def call(name: str, *numbers: Any) -> Any:
            kind = ir.FunctionType(of, [of] * len(numbers))
            function = builder.module.declare_intrinsic(f"llvm.{name}.v{LANES}f64", fnty=kind)
            return builder.call(function, numbers)

        known = builder.fcmp_ordered("==", args[0], args[0])
        x = builder.select(known, args[0], constant(0.0))
        for sign, limit in ("<", -708.0), (">", 708.0):
            x = builder.select(builder.fcmp_ordered(sign, x, constant(limit)), constant(limit), x)
        power = call("rint", builder.fmul(x, constant(1 / math.log(2))))
        for part in LN_2:
            x = call("fma", power, constant(-part), x)
        series = constant(1 / math.factorial(TERMS - 1))
        for term in range(TERMS - 2, -1, -1):
            series = call("fma", series, x, constant(1 / math.factorial(term)))
        exponent = builder.add(builder.fptosi(power, whole), ir.Constant(whole, [1023] * LANES))
        scale = builder.bitcast(builder.shl(exponent, ir.Constant(whole, [52] * LANES)), of)
        return builder.select(known, builder.fmul(series, scale), args[0])

    return x(x), emit
