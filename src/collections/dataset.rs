//! Named arrays over named dimensions: the composite with several names, made of nothing but
//! [`Array`] and the public contract.
//!
//! ```
//! use outcrop::collections::{Array, Dataset, array::Index};
//! use outcrop::dtype::DType;
//! use outcrop::session::Session;
//!
//! let temperature = Array::indices([4, 3], DType::F64).rechunk(&[2, 3]);
//! let height = Array::from_slice([3], &[10.0, 20.0, 30.0]);
//! let weather = Dataset::new("temperature", &["time", "x"], &temperature)?.with("height", &["x"], &height)?;
//! assert_eq!(weather.sizes(), [("time", 4), ("x", 3)]);
//!
//! // What has the dimension is reduced over it; what hasn't stays.
//! let mean = weather.mean("time")?.isel("x", Index::At(1))?;
//! let values = Session::new(Default::default()).compute(&mean)?;
//! assert_eq!(values["temperature"].to_scalar(), Some(5.5));
//! assert_eq!(values["height"].to_scalar(), Some(20.0));
//!
//! // Arithmetic, array by array.
//! let anomaly = weather.combine(&weather.map(|array| array * 2.0)?, |a, b| b - a)?;
//! # assert_eq!(anomaly.names(), ["temperature", "height"]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! - A dimension has one extent, in whatever arrays it comes; there are no coordinates and no alignment by label.
//! - Methods return what is wrong, with the names, instead of carrying it: a dataset that is there is sound.
//! - It has one layer name for each array, so that it [rebuilds](crate::collections::contract) through a rename map; a
//!   function takes it as a map from names to blocks ([`Delayed`](crate::collections::delayed)).
//! - Each operation costs O(arrays), whatever their number of blocks.

use std::collections::BTreeMap;
use std::panic::Location;
use std::sync::Arc;

use crate::block::Block;
use crate::collections::array::{Array, Index, Over};
use crate::collections::computed::Computed;
use crate::collections::contract::{Collection, Rename};
use crate::collections::delayed::{Argument, Calling, Reader};
use crate::graph::error::GraphError;
use crate::graph::keys::Keys;
use crate::graph::layer::Layer;
use crate::graph::layer_graph::LayerGraph;
use crate::graph::op::Reduction;
use crate::shape::Shape;
use crate::token::{Token, Tokenizer};

/// One or more arrays, each with a name and a name for each of its axes. A dimension has one extent, in whatever
/// arrays it comes. Cloning is cheap.
#[derive(Clone, Debug)]
pub struct Dataset {
    entries: Arc<[Entry]>,
}

#[derive(Clone, Debug)]
struct Entry {
    name: Arc<str>,
    dims: Vec<Arc<str>>,
    array: Array,
}

/// What is wrong with a dataset.
#[derive(Debug, Clone, thiserror::Error)]
pub enum DatasetError {
    /// An array that was built wrongly.
    #[error("the array '{name}': {source}")]
    Array {
        /// Its name in the dataset.
        name: String,
        /// What was wrong with it.
        source: Box<GraphError>,
    },
    /// `""` as a name.
    #[error("the array '{array}' over {dims:?}: names of arrays and dimensions can't be empty")]
    EmptyName {
        /// The array.
        array: String,
        /// Its dimensions.
        dims: Vec<String>,
    },
    /// Two arrays of one name.
    #[error("the dataset has an array '{name}' already; give the other one another name")]
    DuplicateArray {
        /// The name.
        name: String,
    },
    /// A dimension named twice for one array.
    #[error("the array '{array}' has the dimension '{dim}' twice; every axis needs a name of its own")]
    RepeatedDim {
        /// The array.
        array: String,
        /// The dimension.
        dim: String,
    },
    /// Another number of dimensions than axes.
    #[error(
        "the array '{array}' has shape {shape}, and the dimensions ({}) were named: name one for each axis, {} in all",
        dims.join(", "),
        shape.len()
    )]
    DimCount {
        /// The array.
        array: String,
        /// Its shape.
        shape: Shape,
        /// The dimensions named.
        dims: Vec<String>,
    },
    /// One dimension with two extents.
    #[error(
        "the dimension '{dim}' has extent {extent} in the array '{array}' and {other_extent} in '{other}'; a dimension \
         has one extent: give one of them another name, or slice"
    )]
    Extents {
        /// The dimension.
        dim: String,
        /// The array that came later.
        array: String,
        /// The dimension's extent in it.
        extent: usize,
        /// The array that came first.
        other: String,
        /// The dimension's extent in that one.
        other_extent: usize,
    },
    /// An array that isn't there.
    #[error("the dataset has no array '{name}'; it has {}", have.join(", "))]
    UnknownArray {
        /// The name asked for.
        name: String,
        /// The arrays that there are.
        have: Vec<String>,
    },
    /// An array that only one of two datasets has.
    #[error("only one of the datasets has an array '{name}'; the other has {}", have.join(", "))]
    OneSided {
        /// The array.
        name: String,
        /// The arrays of the one that lacks it.
        have: Vec<String>,
    },
    /// A dimension that no array has.
    #[error("the dataset has no dimension '{dim}'; it has {}", have.join(", "))]
    UnknownDim {
        /// The dimension asked for.
        dim: String,
        /// The dimensions that there are.
        have: Vec<String>,
    },
    /// Arrays that are over other dimensions in the other dataset.
    #[error("the array '{array}' is over ({}) here and over ({}) there", left.join(", "), right.join(", "))]
    OtherDims {
        /// The array.
        array: String,
        /// Its dimensions in this dataset.
        left: Vec<String>,
        /// Its dimensions in the other one.
        right: Vec<String>,
    },
}

impl Dataset {
    /// A dataset of one array, with a name for each of its axes.
    ///
    /// # Errors
    /// The array was built wrongly; a name is empty; another number of dimensions than axes; a dimension twice.
    pub fn new(name: &str, dims: &[&str], array: &Array) -> Result<Self, DatasetError> {
        Dataset::checked(vec![Entry::new(name, dims, array)])
    }

    /// The dataset with one more array. O(arrays).
    ///
    /// # Errors
    /// As [`Dataset::new`]; the name is taken; a dimension has another extent in the arrays that are there.
    pub fn with(&self, name: &str, dims: &[&str], array: &Array) -> Result<Self, DatasetError> {
        let more = [Entry::new(name, dims, array)];
        Dataset::checked(self.entries.iter().cloned().chain(more).collect())
    }

    /// The arrays' names, in the order in which they were added.
    pub fn names(&self) -> Vec<&str> {
        self.entries.iter().map(|entry| &*entry.name).collect()
    }

    /// An array.
    ///
    /// # Errors
    /// [`DatasetError::UnknownArray`].
    pub fn array(&self, name: &str) -> Result<&Array, DatasetError> {
        Ok(&self.entry(name)?.array)
    }

    /// The dimensions of an array, one for each axis.
    ///
    /// # Errors
    /// [`DatasetError::UnknownArray`].
    pub fn dims_of(&self, name: &str) -> Result<Vec<&str>, DatasetError> {
        Ok(self.entry(name)?.dims.iter().map(|dim| &**dim).collect())
    }

    /// All dimensions, each once, in the order in which they first come.
    pub fn dims(&self) -> Vec<&str> {
        self.sizes().into_iter().map(|(dim, _)| dim).collect()
    }

    /// All dimensions with their extents, in the order in which they first come.
    pub fn sizes(&self) -> Vec<(&str, usize)> {
        let mut sizes: Vec<(&str, usize)> = Vec::new();
        for entry in self.entries.iter() {
            // The arrays of a dataset were looked at when it was made: they have shapes.
            let shape = entry.array.shape().unwrap_or_default();
            for (dim, &extent) in entry.dims.iter().zip(shape.iter()) {
                if sizes.iter().all(|(known, _)| *known != &**dim) {
                    sizes.push((dim, extent));
                }
            }
        }
        sizes
    }

    /// The dataset of what `each` makes of every array. Dimensions keep their names, and may change their extents
    /// if they do so in all arrays alike.
    ///
    /// # Errors
    /// What `each` makes was built wrongly, or has other axes.
    pub fn map(&self, each: impl Fn(&Array) -> Array) -> Result<Self, DatasetError> {
        let entry = |entry: &Entry| Entry { array: each(&entry.array), ..entry.clone() };
        Dataset::checked(self.entries.iter().map(entry).collect())
    }

    /// The dataset of what `both` makes of the arrays of the same names here and there: arithmetic, say.
    ///
    /// # Errors
    /// An array is only in one of the datasets, or over other dimensions there; as [`Dataset::map`].
    pub fn combine(
        &self,
        other: &Dataset,
        both: impl Fn(&Array, &Array) -> Array,
    ) -> Result<Self, DatasetError> {
        let missing = |name: &str, have: &Dataset| DatasetError::OneSided {
            name: name.to_owned(),
            have: texts(&have.names()),
        };
        if let Some(entry) = other.entries.iter().find(|entry| self.entry(&entry.name).is_err()) {
            return Err(missing(&entry.name, self));
        }
        let entry = |entry: &Entry| {
            let there = other.entry(&entry.name).map_err(|_| missing(&entry.name, other))?;
            if there.dims == entry.dims {
                return Ok(Entry { array: both(&entry.array, &there.array), ..entry.clone() });
            }
            let (left, right) = (texts(&entry.dims), texts(&there.dims));
            Err(DatasetError::OtherDims { array: entry.name.to_string(), left, right })
        };
        Dataset::checked(self.entries.iter().map(entry).collect::<Result<_, _>>()?)
    }

    /// Part of a dimension, by position: one place, and the dimension goes, or a range. Arrays without the dimension stay
    /// as they are.
    ///
    /// # Errors
    /// [`DatasetError::UnknownDim`]; an index beyond the extent.
    #[track_caller]
    pub fn isel(&self, dim: &str, index: Index) -> Result<Self, DatasetError> {
        let whole = Index::Range { start: None, stop: None, step: None };
        let goes = matches!(index, Index::At(_));
        self.along(dim, goes, |array, axis| {
            let before = std::iter::repeat_n(whole, axis);
            array.slice(&before.chain([index]).collect::<Vec<_>>())
        })
    }

    /// Folds a dimension away in all arrays that have it; the others stay as they are.
    ///
    /// # Errors
    /// [`DatasetError::UnknownDim`]; what the reduction of the arrays refuses.
    #[track_caller]
    pub fn reduce(&self, reduction: Reduction, dim: &str) -> Result<Self, DatasetError> {
        self.along(dim, true, |array, axis| array.reduce(reduction, &Over::axis(axis as i64)))
    }

    /// As [`Dataset::reduce`]: the sums.
    ///
    /// # Errors
    /// As [`Dataset::reduce`].
    #[track_caller]
    pub fn sum(&self, dim: &str) -> Result<Self, DatasetError> {
        self.reduce(Reduction::Sum, dim)
    }

    /// As [`Dataset::reduce`]: the means.
    ///
    /// # Errors
    /// As [`Dataset::reduce`].
    #[track_caller]
    pub fn mean(&self, dim: &str) -> Result<Self, DatasetError> {
        self.reduce(Reduction::Mean, dim)
    }

    /// As [`Dataset::reduce`]: the smallest elements.
    ///
    /// # Errors
    /// As [`Dataset::reduce`]; a dimension without extent.
    #[track_caller]
    pub fn min(&self, dim: &str) -> Result<Self, DatasetError> {
        self.reduce(Reduction::Min, dim)
    }

    /// As [`Dataset::reduce`]: the largest elements.
    ///
    /// # Errors
    /// As [`Dataset::reduce`]; a dimension without extent.
    #[track_caller]
    pub fn max(&self, dim: &str) -> Result<Self, DatasetError> {
        self.reduce(Reduction::Max, dim)
    }

    /// What `each` makes of the arrays that have a dimension, by its axis; whether it `goes` with that.
    #[track_caller]
    fn along(
        &self,
        dim: &str,
        goes: bool,
        each: impl Fn(&Array, usize) -> Array,
    ) -> Result<Self, DatasetError> {
        if !self.dims().contains(&dim) {
            return Err(DatasetError::UnknownDim { dim: dim.to_owned(), have: texts(&self.dims()) });
        }
        let caller = Location::caller();
        let entry = |entry: &Entry| {
            let mut entry = entry.clone();
            if let Some(axis) = entry.dims.iter().position(|own| **own == *dim) {
                // The arrays of a dataset are sound: what is wrong was wrong with the user's call.
                let made = each(&entry.array, axis);
                let made = made.layer().cloned().map_err(|error| error.root().clone().at(caller));
                entry.array = Array::deferred(made);
                if goes {
                    entry.dims.remove(axis);
                }
            }
            entry
        };
        Dataset::checked(self.entries.iter().map(entry).collect())
    }

    fn entry(&self, name: &str) -> Result<&Entry, DatasetError> {
        let found = self.entries.iter().find(|entry| *entry.name == *name);
        found.ok_or_else(|| DatasetError::UnknownArray { name: name.to_owned(), have: texts(&self.names()) })
    }

    /// The one way in: whatever a dataset promises is looked at here.
    fn checked(entries: Vec<Entry>) -> Result<Self, DatasetError> {
        let mut sizes: BTreeMap<&str, (usize, &str)> = BTreeMap::new();
        for (at, entry) in entries.iter().enumerate() {
            let array = || entry.name.to_string();
            if entries[..at].iter().any(|other| other.name == entry.name) {
                return Err(DatasetError::DuplicateArray { name: array() });
            }
            let shape = entry.shape()?;
            for (axis, (dim, &extent)) in entry.dims.iter().zip(shape.iter()).enumerate() {
                if entry.dims[..axis].contains(dim) {
                    return Err(DatasetError::RepeatedDim { array: array(), dim: dim.to_string() });
                }
                let &mut (other_extent, other) = sizes.entry(dim).or_insert((extent, &entry.name));
                if other_extent != extent {
                    let (dim, other) = (dim.to_string(), other.to_owned());
                    return Err(DatasetError::Extents { dim, array: array(), extent, other, other_extent });
                }
            }
        }
        Ok(Dataset { entries: entries.into() })
    }

    /// The layers of all arrays, each once: two arrays may be one and the same.
    fn layers(&self) -> Result<Vec<Arc<Layer>>, GraphError> {
        let mut layers: Vec<Arc<Layer>> = Vec::new();
        for entry in self.entries.iter() {
            let layer = entry.array.layer()?;
            if !layers.iter().any(|known| known.name() == layer.name() && known.token() == layer.token()) {
                layers.push(layer.clone());
            }
        }
        Ok(layers)
    }
}

impl Entry {
    fn new(name: &str, dims: &[&str], array: &Array) -> Self {
        let dims = dims.iter().map(|&dim| dim.into()).collect();
        Entry { name: name.into(), dims, array: array.clone() }
    }

    /// The array's shape, which has an axis for each dimension.
    fn shape(&self) -> Result<Shape, DatasetError> {
        let wrong = |source| DatasetError::Array { name: self.name.to_string(), source: Box::new(source) };
        let shape = self.array.shape().map_err(wrong)?;
        let (array, dims) = (self.name.to_string(), texts(&self.dims));
        if array.is_empty() || dims.iter().any(String::is_empty) {
            return Err(DatasetError::EmptyName { array, dims });
        }
        if shape.len() != dims.len() {
            return Err(DatasetError::DimCount { array, shape, dims });
        }
        Ok(shape)
    }
}

fn texts(names: &[impl AsRef<str>]) -> Vec<String> {
    names.iter().map(|name| name.as_ref().to_owned()).collect()
}

impl Collection for Dataset {
    /// The arrays by name.
    type Value = BTreeMap<String, Block>;

    fn graph(&self) -> Result<LayerGraph, GraphError> {
        Ok(LayerGraph::of(self.layers()?))
    }

    /// One list for each array.
    fn keys(&self) -> Result<Keys, GraphError> {
        let keys = |layer: Arc<Layer>| Array::from_layer(layer).keys();
        Ok(Keys::List(self.layers()?.into_iter().map(keys).collect::<Result<_, _>>()?))
    }

    fn rebuild(&self, graph: &LayerGraph, rename: &Rename) -> Result<Self, GraphError> {
        let entry = |entry: &Entry| Ok(Entry { array: entry.array.rebuild(graph, rename)?, ..entry.clone() });
        Ok(Dataset { entries: self.entries.iter().map(entry).collect::<Result<_, GraphError>>()? })
    }

    fn finalize(&self, values: &Computed) -> Result<Self::Value, GraphError> {
        let block = |entry: &Entry| Ok((entry.name.to_string(), entry.array.finalize(values)?));
        self.entries.iter().map(block).collect()
    }

    /// The content of the arrays, with the names of arrays and dimensions.
    fn token(&self) -> Result<Token, GraphError> {
        let mut fields = Tokenizer::new("dataset");
        for entry in self.entries.iter() {
            fields = fields.text(&entry.name).int(entry.dims.len() as i64);
            fields = entry.dims.iter().fold(fields, |fields, dim| fields.text(dim));
            fields = fields.token(entry.array.token()?);
        }
        Ok(fields.finish())
    }
}

/// A function gets the arrays by name.
impl Argument for &Dataset {
    type Value = BTreeMap<String, Block>;
    type Held = BTreeMap<String, Block>;

    fn bind(&self, call: &mut Calling) -> Result<Reader<Self::Held>, GraphError> {
        let reader = |entry: &Entry| Ok((entry.name.to_string(), (&entry.array).bind(call)?));
        let readers: Vec<_> = self.entries.iter().map(reader).collect::<Result<_, GraphError>>()?;
        Ok(Box::new(move |values| {
            readers.iter().map(|(name, reader)| Ok((name.clone(), reader(values)?))).collect()
        }))
    }
}
