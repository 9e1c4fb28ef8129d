//! The page over HTTP, for this machine alone.
//!
//! [`Server::bind`] takes a port of the loopback interface, [`Server::run`] answers requests until the program ends. A request is a
//! line and its headers within a limit; only known names are given, by GET or HEAD; a `Host` that is not this machine is refused, so
//! that no page from elsewhere reads this one under a name of its own.

use crate::{PAGE, POLICY, PageFile};
use std::{
    io::{self, Read, Write},
    net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream},
    sync::atomic::{AtomicUsize, Ordering},
    thread,
    time::{Duration, Instant},
};
use veracity_core::Error;

/// The longest head of a request.
const LONGEST_HEAD: usize = 16 * 1024;
/// How long a browser may take to say what it wants, and to read a part of it.
const PATIENCE: Duration = Duration::from_secs(10);
/// The most connections at a time.
const MOST_CONNECTIONS: usize = 64;

/// A server of the page.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    port: u16,
}

impl Server {
    /// Takes a port; with 0, one that is free.
    ///
    /// # Errors
    /// Refuses a port that cannot be had.
    pub fn bind(port: u16) -> Result<Server, Error> {
        let refuse = |error: io::Error| {
            Error::invalid(format!(
                "cannot use port {port} ({error}); choose another, or 0 for any free port"
            ))
        };
        let listener = TcpListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, port))).map_err(refuse)?;
        let port = listener.local_addr().map_err(refuse)?.port();
        Ok(Server { listener, port })
    }

    /// Where the page is.
    pub fn address(&self) -> String {
        format!("http://127.0.0.1:{}/", self.port)
    }

    /// Answers until the program ends.
    pub fn run(&self) {
        let open = AtomicUsize::new(0);
        thread::scope(|scope| {
            for stream in self.listener.incoming().flatten() {
                if open.fetch_add(1, Ordering::Relaxed) >= MOST_CONNECTIONS {
                    open.fetch_sub(1, Ordering::Relaxed);
                    continue;
                }
                let open = &open;
                let answered = move || {
                    // Ignore a browser that went away.
                    let _ = answer(stream, self.port);
                    open.fetch_sub(1, Ordering::Relaxed);
                };
                // Without a free thread, the browser gets no answer and asks again.
                if thread::Builder::new().spawn_scoped(scope, answered).is_err() {
                    open.fetch_sub(1, Ordering::Relaxed);
                }
            }
        });
    }
}

fn answer(mut stream: TcpStream, port: u16) -> io::Result<()> {
    stream.set_write_timeout(Some(PATIENCE))?;
    let head = head(&mut stream, PATIENCE)?;
    stream.write_all(&respond(&head, port))
}

/// The line of a request and its headers, up to the empty line or the limit. One that comes byte by byte has no longer than another.
fn head(stream: &mut TcpStream, patience: Duration) -> io::Result<String> {
    let (begun, mut head, mut piece) = (Instant::now(), Vec::new(), [0; 1024]);
    while head.len() < LONGEST_HEAD && !is_whole(&head) {
        let left = patience.saturating_sub(begun.elapsed());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        stream.set_read_timeout(Some(left))?;
        match stream.read(&mut piece)? {
            0 => break,
            read => head.extend_from_slice(&piece[..read]),
        }
    }
    Ok(String::from_utf8_lossy(&head).into_owned())
}

/// Whether the empty line after the headers has come.
fn is_whole(head: &[u8]) -> bool {
    head.ends_with(b"\r\n\r\n") || head.ends_with(b"\n\n")
}

/// The whole response to the head of a request.
fn respond(head: &str, port: u16) -> Vec<u8> {
    match wanted(head, port) {
        Ok((file, has_body)) => response("200 OK", file.kind, file.bytes, has_body),
        Err((status, why)) => {
            let has_body = !head.starts_with("HEAD ");
            response(status, "text/plain; charset=utf-8", format!("{why}\n").as_bytes(), has_body)
        }
    }
}

/// The file that is asked for, and whether its bytes are; or what is wrong.
fn wanted(head: &str, port: u16) -> Result<(&'static PageFile, bool), (&'static str, &'static str)> {
    let bad = ("400 Bad Request", "cannot read the request, expected GET of a file of the web page");
    if !is_whole(head.as_bytes()) {
        return Err(bad);
    }
    let mut lines = head.lines();
    let mut words = lines.next().unwrap_or_default().split(' ');
    let (Some(verb), Some(path), Some(version), None) =
        (words.next(), words.next(), words.next(), words.next())
    else {
        return Err(bad);
    };
    if !version.starts_with("HTTP/1.") {
        return Err(bad);
    }
    let hosts: Vec<&str> = lines
        .filter_map(|line| line.split_once(':'))
        .filter(|(name, _)| name.eq_ignore_ascii_case("host"))
        .map(|(_, value)| value.trim())
        .collect();
    let mut ours = vec![format!("127.0.0.1:{port}"), format!("localhost:{port}")];
    // Browsers leave the usual port out.
    if port == 80 {
        ours.extend(["127.0.0.1".to_owned(), "localhost".to_owned()]);
    }
    // A name of somebody else that leads here would let their pages read this one.
    if !matches!(hosts[..], [host] if ours.iter().any(|known| known == host)) {
        return Err((
            "421 Misdirected Request",
            "unknown host, expected 127.0.0.1 or localhost with the port",
        ));
    }
    if !["GET", "HEAD"].contains(&verb) {
        return Err(("405 Method Not Allowed", "unsupported method, expected GET or HEAD"));
    }
    let name = path.split(['?', '#']).next().unwrap_or_default().trim_start_matches('/');
    let name = if name.is_empty() { PAGE[0].name } else { name };
    let file = PAGE.iter().find(|file| file.name == name);
    file.map(|file| (file, verb == "GET")).ok_or(("404 Not Found", "no such file"))
}

fn response(status: &str, kind: &str, bytes: &[u8], has_body: bool) -> Vec<u8> {
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nContent-Security-Policy: {POLICY}; frame-ancestors 'none'\r\n\
         X-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\nCross-Origin-Opener-Policy: same-origin\r\n\
         Cross-Origin-Resource-Policy: same-origin\r\nCache-Control: no-cache\r\nConnection: close\r\n\r\n",
        bytes.len()
    );
    let body: &[u8] = if has_body { bytes } else { &[] };
    [head.as_bytes(), body].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(request: &str) -> String {
        let response = respond(request, 80);
        let text = String::from_utf8_lossy(&response).into_owned();
        text.lines().next().unwrap().to_owned()
    }

    #[test]
    fn only_known_names_are_given_and_only_to_this_machine() {
        let host = "Host: 127.0.0.1:80\r\n\r\n";
        for (request, expected) in [
            (format!("GET / HTTP/1.1\r\n{host}"), "200"),
            (format!("GET /?x=1 HTTP/1.1\r\n{host}"), "200"),
            ("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n".to_owned(), "200"),
            (format!("HEAD /main.js HTTP/1.1\r\n{host}"), "200"),
            ("GET / HTTP/1.1\r\nhost: localhost:80\r\n\r\n".to_owned(), "200"),
            (format!("GET /../Cargo.toml HTTP/1.1\r\n{host}"), "404"),
            (format!("GET /etc/passwd HTTP/1.1\r\n{host}"), "404"),
            (format!("POST / HTTP/1.1\r\n{host}"), "405"),
            ("GET / HTTP/1.1\r\nHost: evil.example:80\r\n\r\n".to_owned(), "421"),
            ("GET / HTTP/1.1\r\nHost: 127.0.0.1:81\r\n\r\n".to_owned(), "421"),
            ("GET / HTTP/1.1\r\nHost: 127.0.0.1:80\r\nHost: evil.example\r\n\r\n".to_owned(), "421"),
            ("GET / HTTP/1.1\r\n\r\n".to_owned(), "421"),
            ("GET /\r\n\r\n".to_owned(), "400"),
            ("GET / HTTP/1.1\r\nHost: 127.0.0.1:80".to_owned(), "400"),
            ("\u{fffd}\n\n".to_owned(), "400"),
            (String::new(), "400"),
        ] {
            assert!(status(&request).contains(expected), "{request:?}: {}", status(&request));
        }
    }

    #[test]
    fn a_head_has_no_body_and_every_response_the_policy() {
        let host = "Host: 127.0.0.1:80\r\n\r\n";
        let text = |request: String| String::from_utf8_lossy(&respond(&request, 80)).into_owned();
        for path in ["/", "/nothing"] {
            assert!(text(format!("HEAD {path} HTTP/1.1\r\n{host}")).ends_with("\r\n\r\n"), "{path}");
        }
        for path in ["/", "/nothing"] {
            assert!(
                text(format!("GET {path} HTTP/1.1\r\n{host}"))
                    .contains("Content-Security-Policy: default-src 'none'")
            );
        }
    }

    #[test]
    fn a_browser_is_answered_over_a_socket() {
        let server = Server::bind(0).unwrap();
        let address = server.address();
        let port = server.port;
        thread::spawn(move || server.run());
        let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
        write!(stream, "GET /style.css HTTP/1.1\r\nHost: {}\r\n\r\n", &address[7..address.len() - 1])
            .unwrap();
        let mut told = String::new();
        stream.read_to_string(&mut told).unwrap();
        assert!(told.starts_with("HTTP/1.1 200 OK") && told.contains("text/css"), "{told}");
    }

    /// A browser that says a byte every now and then, without end, is given up.
    #[test]
    fn a_head_that_never_ends_is_given_up() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let mut browser = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut stream, _) = listener.accept().unwrap();
        let talking = thread::spawn(move || {
            while browser.write_all(b"x").is_ok() {
                thread::sleep(Duration::from_millis(5));
            }
        });
        // Every read has its byte long before this is over.
        let patience = Duration::from_millis(300);
        assert!(head(&mut stream, patience).is_err());
        drop(stream);
        talking.join().unwrap();
        // One that is said in pieces, in time, is read.
        let mut browser = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut stream, _) = listener.accept().unwrap();
        browser.write_all(b"GET / HTTP/1.1\r\n").unwrap();
        browser.write_all(b"Host: localhost\r\n\r\n").unwrap();
        assert!(head(&mut stream, Duration::from_secs(60)).unwrap().contains("localhost"));
    }
}
