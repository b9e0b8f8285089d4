//! The library functions that the runtime stands in front of, as the loader would have found them without it. In programs
//! linked statically there is no loader: there the linker knows them as `__real_NAME`.

#[cfg(not(feature = "archive"))]
pub(crate) use looked_up::{Real, find_all};

/// Where the real function of a name is.
#[cfg(not(feature = "archive"))]
macro_rules! real_address {
    ($name:ident $(, $version:literal)?) => {{
        const NAME: &core::ffi::CStr =
            match core::ffi::CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()) {
                Ok(name) => name,
                Err(_) => panic!("an identifier holds no zero"),
            };
        static REAL: $crate::real::Real = $crate::real::real_address!(@new NAME $(, $version)?);
        #[used]
        #[unsafe(link_section = "mayhap_reals")]
        static LISTED: &$crate::real::Real = &REAL;
        REAL.get()
    }};
    (@new $name:ident) => { $crate::real::Real::new($name) };
    (@new $name:ident, $version:literal) => { $crate::real::Real::versioned($name, $version) };
}

/// Where the real function of a name is.
#[cfg(feature = "archive")]
macro_rules! real_address {
    ($name:ident $(, $version:literal)?) => {{
        unsafe extern "C-unwind" {
            #[link_name = concat!("__real_", stringify!($name))]
            fn function();
        }
        function as *mut libc::c_void
    }};
}
pub(crate) use real_address;

#[cfg(not(feature = "archive"))]
mod looked_up {
    use core::ffi::CStr;
    use core::sync::atomic::{AtomicPtr, Ordering};

    use libc::c_void;

    /// A function found once and kept.
    pub(crate) struct Real {
        name: &'static CStr,
        version: Option<&'static CStr>,
        found: AtomicPtr<c_void>,
    }

    impl Real {
        pub(crate) const fn new(name: &'static CStr) -> Real {
            Real { name, version: None, found: AtomicPtr::new(core::ptr::null_mut()) }
        }

        /// A function of which glibc has an incompatible older version that an unversioned search would find.
        pub(crate) const fn versioned(name: &'static CStr, version: &'static CStr) -> Real {
            Real { name, version: Some(version), found: AtomicPtr::new(core::ptr::null_mut()) }
        }

        /// Returns the function's address.
        #[inline]
        pub(crate) fn get(&self) -> *mut c_void {
            let found = self.found.load(Ordering::Relaxed);
            if found.is_null() { self.find() } else { found }
        }

        /// Returns the function's address, null if there was none when the program started.
        pub(crate) fn known(&self) -> *mut c_void {
            self.found.load(Ordering::Relaxed)
        }

        fn look_up(&self) -> *mut c_void {
            // SAFETY: names end in zero; the loader does not call back.
            unsafe {
                match self.version {
                    Some(version) => libc::dlvsym(libc::RTLD_NEXT, self.name.as_ptr(), version.as_ptr()),
                    None => libc::dlsym(libc::RTLD_NEXT, self.name.as_ptr()),
                }
            }
        }

        #[cold]
        fn find(&self) -> *mut c_void {
            let found = self.look_up();
            if found.is_null() {
                // The program called a function that its own libc does not have: the loader would have refused to start it.
                // SAFETY: no precondition.
                unsafe { libc::abort() };
            }
            self.found.store(found, Ordering::Relaxed);
            found
        }
    }

    unsafe extern "C" {
        #[link_name = "__start_mayhap_reals"]
        static FIRST: u8;
        #[link_name = "__stop_mayhap_reals"]
        static END: u8;
    }

    /// Finds all functions that there are, while the program has one thread. Later the loader's lock may be held by a thread that waits
    /// for the token, and the thread that asks the loader may be the one that has it.
    pub(crate) fn find_all() {
        let (mut at, end) = ((&raw const FIRST).cast::<&Real>(), (&raw const END).cast::<&Real>());
        while at < end {
            // SAFETY: the linker puts the list between these two.
            unsafe {
                (*at).found.store((*at).look_up(), Ordering::Relaxed);
                at = at.add(1);
            }
        }
    }
}

#[cfg(feature = "archive")]
pub(crate) fn find_all() {}

/// Declares the real functions: `real::name(args)` calls what the program would have called.
macro_rules! real {
    ($(fn $name:ident($($arg:ident: $type:ty),*) $(-> $ret:ty)? $(, $version:literal)?;)*) => {
        $(
            #[inline]
            pub(crate) unsafe fn $name($($arg: $type),*) $(-> $ret)? {
                // SAFETY: the function found under this name has this type, which is the C library's.
                unsafe {
                    let function: unsafe extern "C-unwind" fn($($type),*) $(-> $ret)? =
                        core::mem::transmute($crate::real::real_address!($name $(, $version)?));
                    function($($arg),*)
                }
            }
        )*
    };
}
pub(crate) use real;
