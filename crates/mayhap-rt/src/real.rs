//! The library functions that the runtime stands in front of, as the loader would have found them without it. In programs
//! linked statically there is no loader: there the linker knows them as `__real_NAME`.

#[cfg(not(feature = "archive"))]
pub(crate) use looked_up::Real;

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

        /// The function's address.
        #[inline]
        pub(crate) fn get(&self) -> *mut c_void {
            let found = self.found.load(Ordering::Relaxed);
            if found.is_null() { self.find() } else { found }
        }

        #[cold]
        fn find(&self) -> *mut c_void {
            // SAFETY: names end in zero; the loader does not call back.
            let found = unsafe {
                match self.version {
                    Some(version) => libc::dlvsym(libc::RTLD_NEXT, self.name.as_ptr(), version.as_ptr()),
                    None => libc::dlsym(libc::RTLD_NEXT, self.name.as_ptr()),
                }
            };
            if found.is_null() {
                // The program called a function that its own libc does not have: the loader would have refused to start it.
                // SAFETY: no precondition.
                unsafe { libc::abort() };
            }
            self.found.store(found, Ordering::Relaxed);
            found
        }
    }
}

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
