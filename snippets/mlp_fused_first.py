"""The GeGLU MLP in the first version of our gated GEMM, in Triton: two products of one tile each."""

from geglu_gemm_first import geglu_gemm
from measure import Step, show
from mlp_eager import FLOPS, GegluMLP, make_input, make_mlp, reference
from problem import DEVICE, DIM, DTYPE, HIDDEN
from torch import Tensor

__all__ = ["FLOPS", "reference", "stage"]


# --8<-- [start:model]
class FirstFusedMLP(GegluMLP):
    """The same block and the same weights; only the way there differs."""

    def forward(self, x: Tensor) -> Tensor:
        h = geglu_gemm(x.reshape(-1, x.shape[-1]), self.gate_proj.weight, self.up_proj.weight)
        return self.down_proj(h.reshape(*x.shape[:-1], -1))


def make_first_fused_mlp() -> FirstFusedMLP:
    mlp = FirstFusedMLP(DIM, HIDDEN).to(DEVICE, DTYPE).requires_grad_(False)
    mlp.load_state_dict(make_mlp().state_dict())
    return mlp


def stage() -> Step:
    mlp, x = make_first_fused_mlp(), make_input()
    return lambda: mlp(x)


# --8<-- [end:model]


if __name__ == "__main__":
    show(stage, "mlp_fused_first")
