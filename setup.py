"""Builds the native engine beside the package; everything else is in pyproject.toml.

The kernels are one source compiled once per instruction set and chosen at run time. They are a plain
shared object for ctypes and XLA, not a Python module. An install never fails because of them: the
reason is printed and left in ``slisde/flow/native/_build_error.txt``, where ``slisde doctor`` finds it.
``SLISDE_NATIVE_FLAGS`` adds compiler and linker flags (a sanitizer); ``SLISDE_NATIVE=0`` skips the build.
"""

import importlib.util
import os
import platform
import shlex
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

NAME = "slisde.flow.native._kernels"
FOLDER = Path("src/slisde/flow/native")
NOTE = "_build_error.txt"

# No -ffast-math: NaN and infinity must come out where the JAX path has them.
FLAGS = ["-std=c++17", "-O3", "-ffp-contract=fast", "-fno-math-errno", "-fvisibility=hidden"]
FLAGS += [
    "-g0",
    "-Wno-psabi",
    "-Wno-maybe-uninitialized",
    *shlex.split(os.environ.get("SLISDE_NATIVE_FLAGS", "")),
]
INSTRUCTION_SETS = {"baseline": []}
if platform.machine().lower() in ("x86_64", "amd64"):
    INSTRUCTION_SETS["avx2"] = ["-mavx2", "-mfma"]
    INSTRUCTION_SETS["avx512"] = [f"-mavx512{x}" for x in ("f", "vl", "dq", "bw")] + ["-mfma"]


def ffi_headers() -> str:
    """The folder of XLA's headers, found without importing JAX."""
    spec = importlib.util.find_spec("jaxlib")
    if spec is None or not spec.submodule_search_locations:
        raise RuntimeError("jaxlib, which has the headers of XLA's interface, is not installed")
    return str(Path(spec.submodule_search_locations[0]) / "include")


class BuildKernels(build_ext):
    """Compiles the kernels; a failure becomes a note."""

    def run(self) -> None:
        super().run()
        note = Path(self.get_ext_fullpath(NAME)).parent / NOTE
        if self.inplace:  # an editable install, whose package folder is the source folder
            built = Path(self.build_lib, *NAME.split(".")).parent / NOTE
            note.unlink(missing_ok=True)
            if built.exists():
                shutil.copy(built, note)

    def get_ext_filename(self, fullname: str) -> str:
        return f"{Path(*fullname.split('.'))}.so"

    def build_extension(self, ext: Extension) -> None:
        target = Path(self.get_ext_fullpath(ext.name))
        target.parent.mkdir(parents=True, exist_ok=True)
        note = target.parent / NOTE
        note.unlink(missing_ok=True)
        try:
            if os.environ.get("SLISDE_NATIVE") == "0":
                raise RuntimeError("SLISDE_NATIVE=0 was set")
            self.compile_and_link(target)
        except Exception as error:  # whatever it was, the package works without the kernels
            reason = " ".join(str(error).split()) or type(error).__name__
            if isinstance(error, FileNotFoundError) or shutil.which("c++") is None:
                reason = f"no C++ compiler was found ({reason})"
            note.write_text(reason + "\n")
            self.announce(f"slisde: the native engine was not built: {reason}", level=4)

    def compile_and_link(self, target: Path) -> None:
        """Compiles every file for every instruction set and links the shared object."""
        if self.compiler.compiler_type != "unix":
            raise RuntimeError(f"no recipe for the compiler type {self.compiler.compiler_type!r}")
        headers = ["-isystem", ffi_headers()]

        def compile_one(file: str, folder: str, macros: list, flags: list[str]) -> list[str]:
            return self.compiler.compile(
                [str(FOLDER / file)],
                output_dir=str(Path(self.build_temp, folder)),
                macros=macros,
                extra_postargs=[*FLAGS, *flags],
            )

        def compile_set(name: str) -> list[str]:
            macros = [("SLISDE_ISA", name), ("SLISDE_ISA_NAME", f'"{name}"')]
            try:
                return compile_one("kernels.cc", name, macros, INSTRUCTION_SETS[name])
            except Exception:
                if name == "baseline":
                    raise
                return []  # a compiler older than the instruction set

        with ThreadPoolExecutor(os.cpu_count()) as pool:
            calls = pool.submit(compile_one, "calls.cc", "common", [], headers)
            sets = dict(zip(INSTRUCTION_SETS, pool.map(compile_set, INSTRUCTION_SETS), strict=True))
        built = [(f"SLISDE_HAVE_{name.upper()}", "1") for name, objects in sets.items() if objects]
        objects = [*calls.result(), *compile_one("instruction_set.cc", "common", built, [])]
        for one in sets.values():
            objects += one
        flags = shlex.split(os.environ.get("SLISDE_NATIVE_FLAGS", ""))
        self.compiler.link_shared_object(
            objects, str(target), extra_postargs=flags, target_lang="c++"
        )


setup(
    ext_modules=[
        Extension(
            NAME,
            sources=[str(FOLDER / f"{x}.cc") for x in ("calls", "instruction_set", "kernels")],
            depends=[str(x) for x in sorted(FOLDER.glob("*.h"))],
            optional=True,
        )
    ],
    cmdclass={"build_ext": BuildKernels},
)
