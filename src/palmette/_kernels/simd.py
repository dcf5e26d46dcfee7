"""Eight or sixteen numbers at once: a small vector type for kernels whose inner loops run over labels or positions.

Loops over a number of labels that is known only at run time vectorise badly, so the rows of labels are padded to a
multiple of ``LANES`` and read eight at a time. A ``Vector`` holds eight floats or eight doubles, as the array it was
loaded from; a wide one (``load_wide`` and the like) fills 64 bytes: sixteen floats or eight doubles. LLVM splits it on
machines with narrower registers. All functions work on flat (1-D, contiguous) arrays.
With ``NUMBA_DISABLE_JIT`` the same names are the NumPy functions of ``palmette._kernels.simd_python``.
"""

from __future__ import annotations

import platform

import numpy as np
from llvmlite import ir
from numba import config, types
from numba.core import cgutils
from numba.core.datamodel import models, register_default
from numba.extending import intrinsic

from palmette._kernels.constants import LANES, WIDE_BITS


class VectorType(types.Type):
    """Eight values of one floating point type, or as many as fill 64 bytes; 32 short integers (int16) do, too."""

    def __init__(self, scalar: types.Float | types.Integer, wide: bool = False) -> None:
        self.scalar = scalar
        self.lanes = WIDE_BITS // scalar.bitwidth if wide else LANES
        super().__init__(name=f"Vector({scalar}, {self.lanes})")


@register_default(VectorType)
class _VectorModel(models.PrimitiveModel):
    def __init__(self, dmm, fe_type):
        lane = dmm.lookup(fe_type.scalar).get_value_type()
        super().__init__(dmm, fe_type, ir.VectorType(lane, fe_type.lanes))


def _llvm(context, vector):
    return context.get_value_type(vector)


def _splat(builder, scalar, lanes=LANES):
    kind = ir.VectorType(scalar.type, lanes)
    one = builder.insert_element(ir.Constant(kind, ir.Undefined), scalar, ir.Constant(ir.IntType(32), 0))
    zeros = ir.Constant(ir.VectorType(ir.IntType(32), lanes), [0] * lanes)
    return builder.shuffle_vector(one, ir.Constant(kind, ir.Undefined), zeros)


def _constant(kind, value):
    return ir.Constant(kind, [value] * kind.count)


def _intrinsic_call(builder, name, kind, *arguments):
    width = 32 if isinstance(kind.element, ir.FloatType) else 64
    function = cgutils.get_or_insert_function(
        builder.module, ir.FunctionType(kind, [kind] * len(arguments)), f"llvm.{name}.v{kind.count}f{width}"
    )
    return builder.call(function, arguments)


def _address(context, builder, array_type, array, index, kind):
    data = context.make_array(array_type)(context, builder, array).data
    return builder.bitcast(builder.gep(data, [index]), kind.as_pointer())


def _loading(name, text, wide):
    def typed(typing_context, array, index):
        vector = VectorType(array.dtype, wide)

        def build(context, builder, signature, arguments):
            kind = _llvm(context, vector)
            address = _address(context, builder, signature.args[0], arguments[0], arguments[1], kind)
            return builder.load(address, align=vector.scalar.bitwidth // 8)

        return vector(array, types.intp), build

    return _named(typed, name, text)


def _named(typed, name, text):
    typed.__name__ = name
    typed.__doc__ = text
    return intrinsic(typed)


load = _loading("load", "``array[index : index + 8]`` of a flat array.", False)
load_wide = _loading("load_wide", "The 64 bytes of a flat array from ``array[index]`` on.", True)


@intrinsic
def store(typing_context, array, index, value):
    """``array[index : index + 8] = value``; as many numbers as the value has."""

    def build(context, builder, signature, arguments):
        kind = _llvm(context, signature.args[2])
        address = _address(context, builder, signature.args[0], arguments[0], arguments[1], kind)
        builder.store(arguments[2], address, align=signature.args[2].scalar.bitwidth // 8)

    return types.void(array, types.intp, value), build


def _splatting(name, text, wide):
    def typed(typing_context, array, value):
        vector = VectorType(array.dtype, wide)

        def build(context, builder, signature, arguments):
            return _splat(builder, arguments[1], vector.lanes)

        return vector(array, vector.scalar), build

    return _named(typed, name, text)


def _spreading(name, text, wide):
    def typed(typing_context, array, index):
        vector = VectorType(array.dtype, wide)

        def build(context, builder, signature, arguments):
            data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
            return _splat(builder, builder.load(builder.gep(data, [arguments[1]])), vector.lanes)

        return vector(array, types.intp), build

    return _named(typed, name, text)


splat = _splatting("splat", "``value`` in every lane, in the precision of ``array``.", False)
splat_wide = _splatting("splat_wide", "``value`` in every lane of a wide vector.", True)
spread = _spreading("spread", "``array[index]`` in every lane.", False)
spread_wide = _spreading("spread_wide", "``array[index]`` in every lane of a wide vector.", True)


@intrinsic
def lanes_wide(typing_context, array):
    """How many numbers of ``array`` a wide vector holds: 16 floats, 8 doubles."""
    lanes = VectorType(array.dtype, True).lanes

    def build(context, builder, signature, arguments):
        return ir.Constant(ir.IntType(types.intp.bitwidth), lanes)

    return types.intp(array), build


def compare(builder, how, a, b):
    """A bit for every lane, of floats or of signed integers."""
    if isinstance(a.type.element, ir.IntType):
        return builder.icmp_signed(how, a, b)
    return builder.fcmp_ordered(how, a, b)


def _binary(name, text, emit):
    def typed(typing_context, a, b):
        def build(context, builder, signature, arguments):
            return emit(builder, *arguments)

        return a(a, a), build

    return _named(typed, name, text)


def _add(builder, a, b):
    whole = isinstance(a.type.element, ir.IntType)
    return builder.add(a, b) if whole else builder.fadd(a, b, flags=("contract",))


add = _binary("add", "``a + b``; nothing sees to integers out of range.", _add)
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
    lambda builder, a, b: builder.select(compare(builder, ">", a, b), a, b),
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
def where_at_least(typing_context, test, limit, a, b):
    """``a`` in the lanes where ``test >= limit``, ``b`` in the others."""

    def build(context, builder, signature, arguments):
        test, limit, yes, no = arguments
        return builder.select(builder.fcmp_ordered(">=", test, limit), yes, no)

    return a(a, a, a, a), build


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
    lanes = half = vector.type.count
    while half > 1:
        half //= 2
        order = ir.Constant(ir.VectorType(index, lanes), [(k + half) % lanes for k in range(lanes)])
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
        whole = ir.VectorType(ir.IntType(width), kind.count)

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
        exponent = builder.shl(builder.bitcast(shifted, whole), _constant(whole, shift))
        scaled = builder.bitcast(builder.add(builder.bitcast(value, whole), exponent), kind)
        return builder.select(tiny, f(0.0), scaled)

    return a(a), build


def _factorial(n: int) -> float:
    return float(np.prod(np.arange(1, n + 1, dtype=float)))


# atanh(s) / s as a polynomial of s^2 up to s = 1/3, by Chebyshev's points; (terms, bits of a fraction, bits of 1.0)
_LOG = {32: (5, 23, 0x3F800000), 64: (11, 52, 0x3FF0000000000000)}


def _atanh_terms(n: int) -> np.ndarray:
    """Coefficients, lowest first: those of the series, then of a polynomial that stands for all that follow."""
    exact = n // 4
    series = 1.0 / (2.0 * np.arange(exact) + 1.0)
    rest = np.polynomial.chebyshev.Chebyshev.interpolate(
        lambda z: sum(z**k / (2 * (exact + k) + 1) for k in range(25)), n - exact - 1, domain=[0.0, 1.0 / 9.0]
    )
    return np.concatenate([series, rest.convert(kind=np.polynomial.Polynomial, domain=[-1.0, 1.0]).coef])


@intrinsic
def log_ratio(typing_context, a, b):
    """``log(a / b)`` of normal numbers above 0, to rounding of the larger of 1 and the result; a = 0 gives a number
    near the logarithm of the smallest normal one."""

    def build(context, builder, signature, arguments):
        kind, width = arguments[0].type, a.scalar.bitwidth
        n_terms, shift, one = _LOG[width]
        whole = ir.VectorType(ir.IntType(width), kind.count)
        magic = _EXP[width][0]
        magic_bits = int(np.array(magic, f"f{width // 8}").view(f"i{width // 8}"))

        def f(value):
            return _constant(kind, value)

        def parted(x):
            """Exponent (with its bias) and the number scaled to 1..2."""
            bits = builder.bitcast(x, whole)
            rest = builder.and_(bits, _constant(whole, (1 << shift) - 1))
            scaled = builder.bitcast(builder.or_(rest, _constant(whole, one)), kind)
            return builder.lshr(bits, _constant(whole, shift)), scaled

        (high, x), (low, y) = parted(arguments[0]), parted(arguments[1])
        # a / b = 2^n x / y, and log(x / y) = 2 atanh(s) with s = (x - y) / (x + y), at most 1/3 in size
        n = builder.add(builder.sub(high, low), _constant(whole, magic_bits))
        n = builder.fsub(builder.bitcast(n, kind), f(magic))
        s = builder.fdiv(builder.fsub(x, y), builder.fadd(x, y))
        square = builder.fmul(s, s)
        terms = _atanh_terms(n_terms)
        value = f(terms[-1])
        for term in terms[-2::-1]:
            value = _intrinsic_call(builder, "fma", kind, value, square, f(term))
        value = builder.fmul(builder.fadd(s, s), value)
        return _intrinsic_call(builder, "fma", kind, n, f(np.log(2.0)), value)

    return a(a, a), build


# Numbers too small for a normal exponent ("denormals") cost many times as much as others. Between ``flush_denormals``
# and ``restore_denormals`` they count as 0, in this thread. Both do nothing on processors other than these two kinds.
_FLUSH_X86, _FLUSH_ARM = 0x8040, 1 << 24


def _control_x86(context, builder, value=None):
    """Read the control register of vectors, or write it."""
    place = cgutils.alloca_once(builder, ir.IntType(32))
    name = "llvm.x86.sse.stmxcsr" if value is None else "llvm.x86.sse.ldmxcsr"
    if value is not None:
        builder.store(builder.trunc(value, ir.IntType(32)), place)
    pointer = builder.bitcast(place, ir.IntType(8).as_pointer())
    kind = ir.FunctionType(ir.VoidType(), [pointer.type])
    builder.call(cgutils.get_or_insert_function(builder.module, kind, name), [pointer])
    return builder.zext(builder.load(place), ir.IntType(64))


def _control_arm(context, builder, value=None):
    if value is None:
        return builder.asm(ir.FunctionType(ir.IntType(64), []), "mrs $0, fpcr", "=r", [], True)
    return builder.asm(ir.FunctionType(ir.VoidType(), [ir.IntType(64)]), "msr fpcr, $0", "r", [value], True)


def _control():
    machine = platform.machine().lower()
    if machine in ("x86_64", "amd64"):
        return _control_x86, _FLUSH_X86
    return (_control_arm, _FLUSH_ARM) if machine in ("aarch64", "arm64") else (None, 0)


@intrinsic
def flush_denormals(typing_context):
    """Count denormal numbers as 0 from here on; returns what ``restore_denormals`` takes."""

    def build(context, builder, signature, arguments):
        control, bits = _control()
        if control is None:
            return ir.Constant(ir.IntType(64), 0)
        before = control(context, builder)
        control(context, builder, builder.or_(before, ir.Constant(ir.IntType(64), bits)))
        return before

    return types.int64(), build


@intrinsic
def restore_denormals(typing_context, before):
    """Denormal numbers are what they were before ``flush_denormals``."""

    def build(context, builder, signature, arguments):
        control, _ = _control()
        if control is not None:
            control(context, builder, arguments[0])
        return context.get_dummy_value()

    return types.void(types.int64), build


if getattr(config, "DISABLE_JIT", False):
    from palmette._kernels.simd_python import *  # type: ignore # noqa: F403
