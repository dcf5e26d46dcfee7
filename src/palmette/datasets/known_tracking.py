"""Entries of the data sets for tracking cells."""

from __future__ import annotations

from palmette.datasets.decode import plain
from palmette.datasets.entry import Dataset, File, Source, text_source

_HOME = "https://celltrackingchallenge.net/2d-datasets/"
_TERMS = (
    "terms of the Cell Tracking Challenge: cite and acknowledge it, ask before other public or commercial use; not "
    "redistributed with palmette"
)
_BY_HAND = (
    "The tables were computed from the training data of the challenge. They have no public address and are\n"
    "to be put there by hand: detections.csv, links.csv{auto} (plain, .gz or .xz; a line per cell and\n"
    "frame with its measurements, track and parent, a line per link), man_track_01.txt and man_track_02.txt as\n"
    "published, tra_masks.npz (arrays '01' and '02' of tracking markers) and counts.json.\n"
    "Maska et al., The Cell Tracking Challenge: 10 years of objective benchmarking, Nature Methods 2023."
)
_FILES = {
    "detections": "detections.csv",
    "links": "links.csv",
    "detections_auto": "detections_auto.csv",
    "tracks_01": "man_track_01.txt",
    "tracks_02": "man_track_02.txt",
    "markers": "tra_masks.npz",
    "counts": "counts.json",
}


def _sources(contents: dict[str, tuple[str, int]]) -> tuple[Source, ...]:
    return tuple(
        Source(name, sha256, size, (File(_FILES[name], plain),), ())
        if name == "markers"
        else text_source(name, sha256, size, _FILES[name])
        for name, (sha256, size) in contents.items()
    )


FLUO_HELA = Dataset(
    name="fluo-n2dl-hela",
    task="tracking",
    title="Fluo-N2DL-HeLa: nuclei of HeLa cells, tracked",
    description=(
        "Two movies of 92 frames, 1,100 x 700 pixels, of HeLa cells that express H2B-GFP. 01: 8,639 cells, 8,562\n"
        "links, 94 divisions; 02: 25,420, 25,168 and 209. detections_auto is an automatic segmentation of 01 with its\n"
        "real errors: 8,960 detections; 7,808 are one cell, 279 cover several, 873 are false or fragments.\n"
        + _BY_HAND.format(auto=", detections_auto.csv")
    ),
    homepage=_HOME,
    licence=_TERMS,
    sources=_sources(
        {
            "detections": ("0bce8105566a164f08cdb381995ed1c512faa2cde260280dcbbc6f159c3946d6", 5_321_528),
            "links": ("4353b83e8a298cf3f5496bc29482165a2526f700dea69d9828ee89a9c09b6247", 1_091_564),
            "detections_auto": (
                "06d6be523d77635655ad82df593a59c23073a4d83c7ecce2c206a4387ed96346",
                1_381_324,
            ),
            "tracks_01": ("b6d941f6749cea09f5d674ae422cb8ecb279d81b0b056f6682bc108e0fbd583b", 3_355),
            "tracks_02": ("ff22c509975817ae80d135b79017c1fdcc560b980ee700659e348b1b77762ccd", 8_551),
            "markers": ("13fb80fa0f951444c13cab0ec9dda02881ac727d8da31a0f742641a01f43e2f9", 1_251_744),
            "counts": ("6c74bbab7a053135b1cea3ab2a076f0ef9f0841f2d0e59bebe8f75b0af373af0", 1_574),
        }
    ),
)

FLUO_SIM = Dataset(
    name="fluo-n2dh-sim",
    task="tracking",
    title="Fluo-N2DH-SIM+: simulated nuclei of HL60 cells, tracked",
    description=(
        "Two simulated movies. 01: 65 frames, 628 x 690 pixels, 2,607 cells, 2,571 links, 28 divisions; 02: 150\n"
        "frames, 739 x 773 pixels, 3,371, 3,354 and 44.\n" + _BY_HAND.format(auto="")
    ),
    homepage=_HOME,
    licence=_TERMS,
    sources=_sources(
        {
            "detections": ("29aa409dc291bfec913fbc78f32c92d898c2936917c6d51c797dd57306677936", 875_639),
            "links": ("4f0fb0dc4a7bcc1d7583933440ebf528057be026b669ea444ff0077d55041dd0", 175_808),
            "tracks_01": ("04c45fa5ce342649134e586eec9f4883561627bededde403e3dc9d1214e555bc", 1_047),
            "tracks_02": ("bb05369169b2f4f925642044a67bd09764149a53ee749a0bcfec9123a0f328bb", 1_403),
            "markers": ("f6bb7abb5002d0aaf3ea883c82c8e0eeda2a048bcb2ca337c56465b0f7edd0a2", 1_193_187),
            "counts": ("1951c423de26788531877683abd528f85755cfc3cbec1cab5f16ce90836eb154", 1_238),
        }
    ),
)
