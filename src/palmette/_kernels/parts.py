"""Kernels that other kernels call are compiled as parts of them: typed and lowered once, optimised within the caller.

Numba makes every function a library of its own: optimised, turned into machine code, given two wrappers for Python and
stored, before its caller is optimised with it once more. A part is none of that, which saves a third of the time.
Callers are as fast or faster: LLVM inlines a part before it vectorises and unrolls, not after. Each function is still
simplified by itself; without that, callers became slower.

Parts that own no memory, which are most, count no references to it.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

from numba.core import compiler, ir, typed_passes
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler_machinery import register_pass
from numba.core.registry import CPUDispatcher


class PartLibrary(JITCodeLibrary):
    """Code to link into that of a caller: simplified function by function, not executable."""

    def finalize(self):
        """Link what it calls."""
        for library in dict.fromkeys(self._linking_libraries):
            if hasattr(library, "_reload_init"):  # since 0.63
                self._reload_init.update(library._reload_init)
            self._final_module.link_in(library._get_module_for_linking(), preserve=True)
        self._finalized = True


BORROWING = {"getattr", "static_getitem", "getitem", "build_tuple", "exhaust_iter", "cast", "phi"}
"""Expressions whose value holds no memory but that of their parts."""


def borrows(state):
    """Whether all memory that a typed function works on belongs to its caller, and none goes back."""

    def has_memory(kind):
        return state.targetctx.data_model_manager[kind].contains_nrt_meminfo()

    if has_memory(state.return_type):
        return False
    for block in state.func_ir.blocks.values():
        for made in block.find_insts(ir.Assign):
            borrowed = getattr(made.value, "op", "") in BORROWING or isinstance(made.value, ir.Arg | ir.Var)
            if not borrowed and has_memory(state.typemap[made.target.name]):
                return False
    return True


@register_pass(mutates_CFG=True, analysis_only=False)
class PartLowering(typed_passes.NativeLowering):
    """Lower into a ``PartLibrary``, without wrappers."""

    _name = "part_lowering"

    def run_pass(self, state):
        """Lower, and tell callers where to find the code."""
        if borrows(state):
            state.targetctx = state.targetctx.subtarget(enable_nrt=False)
        state.library = PartLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
        flags = state.flags
        flags.no_cpython_wrapper = flags.no_cfunc_wrapper = flags.no_compile = True
        super().run_pass(state)
        lowered = state.cr
        key = Part(lowered.fndesc.qualname)
        state.targetctx.insert_user_function(key, lowered.fndesc, [state.library])
        state.cr = lowered._replace(cfunc=key)
        return True


class Part:
    """Stands for the code of a part where Numba keeps what can be called."""

    def __init__(self, name):
        self.name = name


class PartCompiler(compiler.CompilerBase):
    """Numba's passes with ``PartLowering`` as the last but one."""

    def define_pipelines(self):
        """Its only pipeline."""
        passes = compiler.DefaultPassBuilder.define_nopython_pipeline(self.state, "part")
        passes.add_pass_after(PartLowering, typed_passes.NativeLowering)
        passes.passes = [p for p in passes.passes if p[0] is not typed_passes.NativeLowering]
        passes.finalize()
        return [passes]


@contextmanager
def uncollected() -> Iterator[None]:
    """Without looking for garbage in cycles: a tenth of the time, since compiling makes a million objects that stay."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


class PartDispatcher(CPUDispatcher):
    """Specialisations of a function for its callers."""

    def add_overload(self, cres):
        """Keep it for callers; Python cannot call it."""
        self.overloads[tuple(cres.signature.args)] = cres


class KernelDispatcher(CPUDispatcher):
    """A function that Python calls as Numba compiles it, and kernels as a part."""

    def __init__(self, py_func, targetoptions, cached):
        super().__init__(py_func, targetoptions=targetoptions)
        if cached:
            self.enable_caching()
        self.part = PartDispatcher(py_func, targetoptions=targetoptions, pipeline_class=PartCompiler)

    def compile(self, sig):
        """Compile a specialisation, or load it."""
        with uncollected():
            return super().compile(sig)

    def get_call_template(self, args, kws):
        """Type a call from a kernel."""
        return self.part.get_call_template(args, kws)

    def get_overload(self, sig):
        """Find what a kernel calls."""
        return self.part.get_overload(sig)
