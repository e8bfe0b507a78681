"""Results of examples as JUnit XML, which CI systems show: an example is a test suite, a step a test case."""

import re
from collections.abc import Iterable, Sequence
from xml.etree import ElementTree

from manager.examples.runner import Result, StepResult

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit(results: Iterable[Result]) -> str:
    """The document, as text with its declaration."""
    ran = list(results)
    steps = [step for result in ran for step in result.steps]
    root = ElementTree.Element("testsuites", {"name": "copyhold test", **_counts(steps)})
    for result in ran:
        root.append(_suite(result))
    ElementTree.indent(root)
    text = ElementTree.tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n'


def _suite(result: Result) -> ElementTree.Element:
    suite = ElementTree.Element("testsuite", {"name": result.name, **_counts(result.steps)})
    for number, step in enumerate(result.steps, 1):
        name = _clean(f"{number:02} {step.title}")
        case = ElementTree.SubElement(suite, "testcase", {"classname": result.name, "name": name, "time": f"{step.seconds:.3f}"})
        if step.failure:
            first = _clean(step.failure.partition("\n")[0])
            ElementTree.SubElement(case, "failure", {"message": first}).text = _clean(step.failure)
        elif step.skipped:
            ElementTree.SubElement(case, "skipped", {"message": "an earlier step failed"})
    return suite


def _counts(steps: Sequence[StepResult]) -> dict[str, str]:
    return {
        "tests": str(len(steps)),
        "failures": str(sum(bool(step.failure) for step in steps)),
        "skipped": str(sum(step.skipped for step in steps)),
        "time": f"{sum(step.seconds for step in steps):.3f}",
    }


def _clean(text: str) -> str:
    """Without the characters that XML 1.0 cannot hold: messages come from servers and manifests."""
    return _NOT_XML.sub("\N{REPLACEMENT CHARACTER}", text)
