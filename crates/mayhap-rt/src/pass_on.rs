//! Functions of the C library before which the runtime notes something, and then continues with the real function as if it were not there:
//! whatever their arguments and results are, they stay.

/// What a caller passed in registers.
#[repr(C)]
pub(crate) struct Registers {
    pub(crate) general: [u64; 6],
    pub(crate) vector: [[u64; 2]; 8],
}

/// Functions by their names, with a name for what is run before each: a function of the registers, the arguments on the stack and the
/// place of the call.
macro_rules! pass_on {
    ($($name:ident $found:ident $note:expr;)*) => {
        $(
            extern "C" fn $found(registers: *const $crate::pass_on::Registers, stack: *const u64, pc: u64) -> *mut libc::c_void {
                $note(registers, stack, pc);
                $crate::real::real_address!($name)
            }

            #[unsafe(naked)]
            #[cfg_attr(not(feature = "archive"), unsafe(no_mangle))]
            #[cfg_attr(feature = "archive", unsafe(export_name = concat!("__wrap_", stringify!($name))))]
            unsafe extern "C" fn $name() {
                core::arch::naked_asm!(
                    "sub rsp, 216",
                    "mov qword ptr [rsp], rdi",
                    "mov qword ptr [rsp + 8], rsi",
                    "mov qword ptr [rsp + 16], rdx",
                    "mov qword ptr [rsp + 24], rcx",
                    "mov qword ptr [rsp + 32], r8",
                    "mov qword ptr [rsp + 40], r9",
                    "movaps xmmword ptr [rsp + 48], xmm0",
                    "movaps xmmword ptr [rsp + 64], xmm1",
                    "movaps xmmword ptr [rsp + 80], xmm2",
                    "movaps xmmword ptr [rsp + 96], xmm3",
                    "movaps xmmword ptr [rsp + 112], xmm4",
                    "movaps xmmword ptr [rsp + 128], xmm5",
                    "movaps xmmword ptr [rsp + 144], xmm6",
                    "movaps xmmword ptr [rsp + 160], xmm7",
                    "mov qword ptr [rsp + 176], rax",
                    "mov rdi, rsp",
                    "lea rsi, [rsp + 224]",
                    "mov rdx, qword ptr [rsp + 216]",
                    "call {found}",
                    "mov r11, rax",
                    "mov rax, qword ptr [rsp + 176]",
                    "movaps xmm0, xmmword ptr [rsp + 48]",
                    "movaps xmm1, xmmword ptr [rsp + 64]",
                    "movaps xmm2, xmmword ptr [rsp + 80]",
                    "movaps xmm3, xmmword ptr [rsp + 96]",
                    "movaps xmm4, xmmword ptr [rsp + 112]",
                    "movaps xmm5, xmmword ptr [rsp + 128]",
                    "movaps xmm6, xmmword ptr [rsp + 144]",
                    "movaps xmm7, xmmword ptr [rsp + 160]",
                    "mov rdi, qword ptr [rsp]",
                    "mov rsi, qword ptr [rsp + 8]",
                    "mov rdx, qword ptr [rsp + 16]",
                    "mov rcx, qword ptr [rsp + 24]",
                    "mov r8, qword ptr [rsp + 32]",
                    "mov r9, qword ptr [rsp + 40]",
                    "add rsp, 216",
                    "jmp r11",
                    found = sym $found,
                )
            }
        )*
    };
}
pub(crate) use pass_on;
