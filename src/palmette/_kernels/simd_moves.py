"""Lanes that move, bits of comparisons, and short integers: what kernels along a line need beside ``simd``.

All functions take wide vectors of any kind (16 floats, 8 doubles, 32 integers of 16 bits).
With ``NUMBA_DISABLE_JIT`` the same names are the NumPy functions of ``palmette._kernels.simd_python``.
"""

from __future__ import annotations

from llvmlite import ir
from numba import config, types
from numba.core import cgutils
from numba.extending import intrinsic

from palmette._kernels.simd import VectorType, compare


@intrinsic(prefer_literal=True)
def moved(typing_context, a, by, before):
    """Lane k + ``by`` takes lane k of ``a``, the first ones take the last ones of ``before``.

    ``by`` is a constant; all of ``before`` if it is at least the number of lanes.
    """
    if not isinstance(by, types.IntegerLiteral):
        return None

    def build(context, builder, signature, arguments):
        kind, by = arguments[0].type, signature.args[1].literal_value
        if by >= a.lanes:
            return arguments[2]
        if a.scalar.bitwidth == 16:  # moving pairs of lanes is faster
            pairs = ir.VectorType(ir.IntType(32), a.lanes // 2)
            own, other = (builder.bitcast(arguments[k], pairs) for k in (0, 2))
            found = _move(builder, own, other, (by + 1) // 2)
            if by % 2:
                found = _join_halves(builder, _move(builder, own, other, by // 2), found)
            return builder.bitcast(found, kind)
        return _move(builder, arguments[0], arguments[2], by)

    return a(a, by, a), build


def _move(builder, a, before, by):
    lanes = a.type.count
    order = [2 * lanes - by + k if k < by else k - by for k in range(lanes)]
    return builder.shuffle_vector(a, before, ir.Constant(ir.VectorType(ir.IntType(32), lanes), order))


def _join_halves(builder, high, low):
    """The low half of ``high`` above the high half of ``low``."""
    half = ir.Constant(high.type, [16] * high.type.count)
    return builder.or_(builder.shl(high, half), builder.lshr(low, half))


@intrinsic
def last(typing_context, a):
    """The number in the last lane."""

    def build(context, builder, signature, arguments):
        return builder.extract_element(arguments[0], ir.Constant(ir.IntType(32), a.lanes - 1))

    return a.scalar(a), build


@intrinsic
def store_at_least(typing_context, octets, index, a, b):
    """Bit k of the bytes from ``octets[index]`` on: whether ``a >= b`` in lane k; a byte for eight lanes."""

    def build(context, builder, signature, arguments):
        array, index, a, b = arguments
        whole = ir.IntType(a.type.count)
        bits = builder.bitcast(compare(builder, ">=", a, b), whole)
        data = context.make_array(signature.args[0])(context, builder, array).data
        address = builder.bitcast(builder.gep(data, [index]), whole.as_pointer())
        builder.store(bits, address, align=1)

    return types.void(octets, types.intp, a, a), build


@intrinsic(prefer_literal=True)
def moved_down(typing_context, a, by, after):
    """Lane k takes lane k + ``by`` of ``a``, the last ones take the first ones of ``after``; ``by`` is a constant."""
    if not isinstance(by, types.IntegerLiteral):
        return None

    def build(context, builder, signature, arguments):
        lanes, by = a.lanes, min(signature.args[1].literal_value, a.lanes)
        order = ir.Constant(ir.VectorType(ir.IntType(32), lanes), [k + by for k in range(lanes)])
        return builder.shuffle_vector(arguments[0], arguments[2], order)

    return a(a, by, a), build


@intrinsic
def spread_first(typing_context, a):
    """The number in the first lane, in every lane."""

    def build(context, builder, signature, arguments):
        none = ir.Constant(arguments[0].type, ir.Undefined)
        zeros = ir.Constant(ir.VectorType(ir.IntType(32), a.lanes), [0] * a.lanes)
        return builder.shuffle_vector(arguments[0], none, zeros)

    return a(a), build


@intrinsic
def spread_last(typing_context, a):
    """The number in the last lane, in every lane."""

    def build(context, builder, signature, arguments):
        none = ir.Constant(arguments[0].type, ir.Undefined)
        places = ir.Constant(ir.VectorType(ir.IntType(32), a.lanes), [a.lanes - 1] * a.lanes)
        return builder.shuffle_vector(arguments[0], none, places)

    return a(a), build


@intrinsic
def load_as(typing_context, source, index, like):
    """As many floats of ``source`` from ``index`` on as a wide vector of ``like`` has, in the precision of ``like``."""
    vector = VectorType(like.dtype, True)

    def build(context, builder, signature, arguments):
        kind = context.get_value_type(vector)
        given = ir.VectorType(context.get_value_type(source.dtype), vector.lanes)
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        address = builder.bitcast(builder.gep(data, [arguments[1]]), given.as_pointer())
        value = builder.load(address, align=source.dtype.bitwidth // 8)
        if source.dtype.bitwidth > like.dtype.bitwidth:
            return builder.fptrunc(value, kind)
        return value if given == kind else builder.fpext(value, kind)

    return vector(source, types.intp, like), build


@intrinsic
def looked_up(typing_context, table, start, places):
    """``table[start + place]`` for the place in each lane of ``places``: 32 short integers, 0 to 31."""

    def build(context, builder, signature, arguments):
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        first, kind = builder.gep(data, [arguments[1]]), arguments[2].type
        if "+avx512bw" in context.codegen()._tm_features:  # one instruction
            row = builder.load(builder.bitcast(first, kind.as_pointer()), align=2)
            function = cgutils.get_or_insert_function(
                builder.module, ir.FunctionType(kind, [kind, kind]), "llvm.x86.avx512.permvar.hi.512"
            )
            return builder.call(function, [row, arguments[2]])
        out = ir.Constant(kind, ir.Undefined)
        for k in range(places.lanes):
            lane = ir.Constant(ir.IntType(32), k)
            place = builder.sext(builder.extract_element(arguments[2], lane), ir.IntType(64))
            out = builder.insert_element(out, builder.load(builder.gep(first, [place])), lane)
        return out

    return places(table, types.intp, places), build


@intrinsic
def fetch(typing_context, source, index):
    """Ask for the 64 bytes around ``source[index]``, which will soon be read; any index is fine."""

    def build(context, builder, signature, arguments):
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        address = builder.bitcast(builder.gep(data, [arguments[1]]), ir.IntType(8).as_pointer())
        number = ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [address.type, number, number, number])
        function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0i8")
        builder.call(function, [address, *(ir.Constant(number, k) for k in (0, 3, 1))])
        return context.get_dummy_value()

    return types.void(source, types.intp), build


if getattr(config, "DISABLE_JIT", False):
    from palmette._kernels.simd_python import *  # type: ignore # noqa: F403
