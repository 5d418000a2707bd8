"""Built variants, judged by the client's own code (kernels 0.17.2): its metadata, its validators,
and its digests, which must see each change. Run by pytest; the folders of the variants are in
BUILDS, between colons."""

import logging
import os
import pathlib
import shutil

import pytest
from kernels._rust import Digest, DigestValidationError, DigestViolation, Metadata
from kernels.validate import default_metadata_validators

VARIANTS = [pathlib.Path(path) for path in os.environ["BUILDS"].split(":")]
SIGNED_LATER = ("metadata.json", "metadata.json.sigstore")


def digests(variant):
    expected = Metadata.read_from_file(variant / "metadata.json").digest
    return expected, Digest.hash_variant(expected.algorithm, variant)


def violations(variant):
    expected, found = digests(variant)
    with pytest.raises(DigestValidationError) as error:
        expected.validate(found)
    return {(type(violation), violation.path) for violation in error.value.violations}


@pytest.fixture(params=VARIANTS, ids=lambda variant: variant.name)
def variant(request, tmp_path):
    return pathlib.Path(shutil.copytree(request.param, tmp_path / request.param.name))


def test_validators_take_it(variant, caplog):
    metadata = Metadata.read_from_file(variant / "metadata.json")
    assert metadata.provenance.kernel_builder.version
    with caplog.at_level(logging.WARNING, logger="kernels.validate"):
        for validator in default_metadata_validators():
            validator.validate_metadata(metadata=metadata, variant=variant.name)
    assert not caplog.records


def test_digests_see_each_change_of_each_file(variant):
    expected, found = digests(variant)
    expected.validate(found)
    paths = sorted(expected.files)
    assert {"__init__.py", "_ops.py", "provenance.intoto.json", "sbom.cdx.json"} <= set(paths)
    for path in paths:
        file = variant / path
        content = file.read_bytes()
        file.write_bytes(content[:-1] + bytes([content[-1] ^ 1]) if content else b"x")
        assert violations(variant) == {(DigestViolation.HashMismatch, path)}
        file.unlink()
        assert violations(variant) == {(DigestViolation.MissingFile, path)}
        file.write_bytes(content)
    (variant / "extra.py").write_text("")
    assert violations(variant) == {(DigestViolation.UnknownFile, "extra.py")}


def test_files_that_tools_add_are_of_no_account(variant):
    for name in SIGNED_LATER[1:]:
        (variant / name).write_text("{}")
    (variant / "module.cpython-311.pyc").write_bytes(b"code")
    expected, found = digests(variant)
    expected.validate(found)
