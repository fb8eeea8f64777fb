//! The bytes of elements, ordered by their place in their element.

/// Writes the first bytes of all elements, then the second ones, and so on. Both slices have the same length, a
/// multiple of `element_bytes`.
pub fn shuffle(elements: &[u8], element_bytes: usize, planes: &mut [u8]) {
    match element_bytes {
        2 => split::<2>(elements, planes),
        4 => split::<4>(elements, planes),
        8 => split::<8>(elements, planes),
        _ => planes.copy_from_slice(elements),
    }
}

/// The inverse of [`shuffle`].
pub fn unshuffle(planes: &[u8], element_bytes: usize, elements: &mut [u8]) {
    match element_bytes {
        2 => join::<2>(planes, elements),
        4 => join::<4>(planes, elements),
        8 => join::<8>(planes, elements),
        _ => elements.copy_from_slice(planes),
    }
}

fn split<const N: usize>(elements: &[u8], planes: &mut [u8]) {
    let count = elements.len() / N;
    let (elements, _) = elements.as_chunks::<N>();
    for (place, plane) in planes.chunks_exact_mut(count.max(1)).enumerate() {
        for (byte, element) in plane.iter_mut().zip(elements) {
            *byte = element[place];
        }
    }
}

fn join<const N: usize>(planes: &[u8], elements: &mut [u8]) {
    let count = elements.len() / N;
    let planes: [&[u8]; N] = std::array::from_fn(|place| &planes[place * count..(place + 1) * count]);
    let (elements, _) = elements.as_chunks_mut::<N>();
    for (at, element) in elements.iter_mut().enumerate() {
        for (byte, plane) in element.iter_mut().zip(planes) {
            *byte = plane[at];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn planes_are_joined_again() {
        let elements: Vec<u8> = (0..48).collect();
        for element_bytes in [1, 2, 4, 8] {
            let mut planes = vec![0; 48];
            shuffle(&elements, element_bytes, &mut planes);
            assert_eq!(usize::from(planes[1]), element_bytes % 48);
            let mut back = vec![0; 48];
            unshuffle(&planes, element_bytes, &mut back);
            assert_eq!(back, elements);
        }
    }
}
