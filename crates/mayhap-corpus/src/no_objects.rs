//! What stands for object stores in a build without them: every URL is refused.

use std::path::Path;

use crate::Error;

pub(crate) use crate::url::{Copy, is_url};

#[derive(Clone, Debug)]
pub(crate) enum Objects {}

pub(crate) struct Object {
    pub(crate) url: String,
    pub(crate) version: String,
    pub(crate) size: u64,
}

fn refused(url: &Path) -> Error {
    Error::input(url, "this build of mayhap has no object stores (feature `object-stores`)")
}

impl Objects {
    pub(crate) fn open(url: &Path) -> Result<Objects, Error> {
        Err(refused(url))
    }

    pub(crate) fn get(&self, _: &str) -> Result<Option<Vec<u8>>, Error> {
        match *self {}
    }

    pub(crate) fn put(&self, _: &str, _: Vec<u8>) -> Result<(), Error> {
        match *self {}
    }

    pub(crate) fn remove(&self, _: &str) -> Result<(), Error> {
        match *self {}
    }

    pub(crate) fn list(&self) -> Result<Vec<Object>, Error> {
        match *self {}
    }

    pub(crate) fn names(&self) -> Result<Vec<String>, Error> {
        match *self {}
    }
}

pub(crate) fn fetch(url: &Path) -> Result<(Copy, String), Error> {
    Err(refused(url))
}
