"""The container image, as far as it can be judged without building it."""

import json
import re
from importlib.metadata import requires

import yaml
from packaging.requirements import Requirement

from tests.deploy.image import ROOT, instructions, last_stage

DEPLOYMENT = ROOT / "deploy" / "manager" / "deployment.yaml"


def copied() -> list[str]:
    """What is copied from the repository."""
    return [source for name, words in instructions() if name == "COPY" and not words[0].startswith("--") for source in words[:-1]]


def test_what_is_copied_exists_and_is_let_through() -> None:
    """And nothing else is sent to the builder."""
    rules = [line for line in (ROOT / ".dockerignore").read_text().splitlines() if line and not line.startswith("#")]
    let_through = {rule.removeprefix("!") for rule in rules if rule.startswith("!")}
    assert rules[0] == "*"
    assert let_through == set(copied())
    assert [source for source in copied() if not (ROOT / source).exists()] == []


def test_every_package_of_ours_is_copied() -> None:
    """What the wheel is made of, and what building it reads."""
    text = (ROOT / "pyproject.toml").read_text()
    (packages,) = re.findall(r"^packages = (\[\"apis.*\])$", text, re.MULTILINE)[:1]
    assert set(json.loads(packages)) | {"pyproject.toml", "README.md", "LICENSE", "requirements.lock"} == set(copied())


def test_the_user_of_the_image_is_the_one_of_the_pod() -> None:
    """By number, so that the kubelet can see that it is not root."""
    (user,) = [words[0] for name, words in last_stage() if name == "USER"]
    context = yaml.safe_load(DEPLOYMENT.read_text())["spec"]["template"]["spec"]["securityContext"]
    assert user == f"{context['runAsUser']}:{context['runAsGroup']}"
    assert user != "0:0"


def test_the_image_runs_the_manager_and_takes_the_pods_arguments() -> None:
    """`args` of a container are words after the image's entry point."""
    given = {name: words for name, words in last_stage() if name in ("ENTRYPOINT", "CMD")}
    assert given == {"ENTRYPOINT": ["copyhold"], "CMD": ["run"]}


def test_what_is_downloaded_is_checked_against_the_lock_and_the_rest_comes_from_there() -> None:
    """No line installs from an index without hashes."""
    lines = [" ".join(words) for name, words in instructions() if name == "RUN"]
    commands = [
        command for line in lines for command in line.split(" && ") if re.search(r"\bpip\b.*\b(install|wheel)\b", command)
    ]
    assert len(commands) == 2
    assert all(("--require-hashes" in command) != ("--no-index" in command) for command in commands)


def test_the_lock_has_everything_that_the_package_needs() -> None:
    """Also what its dependencies need, however deep."""
    locked = {
        line.split("==")[0]: line for line in (ROOT / "requirements.lock").read_text().splitlines() if re.match(r"[a-z0-9]", line)
    }
    wanted, seen = ["copyhold"], set[str]()
    while wanted:
        for text in requires(wanted.pop()) or ():
            needed = Requirement(text)
            name = re.sub(r"[-_.]+", "-", needed.name).lower()
            if (needed.marker is None or needed.marker.evaluate({"extra": ""})) and name not in seen:
                seen.add(name)
                wanted.append(name)
    assert seen
    assert seen <= locked.keys()
