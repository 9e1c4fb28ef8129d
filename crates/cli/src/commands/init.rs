//! `veracity init`: a training plan to fill in, from the header of a file.

use crate::{Outcome, args::InitArgs};
use std::path::Path;
use veracity::{
    Error,
    saving::{create, must_be_new},
    training::initial_plan,
};

/// Writes the plan, or prints it.
pub fn run(args: &InitArgs) -> Result<Outcome, Error> {
    if args.file == Path::new("-") {
        return Err(Error::invalid("file is -, but the plan needs the name of a file; give a path"));
    }
    args.out.as_ref().map_or(Ok(()), |path| must_be_new("plan", path))?;
    let plan = initial_plan(&args.file, args.out.as_deref(), args.label.as_deref())?;
    let Some(path) = &args.out else { return Outcome::done(plan) };
    create("plan", path, plan.as_bytes())?;
    let path = path.display();
    Outcome::done(format!(
        "plan written to {path} from the header; no row was read\nreplace every FILL IN, then run: veracity train {path}\n"
    ))
}
