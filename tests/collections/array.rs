//! Functions of the user's over an array's blocks.

use outcrop::annotate::{Annotations, annotate};
use outcrop::block::Block;
use outcrop::collections::array::Over;
use outcrop::collections::manipulate::{self, Options};
use outcrop::collections::{Array, Bag};
use outcrop::dtype::DType;
use outcrop::session::Session;
use outcrop::settings::Config;

fn session() -> Session {
    Session::new(Config { threads: Some(2), ..Config::default() })
}

fn lengths(block: &Block) -> Vec<i64> {
    vec![block.shape().elements() as i64; block.shape().elements()]
}

#[test]
fn blocks_are_mapped_where_they_are_and_stay_cut() {
    let x = Array::indices([5, 4], DType::F32).rechunk(&[2, 3]);
    let wish = Annotations::new().with_retries(1).unwrap();
    let sizes = annotate(wish.clone(), || x.map_blocks("sizes", lengths));
    assert_eq!((sizes.dtype().unwrap(), sizes.chunks().unwrap()), (DType::I64, x.chunks().unwrap()));
    assert_eq!(*sizes.layer().unwrap().annotations(), wish);
    let copy = manipulate::clone(&sizes, &Options::new()).unwrap();
    let (sizes, total, copy) = session().compute(&(sizes.clone(), sizes.sum(&Over::all()), copy)).unwrap();
    let rows = [[6, 6, 6, 2], [6, 6, 6, 2], [6, 6, 6, 2], [6, 6, 6, 2], [3, 3, 3, 1]];
    assert_eq!(sizes.to_vec::<i64>().unwrap(), rows.concat());
    assert_eq!((total.to_scalar::<i64>(), copy), (Some(rows.concat().iter().sum()), sizes));
}

#[test]
fn equal_registered_functions_are_one_layer_and_others_are_not() {
    let x = Array::zeros([8], DType::F64).rechunk(&[3]);
    let name = |array: &Array| array.layer().unwrap().name().to_owned();
    assert_eq!(name(&x.map_blocks(("sizes", 1), lengths)), name(&x.map_blocks(("sizes", 1), lengths)));
    assert_ne!(name(&x.map_blocks(("sizes", 1), lengths)), name(&x.map_blocks(("sizes", 2), lengths)));
    assert_ne!(name(&x.map_blocks("sizes", lengths)), name(&x.map_blocks("sizes", lengths)));
}

#[test]
fn another_number_of_elements_is_the_blocks_error_and_an_empty_name_is_refused() {
    let x = Array::zeros([8], DType::F64).rechunk(&[3]);
    let short = x.map_blocks("short", |_| vec![1.0f64]).named("shortened");
    let error = session().compute(&short).unwrap_err().to_string();
    assert!(
        error.contains("'shortened'") && error.contains("can't be filled with 1 value of f64"),
        "{error}"
    );
    let line = line!() + 1;
    let nameless = x.map_blocks("", lengths);
    let error = session().compute(&nameless).unwrap_err().to_string();
    assert!(error.starts_with(&format!("{}:{line}: ", file!())), "{error}");
    let bag = Bag::<f64>::from_array(&x.map_blocks("double", |block| block.to_f64_vec().unwrap_or_default()));
    assert_eq!(session().compute(&bag).unwrap(), [0.0; 8]);
}
