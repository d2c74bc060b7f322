"""The sizes of a Transformer-XL, shared by the model, by what counts its arithmetic and by the programs' options."""

import argparse
from dataclasses import dataclass, fields

from command_line import at_least

LEAST = {"mem_len": 0, "dropout": 0, "dropatt": 0, "clamp_len": -1}  # of the others 1


@dataclass(frozen=True)
class Sizes:
    vocab_size: int = 256
    n_layer: int = 4
    d_model: int = 256
    n_head: int = 4
    d_head: int = 64
    d_inner: int = 1024
    mem_len: int = 128
    dropout: float = 0.0
    dropatt: float = 0.0
    pre_lnorm: bool = False
    clamp_len: int = -1  # distances beyond it share one position vector; -1: none do
    same_length: bool = False  # every query sees mem_len keys, its own position included


def add_size_options(parser: argparse.ArgumentParser) -> None:
    for field in fields(Sizes):
        option = "--" + field.name.replace("_", "-")
        if field.type is bool:
            parser.add_argument(option, action="store_true")
        else:
            parser.add_argument(option, type=at_least(LEAST.get(field.name, 1), field.type), default=field.default)


def sizes_of(arguments: argparse.Namespace) -> Sizes:
    return Sizes(**{field.name: getattr(arguments, field.name) for field in fields(Sizes)})
