//! A small server that speaks as much S3 as traces and results need, and breaks connections.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// What it holds, and what it did.
#[derive(Default)]
pub(crate) struct Held {
    pub(crate) objects: Mutex<BTreeMap<String, Vec<u8>>>,
    /// Downloads of traces.
    pub(crate) fetched: AtomicUsize,
    /// Connections that were broken.
    pub(crate) broken: AtomicUsize,
    requests: AtomicUsize,
    /// Whether connections are broken.
    breaks: bool,
}

/// A server that runs as long as the test.
pub(crate) struct Server {
    pub(crate) held: Arc<Held>,
    pub(crate) address: String,
}

impl Server {
    pub(crate) fn start(breaks: bool) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let held = Arc::new(Held { breaks, ..Held::default() });
        let all = Arc::clone(&held);
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let held = Arc::clone(&all);
                std::thread::spawn(move || while held.answer(&stream).unwrap_or(false) {});
            }
        });
        Server { held, address }
    }
}

struct Request {
    method: String,
    /// Bucket and key.
    path: String,
    query: BTreeMap<String, String>,
    headers: BTreeMap<String, String>,
    body: Vec<u8>,
}

fn request(stream: &TcpStream) -> std::io::Result<Option<Request>> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    if reader.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    let mut words = line.split(' ');
    let (method, target) = (words.next().unwrap().to_string(), words.next().unwrap().to_string());
    let mut headers = BTreeMap::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let Some((name, value)) = line.trim().split_once(": ") else { break };
        headers.insert(name.to_ascii_lowercase(), value.to_string());
    }
    let mut body = vec![0; headers.get("content-length").map_or(0, |length| length.parse().unwrap())];
    reader.read_exact(&mut body)?;
    let (path, query) = target.split_once('?').unwrap_or((&target, ""));
    let pair = |pair: &str| pair.split_once('=').map(|(name, value)| (name.to_string(), value.replace("%2F", "/")));
    let path = path.trim_matches('/').to_string();
    Ok(Some(Request { method, path, query: query.split('&').filter_map(pair).collect(), headers, body }))
}

impl Held {
    /// Answers a request; says whether another may follow.
    fn answer(&self, mut stream: &TcpStream) -> std::io::Result<bool> {
        let Some(request) = request(stream)? else { return Ok(false) };
        let nth = self.requests.fetch_add(1, Ordering::Relaxed);
        // Some requests break off before they are heard, some after.
        if self.breaks && nth % 7 == 3 {
            self.broken.fetch_add(1, Ordering::Relaxed);
            return Ok(false);
        }
        let (status, headers, body) = self.done(&request);
        let is_large = request.method == "GET" && body.len() > 200;
        let cut = if self.breaks && is_large && nth % 3 == 1 { body.len() / 2 } else { body.len() };
        write!(stream, "HTTP/1.1 {status}\r\ncontent-length: {}\r\n{headers}\r\n", body.len())?;
        if request.method != "HEAD" {
            stream.write_all(&body[..cut])?;
        }
        stream.flush()?;
        if cut < body.len() {
            self.broken.fetch_add(1, Ordering::Relaxed);
            stream.shutdown(std::net::Shutdown::Both)?;
        }
        Ok(cut == body.len())
    }

    fn done(&self, request: &Request) -> (&'static str, String, Vec<u8>) {
        let mut objects = self.objects.lock().unwrap();
        match request.method.as_str() {
            "PUT" => {
                objects.insert(request.path.clone(), request.body.clone());
                ("200 OK", about(&request.body), Vec::new())
            }
            "GET" if request.query.contains_key("list-type") => ("200 OK", String::new(), list(&objects, request)),
            "GET" | "HEAD" => {
                let Some(body) = objects.get(&request.path) else {
                    return ("404 Not Found", String::new(), Vec::new());
                };
                if request.method == "GET" && request.path.contains("/traces/") {
                    self.fetched.fetch_add(1, Ordering::Relaxed);
                }
                let from = request
                    .headers
                    .get("range")
                    .and_then(|range| range.strip_prefix("bytes=")?.split('-').next()?.parse::<usize>().ok());
                match from {
                    None => ("200 OK", about(body), body.clone()),
                    Some(from) => {
                        let range = format!("content-range: bytes {from}-{}/{}\r\n", body.len() - 1, body.len());
                        ("206 Partial Content", about(body) + &range, body[from..].to_vec())
                    }
                }
            }
            "POST" => {
                let text = String::from_utf8_lossy(&request.body).into_owned();
                for key in text.split("<Key>").skip(1).filter_map(|rest| rest.split("</Key>").next()) {
                    objects.remove(&format!("{}/{key}", request.path));
                }
                ("200 OK", String::new(), b"<DeleteResult></DeleteResult>".to_vec())
            }
            _ => {
                objects.remove(&request.path);
                ("204 No Content", String::new(), Vec::new())
            }
        }
    }
}

fn tag(body: &[u8]) -> String {
    let sum = body.iter().fold(body.len() as u64, |sum, &byte| sum.wrapping_mul(31).wrapping_add(u64::from(byte)));
    format!("\"{sum:016x}\"")
}

fn about(body: &[u8]) -> String {
    format!("etag: {}\r\nlast-modified: Wed, 18 Nov 2026 05:00:00 GMT\r\n", tag(body))
}

fn list(objects: &BTreeMap<String, Vec<u8>>, request: &Request) -> Vec<u8> {
    let prefix = request.query.get("prefix").cloned().unwrap_or_default();
    let flat = !request.query.contains_key("delimiter");
    let mut text = "<ListBucketResult><IsTruncated>false</IsTruncated>".to_string();
    for (path, body) in objects {
        let Some(key) = path.strip_prefix(&format!("{}/", request.path)) else { continue };
        let Some(rest) = key.strip_prefix(&prefix) else { continue };
        if flat || !rest.contains('/') {
            let (tag, size) = (tag(body).replace('"', "&quot;"), body.len());
            let _ = write!(
                text,
                "<Contents><Key>{key}</Key><LastModified>2026-11-18T05:00:00.000Z</LastModified><ETag>{tag}</ETag>\
                 <Size>{size}</Size></Contents>"
            );
        }
    }
    text += "</ListBucketResult>";
    text.into_bytes()
}
