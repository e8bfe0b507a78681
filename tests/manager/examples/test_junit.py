"""Results as JUnit XML."""

from xml.etree import ElementTree

from manager.examples.junit import junit
from manager.examples.runner import Result, StepResult


def test_an_example_is_a_suite_and_a_step_a_case() -> None:
    """With counts and times where CI systems look for them; failures carry their first line and their whole text."""
    steps = (
        StepResult("set up", 1.5),
        StepResult("it is <there>", 0.25, "ConfigMap a/x is not as expected:\n- a & b\n+ \x1b[31mc"),
        StepResult("later", skipped=True),
    )
    root = ElementTree.fromstring(junit([Result("quota", "A quota", steps)]))
    (suite,) = root
    assert root.tag == "testsuites"
    assert suite.attrib == {"name": "quota", "tests": "3", "failures": "1", "skipped": "1", "time": "1.750"}
    assert [case.get("name") for case in suite] == ["01 set up", "02 it is <there>", "03 later"]
    assert {case.get("classname") for case in suite} == {"quota"}
    failure = suite[1][0]
    assert failure.attrib == {"message": "ConfigMap a/x is not as expected:"}
    assert failure.text == "ConfigMap a/x is not as expected:\n- a & b\n+ \N{REPLACEMENT CHARACTER}[31mc"
    assert suite[2][0].tag == "skipped"
