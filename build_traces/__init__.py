"""Record what the PyTorch profiler saw, read it back, and render it into the guide."""
