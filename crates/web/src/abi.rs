//! How a browser calls: three functions of the module, without generated glue.
//!
//! The page asks for [`room`] for so many bytes, writes the question there, calls [`reply`] and reads as many bytes as that returns
//! from where [`answer`] points. Both texts stay in this module, so the page frees nothing.

use crate::{Session, ask};
use std::cell::RefCell;

thread_local! {
    static QUESTION: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    static ANSWER: RefCell<String> = const { RefCell::new(String::new()) };
    static SESSION: RefCell<Session> = RefCell::new(Session::default());
}

/// Where a question of so many bytes may be written. It holds until the next call.
// The attribute alone counts as unsafe: two functions of one name would be mixed up. The names are unique in this module.
#[allow(unsafe_code)]
#[unsafe(export_name = "room")]
pub extern "C" fn room(bytes: usize) -> *mut u8 {
    QUESTION.with_borrow_mut(|question| {
        question.clear();
        question.resize(bytes, 0);
        question.as_mut_ptr()
    })
}

/// Answers the question that was written; how many bytes the answer has.
#[allow(unsafe_code)]
#[unsafe(export_name = "reply")]
pub extern "C" fn reply() -> usize {
    let question = QUESTION.take();
    let text = String::from_utf8_lossy(&question);
    let told = SESSION.with_borrow_mut(|session| ask(session, &text));
    let bytes = told.len();
    ANSWER.set(told);
    bytes
}

/// Where the last answer begins. It holds until the next call.
#[allow(unsafe_code)]
#[unsafe(export_name = "answer")]
pub extern "C" fn answer() -> *const u8 {
    ANSWER.with_borrow(|answer| answer.as_ptr())
}
