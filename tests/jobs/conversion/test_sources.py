"""Which files a PATH of `kitelift convert` stands for."""

import os
from pathlib import Path

import boto3
import pytest

from jobs.config import ConfigError
from jobs.conversion.sources import Found, find_inputs
from storage.s3_objects import S3Settings

S3 = S3Settings()


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(*paths: str) -> None:
    for path in paths:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        Path(path).write_text(path)


def find(*paths: str, any_suffix: bool = False) -> Found:
    return find_inputs(paths, S3, any_suffix=any_suffix)


def paths_of(found: Found) -> list[str]:
    return sorted(path for path, _ in found.inputs)


def test_a_folder_gives_all_its_files_by_their_path_below_it():
    write("docs/a.md", "docs/deep/er/b.txt", "docs/deep/c.JSON", "other/d.md")

    found = find("docs")

    assert paths_of(found) == ["a.md", "deep/c.JSON", "deep/er/b.txt"]
    assert {file.source for file in found.inputs.values()} == {
        "docs/a.md",
        "docs/deep/c.JSON",
        "docs/deep/er/b.txt",
    }


@pytest.mark.parametrize("given", ["docs", "docs/", "./docs", "docs/../docs"])
def test_one_folder_in_several_spellings_is_one_root(given):
    write("docs/a.md")

    assert list(find(given, "docs").inputs) == [("a.md", "docs")]


def test_a_file_is_known_by_its_name_and_is_the_one_of_its_folder():
    write("docs/a.md", "top.md")

    assert list(find("docs/a.md", "docs").inputs) == [("a.md", "docs")]
    (file,) = find("top.md").inputs.values()
    assert (file.path, file.source) == ("top.md", "top.md")


def test_hidden_files_and_version_control_are_left_out_without_a_word():
    write("docs/a.md", "docs/.git/b.md", "docs/.c.md", "docs/CVS/d.md", "docs/_darcs/e.md")

    found = find("docs")

    assert paths_of(found) == ["a.md"]
    assert not found.skipped
    assert not found.failed


def test_a_hidden_folder_that_is_named_itself_is_read():
    write(".notes/a.md")

    assert paths_of(find(".notes")) == ["a.md"]


def test_other_suffixes_are_skipped_and_counted_unless_the_format_or_the_file_is_named():
    write("docs/a.md", "docs/b.png", "docs/c.png", "docs/LICENSE", "docs/d.parquet")

    found = find("docs")
    assert paths_of(found) == ["a.md"]
    assert sorted(found.skipped.values()) == [
        "no suffix",
        "unknown suffix .parquet",
        "unknown suffix .png",
        "unknown suffix .png",
    ]
    assert paths_of(find("docs/b.png")) == ["b.png"]
    assert paths_of(find("docs", any_suffix=True)) == ["LICENSE", "a.md", "b.png", "c.png"]


def test_a_file_that_is_named_beside_its_folder_is_not_skipped():
    write("docs/a.md", "docs/LICENSE")

    found = find("docs", "docs/LICENSE")

    assert paths_of(found) == ["LICENSE", "a.md"]
    assert not found.skipped


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("docs/*.md", ["a.md"]),
        ("docs/**/*.md", ["a.md", "x/b.md", "x/y/c.md"]),
        ("docs/**/y/*", ["x/y/c.md", "x/y/d.txt"]),
        ("docs/x/**", ["b.md", "y/c.md", "y/d.txt"]),
        ("docs/?/[bc].*", ["x/b.md"]),
        ("*/a.md", ["docs/a.md"]),
        ("**/*.txt", ["docs/x/y/d.txt"]),
    ],
)
def test_globs_count_from_the_part_before_the_first_pattern(pattern, expected):
    write("docs/a.md", "docs/x/b.md", "docs/x/y/c.md", "docs/x/y/d.txt")

    assert paths_of(find(pattern)) == expected
    absolute = find(str(Path.cwd() / pattern))
    assert paths_of(absolute) == expected


def test_a_file_whose_name_looks_like_a_glob_is_taken_literally():
    write("docs/a[1].md", "docs/a1.md")

    found = find("docs/a[1].md")

    assert paths_of(found) == ["a[1].md"]
    assert found.covers(("a[1].md", "docs"))
    assert not found.covers(("a1.md", "docs"))


@pytest.mark.parametrize("path", ["nowhere", "docs/b.md", "nowhere/*.md", "docs/**/*.rst"])
def test_a_path_that_leads_nowhere_is_named(path):
    write("docs/a.md")

    with pytest.raises(ConfigError) as raised:
        find("docs", path)

    assert str(raised.value).startswith(f"{path}: no ")


def test_an_empty_path_is_not_this_folder():
    write("a.md")

    with pytest.raises(ConfigError, match=r"\(empty\): no such"):
        find("")


def test_a_folder_without_a_readable_file_says_what_it_holds_instead():
    write("docs/b.png")
    Path("empty").mkdir()

    with pytest.raises(ConfigError, match=r"docs: no file .*unknown suffix \.png: 1"):
        find("docs")
    with pytest.raises(ConfigError, match=r"empty: no file .*holds no files"):
        find("empty")


def test_linked_folders_are_told_and_not_entered_so_that_loops_end():
    write("docs/a.md", "docs/sub/b.md", "far/c.md")
    Path("docs/sub/loop").symlink_to(Path("docs").resolve())
    Path("docs/far").symlink_to(Path("far").resolve())
    Path("docs/itself.md").symlink_to("itself.md")
    Path("docs/linked.md").symlink_to(Path("far/c.md").resolve())

    found = find("docs")

    assert paths_of(found) == ["a.md", "linked.md", "sub/b.md"]
    assert found.skipped == {
        ("sub/loop", "docs"): "linked folder",
        ("far", "docs"): "linked folder",
    }
    assert "symbolic links" in found.failed["itself.md", "docs"]


def test_a_root_that_is_a_link_is_entered():
    write("far/c.md")
    Path("docs").symlink_to("far")

    assert paths_of(find("docs")) == ["c.md"]


def test_a_dangling_link_fails_alone():
    write("docs/a.md")
    Path("docs/gone.md").symlink_to("nowhere")

    found = find("docs")

    assert paths_of(found) == ["a.md"]
    assert found.failed == {("gone.md", "docs"): "No such file or directory"}


def test_what_is_no_regular_file_is_skipped_and_not_waited_for():
    write("docs/a.md")
    os.mkfifo("docs/pipe.md")

    assert find("docs").skipped == {("pipe.md", "docs"): "no regular file"}


def test_names_are_kept_letter_for_letter_and_one_that_is_not_utf_8_fails():
    names = ["caf\u00e9.md", "cafe\u0301.md", "说明 1.md", "100%.md"]
    write(*(f"docs/{name}" for name in names))
    Path(os.fsdecode(b"docs/\xff.md")).write_text("x")

    found = find("docs")

    assert paths_of(found) == sorted(names)
    assert found.failed == {("\\xff.md", "docs"): "its name is not UTF-8; rename it"}


def test_what_is_under_a_folder_that_cannot_be_read_is_out_of_sight(monkeypatch):
    write("docs/a.md", "docs/locked/b.md", "docs/locked2/c.md")
    scan = os.scandir

    def scandir(path):
        if str(path).rstrip("/").endswith("locked"):
            raise PermissionError(13, "Permission denied")
        return scan(path)

    monkeypatch.setattr(os, "scandir", scandir)

    found = find("docs")

    assert found.failed == {("locked", "docs"): "Permission denied"}
    assert found.is_out_of_sight(("locked/b.md", "docs"))
    assert not found.is_out_of_sight(("locked2/c.md", "docs"))
    assert not found.is_out_of_sight(("locked/b.md", "elsewhere"))
    assert find("docs/*.md").failed == {}, "nobody asked for what is in there"


def test_a_call_is_about_the_files_that_its_paths_would_match():
    write("docs/a.md", "docs/x/b.md", "one/c.md", "one/d.md")

    found = find("docs/*.md", "one/c.md")

    assert found.covers(("gone.md", "docs"))
    assert not found.covers(("x/b.md", "docs"))
    assert found.covers(("c.md", "one"))
    assert not found.covers(("d.md", "one"))
    assert not found.covers(("gone.md", "other"))


@pytest.mark.server
def test_buckets_are_searched_like_folders(s3_endpoint, s3_settings, s3_bucket):
    client = boto3.client("s3", endpoint_url=s3_endpoint, region_name="us-east-1")
    keys = ["docs/a.md", "docs/x/b 1.md", "docs/x/.c.md", "docs/x/p.png", "docs2/d.md", "e*.md"]
    for key in keys:
        client.put_object(Bucket=s3_bucket, Key=key, Body=key.encode())
    client.put_object(Bucket=s3_bucket, Key="docs/folder/", Body=b"")
    client.close()
    bucket = f"s3://{s3_bucket}"

    def find_there(*paths: str) -> list[tuple[str, str]]:
        return sorted(find_inputs(paths, s3_settings, any_suffix=False).inputs)

    docs = [("a.md", f"{bucket}/docs"), ("x/b 1.md", f"{bucket}/docs")]
    assert find_there(f"{bucket}/docs") == docs
    assert find_there(f"{bucket}/docs/") == docs
    assert find_there(f"{bucket}/docs/**/*.md") == docs
    assert find_there(f"{bucket}/docs/a.md") == docs[:1]
    assert find_there(f"{bucket}/*/d.md") == [("docs2/d.md", bucket)]
    assert find_there(f"{bucket}/e*.md") == [("e*.md", bucket)]
    assert [path for path, _ in find_there(bucket)] == [
        "docs/a.md",
        "docs/x/b 1.md",
        "docs2/d.md",
        "e*.md",
    ]
    with pytest.raises(ConfigError, match="no such object"):
        find_there(f"{bucket}/nowhere")
    with pytest.raises(ConfigError, match="names no bucket"):
        find_there("s3://")
