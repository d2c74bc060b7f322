"""Models that go to Hugging Face's transformers and come from it give the same loss for every token on both sides.

Skipped where Python lacks torch, safetensors, or a transformers that still has TransfoXLLMHeadModel (4.x; 4.57 is the
newest). A second argument names a text to use in place of made-up words.
"""

import random
import sys
import warnings

from program import Program, block_losses, check

SKIPPED = 77
TOLERANCE = 1e-5
STREAMS, SEGMENTS, TGT_LEN = 4, 6, 16
VOCABULARY = 256

# What the letters of a text fall into: the frequent words and three clusters.
ADAPTIVE = {
    "n_layer": 2, "n_head": 2, "d_model": 32, "d_head": 12, "d_inner": 48, "d_embed": 64, "mem_len": 24, "dropout": 0.0,
    "memory": {"initial": "zeros"}, "visibility": {"same_length": True}, "position": {"clamp_len": 20, "untie_r": True},
    "head": {"kind": "adaptive", "cutoffs": [101, 105, 116], "div_val": 2, "tie_projs": [False, True, True, False]},
    "init": {"init_std": 0.2, "proj_init_std": 0.2},
}
MODELS = {
    "adaptive": ADAPTIVE,
    "adaptive, one table, clusters ascending, biases shared": dict(
        ADAPTIVE, position={}, d_embed=0, head={"kind": "adaptive", "cutoffs": [101, 105], "cluster_order": "ascending"}),
    "adaptive, one narrow table": dict(
        ADAPTIVE, d_embed=20, head={"kind": "adaptive", "cutoffs": [105], "tie_projs": [False, True], "tie_weight": False}),
    "softmax, layer norm first": dict(
        ADAPTIVE, d_embed=20, head={"tie_projs": [True]}, block={"pre_lnorm": True}, visibility={}),
}


def skip_unless_there():
    warnings.simplefilter("ignore")
    try:
        import safetensors  # noqa: F401
        import torch
        from transformers import TransfoXLLMHeadModel, logging
        torch.set_num_threads(1)
        repair_type_as(torch)
        logging.set_verbosity_error()
        return torch, TransfoXLLMHeadModel
    except ImportError as error:
        print(f"skipped: {error}")
        sys.exit(SKIPPED)


def repair_type_as(torch):
    """The forward pass of transformers 4.38 to 4.57 calls Tensor.type_as with `dtype`, a keyword that no torch has."""
    of_torch = torch.Tensor.type_as
    torch.Tensor.type_as = lambda tensor, other=None, dtype=None: of_torch(tensor, other) if dtype is None else tensor.to(dtype)


def text_tokens(count):
    if len(sys.argv) > 2:
        with open(sys.argv[2], "rb") as file:
            file.seek(5000)
            return list(file.read(count))
    source = random.Random(4)
    words = ["".join(source.choice("etaoinshrdlucmw") for _ in range(source.randint(1, 7))) for _ in range(60)]
    return list(" ".join(source.choice(words) for _ in range(count)).encode()[:count])


class Text:
    """The same tokens for both sides: streams of whole segments and the token after them."""

    def __init__(self, torch, program):
        length = SEGMENTS * TGT_LEN + 1
        tokens = text_tokens(STREAMS * length)
        program.prepare_tokens("text", VOCABULARY, train=tokens)
        self.streams = torch.tensor(tokens).view(STREAMS, length)

    def losses_of_segue(self, program, checkpoint):
        return block_losses(program, STREAMS, "--checkpoint", checkpoint, "--data", "text", "--split", "train", "--tgt-len",
                            TGT_LEN)

    def losses_of_transformers(self, torch, model):
        """Of every token, [STREAMS, n]: from the log-probabilities, as the losses it returns are grouped by cluster."""
        model.eval()
        losses, memory = [], None
        with torch.no_grad():
            for begin in range(0, SEGMENTS * TGT_LEN, TGT_LEN):
                inputs = self.streams[:, begin:begin + TGT_LEN]
                targets = self.streams[:, begin + 1:begin + TGT_LEN + 1]
                output = model(input_ids=inputs, mems=memory)
                memory = output.mems
                losses.append(-output.prediction_scores.gather(2, targets.unsqueeze(2)).squeeze(2))
        return torch.cat(losses, 1)

    def first_loss_of_transformers(self, torch, model):
        """The mean loss it returns for the first segment, where labels are the inputs and shifted inside."""
        inputs = self.streams[:, :TGT_LEN + 1]
        with torch.no_grad():
            return model(input_ids=inputs, labels=inputs).loss.item()


def compare(torch, text, program, name, model, checkpoint):
    found = torch.tensor(text.losses_of_segue(program, checkpoint))
    expected = text.losses_of_transformers(torch, model)
    check(found.shape == expected.shape, f"{name}: {found.shape} losses, expected {expected.shape}")
    largest = (found - expected).abs().max().item()
    first = abs(text.first_loss_of_transformers(torch, model) - found[:, :TGT_LEN].mean().item())
    print(f"{name}: losses from {found.min():.2f} to {found.max():.2f}, off by {largest:.1e} at most, {first:.1e} of labels")
    check(largest < TOLERANCE and first < TOLERANCE, f"{name}: losses are off by {largest:.1e} and {first:.1e}")


def test_exports(torch, hugging_face, program, text):
    for number, (name, model) in enumerate(MODELS.items()):
        run, exported = f"run-{number}", f"exported-{number}"
        config = program.config(
            "config.json", data={"path": "text"}, model=model, optimizer={"lr": 0.01}, evaluation={"interval": 0},
            training={"batch_size": STREAMS, "tgt_len": TGT_LEN, "max_step": 20}, checkpoint={"interval": 0})
        program.run("train", config, "--run", run)
        program.run("export", "--checkpoint", run, "--format", "huggingface", "--output", exported)
        loaded, report = hugging_face.from_pretrained(program.path(exported), output_loading_info=True)
        check(not any(report.values()), f"{name}: from_pretrained says {report}")
        compare(torch, text, program, name, loaded, run)


def test_imports(torch, hugging_face, program, text):
    from transformers import TransfoXLConfig
    torch.manual_seed(5)
    model = hugging_face(TransfoXLConfig(
        vocab_size=VOCABULARY, cutoffs=[101, 105, 116], d_model=32, d_embed=32, n_head=2, d_head=12, d_inner=48, div_val=2,
        n_layer=2, mem_len=24, clamp_len=20, same_length=True, init_std=0.2, proj_init_std=0.2))
    model.save_pretrained(program.path("saved"))
    output, _ = program.run("import", "--from", "huggingface", "--model", "saved/model.safetensors", "--args",
                            "saved/config.json", "--output", "imported")
    for line in ('model.head.cluster_order = ascending', 'model.memory.initial = zeros', 'model.position.untie_r = true'):
        check(f"set {line}" in output, f"import does not say {line!r}:\n{output}")
    compare(torch, text, program, "made by transformers", model, "imported")


def main():
    torch, hugging_face = skip_unless_there()
    program = Program()
    text = Text(torch, program)
    test_exports(torch, hugging_face, program, text)
    test_imports(torch, hugging_face, program, text)


main()
