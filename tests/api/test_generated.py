"""What `scripts/generate_api.py` writes: complete, in step with the pool, and checkable."""

import importlib
import shutil
from pathlib import Path

import pytest

from emulator.api import pool
from scripts import generate_api


@pytest.mark.parametrize(
    ("module", "proto"),
    [(module, proto) for module, protos in generate_api.MODULES.items() for proto in protos],
)
def test_a_module_binds_all_that_its_files_declare(module: str, proto: str) -> None:
    bound = importlib.import_module(f"emulator.api.{module}")
    stub = (generate_api.API / f"{module}.pyi").read_text(encoding="utf-8")
    file = pool.POOL.FindFileByName(proto)
    for name, message in file.message_types_by_name.items():
        assert getattr(bound, name).DESCRIPTOR is message
        assert f"class {name}(_message.Message" in stub
    for name, enum in file.enum_types_by_name.items():
        assert f"class {name}(int, metaclass=" in stub
        for value in enum.values:
            assert getattr(bound, value.name) == value.number
            assert f"\n{value.name}: {name}\n" in stub


def test_stubs_lead_to_the_private_classes() -> None:
    for module in generate_api.MODULES:
        stub = (generate_api.API / f"{module}.pyi").read_text(encoding="utf-8")
        assert "_pb2" not in stub
    assert "publish_time: _wkt.Timestamp\n" in (generate_api.API / "pubsub.pyi").read_text()


def test_check_names_the_stale_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = tmp_path / "api"
    shutil.copytree(generate_api.API, copy)
    monkeypatch.setattr(generate_api, "API", copy)
    monkeypatch.setattr(generate_api, "ROOT", tmp_path)
    monkeypatch.setattr("sys.argv", ["generate_api", "--check"])
    assert generate_api.main() == 0
    assert capsys.readouterr().out == ""

    (copy / "rpc.py").write_text("Status = None\n", encoding="utf-8")
    (copy / generate_api.DESCRIPTORS).unlink()
    assert generate_api.main() == 1
    out = capsys.readouterr().out
    assert "stale: api/rpc.py" in out
    assert "-Status = None" in out
    assert "stale: api/descriptors.binpb" in out
    assert out.count("stale: ") == 2
    assert (copy / "rpc.py").read_text(encoding="utf-8") == "Status = None\n"
