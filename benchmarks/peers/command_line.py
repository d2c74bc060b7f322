"""What the command lines of programs that measure share: --help is what the program's first lines say, examples among them;
what is wrong is told in one line; and so is a module that the interpreter lacks."""

import argparse
import importlib.util
import math
import pathlib
import sys
from collections.abc import Callable
from typing import Any, NoReturn

PROGRAM = pathlib.Path(sys.argv[0]).name
USAGE = 2  # as an exit code


class Help(argparse.ArgumentDefaultsHelpFormatter, argparse.RawDescriptionHelpFormatter):
    def _get_help_string(self, action: argparse.Action) -> str | None:
        return action.help if action.default in (None, False, []) else super()._get_help_string(action)


class Parser(argparse.ArgumentParser):
    def __init__(self) -> None:
        super().__init__(description=sys.modules["__main__"].__doc__, formatter_class=Help)

    def error(self, message: str) -> NoReturn:
        self.exit(USAGE, f"{self.prog}: {' '.join(message.split())}\n")


def at_least(least: float, kind: type = int) -> Callable[[str], Any]:
    """For `type=` of an option: a finite number of this kind that is not less."""

    def parse(text: str) -> Any:
        try:
            value = kind(text)
        except ValueError:
            value = math.nan
        if not least <= value < math.inf:
            what = "whole number" if kind is int else "number"
            raise argparse.ArgumentTypeError(f"expected a {what} of at least {least}, found {text}")
        return value

    return parse


def needs(*modules: str) -> None:
    """Ends the program where this interpreter lacks one of them; with what its first lines say where --help is asked for."""
    missing = [name for name in modules if importlib.util.find_spec(name) is None]
    if not missing:
        return
    if {"-h", "--help"} & set(sys.argv[1:]):
        print(f"{(sys.modules['__main__'].__doc__ or '').strip()}\n\nAn interpreter that has {', '.join(modules)} lists the options.")
        sys.exit(0)
    print(f"{PROGRAM}: expected an interpreter that has {', '.join(modules)}, found none of {', '.join(missing)} in {sys.executable}",
          file=sys.stderr)
    sys.exit(USAGE)
