//! `veracity man`: a manual page for each command.

use crate::{
    Outcome,
    args::{Cli, ManArgs},
};
use clap::{Command, CommandFactory};
use clap_mangen::Man;
use std::fs;
use veracity::{Error, saving::replace};

/// Writes the pages.
pub fn run(args: &ManArgs) -> Result<Outcome, Error> {
    let unwritable = |error| Error::cannot("write to", "folder", &args.out, error);
    fs::create_dir_all(&args.out).map_err(unwritable)?;
    let mut root = Cli::command();
    root.build();
    let mut pages = Vec::new();
    collect(&root, &mut pages);
    for (name, command) in &pages {
        let mut page = Vec::new();
        Man::new((*command).clone()).render(&mut page).map_err(unwritable)?;
        replace("page", &args.out.join(name), &page, is_page)?;
    }
    Outcome::done(format!("{} pages in {}\n", pages.len(), args.out.display()))
}

/// A command and those below it, by the names of their pages: `veracity-local-plan.1`.
fn collect<'a>(command: &'a Command, into: &mut Vec<(String, &'a Command)>) {
    let name = command.get_display_name().unwrap_or(command.get_name());
    into.push((format!("{name}.1"), command));
    let below = command.get_subcommands().filter(|below| below.get_name() != "help" && !below.is_hide_set());
    below.for_each(|below| collect(below, into));
}

/// Whether a file is a page of ours.
fn is_page(bytes: &[u8]) -> bool {
    bytes.windows(12).any(|window| window == b".TH veracity")
}
