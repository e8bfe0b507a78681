"""Templates: one string, compiled once, rendered over the variables of a job; every way to fail becomes `Failed`.

Two environments: `VALUES` for the strings of structured targets, where a whole expression keeps its type, and `TEXTS` for text
templates, where what comes from others is marked (`taint`). The sandbox bounds what one operation can make; loops, memory and
output are bounded by the process around it (`worker`).
"""

import functools
import operator
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Any

from jinja2 import Template, TemplateSyntaxError, UndefinedError, meta, nodes
from jinja2.exceptions import SecurityError
from jinja2.runtime import BlockReference, Context, LoopContext, Macro, StrictUndefined, Undefined
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.visitor import NodeTransformer

from manager.render.functions import CLOCKED, DECODERS, FILTERS, GLOBALS, LONGEST, SPACERS, Refused
from manager.render.taint import Checked, Tainted, refused, taint, tainted

CACHED = 2048
SOURCE = 1 << 20  # characters of one template
POWER = 4096  # bits of a number

Variables = Mapping[str, Any]

_METHODS = frozenset(dir(dict))


class Failed(Exception):
    """A template that does not compile or render. `line` counts from 1 in its text, 0 is unknown; no value is quoted.

    `unsafe` is true when a value from others would have become structure.
    """

    def __init__(self, message: str, line: int = 0, *, unsafe: bool = False) -> None:
        super().__init__(message)
        self.message = message
        self.line = line
        self.unsafe = unsafe


class Missing(StrictUndefined):
    """What is not there. Its message is the bare name, so that `_reason` can leave out one that was computed."""

    @property
    def _undefined_message(self) -> str:
        return self._undefined_hint or str(self._undefined_name)


class ValueEnvironment(ImmutableSandboxedEnvironment):
    """The sandbox with bounds on single operations, and maps whose fields are found without a detour."""

    intercepted_binops = frozenset({"+", "*", "**", "%"})

    def __init__(self) -> None:
        super().__init__(undefined=Missing, finalize=printed, keep_trailing_newline=True, cache_size=0, auto_reload=False)
        self.filters = {**FILTERS, _JOINED: _join, _CHECKED: str}
        self.globals = dict(GLOBALS)
        self.binop_table.update({"*": _times, "**": _power, "+": _plus})

    def getattr(self, obj: Any, attribute: str) -> Any:
        """`a.b`: a field of a map at once; the methods of maps as in any Jinja2."""
        if isinstance(obj, dict) and attribute not in _METHODS and attribute in obj:
            return obj[attribute]
        return super().getattr(obj, attribute)

    def call(self, context: Context, function: Any, /, *args: Any, **kwargs: Any) -> Any:
        """Calls, of which `{% call %}` may only meet macros: its output is not looked at again."""
        if "caller" in kwargs and not isinstance(function, Macro):
            raise Refused("`call` needs a macro")
        return super().call(context, function, *args, **kwargs)

    def _parse(self, source: str, name: str | None, filename: str | None) -> nodes.Template:
        tree: nodes.Template = _Rewrite().visit(_supported(super()._parse(source, name, filename)))
        return tree


class TextEnvironment(ValueEnvironment):
    """The same, with marks that survive every operator, filter and call."""

    intercepted_binops = frozenset({"+", "-", "*", "/", "//", "**", "%"})

    def __init__(self) -> None:
        super().__init__()
        self.finalize = harmless
        self.filters = {name: _marking(name, filter) for name, filter in self.filters.items()}
        self.filters[_CHECKED] = Checked

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        """`left operator right`."""
        result = super().call_binop(context, operator, left, right)
        return taint(result) if tainted(left) or tainted(right) else result

    def call(self, context: Context, function: Any, /, *args: Any, **kwargs: Any) -> Any:
        """A macro's output was checked piece by piece; anything else is as tainted as what it works on."""
        result = super().call(context, function, *args, **kwargs)
        if isinstance(function, Macro | LoopContext | BlockReference):
            return Checked(result)
        if isinstance(result, Checked):  # `format` answers in the class of its pattern
            return Tainted(result)
        return taint(result) if tainted((getattr(function, "__self__", None), args, kwargs)) else result


# No template can write these names of filters.
_CHECKED, _JOINED = "~checked", "~joined"
_BLOCK = "_block_"  # the text of a block, before its filters


class _Rewrite(NodeTransformer):
    """Leads the constructs that bypass filters and operators through a filter, where they are bounded and marked.

    `a ~ b` is one; the blocks `{% set x %}` and `{% filter f %}` are taken apart into text and filters, also because Jinja2
    itself fails on names in the filters of a `set` block.
    """

    def visit_Concat(self, node: nodes.Concat) -> nodes.Node:  # noqa: N802 - the visitor's rule for names
        self.generic_visit(node)
        return _filter(nodes.List(node.nodes, lineno=node.lineno, environment=node.environment), _JOINED, node)

    def visit_AssignBlock(self, node: nodes.AssignBlock) -> nodes.Node | list[nodes.Node]:  # noqa: N802 - as above
        self.generic_visit(node)
        checked = _filter(None, _CHECKED, node)
        if node.filter is None:
            node.filter = checked
            return node
        chain = _fed(node.filter)
        return [
            nodes.AssignBlock(_name("store", node), checked, node.body, lineno=node.lineno, environment=node.environment),
            nodes.Assign(node.target, chain, lineno=node.lineno, environment=node.environment),
        ]

    def visit_FilterBlock(self, node: nodes.FilterBlock) -> nodes.Node:  # noqa: N802 - as above
        self.generic_visit(node)
        checked = _filter(None, _CHECKED, node)
        made = nodes.AssignBlock(_name("store", node), checked, node.body, lineno=node.lineno, environment=node.environment)
        put = nodes.Output([_fed(node.filter)], lineno=node.lineno, environment=node.environment)
        return nodes.Scope([made, put], lineno=node.lineno, environment=node.environment)


def _name(use: str, at: nodes.Node) -> nodes.Name:
    return nodes.Name(_BLOCK, use, lineno=at.lineno, environment=at.environment)


def _filter(inner: nodes.Expr | None, name: str, at: nodes.Node) -> nodes.Filter:
    return nodes.Filter(inner, name, [], [], None, None, lineno=at.lineno, environment=at.environment)


def _fed(chain: nodes.Filter) -> nodes.Filter:
    """The filters of a block, over the block's text."""
    innermost = chain
    while isinstance(innermost.node, nodes.Filter):
        innermost = innermost.node
    innermost.node = _name("load", chain)
    return chain


def _marking(name: str, filter: Callable[..., Any]) -> Callable[..., Any]:
    """The filter, whose result is tainted when anything that goes in is."""

    @functools.wraps(filter)
    def marked(*args: Any, **kwargs: Any) -> Any:
        args = tuple(list(arg) if isinstance(arg, Iterator) else arg for arg in args)
        result = filter(*args, **kwargs)
        if isinstance(result, Checked):  # tojson
            return result
        sources = [arg for arg in (*args, *kwargs.values()) if tainted(arg)]
        if name in SPACERS and all(isinstance(source, Checked) for source in sources):
            return Checked(result)
        return taint(result) if sources or name in DECODERS else result

    return marked


def _supported(tree: nodes.Template) -> nodes.Template:
    for node in tree.find_all(_UNSUPPORTED):
        raise TemplateSyntaxError("include, import, extends, block and autoescape are not available", node.lineno)
    return tree


_UNSUPPORTED = (
    nodes.Include,
    nodes.Import,
    nodes.FromImport,
    nodes.Extends,
    nodes.Block,
    nodes.ScopedEvalContextModifier,
    nodes.EvalContextModifier,
)


def printed(value: Any) -> Any:
    """What a value is as text: strings as they are, the words of JSON for the rest; maps and lists have no text."""
    if isinstance(value, str):
        return value
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Undefined):
        return str(value)  # raises
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return repr(value)
    raise Refused("a map, a list or a function has no text: use `tojson`")


def harmless(value: Any) -> Any:
    """`printed`, which refuses what would not stay one string. Raises Failed(unsafe)."""
    if isinstance(value, Tainted) and refused(value):
        raise Failed(_UNSAFE, unsafe=True)
    return printed(value)


_UNSAFE = (
    "a value from params, request, context or namespace holds something else than A-Za-z0-9 _.:/@+=-, "
    "or YAML would not read it as the same string: pass it through `tojson`"
)


def _join(values: list[Any]) -> str:
    """The operator `~`."""
    texts = [printed(value) for value in values]
    if sum(map(len, texts)) > LONGEST:
        raise Refused(f"`~` would make more than {LONGEST} characters")
    return "".join(texts)


def _times(left: Any, right: Any) -> Any:
    for some, count in ((left, right), (right, left)):
        if isinstance(some, str | list | tuple) and isinstance(count, int) and len(some) * count > LONGEST:
            raise Refused(f"`*` would make more than {LONGEST} characters")
    if isinstance(left, int) and isinstance(right, int) and left.bit_length() + right.bit_length() > POWER:
        raise Refused(f"`*` would make a number of more than {POWER} bits")
    return left * right


def _power(left: Any, right: Any) -> Any:
    if isinstance(left, int) and isinstance(right, int) and left.bit_length() * abs(right) > POWER:
        raise Refused(f"`**` would make a number of more than {POWER} bits")
    return left**right


def _plus(left: Any, right: Any) -> Any:
    if isinstance(left, str | list | tuple) and isinstance(right, str | list | tuple) and len(left) + len(right) > LONGEST:
        raise Refused(f"`+` would make more than {LONGEST} characters")
    return operator.add(left, right)


@dataclass(frozen=True, slots=True)
class Compiled:
    """One template string. `whole` is true when it is one expression with nothing around it; `names` are those it reads."""

    source: str
    whole: bool
    names: frozenset[str]
    _template: Template

    def value(self, variables: Variables) -> Any:
        """The typed value of a whole expression, the text otherwise. `variables` hold `GLOBALS`, too. Raises Failed."""
        try:
            context = self._template.new_context(variables, shared=True)  # type: ignore[arg-type]
            if not self.whole:
                return self._text(context)
            for _ in self._template.root_render_func(context):
                pass
            result = context.vars["result"]
            return str(result) if isinstance(result, Undefined) else result
        except Failed as failure:
            raise Failed(failure.message, failure.line or self._line(failure.__traceback__), unsafe=failure.unsafe) from None
        except Exception as error:
            # Every class: a template can raise whatever Python raises, and its text may quote a value.
            raise Failed(_reason(error, self.source), self._line(error.__traceback__) or 1) from None

    def _text(self, context: Context) -> str:
        pieces, size = [], 0
        for piece in self._template.root_render_func(context):
            size += len(piece)
            if size > LONGEST:
                raise Failed(f"the text has more than {LONGEST} characters")
            pieces.append(piece)
        return "".join(pieces)

    def _line(self, trace: TracebackType | None) -> int:
        """The template's line in which the innermost of its frames stood."""
        line = 0
        while trace is not None:
            if trace.tb_frame.f_globals.get("__jinja_template__") is self._template:
                line = self._template.get_corresponding_lineno(trace.tb_lineno)
            trace = trace.tb_next
        return line


VALUES = ValueEnvironment()
TEXTS = TextEnvironment()

_compiled: OrderedDict[tuple[bool, str], Compiled] = OrderedDict()


def compiled(source: str, *, text: bool = False) -> Compiled:
    """The template, from the cache or compiled now. Raises Failed."""
    key = (text, source)
    if key in _compiled:
        _compiled.move_to_end(key)
        return _compiled[key]
    made = _compiled[key] = _compile(source, TEXTS if text else VALUES, typed=not text)
    if len(_compiled) > CACHED:
        _compiled.popitem(last=False)
    return made


def is_template(text: str) -> bool:
    """Is there anything to render in it?"""
    return "{{" in text or "{%" in text or "{#" in text


def _compile(source: str, environment: ValueEnvironment, *, typed: bool) -> Compiled:
    if len(source) > SOURCE:
        raise Failed(f"the template has more than {SOURCE} characters")
    try:
        tree = environment.parse(source)
        names = meta.find_undeclared_variables(tree) - set(environment.globals) - _assigned(tree)
        expression = _sole_expression(tree) if typed else None
        if expression is not None:
            tree = nodes.Template([nodes.Assign(nodes.Name("result", "store"), expression, lineno=1)], lineno=1)
            tree.set_environment(environment)
        template = Template.from_code(environment, environment.compile(tree), {})
    except TemplateSyntaxError as error:
        raise Failed(error.message or "the syntax is wrong", error.lineno) from None
    except Refused as error:
        raise Failed(str(error)) from None
    except (RecursionError, SyntaxError, MemoryError):
        raise Failed("the template is nested too deeply") from None  # SyntaxError: Python's own limit of nested blocks
    except AssertionError:
        raise Failed("a construct that the template engine does not compile") from None
    return Compiled(source, expression is not None, frozenset(names), template)


def _assigned(tree: nodes.Template) -> set[str]:
    """Names that the template sets somewhere, if only on one branch."""
    return {name.name for name in tree.find_all(nodes.Name) if name.ctx != "load"} | {m.name for m in tree.find_all(nodes.Macro)}


def _sole_expression(tree: nodes.Template) -> nodes.Expr | None:
    """The expression of a template that is nothing else."""
    if len(tree.body) != 1 or not isinstance(tree.body[0], nodes.Output):
        return None
    parts = tree.body[0].nodes
    return None if len(parts) != 1 or isinstance(parts[0], nodes.TemplateData) else parts[0]


def _reason(error: Exception, source: str) -> str:
    """Why it failed, without a value."""
    if isinstance(error, Refused):
        return str(error)
    if isinstance(error, SecurityError):
        return "an attribute or a call that the sandbox does not allow"
    if isinstance(error, UndefinedError):
        name = str(error)  # a name that the template computed may be somebody's secret
        return f"`{name}` is not defined: use `is defined` or `default`" if name and name in source else "a value is not defined"
    if isinstance(error, MemoryError):
        return "it needs more memory than a worker has"
    if isinstance(error, RecursionError):
        return "a macro or a loop calls itself too often"
    return f"an operation does not fit its values ({type(error).__name__})"


def clocked(names: frozenset[str]) -> str:
    """The first name that only groups with a condition have; empty when there is none."""
    return min(names & CLOCKED, default="")


__all__ = ["GLOBALS", "Compiled", "Failed", "Variables", "clocked", "compiled", "is_template"]
