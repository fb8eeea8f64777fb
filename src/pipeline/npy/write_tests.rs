use super::*;
use crate::pipeline::npy::{NpyFile, Order};

#[test]
fn what_is_written_is_read_back() {
    let folder = tempfile::tempdir().unwrap();
    for (number, dtype) in DType::ALL.into_iter().enumerate() {
        for shape in [Shape::from([7, 5]), Shape::from([3]), Shape::default(), Shape::from([0, 4])] {
            let path = folder.path().join(format!("{number}-{}.npy", shape.len()));
            let data: Vec<u8> = (0..shape.elements() * dtype.size()).map(|byte| byte as u8).collect();
            let writer = NpyWriter::create(&path, dtype, &shape).unwrap();
            assert_eq!(writer.data_bytes(), data.len() as u64);
            writer.write_at(0, &data).unwrap();
            writer.finish().unwrap();
            let file = NpyFile::open(&path).unwrap();
            assert_eq!((file.dtype, &file.shape, file.order), (dtype, &shape, Order::C));
            assert_eq!(file.data(), data);
            assert_eq!(file.data_offset % 64, 0);
        }
    }
}

#[test]
fn threads_write_their_own_rows() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.npy");
    let writer = NpyWriter::create(&path, DType::U8, &Shape::from([64, 1000])).unwrap();
    std::thread::scope(|scope| {
        for thread in 0..4u8 {
            let writer = &writer;
            scope.spawn(move || {
                for row in (thread..64).step_by(4) {
                    writer.write_at(u64::from(row) * 1000, &[row; 1000]).unwrap();
                }
            });
        }
    });
    assert!(!path.exists());
    writer.finish().unwrap();
    let file = NpyFile::open(&path).unwrap();
    assert!(
        file.data().chunks(1000).enumerate().all(|(row, bytes)| bytes.iter().all(|byte| *byte == row as u8))
    );
}

/// The very bytes of `numpy.save(path, numpy.arange(3, dtype="<f4"))`, NumPy 2.4.
#[test]
fn the_header_is_numpys() {
    let text = "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }";
    let mut numpy = b"\x93NUMPY\x01\x00\x76\x00".to_vec();
    numpy.extend(format!("{text:<117}\n").as_bytes());
    assert_eq!(header(DType::F32, &Shape::from([3])), numpy);
}

#[test]
fn regions_outside_the_array_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.npy");
    let writer = NpyWriter::create(&path, DType::F32, &Shape::from([4])).unwrap();
    for (offset, count) in [(0, 17), (16, 1), (u64::MAX, 2)] {
        let error = writer.write_at(offset, &vec![0; count]).unwrap_err().to_string();
        assert!(error.ends_with(&format!("{count} bytes at {offset} exceed the array's 16")), "{error}");
    }
    assert!(NpyWriter::create(&path, DType::F64, &Shape::from([usize::MAX, 2])).is_err());
    drop(writer);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}
