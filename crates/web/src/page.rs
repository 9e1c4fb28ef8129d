//! The files of the page: name, content type and bytes.

/// What a browser may do with the page: run its own scripts and its module, and nothing else.
pub const POLICY: &str = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; img-src 'self'; \
                          connect-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'none'";

/// One file of the page.
#[derive(Debug, Clone, Copy)]
pub struct PageFile {
    /// Its name in the folder of the page.
    pub name: &'static str,
    /// Its content type.
    pub kind: &'static str,
    /// Its bytes.
    pub bytes: &'static [u8],
}

macro_rules! page {
    ($($name:literal: $kind:literal,)*) => {
        /// Every file of the page, the page itself first. `veracity.wasm.gz` is built by `cargo xtask page`.
        pub const PAGE: &[PageFile] =
            &[$(PageFile { name: $name, kind: $kind, bytes: include_bytes!(concat!("../page/", $name)) },)*];
    };
}

page! {
    "index.html": "text/html; charset=utf-8",
    "style.css": "text/css; charset=utf-8",
    "icon.svg": "image/svg+xml",
    "main.js": "text/javascript; charset=utf-8",
    "account.js": "text/javascript; charset=utf-8",
    "audit.js": "text/javascript; charset=utf-8",
    "chart.js": "text/javascript; charset=utf-8",
    "claims.js": "text/javascript; charset=utf-8",
    "controls.js": "text/javascript; charset=utf-8",
    "copying.js": "text/javascript; charset=utf-8",
    "details.js": "text/javascript; charset=utf-8",
    "element.js": "text/javascript; charset=utf-8",
    "engine.js": "text/javascript; charset=utf-8",
    "kinds.js": "text/javascript; charset=utf-8",
    "question.js": "text/javascript; charset=utf-8",
    "rounding.js": "text/javascript; charset=utf-8",
    "state.js": "text/javascript; charset=utf-8",
    "theme.js": "text/javascript; charset=utf-8",
    "warm.js": "text/javascript; charset=utf-8",
    "worker.js": "text/javascript; charset=utf-8",
    "example.claim.json": "application/json",
    "veracity.wasm.gz": "application/octet-stream",
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// A file that is forgotten in the list would be missing from the binary alone.
    #[test]
    fn every_file_of_the_folder_is_served() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/page");
        let there: BTreeSet<String> = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter(|name| name != "veracity.wasm.stamp")
            .collect();
        let listed: BTreeSet<String> = PAGE.iter().map(|file| file.name.to_owned()).collect();
        assert_eq!(there, listed);
    }

    #[test]
    fn the_page_has_the_policy_that_servers_send() {
        let page = std::str::from_utf8(PAGE[0].bytes).unwrap();
        assert!(page.contains(POLICY) && !POLICY.contains("unsafe-inline"));
        assert!(!page.contains("style=") && !page.contains("onclick"));
    }

    /// What a browser downloads, compressed as a server would, is the sum of this and less than 32 KB of text.
    #[test]
    fn the_module_is_small() {
        let module = PAGE.iter().find(|file| file.name == "veracity.wasm.gz").unwrap();
        assert!(
            module.bytes.starts_with(&[0x1f, 0x8b]) && module.bytes.len() < 380_000,
            "{}",
            module.bytes.len()
        );
    }
}
