//! moto's S3 server, behind a proxy that breaks connections.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// What a connection delivers before it breaks.
const DELIVERED: usize = 20_000;

/// Puts the files below `traces` into a bucket.
const UPLOAD: &str = "
import pathlib, sys, boto3
s3 = boto3.client('s3', endpoint_url=sys.argv[1], aws_access_key_id='id', aws_secret_access_key='key', region_name='us-east-1')
s3.create_bucket(Bucket='bucket')
for path in pathlib.Path('traces').rglob('*'):
    if path.is_file():
        s3.upload_file(str(path), 'bucket', str(path))
";

/// A server that runs as long as the test.
pub(crate) struct Moto {
    server: Child,
    /// Where the proxy is.
    pub(crate) address: String,
    broken: Arc<AtomicUsize>,
}

impl Moto {
    /// Starts a server that has the traces of a folder.
    pub(crate) fn start(python: &Path, folder: &Path) -> Moto {
        let mut command = Command::new(python);
        command.args(["-m", "moto.server", "-H", "127.0.0.1", "-p", "0"]).stdout(Stdio::null());
        let mut server = command.stderr(Stdio::piped()).spawn().unwrap();
        let mut said = BufReader::new(server.stderr.take().unwrap()).lines().map_while(Result::ok);
        let address =
            said.find_map(|line| Some(line.split_once("http://")?.1.trim().to_string())).expect("moto starts");
        // What it says must go somewhere.
        std::thread::spawn(move || said.for_each(drop));
        let upload =
            Command::new(python).args(["-c", UPLOAD, &format!("http://{address}")]).current_dir(folder).output();
        let upload = upload.unwrap();
        assert!(upload.status.success(), "{}", String::from_utf8_lossy(&upload.stderr));
        let broken = Arc::new(AtomicUsize::new(0));
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let proxy = format!("http://{}", listener.local_addr().unwrap());
        let count = Arc::clone(&broken);
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (address, count) = (address.clone(), Arc::clone(&count));
                // A connection that ends is what this is about.
                std::thread::spawn(move || drop(pass(&stream, &address, &count)));
            }
        });
        Moto { server, address: proxy, broken }
    }

    /// How many connections were broken.
    pub(crate) fn broken(&self) -> usize {
        self.broken.load(Ordering::Relaxed)
    }
}

impl Drop for Moto {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

/// Passes requests on, and so many bytes of the answers.
fn pass(client: &TcpStream, address: &str, broken: &AtomicUsize) -> std::io::Result<()> {
    let server = TcpStream::connect(address)?;
    let (mut from, mut to) = (client.try_clone()?, server.try_clone()?);
    std::thread::spawn(move || {
        // The other direction ends with it.
        let _ = std::io::copy(&mut from, &mut to);
        let _ = to.shutdown(Shutdown::Write);
    });
    let (mut left, mut buffer) = (DELIVERED, [0; 2048]);
    loop {
        let n = (&server).read(&mut buffer)?;
        if n == 0 || n > left {
            broken.fetch_add(usize::from(n > 0), Ordering::Relaxed);
            server.shutdown(Shutdown::Both)?;
            return client.shutdown(Shutdown::Both);
        }
        left -= n;
        let mut client = client;
        client.write_all(&buffer[..n])?;
    }
}
