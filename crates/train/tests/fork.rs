//! A forked child never adds noise that its parent drew ahead; with a seed it always has the same.
#![cfg(unix)]

use std::{
    fs::File,
    io::{Read, Write},
    os::fd::FromRawFd,
    time::Duration,
};
use veracity_core::ClipNorm;
use veracity_noise::Entropy;
use veracity_testkit::short;
use veracity_train::{Dataset, Draws, Layer, Loss, Network, Plan, Privacy, Run, Sampling, Schedule, Shape};

/// Enough parameters that their noise is drawn ahead, and few enough that a child needs no threads.
const INPUTS: usize = 600;
/// Numbers that are compared.
const SOME: usize = 64;

fn plan() -> Plan {
    let network = Network::new(Shape::Flat(INPUTS), vec![Layer::Linear { outputs: 10 }]).unwrap();
    let (batch, population) = (short::count(20), short::count(100));
    let privacy = Privacy::gaussian(short::noise(1.0), ClipNorm::new(1.0).unwrap());
    let sampling = Sampling::Poisson { batch, population };
    Plan::new(network, Loss::SoftmaxCrossEntropy, sampling, short::count(1000), privacy)
        .with_schedule(Schedule::Constant { rate: 0.1 })
}

/// The noise of the next step: the records are all zeros, and so are the gradients of weights.
fn noise_of_next(run: &mut Run<'_>) -> [u32; SOME] {
    run.step().unwrap();
    let sum = run.last_noisy_sum().unwrap();
    std::array::from_fn(|at| sum[at].to_bits())
}

/// What the next step's noise is in a forked child, which only takes it, writes to the pipe and leaves.
#[allow(unsafe_code)]
fn in_a_child(run: &mut Run<'_>) -> [u32; SOME] {
    let mut ends = [0; 2];
    // SAFETY: `ends` is room for the two descriptors that `pipe` writes.
    assert_eq!(unsafe { libc::pipe(ends.as_mut_ptr()) }, 0);
    // SAFETY: both descriptors are open and owned by nobody else.
    let (mut reader, mut writer) = unsafe { (File::from_raw_fd(ends[0]), File::from_raw_fd(ends[1])) };
    // SAFETY: the child has one thread, this one. It waits for no lock that another could have held but the allocator's, of which the
    // C library takes care: it takes a step, writes to a descriptor, and ends by `_exit`.
    let child = unsafe { libc::fork() };
    assert!(child >= 0, "fork failed");
    if child == 0 {
        let sent = noise_of_next(run).iter().all(|word| writer.write_all(&word.to_le_bytes()).is_ok());
        // SAFETY: ends the child at once.
        unsafe { libc::_exit(i32::from(!sent)) };
    }
    drop(writer);
    let mut bytes = Vec::new();
    reader.read_to_end(&mut bytes).unwrap();
    let mut status = 0;
    // SAFETY: `status` is room for what `waitpid` writes; the child is ours and not yet waited for.
    assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
    assert_eq!((status, bytes.len()), (0, 4 * SOME), "the child did not end well");
    let words = bytes.as_chunks::<4>().0;
    std::array::from_fn(|at| u32::from_le_bytes(words[at]))
}

/// The noise of one step in a child and in its parent, once the parent has had time to draw it ahead.
fn of_child_and_parent(entropy: &Entropy) -> [[u32; SOME]; 2] {
    let data = Dataset::of_classes(vec![0.0; 100 * INPUTS], INPUTS, vec![0; 100], 10).unwrap();
    let plan = plan();
    let mut run = Run::new(&plan, &data, Draws { entropy, run: 0, trial: 0 }).unwrap();
    for _ in 0..3 {
        noise_of_next(&mut run);
        std::thread::sleep(Duration::from_millis(20));
    }
    [in_a_child(&mut run), noise_of_next(&mut run)]
}

#[test]
fn noise_that_a_parent_drew_ahead_is_not_its_childs() {
    let [child, parent] = of_child_and_parent(&Entropy::system().unwrap());
    let alike = child.iter().zip(&parent).filter(|(child, parent)| child == parent).count();
    // Two normals on a grid of a millionth are hardly ever the same.
    assert!(alike <= 1, "{alike} of {SOME} numbers");
    // The twin: a seed repeats itself anywhere.
    let [child, parent] = of_child_and_parent(&Entropy::seeded(1));
    assert_eq!(child, parent);
}
