//! A foreign reader that panics on damaged bytes is caught, and says nothing on stderr.

use std::{
    cell::Cell,
    panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook},
    sync::Once,
};

thread_local! {
    /// Whether this thread runs guarded code.
    static GUARDED: Cell<bool> = const { Cell::new(false) };
}

static HOOK: Once = Once::new();

/// What the code returns; nothing where it panicked. What it worked on must be dropped then.
pub(crate) fn guarded<T>(code: impl FnOnce() -> T) -> Option<T> {
    // Panics of other code are printed as before.
    HOOK.call_once(|| {
        let usual = take_hook();
        set_hook(Box::new(move |panic| {
            if !GUARDED.get() {
                usual(panic);
            }
        }));
    });
    GUARDED.set(true);
    let outcome = catch_unwind(AssertUnwindSafe(code)).ok();
    GUARDED.set(false);
    outcome
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_nothing_and_a_value_stays() {
        assert_eq!(guarded(|| 3), Some(3));
        assert_eq!(guarded(|| -> u8 { panic!("damaged") }), None);
        assert!(!GUARDED.get());
    }
}
