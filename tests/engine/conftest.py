"""One thread for torch, so that tests side by side do not fight over the cores."""

import pytest
import torch


@pytest.fixture(autouse=True, scope="session")
def _one_thread():
    torch.set_num_threads(1)
