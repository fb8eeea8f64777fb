//! Collections beside arrays, against plain vectors, iterators and maps.

mod bag;
