//! The kinds of mechanism that a plan may list, as help and as documentation. The table is in [`veracity_core::spec`].

pub use veracity_core::spec::{FLAGS, Field, Flag, Form, KINDS, Kind, Shape};

/// The table as text, two lines for each kind.
pub fn table() -> String {
    let entry =
        |kind: &Kind| format!("  {}: {}\n      {}\n", kind.name, kind.field_names().join(", "), kind.means);
    KINDS.iter().map(entry).collect()
}

/// The documentation of all kinds, as Markdown.
pub fn pages() -> String {
    let mut text = String::from(
        "# Mechanisms\n\nThis page lists every type of mechanism that you can account for. Use its name as `kind` in a plan. \
         Most names also work on the command line, such as `veracity account laplace`.\n\nIn a TOML plan, each mechanism is a \
         `[[mechanism]]` table with its `kind` and fields. `times` repeats it. The fields `mechanism` and `parts` hold further \
         tables. Set `adjacency` and `unit` at the top of the plan. For example, this plan has 20 releases with Laplace \
         noise:\n\n```toml\nunit = \"patient\"\nadjacency = \"add-remove\"\n[[mechanism]]\nkind = \
         \"laplace\"\nnoise_multiplier = 10\ntimes = 20\n```\n\nOne such release has ε = 0.1. `veracity account plan.toml \
         --delta 1e-6` certifies ε ≤ 1.77399159 for all 20 together.\n\nEach section below answers five questions. *What* \
         names the mechanism, *Fields* are its parameters, and *Accounted as* gives the pair of distributions or the bound \
         that the accountant uses. *Adjacency* lists the definitions of neighboring datasets that you can choose, and *When* \
         says when to use the mechanism.\n\nThis page is generated from `crates/core/src/spec/mod.rs` by `BLESS=1 cargo test -p \
         veracity-account kinds`.\n",
    );
    for kind in KINDS {
        let fields: Vec<String> = kind.fields.iter().map(|field| format!("`{}`", field.name)).collect();
        text += &format!(
            "\n## {}\n\n- **What**: {}\n- **Fields**: {}\n- **Accounted as**: {}\n- **Adjacency**: {}\n- **When**: {}\n",
            kind.name,
            kind.means,
            fields.join(", "),
            kind.pair,
            kind.adjacency,
            kind.when
        );
    }
    text
}
