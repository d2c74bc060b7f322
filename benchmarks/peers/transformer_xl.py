"""A Transformer-XL in eager PyTorch, written from the paper (Dai et al. 2019), as a peer for speed and numerics."""

import math

import torch
from torch import Tensor, nn
from torch.nn import functional

from sizes import Sizes


def shift_to_distance(scores: Tensor) -> Tensor:
    """[..., T, K] by (query, position vector) to [..., T, K] by (query, key); keys after the query receive garbage."""
    *lead, queries, keys = scores.shape
    padded = functional.pad(scores, (1, 0)).reshape(*lead, keys + 1, queries)
    return padded[..., 1:, :].reshape(*lead, queries, keys)


def hidden_keys(queries: int, keys: int, sizes: Sizes, device: torch.device) -> Tensor:
    """[T, K], true where a query must not see a key: those after it and, with same_length, those too far behind."""
    distance = torch.arange(keys - queries, keys, device=device)[:, None] - torch.arange(keys, device=device)
    hidden = distance < 0
    return hidden | (distance >= sizes.mem_len) if sizes.same_length else hidden


class Attention(nn.Module):
    def __init__(self, sizes: Sizes):
        super().__init__()
        self.sizes = sizes
        self.width = sizes.n_head * sizes.d_head
        self.qkv = nn.Linear(sizes.d_model, 3 * self.width, bias=False)
        self.position = nn.Linear(sizes.d_model, self.width, bias=False)
        self.output = nn.Linear(self.width, sizes.d_model, bias=False)
        self.norm = nn.LayerNorm(sizes.d_model)

    def heads(self, x: Tensor) -> Tensor:
        return x.unflatten(-1, (self.sizes.n_head, self.sizes.d_head)).transpose(-3, -2)

    def forward(self, x: Tensor, memory: Tensor, positions: Tensor, content_bias: Tensor, position_bias: Tensor,
                hidden: Tensor) -> Tensor:
        context = torch.cat([memory, x], dim=1)
        if self.sizes.pre_lnorm:
            context = self.norm(context)
        query_weight, key_value_weight = self.qkv.weight.split([self.width, 2 * self.width])
        query = self.heads(functional.linear(context[:, -x.shape[1]:], query_weight))
        key, value = (self.heads(half) for half in functional.linear(context, key_value_weight).chunk(2, dim=-1))
        by_content = (query + content_bias[:, None]) @ key.transpose(-2, -1)
        by_position = (query + position_bias[:, None]) @ self.heads(self.position(positions)).transpose(-2, -1)
        scores = (by_content + shift_to_distance(by_position)) / math.sqrt(self.sizes.d_head)
        weights = scores.masked_fill(hidden, -math.inf).softmax(dim=-1)
        weights = functional.dropout(weights, self.sizes.dropatt, self.training)
        attended = self.output((weights @ value).transpose(1, 2).flatten(2))
        result = x + functional.dropout(attended, self.sizes.dropout, self.training)
        return result if self.sizes.pre_lnorm else self.norm(result)


class FeedForward(nn.Module):
    def __init__(self, sizes: Sizes):
        super().__init__()
        self.pre_lnorm = sizes.pre_lnorm
        self.norm = nn.LayerNorm(sizes.d_model)
        self.inner = nn.Linear(sizes.d_model, sizes.d_inner)
        self.outer = nn.Linear(sizes.d_inner, sizes.d_model)
        self.dropout = nn.Dropout(sizes.dropout)

    def forward(self, x: Tensor) -> Tensor:
        inner = self.dropout(torch.relu(self.inner(self.norm(x) if self.pre_lnorm else x)))
        result = x + self.dropout(self.outer(inner))
        return result if self.pre_lnorm else self.norm(result)


class TransformerXL(nn.Module):
    """Tied softmax head, one pair of attention biases for all layers, initialised with N(0, 0.02)."""

    def __init__(self, sizes: Sizes):
        super().__init__()
        self.sizes = sizes
        self.embedding = nn.Embedding(sizes.vocab_size, sizes.d_model)
        self.head_bias = nn.Parameter(torch.zeros(sizes.vocab_size))
        self.content_bias = nn.Parameter(torch.empty(sizes.n_head, sizes.d_head))
        self.position_bias = nn.Parameter(torch.empty(sizes.n_head, sizes.d_head))
        self.attention = nn.ModuleList(Attention(sizes) for _ in range(sizes.n_layer))
        self.feed_forward = nn.ModuleList(FeedForward(sizes) for _ in range(sizes.n_layer))
        self.dropout = nn.Dropout(sizes.dropout)
        for name, parameter in self.named_parameters():
            if name.endswith("norm.weight"):
                nn.init.normal_(parameter, 1.0, 0.02)
            elif name.endswith("_bias") and name != "head_bias" or name.endswith("weight"):
                nn.init.normal_(parameter, 0.0, 0.02)
            else:
                nn.init.zeros_(parameter)

    def empty_memory(self, batch: int, length: int = 0) -> list[Tensor]:
        """Per layer [B, length, D]: nothing, or zeros, which are attended like any memory."""
        shape = (batch, length, self.sizes.d_model)
        return [self.embedding.weight.new_zeros(shape) for _ in range(self.sizes.n_layer)]

    def position_vectors(self, keys: int) -> Tensor:
        """[K, D]: the sinusoids of distances K-1 ... 0, all sines before all cosines."""
        weight, d_model = self.embedding.weight, self.sizes.d_model
        distance = torch.arange(keys - 1, -1, -1, dtype=weight.dtype, device=weight.device)
        if self.sizes.clamp_len > 0:
            distance = distance.clamp(max=self.sizes.clamp_len)
        even = torch.arange(0, d_model, 2, dtype=weight.dtype, device=weight.device)
        angle = distance[:, None] * 10000.0 ** (-even / d_model)
        return torch.cat([angle.sin(), angle.cos()], dim=-1)

    def remember(self, memory: Tensor, layer_input: Tensor) -> Tensor:
        joined = torch.cat([memory, layer_input.detach()], dim=1)
        return joined[:, max(0, joined.shape[1] - self.sizes.mem_len):]

    def forward(self, tokens: Tensor, targets: Tensor, memory: list[Tensor]) -> tuple[Tensor, list[Tensor]]:
        """tokens, targets [B, T] -> negative log-likelihood [B, T] in nats, and the memory of the next segment."""
        queries = tokens.shape[1]
        keys = memory[0].shape[1] + queries
        hidden = hidden_keys(queries, keys, self.sizes, tokens.device)
        positions = self.dropout(self.position_vectors(keys))
        x = self.dropout(self.embedding(tokens) * math.sqrt(self.sizes.d_model))
        next_memory = []
        for attention, feed_forward, old in zip(self.attention, self.feed_forward, memory):
            next_memory.append(self.remember(old, x))
            x = feed_forward(attention(x, old, positions, self.content_bias, self.position_bias, hidden))
        logits = functional.linear(self.dropout(x), self.embedding.weight, self.head_bias)
        nll = functional.cross_entropy(logits.flatten(0, 1), targets.flatten(), reduction="none")
        return nll.view_as(targets), next_memory


_ORIGINAL_TOP = {
    "embedding.weight": "word_emb.emb_layers.0.weight",
    "head_bias": "crit.out_layers.0.bias",
    "content_bias": "r_w_bias",
    "position_bias": "r_r_bias",
}
_ORIGINAL_PART = {
    "attention": {"qkv": "dec_attn.qkv_net", "position": "dec_attn.r_net", "output": "dec_attn.o_net",
                  "norm": "dec_attn.layer_norm"},
    "feed_forward": {"inner": "pos_ff.CoreNet.0", "outer": "pos_ff.CoreNet.3", "norm": "pos_ff.layer_norm"},
}


def original_name(name: str) -> str:
    """The name a parameter of TransformerXL bears in weights published under the original names."""
    if name in _ORIGINAL_TOP:
        return _ORIGINAL_TOP[name]
    block, layer, part, kind = name.split(".")
    return f"layers.{layer}.{_ORIGINAL_PART[block][part]}.{kind}"


def load_original(model: TransformerXL, path: str) -> None:
    from safetensors.torch import load_file

    stored = load_file(path)
    model.load_state_dict({name: stored[original_name(name)] for name in model.state_dict()})
