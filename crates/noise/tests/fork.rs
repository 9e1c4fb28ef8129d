//! A forked child never repeats its parent's noise, whatever it inherits; with a seed it always does.
#![cfg(unix)]

use std::{
    fs::File,
    io::{Read, Write},
    os::fd::FromRawFd,
    sync::Barrier,
    thread,
};
use veracity_noise::{Bits, Distance, Entropy, Key, NoiseStream, Purpose, Stream};

/// What `draw` gives in a forked child.
///
/// The child only draws, writes to the pipe and leaves; it neither panics into the test harness nor runs exit handlers.
#[allow(unsafe_code)]
fn in_a_child<const N: usize>(draw: impl FnOnce() -> [u64; N]) -> [u64; N] {
    let mut ends = [0; 2];
    // SAFETY: `ends` is room for the two descriptors that `pipe` writes.
    assert_eq!(unsafe { libc::pipe(ends.as_mut_ptr()) }, 0);
    // SAFETY: both descriptors are open and owned by nobody else.
    let (mut reader, mut writer) = unsafe { (File::from_raw_fd(ends[0]), File::from_raw_fd(ends[1])) };
    // SAFETY: the child has one thread, this one, and takes no lock that another could have held but the allocator's, of
    // which the C library takes care: it draws, writes to a descriptor, and ends by `_exit`.
    let child = unsafe { libc::fork() };
    assert!(child >= 0, "fork failed");
    if child == 0 {
        let words = draw();
        let sent = words.iter().all(|word| writer.write_all(&word.to_le_bytes()).is_ok());
        // SAFETY: ends the child at once.
        unsafe { libc::_exit(i32::from(!sent)) };
    }
    drop(writer);
    let mut bytes = Vec::new();
    reader.read_to_end(&mut bytes).unwrap();
    let mut status = 0;
    // SAFETY: `status` is room for what `waitpid` writes; the child is ours and not yet waited for.
    assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
    assert_eq!((status, bytes.len()), (0, 8 * N), "the child did not end well");
    let mut words = bytes.chunks_exact(8).map(|chunk| u64::from_le_bytes(chunk.try_into().unwrap()));
    [(); N].map(|()| words.next().unwrap())
}

fn words<const N: usize>(stream: &mut Stream) -> [u64; N] {
    [(); N].map(|()| stream.word())
}

/// No word in common: a chance of 2^-50 for a thousand pairs of words.
fn differ(one: &[u64], other: &[u64]) -> bool {
    one.iter().all(|word| !other.contains(word))
}

const KEY: Key = Key { run: 1, trial: 2, step: 3 };

#[test]
fn an_inherited_stream_parts_from_its_parent() {
    let entropy = Entropy::system().unwrap();
    let mut stream = entropy.stream(Purpose::Noise, KEY);
    // Leaves words in the generator's buffer and 59 bits in the reservoir.
    stream.word();
    stream.bits(5);
    let child: [u64; 8] = in_a_child(|| {
        let few = stream.bits(59);
        let rest: [u64; 7] = words(&mut stream);
        std::array::from_fn(|i| if i == 0 { few } else { rest[i - 1] })
    });
    let few = stream.bits(59);
    let rest: [u64; 7] = words(&mut stream);
    assert!(child[0] != few && differ(&child[1..], &rest));
}

#[test]
fn an_inherited_root_gives_other_streams_to_parent_and_children() {
    let entropy = Entropy::system().unwrap();
    let family = entropy.family(Purpose::Noise, KEY.run, KEY.trial);
    let draw = || -> [u64; 12] {
        let (one, two, three): ([u64; 4], [u64; 4], [u64; 4]) = (
            words(&mut entropy.stream(Purpose::Noise, KEY)),
            words(&mut family.stream(KEY.step)),
            words(&mut entropy.stream(Purpose::Batch, KEY)),
        );
        std::array::from_fn(|i| [one, two, three][i / 4][i % 4])
    };
    let (first, second, parent) = (in_a_child(draw), in_a_child(draw), draw());
    assert!(differ(&first, &parent) && differ(&second, &parent) && differ(&first, &second));
    for world in [first, second, parent] {
        // In each of them the same key still gives the same bits, by either way to it, and another key gives others.
        assert_eq!(world[..4], world[4..8]);
        assert!(differ(&world[..4], &world[8..]));
    }
}

#[test]
fn a_grandchild_parts_from_all_before_it() {
    let entropy = Entropy::system().unwrap();
    let draw = || -> [u64; 4] { words(&mut entropy.stream(Purpose::Noise, KEY)) };
    let two: [u64; 8] = in_a_child(|| {
        // The child has a salt already when it forks.
        let child = draw();
        let grandchild = in_a_child(draw);
        std::array::from_fn(|i| if i < 4 { child[i] } else { grandchild[i - 4] })
    });
    let parent = draw();
    assert!(differ(&two[..4], &two[4..]) && differ(&parent, &two));
}

/// Threads of a child that ask at the same time agree on what a key means there.
#[test]
fn threads_of_a_child_agree() {
    let entropy = Entropy::system().unwrap();
    let draw = || -> [u64; 2] { words(&mut entropy.stream(Purpose::Noise, KEY)) };
    let all: [u64; 16] = in_a_child(|| {
        let start = Barrier::new(8);
        let found = thread::scope(|scope| {
            let threads = [(); 8].map(|()| {
                scope.spawn(|| {
                    start.wait();
                    draw()
                })
            });
            threads.map(|thread| thread.join().unwrap_or_default())
        });
        std::array::from_fn(|i| found[i / 2][i % 2])
    });
    assert!(all.chunks_exact(2).all(|two| two == &all[..2]), "{all:?}");
    assert!(differ(&all, &draw()) && all[0] != 0);
}

/// Twin: what the tests above compare would be equal, were it not for the origin.
#[test]
fn a_seeded_stream_or_root_repeats_itself_in_a_child() {
    let entropy = Entropy::seeded(1);
    let mut stream = entropy.stream(Purpose::Noise, KEY);
    stream.bits(5);
    let child: [u64; 8] = in_a_child(|| words(&mut stream));
    assert_eq!(child, words(&mut stream));
    let fresh = || -> [u64; 8] { words(&mut entropy.stream(Purpose::Noise, KEY)) };
    assert_eq!(in_a_child(fresh), fresh());
}

/// Words that a noise stream draws, as an answer that hides nothing.
fn said<const N: usize>(rng: &mut NoiseStream) -> [u64; N] {
    let mut words = [0; N];
    rng.call("test", &[], Distance::L1(0), |_, stream| {
        words = [(); N].map(|()| stream.word());
        Vec::new()
    });
    words
}

#[test]
fn a_system_noise_stream_is_fresh_for_each_call_and_in_each_child() {
    let fresh = || NoiseStream::system(Purpose::Noise).unwrap();
    let (mut one, mut other) = (fresh(), fresh());
    assert!(one.is_releasable() && other.is_releasable());
    let first = [said::<8>(&mut one), said(&mut other)].concat();
    assert!(differ(&first[..8], &first[8..]), "two calls share a stream");
    // The child inherits one and makes one of its own.
    let child: [u64; 16] = in_a_child(|| {
        let (inherited, own) = (said::<8>(&mut one), said::<8>(&mut fresh()));
        std::array::from_fn(|at| if at < 8 { inherited[at] } else { own[at - 8] })
    });
    let parent = [said::<16>(&mut one), said(&mut fresh())].concat();
    assert!(differ(&child, &parent) && differ(&child, &first) && differ(&child[..8], &child[8..]));
}
