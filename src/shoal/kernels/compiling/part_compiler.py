"""The compilers of parts and entries; see `parts`. They use what Numba does not promise to keep."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from numba import _dynfunc  # type: ignore[attr-defined]
from numba.core import typed_passes, untyped_passes
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler, DefaultPassBuilder, _LowerResult
from numba.core.compiler_lock import global_compiler_lock
from numba.core.compiler_machinery import register_pass
from numba.core.typed_passes import NativeLowering
from numba.core.types.functions import BaseFunction

from shoal.kernels.compiling.lowering import KernelLower

# Passes for what kernels do not contain: closures, `with`, inlined functions, literals, array expressions,
# variables whose end matters.
_UNNEEDED = {
    typed_passes.AnnotateTypes,
    typed_passes.DumpParforDiagnostics,
    typed_passes.IRLegalization,
    typed_passes.InlineOverloads,
    typed_passes.NopythonRewrites,
    untyped_passes.FindLiterallyCalls,
    untyped_passes.InlineClosureLikes,
    untyped_passes.InlineInlinables,
    untyped_passes.LiteralPropagationSubPipelinePass,
    untyped_passes.LiteralUnroll,
    untyped_passes.MakeFunctionToJitFunction,
    untyped_passes.RewriteDynamicRaises,
    untyped_passes.RewriteSemanticConstants,
    untyped_passes.WithLifting,
}


class _Library(JITCodeLibrary):
    def _optimize_functions(self, ll_module: Any) -> None:
        """Simplify each function; Numba would set up all passes for those that are only declared, too."""
        ll_module.data_layout = self._codegen._data_layout
        passes, builder = self._codegen._function_pass_manager()
        for function in ll_module.functions:
            if not function.is_declaration:
                passes.run(function, builder)

    def _all_linked(self) -> Iterator[Any]:
        """Give the libraries that this one calls, and those that parts among them call, each once."""
        waiting, seen = list(self._linking_libraries), set()
        while waiting:
            library = waiting.pop()
            if library not in seen:
                seen.add(library)
                waiting += library._linking_libraries if isinstance(library, PartLibrary) else ()
                yield library


class PartLibrary(_Library):
    """LLVM code that is linked into other libraries and never runs by itself."""

    def finalize(self) -> None:
        """Leave linking, optimising and machine code to the libraries that link this one."""
        self._raise_if_finalized()
        self._finalize_dynamic_globals()
        self._finalized = True
        self._with_calls: Any = None

    def own_module(self) -> Any:
        """Return the code of this part alone."""
        return super()._get_module_for_linking()

    def _get_module_for_linking(self) -> Any:
        """Return the code of this part and of all it calls, for a library that is no entry."""
        own = self.own_module()
        if self._with_calls is None:
            self._with_calls = own.clone()
            _link(self._with_calls, self._all_linked())
        return self._with_calls


class EntryLibrary(_Library):
    """LLVM code with all the parts that it calls, each linked once, then optimised and compiled."""

    def finalize(self) -> None:
        """Link, optimise, compile."""
        self._codegen._check_llvm_bugs()
        self._raise_if_finalized()
        _link(self._final_module, self._all_linked())
        # Numba would first inline what it can, to find references that it need not count. There are none.
        passes, builder = self._codegen._module_pass_manager()
        passes.run(self._final_module, builder)
        self._final_module.verify()
        self._finalize_final_module()


def _link(module: Any, libraries: Iterator[Any]) -> None:
    """Link libraries into a module until every function that one of them defines is there if it is called.

    LLVM leaves out a function that nothing calls so far, and a library that comes later may call it.
    """
    found = [
        library.own_module() if isinstance(library, PartLibrary) else library._get_module_for_linking()
        for library in libraries
    ]
    for own in found:
        module.link_in(own, preserve=True)
    home = {function.name: own for own in found for function in own.functions if not function.is_declaration}
    while missing := [f.name for f in module.functions if f.is_declaration and f.name in home]:
        for name in missing:
            module.link_in(home[name], preserve=True)


@register_pass(mutates_CFG=True, analysis_only=False)
class PartLowering(NativeLowering):
    """Lowering as usual, but into a library of parts."""

    _name = "part_lowering"
    lowering_class = KernelLower

    def run_pass(self, state: Any) -> bool:
        """Lower without machine code, and let other functions call the result."""
        state.library = PartLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
        state.flags.no_compile = True
        super().run_pass(state)
        lowered = state["cr"]
        # Its address is 0: Python cannot call it (`compiling` refuses such calls).
        part = _dynfunc.make_function(
            lowered.fndesc.lookup_module(), state.func_id.func_name, "", 0, lowered.env, (state.library,)
        )
        state.targetctx.insert_user_function(part, lowered.fndesc, [state.library])
        state["cr"] = _LowerResult(lowered.fndesc, lowered.call_helper, cfunc=part, env=lowered.env)
        return True


@register_pass(mutates_CFG=True, analysis_only=False)
class EntryLowering(NativeLowering):
    """Lowering as usual, but into a library that links parts."""

    _name = "entry_lowering"
    lowering_class = KernelLower

    def run_pass(self, state: Any) -> bool:
        """Lower, and make machine code that can be kept."""
        state.library = EntryLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
        state.library.enable_object_caching()
        return bool(super().run_pass(state))


class _Compiler(Compiler):
    lowering: type[NativeLowering]

    def define_pipelines(self) -> list[Any]:
        """Replace the lowering pass, and leave out what is not needed."""
        pipeline = DefaultPassBuilder.define_nopython_pipeline(self.state)
        pipeline.passes = [
            (self.lowering if step is NativeLowering else step, description)
            for step, description in pipeline.passes
            if step not in _UNNEEDED
        ]
        pipeline._finalized = False
        pipeline.finalize()
        return [pipeline]


class PartCompiler(_Compiler):
    """Numba's own compiler, except for the last step."""

    lowering = PartLowering


class EntryCompiler(_Compiler):
    """Numba's own compiler, except for the last step."""

    lowering = EntryLowering


_typed: dict[Any, tuple[Any, Any]] = {}
_typed_by_numba = BaseFunction.get_call_type


def _call_type(self: Any, context: Any, args: Any, kws: Any) -> Any:
    """Return the types with which a function of Numba is called, from memory where it was asked before."""
    key = id(self), tuple(args), tuple(kws.items())
    if key not in _typed:
        _typed[key] = self, _typed_by_numba(self, context, args, kws)  # what is kept keeps its id
    return _typed[key][1]


@contextmanager
def quick_typing() -> Iterator[None]:
    """Let Numba remember how it typed additions, indices and the like: a third of the time goes there.

    It tries dozens of templates for each one, in every function anew. While the lock is held no other thread
    compiles, so only kernels see the change.
    """
    with global_compiler_lock:
        BaseFunction.get_call_type = _call_type  # type: ignore[method-assign]
        try:
            yield
        finally:
            BaseFunction.get_call_type = _typed_by_numba  # type: ignore[method-assign]
