"""The steps of every published model beside the library that the model came with, on the same pictures."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from open_clip.transform import image_transform
from PIL import Image
from runner_pictures import PICTURES, Pixels
from torchvision import transforms as tv
from torchvision.transforms import InterpolationMode

from fmfair.runners.images import Picture, Transform
from fmfair.runners.models.presets import fairmedfm_steps
from fmfair.runners.models.registry import models

CLIP = ([0.48145466, 0.4578275, 0.40821073], [0.26862954, 0.26130258, 0.27577711])
IMAGENET = ([0.485, 0.456, 0.406], [0.229, 0.224, 0.225])
HALF = ([0.5] * 3, [0.5] * 3)
BICUBIC, BILINEAR = InterpolationMode.BICUBIC, InterpolationMode.BILINEAR
CLIP_STEPS = "rgb, resize:224:short:bicubic:pil, crop:224{}, scale, normalise:clip"

Oracle = Callable[[Any], Any]


def processor(name: str, **config: Any) -> Oracle:
    """A processor of transformers, built from its configuration alone."""
    made = getattr(transformers, name)(**config)
    return lambda image: torch.as_tensor(made(images=image, return_tensors="pt")["pixel_values"])[0]


def compose(*steps: Any, statistics: tuple[list[float], list[float]] | None, mode: str = "RGB") -> Oracle:
    """A Compose of torchvision."""
    last = [] if statistics is None else [tv.Normalize(*statistics)]
    made = tv.Compose([*steps, tv.ToTensor(), *last])
    return lambda image: made(image.convert(mode)).expand(3, -1, -1)


def short(size: int, crop: int, interpolation: Any, statistics: tuple[list[float], list[float]]) -> Oracle:
    return compose(tv.Resize(size, interpolation), tv.CenterCrop(crop), statistics=statistics)


def squash(size: int, interpolation: Any, statistics: tuple[list[float], list[float]]) -> Oracle:
    return compose(tv.Resize((size, size), interpolation), statistics=statistics)


def open_clip(size: int, mode: str, statistics: tuple[list[float], list[float]]) -> Oracle:
    made: Any = image_transform(size, False, *statistics, resize_mode=mode, interpolation="bicubic")
    return lambda image: torch.as_tensor(made(image))


def medsiglip(image: Any) -> Any:
    """Zeros around it to a square, TensorFlow's bilinear (no antialias, half-pixel centres), a cast, the processor."""
    pixels = np.asarray(image.convert("RGB"))
    height, width = pixels.shape[:2]
    missing = [(max(height, width) - side) for side in (height, width)]
    padded = np.pad(pixels, [*((n // 2, n - n // 2) for n in missing), (0, 0)])
    tensor = torch.from_numpy(padded.astype(np.float32)).permute(2, 0, 1)[None]
    resized = torch.nn.functional.interpolate(tensor, (448, 448), mode="bilinear", align_corners=False)[0]
    cast = Image.fromarray(resized.permute(1, 2, 0).numpy().astype(np.uint8))
    return processor("SiglipImageProcessorPil", size={"height": 448, "width": 448})(cast)


def medclip(image: Any) -> Any:
    grey = image.convert("L")
    side = max(224, *grey.size)
    square = Image.new("L", (side, side))
    square.paste(grey, (int((side - grey.size[0]) / 2), int((side - grey.size[1]) / 2)))
    values = np.asarray(square.resize((224, 224), Image.Resampling.BICUBIC), dtype=np.float32) / 255
    return torch.from_numpy(np.repeat(((values - 0.5862785803043838) / 0.27950088968644304)[None], 3, axis=0))


def chexzero(image: Any) -> Any:
    """To 320 pixels with black around, then values of 0 to 255 are normalised, then made smaller as a tensor."""
    grey = image.convert("L")
    ratio = 320.0 / max(grey.size)
    resized = grey.resize(tuple(int(n * ratio) for n in grey.size), Image.Resampling.LANCZOS)
    square = Image.new("L", (320, 320))
    square.paste(resized, ((320 - resized.size[0]) // 2, (320 - resized.size[1]) // 2))
    values = torch.from_numpy(np.repeat(np.asarray(square, dtype=np.float32)[None], 3, axis=0))
    normalised = tv.Normalize((101.48761,) * 3, (83.43944,) * 3)(values)
    return tv.Resize(224, BICUBIC, antialias=False)(normalised)


def biovil(crop: int) -> Oracle:
    def oracle(image: Any) -> Any:
        values = np.asarray(image).astype(float)
        values -= values.min()
        values /= values.max()
        stretched = Image.fromarray((values * 255).astype(np.uint8))
        return compose(tv.Resize(512, BILINEAR), tv.CenterCrop(crop), statistics=None, mode="L")(stretched)

    return oracle


MODELS: dict[str, tuple[str, Oracle]] = {
    "CLIP by OpenAI": (CLIP_STEPS.format(""), short(224, 224, BICUBIC, CLIP)),
    "CLIP and BiomedCLIP by open_clip": (CLIP_STEPS.format(""), open_clip(224, "shortest", CLIP)),
    "CLIP of 336 pixels": (CLIP_STEPS.format("").replace("224", "336"), short(336, 336, BICUBIC, CLIP)),
    "CLIP, PLIP and AIMv2 by transformers": (CLIP_STEPS.format(":down"), processor("CLIPImageProcessorPil")),
    "AIMv2 of any size": (CLIP_STEPS.format(":down") + ", multiple_of:14", processor("CLIPImageProcessorPil")),
    "BLIP": ("rgb, resize:384:squash:bicubic, scale, normalise:clip", processor("BlipImageProcessorPil")),
    "BLIP-2": (
        "rgb, resize:224:squash:bicubic, scale, normalise:clip",
        processor("BlipImageProcessorPil", size={"height": 224, "width": 224}),
    ),
    "SigLIP by transformers": (
        "rgb, resize:224:squash:bicubic, scale, normalise:half",
        processor("SiglipImageProcessorPil"),
    ),
    "SigLIP by open_clip": ("rgb, resize:224:squash:bicubic, scale, normalise:half", open_clip(224, "squash", HALF)),
    "SigLIP 2": (
        "rgb, resize:224:squash:bilinear, scale, normalise:half",
        processor("SiglipImageProcessorPil", resample=2),
    ),
    "MedGemma": (
        "rgb, resize:896:squash:bilinear, scale, normalise:half",
        processor("Gemma3ImageProcessorPil", size={"height": 896, "width": 896}),
    ),
    "MedSigLIP": (
        "rgb, pad_square:0, resize:448:squash:bilinear:tensor:noaa, round8, scale, normalise:half",
        medsiglip,
    ),
    "CONCH": (
        "rgb, resize:448:short:bicubic, crop:448, scale, normalise:clip",
        short(448, 448, BICUBIC, CLIP),
    ),
    "DINOv2 by transformers": (
        "rgb, resize:256:short:bicubic, crop:224:down, scale, normalise:imagenet",
        processor("BitImageProcessorPil", size={"shortest_edge": 256}, image_mean=IMAGENET[0], image_std=IMAGENET[1]),
    ),
    "DINOv2, RETFound and GigaPath": (
        "rgb, resize:256:short:bicubic, crop:224, scale, normalise:imagenet",
        short(256, 224, BICUBIC, IMAGENET),
    ),
    "Virchow2": (
        "rgb, resize:224:short:bicubic, crop:224, scale, normalise:imagenet",
        short(224, 224, BICUBIC, IMAGENET),
    ),
    "UNI2-h and CXR-CLIP's ResNet": (
        "rgb, resize:224:short:bilinear, crop:224, scale, normalise:imagenet",
        short(224, 224, BILINEAR, IMAGENET),
    ),
    "CXR-CLIP's Swin": (
        "rgb, resize:224:short:bilinear, crop:224, scale, normalise:half",
        short(224, 224, BILINEAR, HALF),
    ),
    "DINOv3": (
        "rgb, scale, resize:224:squash:bilinear:tensor, normalise:imagenet, multiple_of:16",
        processor("DINOv3ViTImageProcessor"),
    ),
    "RAD-DINO": (
        "rgb, resize:518:short:bicubic, crop:518:down, scale, normalise:0.5307:0.2583",
        processor(
            "BitImageProcessorPil",
            size={"shortest_edge": 518},
            crop_size={"height": 518, "width": 518},
            image_mean=[0.5307] * 3,
            image_std=[0.2583] * 3,
        ),
    ),
    "C2L and PubMedCLIP": (
        "rgb, resize:256:short:bilinear, crop:224, scale, normalise:imagenet",
        short(256, 224, BILINEAR, IMAGENET),
    ),
    "MoCo-CXR": (
        "rgb, resize:320:short:bilinear, crop:320, scale, normalise:imagenet",
        short(320, 320, BILINEAR, IMAGENET),
    ),
    "MedMAE": (
        "rgb, resize:256:short:bicubic, crop:224, scale, normalise:0.5056:0.252",
        short(256, 224, BICUBIC, ([0.5056] * 3, [0.252] * 3)),
    ),
    "EfficientNet-Lite": (
        "rgb, resize:256:short:bicubic, crop:224, scale:none, normalise:127:128",
        short(256, 224, BICUBIC, ([127 / 255] * 3, [128 / 255] * 3)),
    ),
    "LVM-Med": ("rgb, resize:224:squash:bilinear, scale, normalise:imagenet", squash(224, BILINEAR, IMAGENET)),
    "MedImageInsight": ("rgb, resize:480:squash:bicubic, scale, normalise:imagenet", squash(480, BICUBIC, IMAGENET)),
    "MedCLIP": (
        (
            "grey, pad_square:0:224, resize:224:squash:bicubic, scale, "
            "normalise:0.5862785803043838:0.27950088968644304, repeat3"
        ),
        medclip,
    ),
    "CheXzero": (
        (
            "grey, resize:320:longest:lanczos, pad_square, scale:none, normalise:101.48761:83.43944, repeat3, "
            "tensor_resize:224:bicubic:noaa"
        ),
        chexzero,
    ),
    "BioViL": ("window8:minmax, grey, resize:512:short:bilinear, crop:480, scale, repeat3", biovil(480)),
    "BioViL-T": ("window8:minmax, grey, resize:512:short:bilinear, crop:448, scale, repeat3", biovil(448)),
    "the FairMedFM benchmark": (
        ", ".join(fairmedfm_steps("MIMIC-CXR")),
        short(224, 224, BICUBIC, ([0.5056] * 3, [0.252] * 3)),
    ),
}


# The entries of the registry, by what above they were published with.
ENTRIES = {
    "CLIP by OpenAI": "clip_b32 clip_b16 clip_l14 clip_b32_openai clip_b16_openai clip_l14_openai",
    "CLIP of 336 pixels": "clip_l14_336",
    "CLIP and BiomedCLIP by open_clip": "biomedclip",
    "CLIP, PLIP and AIMv2 by transformers": "plip pubmedclip_hf aimv2_large",
    "AIMv2 of any size": "aimv2_large_native",
    "BLIP": "blip",
    "BLIP-2": "blip2 blip_capfilt",
    "SigLIP by transformers": "siglip_b16",
    "SigLIP by open_clip": "siglip_b16_open_clip",
    "SigLIP 2": "siglip2_b16 siglip2_b16_open_clip",
    "MedGemma": "medgemma_tower",
    "MedSigLIP": "medsiglip",
    "CONCH": "conch",
    "DINOv2, RETFound and GigaPath": "dinov2_small dinov2_base dinov2_large dinov2_giant gigapath retfound_cfp "
    "retfound_oct retfound_mae_meh retfound_mae_shanghai retfound_dinov2_meh retfound_dinov2_shanghai",
    "Virchow2": "virchow2",
    "UNI2-h and CXR-CLIP's ResNet": "uni2_h cxr_clip_r50",
    "CXR-CLIP's Swin": "cxr_clip_swint",
    "DINOv3": "dinov3_small dinov3_small_plus dinov3_base dinov3_large dinov3_huge_plus dinov3_7b dinov3_base_timm",
    "RAD-DINO": "rad_dino",
    "C2L and PubMedCLIP": "c2l pubmedclip",
    "MoCo-CXR": "moco_cxr",
    "MedMAE": "medmae",
    "EfficientNet-Lite": "efficientnet_lite0",
    "LVM-Med": "lvm_med",
    "MedImageInsight": "medimageinsight",
    "MedCLIP": "medclip medclip_resnet50",
    "CheXzero": "chexzero",
    "BioViL": "biovil",
    "BioViL-T": "biovil_t",
}


def odd(size: int) -> Pixels:
    """Three pixels too many one way, of which torchvision and transformers cut off others in the middle."""
    return np.random.default_rng(0).integers(0, 256, (size, size + 3, 3), np.uint8)


@pytest.fixture(scope="module", autouse=True)
def _one_thread() -> Iterator[None]:
    """Sharing out such small pictures over threads takes longer than the pictures."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def fed(steps: str, pixels: Pixels) -> Any:
    return Transform.of(steps)(Picture.of(pixels))


@pytest.mark.parametrize(
    ("model", "picture"),
    [*itertools.product(MODELS, ["ramp", "checkerboard", "small", "radiograph", "odd"]), ("CheXzero", "pixel_short")],
)
def test_the_steps_are_what_the_library_of_the_model_does(model: str, picture: str) -> None:
    steps, oracle = MODELS[model]
    size = Transform.of(steps).size
    pixels = odd(size) if picture == "odd" else PICTURES[picture]()

    result = fed(steps, pixels)

    assert (result.dtype, tuple(result.shape)) == (torch.float32, (3, size, size))
    torch.testing.assert_close(result, oracle(Image.fromarray(pixels)), atol=1e-5, rtol=0, check_dtype=False)


def test_every_entry_has_the_steps_of_the_library_that_it_was_published_with() -> None:
    said = {entry.name: str(Transform.of(list(entry.image.steps))) for entry in models().values()}

    assert said == {name: str(Transform.of(MODELS[key][0])) for key, names in ENTRIES.items() for name in names.split()}


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("resize:224:squash:bicubic:pil", "resize:224:squash:bicubic:tensor"),
        ("resize:224:squash:bilinear:tensor", "resize:224:squash:bilinear:tensor:noaa"),
        ("resize:224:short:bicubic, crop:224", "resize:224:squash:bicubic"),
        ("resize:224:short:bicubic, crop:224", "resize:224:short:bicubic, crop:224:down"),
        ("resize:256:short:bicubic, crop:224", "resize:224:short:bicubic, crop:224"),
        ("pad_square, resize:224:squash:bicubic", "resize:224:squash:bicubic"),
    ],
)
def test_a_step_said_otherwise_shows(right: str, wrong: str) -> None:
    one, other = (fed(f"rgb, {steps}, scale, normalise:clip", PICTURES["ramp"]()) for steps in (right, wrong))

    assert (one - other).abs().max() > 1e-3


def test_statistics_of_the_benchmark_go_by_data_set_alone() -> None:
    normalised = {name: fairmedfm_steps(name)[-1] for name in ("CheXpert", "MIMIC_CXR", "COVID-CT-MD", "adni", "CXP")}

    assert set(normalised.values()) == {"normalise:0.5056:0.252"}
    assert fairmedfm_steps("Harvard-GF3300")[-1] == fairmedfm_steps("GF3300")[-1] == "normalise:0.2756:0.1708"
    assert {fairmedfm_steps(name)[-1] for name in ("HAM10000", "PAPILA", "BRSET", "my own")} == {"normalise:clip"}
