use std::path::PathBuf;

use super::*;

/// A file of the given header text and data, padded as NumPy pads.
fn npy(version: u8, header: &str, data: &[u8]) -> Vec<u8> {
    let before = if version == 1 { 10 } else { 12 };
    let length = (before + header.len() + 1).next_multiple_of(64) - before;
    let mut bytes = b"\x93NUMPY".to_vec();
    bytes.extend([version, 0]);
    bytes.extend(&(length as u32).to_le_bytes()[..before - 8]);
    bytes.extend(format!("{header:<width$}\n", width = length - 1).as_bytes());
    bytes.extend(data);
    bytes
}

fn dict(descr: &str, fortran: &str, shape: &str) -> String {
    format!("{{'descr': {descr}, 'fortran_order': {fortran}, 'shape': {shape}, }}")
}

/// Opens a file of these bytes; the path in messages is `x.npy`.
fn open(bytes: &[u8]) -> Result<NpyFile, String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.npy");
    std::fs::write(&path, bytes).unwrap();
    NpyFile::open(&path).map_err(|error| error.to_string().replace(path.to_str().unwrap(), "x.npy"))
}

fn refusal(descr: &str, shape: &str) -> String {
    open(&npy(1, &dict(descr, "False", shape), &[0; 64])).unwrap_err()
}

#[test]
fn every_type_and_byte_order_is_read() {
    for (descr, dtype, byte_order) in [
        ("'|b1'", DType::Bool, ByteOrder::NATIVE),
        ("'|u1'", DType::U8, ByteOrder::NATIVE),
        ("'<i2'", DType::I16, ByteOrder::Little),
        ("'<i4'", DType::I32, ByteOrder::Little),
        ("'>u4'", DType::U32, ByteOrder::Big),
        ("'<i8'", DType::I64, ByteOrder::Little),
        ("'<f2'", DType::F16, ByteOrder::Little),
        ("'>f4'", DType::F32, ByteOrder::Big),
        ("'<f8'", DType::F64, ByteOrder::Little),
    ] {
        let data: Vec<u8> = (0..6 * dtype.size()).map(|byte| byte as u8).collect();
        for version in 1..=3 {
            let file = open(&npy(version, &dict(descr, "False", "(2, 3)"), &data)).unwrap();
            assert_eq!((file.dtype, file.byte_order, file.order), (dtype, byte_order, Order::C), "{descr}");
            assert_eq!(file.shape, Shape::from([2, 3]));
            assert_eq!(file.data(), data);
        }
    }
}

#[test]
fn fortran_scalars_and_empty_arrays_are_read() {
    let file = open(&npy(1, &dict("'<i2'", "True", "(2, 2)"), &[0; 8])).unwrap();
    assert_eq!(file.order, Order::Fortran);
    let file = open(&npy(1, &dict("'<f8'", "False", "()"), &1.5f64.to_le_bytes())).unwrap();
    assert_eq!((file.shape.len(), file.data()), (0, &1.5f64.to_le_bytes()[..]));
    let file = open(&npy(1, &dict("'<f8'", "False", "(0, 7)"), &[])).unwrap();
    assert_eq!((file.shape.elements(), file.data().len()), (0, 0));
    let file = open(&npy(1, &dict("'|u1'", "False", "(3,)"), &[1, 2, 3, 99, 99])).unwrap();
    assert_eq!(file.data(), [1, 2, 3], "bytes behind the data are no fault");
}

#[test]
fn truncated_files_are_refused_with_figures() {
    let whole = npy(1, &dict("'<f4'", "False", "(10, 10)"), &[0; 400]);
    insta::assert_snapshot!(open(&whole[..whole.len() - 1]).unwrap_err(), @"x.npy is truncated: shape (10, 10) of f32 needs 400 bytes of data, the file has 399");
    insta::assert_snapshot!(open(&whole[..50]).unwrap_err(), @"x.npy is no .npy file: its header should have 118 bytes, the file has 40");
    insta::assert_snapshot!(open(&whole[..9]).unwrap_err(), @"x.npy is no .npy file: its version 1 header is cut off");
    insta::assert_snapshot!(open(&whole[..7]).unwrap_err(), @"x.npy is no .npy file: its header is cut off");
    insta::assert_snapshot!(open(b"").unwrap_err(), @"x.npy is no .npy file: it is empty");
    for length in 0..whole.len() {
        assert!(open(&whole[..length]).is_err(), "the first {length} bytes");
    }
}

#[test]
fn other_files_are_refused() {
    insta::assert_snapshot!(open(b"PK\x03\x04rest of an archive").unwrap_err(), @r#"x.npy is no .npy file: it doesn't begin with \x93NUMPY; it looks like a .npz archive: save one array with numpy.save"#);
    insta::assert_snapshot!(open(b"\x80\x04pickle").unwrap_err(), @r#"x.npy is no .npy file: it doesn't begin with \x93NUMPY; it looks like a pickle: save the array with numpy.save"#);
    insta::assert_snapshot!(open(b"x,y\n1,2\n").unwrap_err(), @r#"x.npy is no .npy file: it doesn't begin with \x93NUMPY"#);
    insta::assert_snapshot!(open(&npy(9, "{}", &[])).unwrap_err(), @"x.npy is no .npy file: version 9.0 isn't known, only 1.0, 2.0 and 3.0");
    insta::assert_snapshot!(open(&npy(1, "{'descr': '<f4'}", &[])).unwrap_err(), @"x.npy is no .npy file: its header can't be read: dict is missing key 'fortran_order'");
    insta::assert_snapshot!(open(&npy(1, &"[".repeat(2000), &[])).unwrap_err(), @"x.npy is no .npy file: its header is nested 2000 levels deep");
    insta::assert_snapshot!(open(&npy(2, &" ".repeat(20_000), &[])).unwrap_err(), @"x.npy is no .npy file: its header has 20020 bytes, NumPy reads at most 10000");
    insta::assert_snapshot!(open(&npy(1, &"[".repeat(HEADER_NESTING_MAX), &[])).unwrap_err(), @"x.npy is no .npy file: its header can't be read: could not parse Python expression: syntax error:  --> 1:54");
    let missing = NpyFile::open(&PathBuf::from("no/such.npy")).unwrap_err().to_string();
    insta::assert_snapshot!(missing, @"cannot open no/such.npy: No such file or directory (os error 2)");
    insta::assert_snapshot!(NpyFile::open(Path::new("/")).unwrap_err(), @"cannot open /: it isn't a regular file");
}

#[test]
fn types_without_arithmetic_are_named() {
    insta::assert_snapshot!(refusal("'|O'", "(3,)"), @"x.npy holds Python objects; convert them to numbers first: a.astype('float64')");
    insta::assert_snapshot!(refusal("[('a', '<f4'), ('b', '<i2')]", "(3,)"), @"x.npy holds a structured type, [('a', '<f4'), ('b', '<i2'), ]; save one field: numpy.save(path, a['field'])");
    insta::assert_snapshot!(refusal("'<c16'", "(3,)"), @"x.npy holds complex128 numbers; save the real and the imaginary part: a.real, a.imag");
    insta::assert_snapshot!(refusal("'<u2'", "(3,)"), @"x.npy holds uint16 numbers; save it as a.astype('int32')");
    insta::assert_snapshot!(refusal("'<U5'", "(3,)"), @"x.npy holds strings ('<U5'); convert them to numbers first: a.astype('float64')");
    insta::assert_snapshot!(refusal("'<M8[ns]'", "(3,)"), @"x.npy holds dates or time spans ('<M8[ns]'); save them as numbers: a.astype('int64')");
}

#[test]
fn oversized_shapes_are_refused() {
    insta::assert_snapshot!(refusal("'<f4'", "(9000000000000000000, 9000000000000000000)"), @"x.npy claims the shape (9000000000000000000, 9000000000000000000), more elements than 64 bits can count");
    insta::assert_snapshot!(refusal("'<f4'", "(99999999999999999999999,)"), @"x.npy claims the shape (99999999999999999999999,), more elements than 64 bits can count");
    insta::assert_snapshot!(refusal("'<f8'", "(4611686018427387904,)"), @"x.npy claims the shape (4611686018427387904,), more elements than 64 bits can count");
    insta::assert_snapshot!(refusal("'<f4'", "(1000000, 1000000)"), @"x.npy is truncated: shape (1000000, 1000000) of f32 needs 4000000000000 bytes of data, the file has 64");
    insta::assert_snapshot!(refusal("'<f4'", "(1, 1, 1, 1, 1, 1, 1, 1, 1)"), @"x.npy has 9 axes, Outcrop handles at most 8");
    insta::assert_snapshot!(refusal("'<f4'", "(-4,)"), @"x.npy is no .npy file: its header can't be read: dimension cannot be negative");
}
