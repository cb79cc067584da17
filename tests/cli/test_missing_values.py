"""An option without its value is an error: what follows from a forgotten one may be another cluster."""

import click

from tests.builders.commands import every

OPTIONAL = {"apply --changed"}
# Each spelling of each option that takes a value, with its command.
ALL = {
    f"{name} {flag}": (context, flag)
    for name, context in every()
    for each in context.command.params
    if isinstance(each, click.Option) and not (each.is_flag or each.count)
    for flag in each.opts
}


def requires_its_value(context: click.Context, flag: str) -> bool:
    try:
        context.command.make_context(context.info_name, [flag])
    except click.BadOptionUsage as error:
        return error.message == f"Option '{flag}' requires an argument."
    except click.UsageError:
        return False  # what comes after the options of the command line
    return False


def takes_a_hyphen(context: click.Context, flag: str) -> bool:
    try:
        values, _, _ = context.command.make_parser(context).parse_args([flag, "-1"])
    except click.NoSuchOption:
        return False
    return any(each in ("-1", ["-1"]) for each in values.values())


def test_an_option_requires_its_value() -> None:
    assert {name for name, each in ALL.items() if not requires_its_value(*each)} == OPTIONAL


def test_a_value_may_begin_with_a_hyphen() -> None:
    assert {name for name, each in ALL.items() if not takes_a_hyphen(*each)} == OPTIONAL
