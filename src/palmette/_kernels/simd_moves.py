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


def _has(context, feature):
    """Whether the processor that code is made for has these instructions."""
    return f"+{feature}" in context.codegen()._tm_features


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
        if a.scalar.bitwidth == 16 and _has(context, "avx512bw"):  # moving pairs of lanes is faster
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
def store_larger(typing_context, octets, index, a, b):
    """Bit k of the bytes from ``octets[index]`` on: whether ``a > b`` in lane k; a byte for eight lanes."""

    def build(context, builder, signature, arguments):
        array, index, a, b = arguments
        data = context.make_array(signature.args[0])(context, builder, array).data
        flags, whole = compare(builder, ">", a, b), ir.IntType(a.type.count)
        if a.type.count == 16 and _has(context, "avx") and not _has(context, "avx512f"):
            return _store_signs(builder, flags, builder.gep(data, [index]))
        address = builder.bitcast(builder.gep(data, [index]), whole.as_pointer())
        builder.store(builder.bitcast(flags, whole), address, align=1)

    return types.void(octets, types.intp, a, a), build


def _store_signs(builder, flags, address):
    """Sixteen bits at an address, eight at once by the instruction that takes the signs of eight floats."""
    number, floats = ir.VectorType(ir.IntType(32), 8), ir.VectorType(ir.FloatType(), 8)
    signs = cgutils.get_or_insert_function(
        builder.module, ir.FunctionType(ir.IntType(32), [floats]), "llvm.x86.avx.movmsk.ps.256"
    )
    none = ir.Constant(flags.type, ir.Undefined)
    for k in range(2):
        own = ir.Constant(number, list(range(8 * k, 8 * k + 8)))
        half = builder.sext(builder.shuffle_vector(flags, none, own), number)
        bits = builder.trunc(builder.call(signs, [builder.bitcast(half, floats)]), ir.IntType(8))
        builder.store(bits, builder.gep(address, [ir.Constant(ir.IntType(64), k)]), align=1)


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
def sums_after(typing_context, a):
    """In each lane the sum over the lanes after it, 0 in the last one."""
    return a(a), lambda context, builder, signature, arguments: _sums_beside(builder, arguments[0], 1)


@intrinsic
def sums_before(typing_context, a):
    """In each lane the sum over the lanes before it, 0 in the first one."""
    return a(a), lambda context, builder, signature, arguments: _sums_beside(builder, arguments[0], -1)


def _sums_beside(builder, a, way):
    """Sums over the lanes that lie beside: within groups of four, which few instructions reach over, then of groups."""
    lanes, kind = a.type.count, ir.VectorType(ir.IntType(32), a.type.count)
    zero = ir.Constant(a.type, [0.0] * lanes)

    def beside(value, by, group):
        places = [k + way * by for k in range(lanes)]
        order = [place if place // group == k // group else lanes + k for k, place in enumerate(places)]
        return builder.shuffle_vector(value, zero, ir.Constant(kind, order))

    inside = builder.fadd(a, beside(a, 1, 4))
    inside = builder.fadd(inside, beside(inside, 2, 4))
    nearest = [k // 4 * 4 + (0 if way > 0 else 3) for k in range(lanes)]
    groups = beside(builder.shuffle_vector(inside, zero, ir.Constant(kind, nearest)), 4, lanes)
    by = 4
    while by < lanes - 4:
        groups = builder.fadd(groups, beside(groups, by, lanes))
        by *= 2
    return builder.fadd(beside(inside, 1, 4), groups)


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
def store_as(typing_context, to, index, a):
    """Write the numbers of a vector from ``to[index]`` on, in the precision of ``to``."""

    def build(context, builder, signature, arguments):
        array, index, value = arguments
        kind = ir.VectorType(context.get_value_type(to.dtype), value.type.count)
        if to.dtype.bitwidth != a.scalar.bitwidth:
            narrower = a.scalar.bitwidth > to.dtype.bitwidth
            value = builder.fptrunc(value, kind) if narrower else builder.fpext(value, kind)
        data = context.make_array(signature.args[0])(context, builder, array).data
        address = builder.bitcast(builder.gep(data, [index]), kind.as_pointer())
        builder.store(value, address, align=to.dtype.bitwidth // 8)
        return context.get_dummy_value()

    return types.void(to, types.intp, a), build


@intrinsic
def looked_up(typing_context, table, start, places):
    """``table[start + place]`` for the place in each lane of ``places``: 32 short integers, 0 to 31."""

    def build(context, builder, signature, arguments):
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        first, kind = builder.gep(data, [arguments[1]]), arguments[2].type
        if _has(context, "avx512bw"):  # one instruction
            row = builder.load(builder.bitcast(first, kind.as_pointer()), align=2)
            function = cgutils.get_or_insert_function(
                builder.module, ir.FunctionType(kind, [kind, kind]), "llvm.x86.avx512.permvar.hi.512"
            )
            return builder.call(function, [row, arguments[2]])
        if _has(context, "avx2"):
            row = builder.load(builder.bitcast(first, kind.as_pointer()), align=2)
            return _look_up_bytes(builder, row, arguments[2])
        out = ir.Constant(kind, ir.Undefined)
        for k in range(places.lanes):
            lane = ir.Constant(ir.IntType(32), k)
            place = builder.sext(builder.extract_element(arguments[2], lane), ir.IntType(64))
            out = builder.insert_element(out, builder.load(builder.gep(first, [place])), lane)
        return out

    return places(table, types.intp, places), build


@intrinsic
def store_striped(typing_context, source, start, step, to, index):
    """Four wide vectors from ``to[index]`` on: lane k of vector r is ``source[start + k * step + r]``.

    So lanes, which are ``step`` numbers of ``source`` each, are dealt out to vectors, in the precision of ``to``.
    """

    def build(context, builder, signature, arguments):
        source_type, _, _, to_type, _ = signature.args
        vector = VectorType(to.dtype, True)
        kind, four = context.get_value_type(vector), ir.VectorType(context.get_value_type(source.dtype), 4)
        own = ir.VectorType(context.get_value_type(to.dtype), 4)
        at, pieces = arguments[1], []
        data = context.make_array(source_type)(context, builder, arguments[0]).data
        for _ in range(vector.lanes):
            address = builder.bitcast(builder.gep(data, [at]), four.as_pointer())
            piece = builder.load(address, align=source.dtype.bitwidth // 8)
            if source.dtype.bitwidth != to.dtype.bitwidth:
                narrower = source.dtype.bitwidth > to.dtype.bitwidth
                piece = builder.fptrunc(piece, own) if narrower else builder.fpext(piece, own)
            pieces.append(piece)
            at = builder.add(at, arguments[2])
        # Rows of four, of which each group of four lanes is transposed by two rounds of pairs.
        rows = [_joined(builder, pieces[k::4]) for k in range(4)]
        low = [_picked(builder, rows[k], rows[k + 1], (0, 4, 1, 5)) for k in (0, 2)]
        high = [_picked(builder, rows[k], rows[k + 1], (2, 6, 3, 7)) for k in (0, 2)]
        out = [_picked(builder, *own, order) for own in (low, high) for order in ((0, 1, 4, 5), (2, 3, 6, 7))]
        data = context.make_array(to_type)(context, builder, arguments[3]).data
        for r, value in enumerate(out):
            place = builder.add(arguments[4], ir.Constant(arguments[4].type, r * vector.lanes))
            address = builder.bitcast(builder.gep(data, [place]), kind.as_pointer())
            builder.store(value, address, align=to.dtype.bitwidth // 8)
        return context.get_dummy_value()

    return types.void(source, types.intp, types.intp, to, types.intp), build


def _joined(builder, pieces):
    """Vectors one after the other."""
    while len(pieces) > 1:
        order = ir.Constant(
            ir.VectorType(ir.IntType(32), 2 * pieces[0].type.count), list(range(2 * pieces[0].type.count))
        )
        pieces = [builder.shuffle_vector(a, b, order) for a, b in zip(pieces[::2], pieces[1::2])]
    return pieces[0]


def _picked(builder, a, b, order):
    """In each group of four lanes these lanes of both: 0 to 3 of ``a``, 4 to 7 of ``b``."""
    lanes = a.type.count
    places = [(k if k < 4 else lanes + k - 4) + group for group in range(0, lanes, 4) for k in order]
    return builder.shuffle_vector(a, b, ir.Constant(ir.VectorType(ir.IntType(32), lanes), places))


def _look_up_bytes(builder, row, places):
    """Both bytes of the numbers apart, each from two tables of 16, in which a place from 128 on finds 0."""
    kind, octet = row.type, ir.VectorType(ir.IntType(8), row.type.count)
    lookup = cgutils.get_or_insert_function(
        builder.module, ir.FunctionType(octet, [octet, octet]), "llvm.x86.avx2.pshuf.b"
    )
    at = builder.trunc(places, octet)
    places_of = (
        builder.add(at, ir.Constant(octet, [112] * 32)),
        builder.sub(at, ir.Constant(octet, [16] * 32)),
    )
    found, eight = [], ir.Constant(kind, [8] * 32)
    for numbers in (row, builder.lshr(row, eight)):
        octets, own = builder.trunc(numbers, octet), []
        for half, place in zip((0, 16), places_of):
            twice = ir.Constant(ir.VectorType(ir.IntType(32), 32), [half + k % 16 for k in range(32)])
            table = builder.shuffle_vector(octets, ir.Constant(octet, ir.Undefined), twice)
            own.append(builder.call(lookup, [table, place]))
        found.append(builder.zext(builder.or_(*own), kind))
    return builder.or_(found[0], builder.shl(found[1], eight))


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


@intrinsic
def load_word(typing_context, octets, index):
    """``octets[index : index + 8]`` (uint8) as one number, wherever it begins."""

    def build(context, builder, signature, arguments):
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        address = builder.bitcast(builder.gep(data, [arguments[1]]), ir.IntType(64).as_pointer())
        return builder.load(address, align=1)

    return types.uint64(octets, types.intp), build


@intrinsic
def weighted_bytes(typing_context, word, factors):
    """``sum_k byte_k factors[k]`` modulo 2^64 over the eight bytes of a word, the lowest first; factors are uint64."""

    def build(context, builder, signature, arguments):
        octets, words = (ir.VectorType(ir.IntType(width), 8) for width in (8, 64))
        data = context.make_array(signature.args[1])(context, builder, arguments[1]).data
        factors = builder.load(builder.bitcast(data, words.as_pointer()), align=8)
        products = builder.mul(builder.zext(builder.bitcast(arguments[0], octets), words), factors)
        kind = ir.FunctionType(ir.IntType(64), [words])
        add_up = cgutils.get_or_insert_function(builder.module, kind, "llvm.vector.reduce.add.v8i64")
        return builder.call(add_up, [products])

    return types.uint64(types.uint64, factors), build


if getattr(config, "DISABLE_JIT", False):
    from palmette._kernels.simd_python import *  # type: ignore # noqa: F403
