"""The compiler of parts; see `parts`. It uses Numba where Numba does not promise to stay as it is."""

from __future__ import annotations

from typing import Any

from numba import _dynfunc  # type: ignore[attr-defined]
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler, DefaultPassBuilder, _LowerResult
from numba.core.compiler_machinery import register_pass
from numba.core.typed_passes import NativeLowering


class PartLibrary(JITCodeLibrary):
    """LLVM code that is linked into other libraries and never runs by itself."""

    def _optimize_final_module(self) -> None:
        """Leave that to the libraries that link this one."""

    def _finalize_final_module(self) -> None:
        """Make no machine code."""
        self._finalize_dynamic_globals()
        self._finalized = True


@register_pass(mutates_CFG=True, analysis_only=False)
class PartLowering(NativeLowering):
    """Lowering as usual, but into a library of parts."""

    _name = "part_lowering"

    def run_pass(self, state: Any) -> bool:
        """Lower without machine code, and let other functions call the result."""
        state.library = PartLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
        state.flags.no_compile = True
        super().run_pass(state)
        lowered = state["cr"]
        # Its address is 0: there is no way in from Python (`compiling` refuses such calls).
        part = _dynfunc.make_function(
            lowered.fndesc.lookup_module(), state.func_id.func_name, "", 0, lowered.env, (state.library,)
        )
        state.targetctx.insert_user_function(part, lowered.fndesc, [state.library])
        state["cr"] = _LowerResult(lowered.fndesc, lowered.call_helper, cfunc=part, env=lowered.env)
        return True


class PartCompiler(Compiler):
    """Numba's own compiler, with another last step."""

    def define_pipelines(self) -> list[Any]:
        """Replace the lowering pass."""
        pipeline = DefaultPassBuilder.define_nopython_pipeline(self.state)
        pipeline.passes = [
            (PartLowering if step is NativeLowering else step, told) for step, told in pipeline.passes
        ]
        pipeline._finalized = False
        pipeline.finalize()
        return [pipeline]
