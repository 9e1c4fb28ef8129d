//! Devices that train many models at once, by the words of the command line. Other crates may not depend on the crates that drive
//! them (`ARROWS` in `xtask/src/architecture.rs`).

use crate::{Error, auditing::device::Device};
use std::sync::Arc;
use veracity_core::printable;

/// The device of a word: none for `cpu`, which is the cores of this machine; the GPU of a number for `cuda:N`; for `auto` the first GPU,
/// or none where there is no driver or this build has no CUDA.
///
/// ```
/// assert!(veracity::devices::open("cpu")?.is_none());
/// assert!(veracity::devices::open("cuda").is_err());
/// # Ok::<(), veracity::Error>(())
/// ```
///
/// # Errors
/// A word that names no device, or a GPU that is not there.
pub fn open(word: &str) -> Result<Option<Arc<dyn Device>>, Error> {
    match word {
        "cpu" => Ok(None),
        "auto" => Ok(cuda(0).ok()),
        _ => match number(word) {
            Some(number) => cuda(number).map(Some),
            None => {
                let shown = printable(word, 40);
                Err(Error::out_of_range("device", shown, "auto, cpu or cuda:N, the number of a GPU"))
            }
        },
    }
}

/// The number of a GPU, spelled in one way.
fn number(word: &str) -> Option<u32> {
    let digits = word.strip_prefix("cuda:")?;
    let number: u32 = digits.parse().ok()?;
    (number.to_string() == digits).then_some(number)
}

#[cfg(feature = "cuda")]
fn cuda(number: u32) -> Result<Arc<dyn Device>, Error> {
    Ok(Arc::new(veracity_cuda::open(number)?))
}

#[cfg(not(feature = "cuda"))]
fn cuda(number: u32) -> Result<Arc<dyn Device>, Error> {
    Err(Error::invalid(format!(
        "device is cuda:{number}, expected cpu: this build has no CUDA; build with the feature cuda for GPUs"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_spelled_in_one_way_and_others_are_refused_in_one_line() {
        assert!(open("cpu").expect("the cores").is_none());
        for word in
            ["", "gpu", "cuda", "cuda:", "cuda:-1", "cuda:+1", "cuda:01", "cuda:4294967296", "CPU", "a\nb"]
        {
            let refused = open(word).expect_err(word).to_string();
            assert!(refused.starts_with("device is ") && !refused.contains('\n'), "{refused}");
        }
        assert_eq!((number("cuda:0"), number("cuda:12")), (Some(0), Some(12)));
    }

    #[cfg(not(feature = "cuda"))]
    #[test]
    fn without_cuda_any_gpu_is_refused_by_name_and_whichever_there_is_means_the_cores() {
        let refused = open("cuda:3").expect_err("no CUDA").to_string();
        assert!(refused.contains("cuda:3") && refused.contains("feature cuda"), "{refused}");
        assert!(open("auto").expect("the cores").is_none());
    }
}
