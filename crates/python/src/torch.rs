//! What `veracity/torch` draws: exact noise on integers, the coins of Poisson batches, and where canaries are.
//!
//! Everything is keyed by the root of the run, a purpose and a step, so processes that share the root draw the same bits, whatever part
//! of them each one needs. The root is a secret: with it and the model, the noise can be subtracted.

use crate::{
    errors::{InvalidInput, failed, refused},
    interruptible::in_place,
};
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1, PyReadwriteArray1};
use pyo3::{prelude::*, types::PyBytes};
use std::{collections::BTreeMap, path::PathBuf, thread};
use veracity::{
    Entropy, SamplingRate,
    noise::{Bits, Family, Key, Purpose, RootAside, exact::uniform_below, vector},
    training::run_key,
};

/// Normals that one thread draws at a time: a multiple of 32, which is where parts of a stream may begin.
const PIECE: usize = 1 << 14;
/// Coins that come from one stream.
const COINS: u64 = 64;
/// The coins and places of canaries, and the seeds of layers that draw, have streams of their own.
const WORLDS: u64 = 0;
const PLACES: u64 = 1;
const LAYERS: u64 = 2;

/// Places and signs, one for each canary.
type Directions<'py> = (Bound<'py, PyArray1<i64>>, Bound<'py, PyArray1<bool>>);

/// The randomness of one training in PyTorch.
#[pyclass(frozen, name = "_Randomness", module = "veracity._veracity")]
pub struct Randomness {
    entropy: Entropy,
}

#[pymethods]
impl Randomness {
    /// Fresh entropy of the operating system, or that of a seed, which is not for release.
    #[new]
    #[pyo3(signature = (seed=None))]
    fn new(seed: Option<u64>) -> PyResult<Randomness> {
        let entropy = seed.map_or_else(Entropy::system, |seed| Ok(Entropy::seeded(seed)));
        Ok(Randomness { entropy: entropy.map_err(refused)? })
    }

    /// The randomness of a run that another process began, or that was killed.
    #[staticmethod]
    fn resume(root: &[u8]) -> PyResult<Randomness> {
        let mut bytes = root;
        let aside = RootAside::read(&mut bytes);
        match (aside, bytes) {
            (Ok(aside), []) => Ok(Randomness { entropy: Entropy::resume(&aside) }),
            _ => Err(InvalidInput::new_err("root is damaged, expected the 32 bytes that a run saved")),
        }
    }

    /// The root, 32 secret bytes. A seeded run has none: give its seed again.
    fn root<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let aside = self.entropy.lay_aside().map_err(refused)?;
        PyBytes::new_with(py, 32, |mut bytes| Ok(aside.write(&mut bytes)?))
    }

    /// Saves the root in a new file that only its owner can read.
    fn keep(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        in_place(py, || run_key::keep(&path, &self.entropy))?.map_err(failed)
    }

    /// The randomness whose root is in a file. None if there is no file.
    #[staticmethod]
    fn find(py: Python<'_>, path: PathBuf) -> PyResult<Option<Randomness>> {
        let entropy = in_place(py, || run_key::find(&path))?.map_err(failed)?;
        Ok(entropy.map(|entropy| Randomness { entropy }))
    }

    /// Overwrites and deletes the file of a root, if there is one.
    #[staticmethod]
    fn destroy(py: Python<'_>, path: PathBuf) -> PyResult<()> {
        in_place(py, || run_key::destroy(&path))?.map_err(failed)
    }

    /// Whether what it protects may be published.
    #[getter]
    fn is_releasable(&self) -> bool {
        self.entropy.origin().is_releasable()
    }

    /// Adds round(2^20 Z) to each integer, Z standard normal: the noise of a step, the same for any number of threads.
    ///
    /// A sum beyond 2^63 wraps, which is a bijection: it hides as much.
    fn add_noise(
        &self,
        py: Python<'_>,
        mut sums: PyReadwriteArray1<'_, i64>,
        step: u64,
        threads: usize,
    ) -> PyResult<()> {
        let sums = sums
            .as_slice_mut()
            .map_err(|_| InvalidInput::new_err("sums are not contiguous, expected one block of memory"))?;
        let family = self.entropy.family(Purpose::Noise, 0, 0);
        in_place(py, || add_noise(sums, &family, step, threads))
    }

    /// Which records enter the batch of a step. The coin of a record depends on the root, the step and its own number.
    fn chosen<'py>(
        &self,
        py: Python<'py>,
        ids: PyReadonlyArray1<'py, u64>,
        rate: f64,
        step: u64,
    ) -> PyResult<Bound<'py, PyArray1<bool>>> {
        let rate = SamplingRate::new(rate).map_err(refused)?;
        let ids = ids.as_array();
        let family = self.entropy.family(Purpose::Batch, 0, step);
        Ok(in_place(py, || chosen(ids.iter().copied(), rate, &family))?.into_pyarray(py))
    }

    /// Fair coins, one for each canary.
    fn worlds<'py>(&self, py: Python<'py>, count: usize) -> Bound<'py, PyArray1<bool>> {
        let mut stream = self.entropy.stream(Purpose::Canary, Key { run: WORLDS, ..Key::default() });
        (0..count).map(|_| stream.bits(1) == 1).collect::<Vec<bool>>().into_pyarray(py)
    }

    /// So many different places below a number, in random order, and a sign for each.
    fn places<'py>(&self, py: Python<'py>, count: u64, below: u64) -> PyResult<Directions<'py>> {
        if count > below || below > i64::MAX as u64 {
            return Err(InvalidInput::new_err(format!("canaries is {count}, expected at most {below}")));
        }
        let mut stream = self.entropy.stream(Purpose::Canary, Key { run: PLACES, ..Key::default() });
        // The first steps of a Fisher–Yates shuffle, of which only the places that moved are kept.
        let mut moved = BTreeMap::new();
        let places = (0..count).map(|at| {
            let other = at + uniform_below(u128::from(below - at), &mut stream) as u64;
            let here = moved.get(&at).copied().unwrap_or(at);
            moved.insert(other, here).unwrap_or(other) as i64
        });
        let places: Vec<i64> = places.collect();
        let signs: Vec<bool> = places.iter().map(|_| stream.bits(1) == 1).collect();
        Ok((places.into_pyarray(py), signs.into_pyarray(py)))
    }

    /// A seed for layers that draw, such as dropout, in one micro-batch of a step.
    fn layer_seed(&self, step: u64, micro_batch: u64) -> u64 {
        self.entropy.stream(Purpose::Canary, Key { run: LAYERS, trial: step, step: micro_batch }).word() >> 1
    }

    fn __repr__(&self) -> String {
        format!("<randomness of a training, origin {}>", self.entropy.origin().name())
    }
}

fn add_noise(sums: &mut [i64], family: &Family, step: u64, threads: usize) {
    let pieces = sums.len().div_ceil(PIECE);
    let share = pieces.div_ceil(threads.clamp(1, pieces.max(1))) * PIECE;
    let draw = |first: usize, sums: &mut [i64]| {
        let mut normals = vec![0i32; PIECE.min(sums.len())];
        for (piece, sums) in sums.chunks_mut(PIECE).enumerate() {
            let normals = &mut normals[..sums.len()];
            vector::fill_from(first + piece * PIECE, normals, &mut family.stream(step));
            sums.iter_mut()
                .zip(&*normals)
                .for_each(|(sum, normal)| *sum = sum.wrapping_add(i64::from(*normal)));
        }
        // Left in memory, they would undo the noise.
        normals.fill(0);
        std::hint::black_box(&normals);
    };
    thread::scope(|scope| {
        for (number, sums) in sums.chunks_mut(share.max(PIECE)).enumerate() {
            scope.spawn(move || draw(number * share, sums));
        }
    });
}

/// # Numerics  The probability is the rate, rounded down to a multiple of 2^-64
fn chosen(ids: impl Iterator<Item = u64>, rate: SamplingRate, family: &Family) -> Vec<bool> {
    // A rate times 2^64 is exact, and its integer part at most 2^64.
    let limit = (rate.get() * (1u128 << 64) as f64) as u128;
    let (mut group, mut coins) = (None, [0u64; COINS as usize]);
    ids.map(|id| {
        if group != Some(id / COINS) {
            group = Some(id / COINS);
            let mut stream = family.stream(id / COINS);
            coins.fill_with(|| stream.word());
        }
        u128::from(coins[(id % COINS) as usize]) < limit
    })
    .collect()
}
