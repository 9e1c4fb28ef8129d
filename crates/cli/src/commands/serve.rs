//! `veracity serve`: the page in a browser, from this machine to itself.

use crate::{Outcome, args::ServeArgs, console::Console};
use veracity::{Error, web::serving::Server};

/// Says where the page is, and serves it until the program is ended.
pub fn run(args: &ServeArgs, console: Console) -> Result<Outcome, Error> {
    let server = Server::bind(args.port)?;
    // Before the first request, not after the last one.
    console.print(&format!("{}\n", server.address()), 0);
    console.remark("serving the web page; press Ctrl-C to stop");
    server.run();
    Outcome::done(String::new())
}
