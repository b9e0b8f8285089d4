//! Traces and results in object stores, by URL: S3 and what speaks it, Google Cloud Storage, Azure, HTTP.
//!
//! Credentials and endpoints come from the environment variables of each store (`AWS_ACCESS_KEY_ID`, `AWS_ENDPOINT_URL`, …). Requests
//! that fail are made again; a download that breaks off goes on where it was.

use std::io::Write;
use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use futures_util::{StreamExt, TryStreamExt};
use object_store::aws::AmazonS3Builder;
use object_store::azure::MicrosoftAzureBuilder;
use object_store::gcp::GoogleCloudStorageBuilder;
use object_store::http::HttpBuilder;
use object_store::{
    ClientOptions, GetOptions, GetRange, ObjectMeta, ObjectStore, ObjectStoreExt, ObjectStoreScheme, RetryConfig, path,
};
use reqwest::Url;
use tokio::runtime::Runtime;

use crate::Error;

pub(crate) use crate::url::{Copy, is_url, joined};

/// How often a request is made again, and for how long in all.
const RETRIES: usize = 6;
const RETRYING: Duration = Duration::from_secs(60);
/// How often a download that broke off goes on without having come further, and the pause before it does.
const FRUITLESS: u32 = 5;
const PAUSE: Duration = Duration::from_millis(200);

/// A folder of an object store, or one object.
#[derive(Clone, Debug)]
pub(crate) struct Objects {
    store: Arc<dyn ObjectStore>,
    /// What all names begin with.
    prefix: path::Path,
    url: String,
}

/// An object: its URL, and what changes when its contents do.
pub(crate) struct Object {
    pub(crate) url: String,
    pub(crate) version: String,
    pub(crate) size: u64,
}

/// What changes when the contents of an object do.
fn version(meta: &ObjectMeta) -> String {
    let time = meta.last_modified.timestamp_millis();
    meta.e_tag.clone().unwrap_or_else(|| format!("{} bytes at {time}", meta.size))
}

impl Objects {
    /// Opens a URL. Nothing is asked of the store yet.
    pub(crate) fn open(url: &Path) -> Result<Objects, Error> {
        let wrong = |error: &dyn std::fmt::Display| Error::input(url, error.to_string());
        let text = url.to_str().ok_or_else(|| wrong(&"not UTF-8"))?.trim_end_matches('/').to_string();
        let parsed = Url::parse(&text).map_err(|error| wrong(&error))?;
        let (scheme, prefix) = ObjectStoreScheme::parse(&parsed).map_err(|error| wrong(&error))?;
        let store = builder(&scheme, &parsed, &text).map_err(|error| wrong(&error))?;
        Ok(Objects { store, prefix, url: text })
    }

    fn at(&self, name: &str) -> path::Path {
        name.split('/').filter(|part| !part.is_empty()).fold(self.prefix.clone(), |path, part| path.join(part))
    }

    fn failed(&self, name: &str, error: &object_store::Error) -> Error {
        Error::input(&joined(&self.url, name), said(error))
    }

    /// The contents of an object; `None` if there is none.
    pub(crate) fn get(&self, name: &str) -> Result<Option<Vec<u8>>, Error> {
        let mut contents = Vec::new();
        match block_on(download(&*self.store, &self.at(name), &mut contents)) {
            Ok(_) => Ok(Some(contents)),
            Err(Broken::Store(object_store::Error::NotFound { .. })) => Ok(None),
            Err(error) => Err(Error::input(&joined(&self.url, name), error.to_string())),
        }
    }

    /// Writes an object.
    pub(crate) fn put(&self, name: &str, contents: Vec<u8>) -> Result<(), Error> {
        let (at, contents) = (self.at(name), object_store::PutPayload::from(contents));
        let put = again(|| block_on(self.store.put(&at, contents.clone())));
        put.map(drop).map_err(|error| self.failed(name, &error))
    }

    /// Removes an object.
    pub(crate) fn remove(&self, name: &str) -> Result<(), Error> {
        match again(|| block_on(self.store.delete(&self.at(name)))) {
            Ok(()) | Err(object_store::Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(self.failed(name, &error)),
        }
    }

    /// All objects below the URL, or the one that it names.
    pub(crate) fn list(&self) -> Result<Vec<Object>, Error> {
        let object = |meta: ObjectMeta| {
            let below = meta.location.as_ref().strip_prefix(self.prefix.as_ref()).unwrap_or_default();
            let url = joined(&self.url, below.trim_start_matches('/'));
            Object { url: url.to_string_lossy().into_owned(), version: version(&meta), size: meta.size }
        };
        match again(|| block_on(self.store.head(&self.prefix))) {
            Ok(meta) if !self.prefix.as_ref().is_empty() => return Ok(vec![object(meta)]),
            _ => {}
        }
        let all = again(|| block_on(self.store.list(Some(&self.prefix)).try_collect::<Vec<_>>()));
        Ok(all.map_err(|error| self.failed("", &error))?.into_iter().map(object).collect())
    }

    /// Names directly below a folder, without what comes before them.
    pub(crate) fn names(&self) -> Result<Vec<String>, Error> {
        let found = again(|| block_on(self.store.list_with_delimiter(Some(&self.prefix))));
        let found = found.map_err(|error| self.failed("", &error))?.objects;
        Ok(found.iter().filter_map(|meta| meta.location.filename().map(str::to_string)).collect())
    }
}

/// Fetches an object into a temporary file of the same name. Returns which version it is, too.
pub(crate) fn fetch(url: &Path) -> Result<(Copy, String), Error> {
    let objects = Objects::open(url)?;
    let name = objects.prefix.filename().unwrap_or("trace").to_string();
    let copy = Copy::create(&name).map_err(Error::file(url))?;
    let mut file = std::fs::File::create(copy.path()).map_err(Error::file(url))?;
    let done = block_on(download(&*objects.store, &objects.prefix, &mut file));
    let meta = done.map_err(|error| Error::Fetch(error.to_string()))?;
    Ok((copy, version(&meta)))
}

/// Why a download has ended.
#[derive(Debug, thiserror::Error)]
enum Broken {
    #[error("{}", said(.0))]
    Store(object_store::Error),
    #[error("it changed while it was fetched")]
    Changed,
    #[error("the connection ended after {0} of {1} bytes")]
    Short(u64, u64),
    #[error("{0}")]
    File(#[from] std::io::Error),
}

/// Downloads an object. What was received before a connection broke off is not asked for again.
async fn download(store: &dyn ObjectStore, at: &path::Path, to: &mut (dyn Write + Send)) -> Result<ObjectMeta, Broken> {
    let (mut received, mut fruitless, mut begun) = (0u64, 0, None);
    loop {
        let before = received;
        let error = match part(store, at, to, &mut received, &mut begun).await {
            Ok(meta) => return Ok(meta),
            Err(error @ (Broken::File(_) | Broken::Changed | Broken::Store(object_store::Error::NotFound { .. }))) => {
                return Err(error);
            }
            Err(error @ Broken::Store(object_store::Error::Precondition { .. })) => return Err(error),
            Err(error) => error,
        };
        fruitless = if received > before { 0 } else { fruitless + 1 };
        let is_final = matches!(&error, Broken::Store(error) if !is_cut_off(error)) && received == 0;
        if fruitless >= FRUITLESS || is_final {
            return Err(error);
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// Makes a request again whose answer was cut off; one that got no answer was made several times already.
fn again<T>(mut request: impl FnMut() -> Result<T, object_store::Error>) -> Result<T, object_store::Error> {
    for _ in 0..FRUITLESS {
        match request() {
            Err(error) if is_cut_off(&error) => std::thread::sleep(PAUSE),
            other => return other,
        }
    }
    request()
}

/// Whether the connection ended in the middle of an answer.
fn is_cut_off(error: &object_store::Error) -> bool {
    said(error).contains("body")
}

/// Receives as much as one connection delivers.
async fn part(
    store: &dyn ObjectStore,
    at: &path::Path,
    to: &mut (dyn Write + Send),
    received: &mut u64,
    begun: &mut Option<ObjectMeta>,
) -> Result<ObjectMeta, Broken> {
    let range = (*received > 0).then_some(GetRange::Offset(*received));
    let if_match = begun.as_ref().and_then(|meta| meta.e_tag.clone());
    let options = GetOptions { range, if_match, ..GetOptions::default() };
    let answer = store.get_opts(at, options).await.map_err(Broken::Store)?;
    let (meta, size) = (answer.meta.clone(), answer.meta.size);
    if version(begun.get_or_insert_with(|| meta.clone())) != version(&meta) {
        return Err(Broken::Changed);
    }
    let mut chunks = answer.into_stream();
    while let Some(chunk) = chunks.next().await {
        let chunk = chunk.map_err(Broken::Store)?;
        to.write_all(&chunk)?;
        *received += chunk.len() as u64;
    }
    if *received < size { Err(Broken::Short(*received, size)) } else { Ok(meta) }
}

fn builder(scheme: &ObjectStoreScheme, url: &Url, text: &str) -> Result<Arc<dyn ObjectStore>, object_store::Error> {
    static TLS: OnceLock<()> = OnceLock::new();
    // Another part of the process may have chosen one before.
    TLS.get_or_init(|| drop(rustls::crypto::ring::default_provider().install_default()));
    let retry = RetryConfig { max_retries: RETRIES, retry_timeout: RETRYING, ..RetryConfig::default() };
    Ok(match scheme {
        ObjectStoreScheme::AmazonS3 => {
            let set = AmazonS3Builder::from_env().with_url(text).with_retry(retry);
            // An endpoint without encryption was named on purpose.
            let plain = ["AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT"];
            let plain = plain.iter().filter_map(|name| std::env::var(name).ok()).any(|end| end.starts_with("http:"));
            Arc::new(if plain { set.with_allow_http(true) } else { set }.build()?)
        }
        ObjectStoreScheme::GoogleCloudStorage => {
            Arc::new(GoogleCloudStorageBuilder::from_env().with_url(text).with_retry(retry).build()?)
        }
        ObjectStoreScheme::MicrosoftAzure => {
            Arc::new(MicrosoftAzureBuilder::from_env().with_url(text).with_retry(retry).build()?)
        }
        ObjectStoreScheme::Http => {
            let options = ClientOptions::new().with_allow_http(url.scheme() == "http");
            let root = url.origin().ascii_serialization();
            Arc::new(HttpBuilder::new().with_url(root).with_client_options(options).with_retry(retry).build()?)
        }
        _ => {
            let source = "a URL of an object store begins with s3:, gs:, az: or https:".into();
            return Err(object_store::Error::Generic { store: "URL", source });
        }
    })
}

/// An error in one line, without what libraries add for programmers.
fn said(error: &object_store::Error) -> String {
    let mut words = vec![error.to_string()];
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        let text = error.to_string();
        if !words.last().is_some_and(|last| last.contains(&text)) {
            words.push(text);
        }
        cause = error.source();
    }
    words.join(": ").replace(['\n', '\r'], " ")
}

fn block_on<T>(work: impl Future<Output = T>) -> T {
    static RUNTIME: OnceLock<Runtime> = OnceLock::new();
    let runtime = RUNTIME.get_or_init(|| {
        let mut builder = tokio::runtime::Builder::new_multi_thread();
        builder.worker_threads(2).enable_all().build().expect("a process can have two threads more")
    });
    runtime.block_on(work)
}
