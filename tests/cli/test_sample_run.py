"""The sample project: it fails as it comes, passes when repaired, and cannot be made to pass by changing its tests."""

import pytest

from toolwright.cli.sample_run import check, demo_folder

pytestmark = pytest.mark.anyio


async def test_the_bundled_project_fails_one_test() -> None:
    with demo_folder(keep=False) as folder:
        verdict = await check(folder)
        assert not verdict.passed
        assert "FAILED (failures=1)" in verdict.summary
    assert not folder.root.exists()


async def test_a_repaired_project_passes() -> None:
    with demo_folder(keep=False) as folder:
        pages = folder.project / "bookshelf" / "pages.py"
        pages.write_text(pages.read_text().replace("total // page_size + 1", "max(1, -(-total // page_size))"))
        assert (await check(folder)).passed


async def test_removing_the_tests_does_not_help() -> None:
    with demo_folder(keep=False) as folder:
        (folder.project / "tests" / "test_catalogue.py").unlink()
        assert not (await check(folder)).passed
