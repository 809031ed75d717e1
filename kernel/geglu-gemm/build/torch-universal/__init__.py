"""A GeGLU MLP's gate, up, GELU and product in one kernel for NVIDIA Hopper."""

from .geglu_gemm import geglu_gemm

__all__ = ["geglu_gemm"]
