//! Gives the library the name that programs linked with it ask the loader for.

fn main() {
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libmayhap_rt.so");
}
