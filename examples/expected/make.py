"""Computes what the examples must give, with NumPy and SciPy in float64, and saves samples of it.

    pip install numpy scipy && python examples/expected/make.py

Every array but the small ones is sampled with strides that hit its first and its last elements, so that the
edges are among the samples. tests/examples.rs compares; it states the tolerances.
"""

from pathlib import Path

import numpy as np
from scipy import ndimage

HERE = Path(__file__).parent
DATA = HERE.parent / "data"


def hillshade():
    z = np.load(DATA / "jacksboro_dem.npy").astype(np.float64)
    south = np.gradient(z, 92.7, axis=0)
    east = np.gradient(z, 74.4, axis=1)
    slope = np.arctan(np.hypot(east, south))
    aspect = np.arctan2(-east, south)
    altitude, azimuth = np.radians(45), np.radians(315)
    light = np.sin(altitude) * np.cos(slope)
    light += np.cos(altitude) * np.sin(slope) * np.cos(azimuth - aspect)
    return np.clip(light, 0, 1)


def brain():
    t1 = np.load(DATA / "mni152_t1_2mm.npy").astype(np.float64)
    smooth = ndimage.gaussian_filter(t1, 1.5)
    edges = np.sqrt(sum(np.gradient(smooth, 2.0, axis=axis) ** 2 for axis in range(3)))
    head = t1[t1 > 0]
    intensities = np.histogram(head, bins=64, range=(0, 256))[0]
    return smooth, edges, head.mean(), head.std(), intensities


def save(name, array):
    np.save(HERE / f"{name}.npy", np.ascontiguousarray(array))


if __name__ == "__main__":
    save("hillshade", hillshade()[::7, ::6].astype(np.float32))
    smooth, edges, mean, std, intensities = brain()
    save("smooth", smooth[::7, ::4, ::2].astype(np.float32))
    save("edges", edges[::7, ::4, ::2].astype(np.float32))
    save("mean_intensity", np.float64(mean))
    save("std_intensity", np.float64(std))
    save("intensities", intensities.astype(np.int64))
