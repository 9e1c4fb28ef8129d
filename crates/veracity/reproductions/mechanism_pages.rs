//! Prints `docs/mechanisms.md`: `cargo run -p veracity --example mechanism_pages > docs/mechanisms.md`.

fn main() {
    print!("{}", veracity::kinds::pages());
}
