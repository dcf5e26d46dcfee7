"""Eight numbers at once: a small vector type for kernels whose inner loops run over labels.

Loops over a number of labels that is known only at run time vectorise badly, so the rows of labels are padded to a
multiple of ``LANES`` and read eight at a time. A ``Vector`` holds eight floats or eight doubles, as the array it was
loaded from; LLVM splits it on machines with narrower registers. All functions work on flat (1-D, contiguous) arrays.
With ``NUMBA_DISABLE_JIT`` the same names are the NumPy functions of ``palmette._kernels.simd_python``.
"""

from __future__ import annotations

import numpy as np
from llvmlite import ir
from numba import config, types
from numba.core import cgutils
from numba.core.datamodel import models, register_default
from numba.extending import intrinsic

from palmette._kernels.constants import LANES


class VectorType(types.Type):
    """Eight values of one floating point type."""

    def __init__(self, scalar: types.Float) -> None:
        self.scalar = scalar
        super().__init__(name=f"Vector({scalar})")


@register_default(VectorType)
class _VectorModel(models.PrimitiveModel):
    def __init__(self, dmm, fe_type):
        lane = ir.FloatType() if fe_type.scalar.bitwidth == 32 else ir.DoubleType()
        super().__init__(dmm, fe_type, ir.VectorType(lane, LANES))


def _llvm(context, vector):
    return context.get_value_type(vector)


def _splat(builder, scalar):
    kind = ir.VectorType(scalar.type, LANES)
    one = builder.insert_element(ir.Constant(kind, ir.Undefined), scalar, ir.Constant(ir.IntType(32), 0))
    zeros = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
    return builder.shuffle_vector(one, ir.Constant(kind, ir.Undefined), zeros)


def _constant(kind, value):
    return ir.Constant(kind, [value] * LANES)


def _intrinsic_call(builder, name, kind, *arguments):
    width = 32 if isinstance(kind.element, ir.FloatType) else 64
    function = cgutils.get_or_insert_function(
        builder.module, ir.FunctionType(kind, [kind] * len(arguments)), f"llvm.{name}.v{LANES}f{width}"
    )
    return builder.call(function, arguments)


def _address(context, builder, array_type, array, index, kind):
    data = context.make_array(array_type)(context, builder, array).data
    return builder.bitcast(builder.gep(data, [index]), kind.as_pointer())


@intrinsic
def load(typing_context, array, index):
    """``array[index : index + 8]`` of a flat array."""
    vector = VectorType(array.dtype)

    def build(context, builder, signature, arguments):
        kind = _llvm(context, vector)
        address = _address(context, builder, signature.args[0], arguments[0], arguments[1], kind)
        return builder.load(address, align=vector.scalar.bitwidth // 8)

    return vector(array, types.intp), build


@intrinsic
def store(typing_context, array, index, value):
    """``array[index : index + 8] = value``."""

    def build(context, builder, signature, arguments):
        kind = _llvm(context, signature.args[2])
        address = _address(context, builder, signature.args[0], arguments[0], arguments[1], kind)
        builder.store(arguments[2], address, align=signature.args[2].scalar.bitwidth // 8)

    return types.void(array, types.intp, VectorType(array.dtype)), build


@intrinsic
def splat(typing_context, array, value):
    """``value`` in every lane, in the precision of ``array``."""
    vector = VectorType(array.dtype)

    def build(context, builder, signature, arguments):
        return _splat(builder, arguments[1])

    return vector(array, vector.scalar), build


@intrinsic
def spread(typing_context, array, index):
    """``array[index]`` in every lane."""
    vector = VectorType(array.dtype)

    def build(context, builder, signature, arguments):
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        return _splat(builder, builder.load(builder.gep(data, [arguments[1]])))

    return vector(array, types.intp), build


def _binary(name, text, emit):
    def typed(typing_context, a, b):
        def build(context, builder, signature, arguments):
            return emit(builder, *arguments)

        return a(a, a), build

    typed.__name__ = name
    typed.__doc__ = text
    return intrinsic(typed)


add = _binary("add", "``a + b``.", lambda builder, a, b: builder.fadd(a, b, flags=("contract",)))
sub = _binary("sub", "``a - b``.", lambda builder, a, b: builder.fsub(a, b, flags=("contract",)))
mul = _binary("mul", "``a * b``.", lambda builder, a, b: builder.fmul(a, b, flags=("contract",)))
divide = _binary("divide", "``a / b``.", lambda builder, a, b: builder.fdiv(a, b))
smaller = _binary(
    "smaller",
    "The smaller of a and b in every lane.",
    lambda builder, a, b: builder.select(builder.fcmp_ordered("<", a, b), a, b),
)
larger = _binary(
    "larger",
    "The larger of a and b in every lane.",
    lambda builder, a, b: builder.select(builder.fcmp_ordered(">", a, b), a, b),
)


@intrinsic
def fma(typing_context, a, b, c):
    """``a * b + c``."""

    def build(context, builder, signature, arguments):
        return _intrinsic_call(builder, "fma", arguments[0].type, *arguments)

    return a(a, a, a), build


@intrinsic
def sqrt(typing_context, a):
    """Square root."""

    def build(context, builder, signature, arguments):
        return _intrinsic_call(builder, "sqrt", arguments[0].type, *arguments)

    return a(a), build


@intrinsic
def where_positive(typing_context, test, a):
    """``a`` in the lanes where ``test > 0``, 0 in the others."""

    def build(context, builder, signature, arguments):
        test, value = arguments
        zero = _constant(value.type, 0.0)
        return builder.select(builder.fcmp_ordered(">", test, zero), value, zero)

    return a(a, a), build


@intrinsic
def total(typing_context, a):
    """Sum over the lanes."""

    def build(context, builder, signature, arguments):
        return _fold(builder, arguments[0], lambda x, y: builder.fadd(x, y))

    return a.scalar(a), build


@intrinsic
def largest(typing_context, a):
    """Maximum over the lanes."""

    def build(context, builder, signature, arguments):
        return _fold(
            builder, arguments[0], lambda x, y: builder.select(builder.fcmp_ordered(">", x, y), x, y)
        )

    return a.scalar(a), build


def _fold(builder, vector, combine):
    """Halve the vector until one lane is left: always the same order of operations."""
    undefined = ir.Constant(vector.type, ir.Undefined)
    index = ir.IntType(32)
    for half in (4, 2, 1):
        order = ir.Constant(ir.VectorType(index, LANES), [(k + half) % LANES for k in range(LANES)])
        vector = combine(vector, builder.shuffle_vector(vector, undefined, order))
    return builder.extract_element(vector, ir.Constant(index, 0))


@intrinsic
def where_bits(typing_context, bits, a):
    """``a`` in the lanes whose bit is set in the byte ``bits``, 0 in the others."""

    def build(context, builder, signature, arguments):
        bits, value = arguments
        wide = builder.zext(bits, ir.IntType(32)) if bits.type.width < 32 else bits
        picked = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [1 << k for k in range(LANES)])
        none = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
        mask = builder.icmp_unsigned("!=", builder.and_(_splat(builder, wide), picked), none)
        return builder.select(mask, value, _constant(value.type, 0.0))

    return a(types.uint8, a), build


# exp(x) = 2^n exp(r) with n the nearest integer to x / log 2. Adding 1.5 x 2^52 (2^23) leaves n in the low bits.
# (magic number, high and low part of log 2, Taylor terms, exponent's shift, and the x below which exp(x) counts as 0)
_EXP = {
    32: (1.5 * 2.0**23, 0.693359375, -2.12194440e-4, 7, 23, -87.0, 88.0),
    64: (1.5 * 2.0**52, 0.693147180369123816490, 1.90821492927058770002e-10, 13, 52, -708.0, 709.0),
}


@intrinsic
def exp(typing_context, a):
    """``exp(a)``, 0 below the smallest normal number; relative error below 2e-7 (floats), 1e-15 (doubles)."""

    def build(context, builder, signature, arguments):
        x = arguments[0]
        kind, width = x.type, a.scalar.bitwidth
        magic, high, low, terms, shift, floor, ceiling = _EXP[width]
        whole = ir.VectorType(ir.IntType(width), LANES)

        def f(value):
            return _constant(kind, value)

        def fused(p, q, r):
            return _intrinsic_call(builder, "fma", kind, p, q, r)

        tiny = builder.fcmp_unordered("<", x, f(floor))  # NaN too: it never reaches a kernel
        x = builder.select(tiny, f(floor), x)
        x = builder.select(builder.fcmp_ordered(">", x, f(ceiling)), f(ceiling), x)
        shifted = fused(x, f(1.0 / np.log(2.0)), f(magic))
        n = builder.fsub(shifted, f(magic))
        r = fused(n, f(-low), fused(n, f(-high), x))
        value = f(1.0 / _factorial(terms))
        for k in range(terms - 1, -1, -1):
            value = fused(value, r, f(1.0 / _factorial(k)))
        exponent = builder.shl(builder.bitcast(shifted, whole), ir.Constant(whole, [shift] * LANES))
        scaled = builder.bitcast(builder.add(builder.bitcast(value, whole), exponent), kind)
        return builder.select(tiny, f(0.0), scaled)

    return a(a), build


def _factorial(n: int) -> float:
    return float(np.prod(np.arange(1, n + 1, dtype=float)))


if getattr(config, "DISABLE_JIT", False):
    from palmette._kernels.simd_python import *  # type: ignore # noqa: F403
