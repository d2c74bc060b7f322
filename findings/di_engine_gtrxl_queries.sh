#!/usr/bin/env bash
# Of what DI-engine's GTrXL makes the queries of its attention.
#
# Expected: as the paper has it (Parisotto et al. 2019, arXiv:1910.06764, section 3.2), where a layer norm stands before
# attention, so that queries, keys and values are made of the same normalised rows.
# Seen on 2026-12-01 with DI-engine 0.5.3 and torch 2.15.0 (`ding/torch_utils/network/gtrxl.py`, GatedTransformerXLLayer):
# keys and values are made of layernorm1's output, queries of the residual as it came. So a residual that grows sharpens
# attention: of rows ten times as large, keys stay as they were, and queries are ten times as large.
# Whoever copies weights between this and another GTrXL gets other outputs, until a hook on `attention.attention_q` puts its
# input through `layernorm1`.
#
# Installs both in a temporary folder, runs one layer, prints what it measures, and fails when it is otherwise than stated.
# Of DI-engine the one file is loaded, without the packages that the rest of it imports.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check torch==2.15.0 numpy==2.4.6
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-deps DI-engine==0.5.3
"$folder/venv/bin/python" - <<'PYTHON'
import importlib.util
import sys
import types

import torch

root = importlib.util.find_spec("ding").submodule_search_locations[0]
for name in ("ding", "ding.torch_utils", "ding.torch_utils.network"):
    sys.modules[name] = types.ModuleType(name)
    sys.modules[name].__path__ = [root + name.removeprefix("ding").replace(".", "/")]
from ding.torch_utils.network.gtrxl import GTrXL

torch.manual_seed(1)
model = GTrXL(input_dim=16, head_dim=4, embedding_dim=16, head_num=2, layer_num=1, memory_len=0, use_embedding_layer=False)
layer, read = model.layers[0], {}
for name in ("attention_q", "attention_kv"):
    getattr(layer.attention, name).register_forward_pre_hook(lambda _, inputs, name=name: read.update({name: inputs[0]}))
x = torch.randn(5, 3, 16)
for factor in (1, 10):
    with torch.no_grad():
        model(factor * x)
        normalised = layer.layernorm1(factor * x)
    print(f"rows times {factor}: root mean square of what queries are made of {read['attention_q'].square().mean().sqrt():.2f}, "
          f"of what keys and values are made of {read['attention_kv'].square().mean().sqrt():.2f}")
    if not torch.equal(read["attention_q"], factor * x) or not torch.equal(read["attention_kv"], normalised):
        sys.exit("expected queries of the residual, and keys and values of its layer norm")
PYTHON
