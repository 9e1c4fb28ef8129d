//! IDX files of images and labels, as MNIST and FashionMNIST come, without the gzip around them.

use super::{Fallible, Raw};
use std::{fs, path::Path};
use veracity_train::Shape;

/// The four files of a folder; the last 10,000 training images are held out.
pub fn read(folder: &Path) -> Fallible<Raw> {
    let (mut features, mut labels, mut shape) = (Vec::new(), Vec::new(), Shape::Flat(0));
    let mut training = 0;
    for part in ["train", "t10k"] {
        let (sizes, pixels) = file(&folder.join(format!("{part}-images-idx3-ubyte")), 3)?;
        let (_, classes) = file(&folder.join(format!("{part}-labels-idx1-ubyte")), 1)?;
        shape = Shape::Image { channels: 1, height: sizes[1], width: sizes[2] };
        features.extend(pixels.iter().map(|x| f32::from(*x) / 255.0));
        labels.extend(classes.iter().map(|x| u32::from(*x)));
        if part == "train" {
            training = labels.len();
        }
    }
    Ok(Raw { features, labels, shape, classes: 10, training, holdout: 10_000 })
}

fn file(path: &Path, dimensions: usize) -> Fallible<(Vec<usize>, Vec<u8>)> {
    let mut bytes = fs::read(path)?;
    let data = bytes.split_off((4 + 4 * dimensions).min(bytes.len()));
    let sizes: Vec<usize> = bytes
        .chunks_exact(4)
        .skip(1)
        .map(|x| u32::from_be_bytes([x[0], x[1], x[2], x[3]]) as usize)
        .collect();
    if bytes.get(..4) != Some(&[0, 0, 8, dimensions as u8]) || sizes.iter().product::<usize>() != data.len() {
        return Err("a file is not an IDX file of bytes with that many dimensions".into());
    }
    Ok((sizes, data))
}
