"""`aligngraph init`: a commented team file to start from."""

from importlib.resources import files
from pathlib import Path

from aligngraph.errors import UsageError


def write_template(path: Path, *, replace: bool) -> None:
    """Write the commented team file to `path` and say so.

    Raises:
        UsageError: the file is there and is not to be replaced, or cannot be written.
    """
    template = files("aligngraph").joinpath("team_template.toml").read_text(encoding="utf-8")
    try:
        with path.open("w" if replace else "x", encoding="utf-8") as file:
            file.write(template)
    except FileExistsError as error:
        raise UsageError(f"{path} is there already: name another file, or replace it with --force") from error
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}") from error
    print(f"wrote {path}; try it with: aligngraph ask 'What is 17 + 25?' --team {path}")
