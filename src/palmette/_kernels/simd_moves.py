"""Lanes that move, bits of comparisons, and short integers: what kernels along a line need beside ``simd``.

All functions take wide vectors of any kind (16 floats, 8 doubles, 32 integers of 16 bits).
With ``NUMBA_DISABLE_JIT`` the same names are the NumPy functions of ``palmette._kernels.simd_python``.
"""

from __future__ import annotations

from llvmlite import ir
from numba import config, types
from numba.core import cgutils
from numba.extending import intrinsic

from palmette._kernels.simd import compare


@intrinsic
def add_saturated(typing_context, a, b):
    """``a + b`` of integers; a sum out of range is the smallest or largest number."""

    def build(context, builder, signature, arguments):
        kind = arguments[0].type
        function = cgutils.get_or_insert_function(
            builder.module, ir.FunctionType(kind, [kind, kind]), f"llvm.sadd.sat.v{kind.count}i{kind.element.width}"
        )
        return builder.call(function, arguments)

    return a(a, a), build


@intrinsic(prefer_literal=True)
def moved(typing_context, a, by, fill):
    """Lane k + ``by`` takes lane k of ``a``, the first ones those of ``fill``; ``by`` is a constant."""
    if not isinstance(by, types.IntegerLiteral):
        return None

    def build(context, builder, signature, arguments):
        lanes, by = a.lanes, signature.args[1].literal_value
        order = [lanes + k if k < by else k - by for k in range(lanes)]
        mask = ir.Constant(ir.VectorType(ir.IntType(32), lanes), order)
        return builder.shuffle_vector(arguments[0], arguments[2], mask)

    return a(a, by, a), build


@intrinsic
def last(typing_context, a):
    """The number in the last lane."""

    def build(context, builder, signature, arguments):
        return builder.extract_element(arguments[0], ir.Constant(ir.IntType(32), a.lanes - 1))

    return a.scalar(a), build


@intrinsic
def spread_last(typing_context, a):
    """The number in the last lane, in every lane."""

    def build(context, builder, signature, arguments):
        mask = ir.Constant(ir.VectorType(ir.IntType(32), a.lanes), [a.lanes - 1] * a.lanes)
        return builder.shuffle_vector(arguments[0], ir.Constant(arguments[0].type, ir.Undefined), mask)

    return a(a), build


@intrinsic
def store_at_least(typing_context, octets, index, a, b):
    """Bit k of the bytes from ``octets[index]`` on: whether ``a >= b`` in lane k; 4, 2 or 1 bytes by the kind of lanes."""

    def build(context, builder, signature, arguments):
        array, index, a, b = arguments
        whole = ir.IntType(a.type.count)
        bits = builder.bitcast(compare(builder, ">=", a, b), whole)
        data = context.make_array(signature.args[0])(context, builder, array).data
        address = builder.bitcast(builder.gep(data, [index]), whole.as_pointer())
        builder.store(bits, address, align=1)

    return types.void(octets, types.intp, a, a), build


if getattr(config, "DISABLE_JIT", False):
    from palmette._kernels.simd_python import *  # type: ignore # noqa: F403
