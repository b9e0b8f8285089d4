//! What single machine instructions do, as far as constants need it.

use iced_x86::{Instruction, Mnemonic, OpKind};

/// The instruction makes a register zero by combining it with itself.
pub(crate) fn is_zero_of_itself(instruction: &Instruction) -> bool {
    let registers = (0..instruction.op_count()).map(|operand| instruction.op_kind(operand) == OpKind::Register);
    let combines = matches!(
        instruction.mnemonic(),
        Mnemonic::Xor
            | Mnemonic::Pxor
            | Mnemonic::Xorps
            | Mnemonic::Xorpd
            | Mnemonic::Vpxor
            | Mnemonic::Vxorps
            | Mnemonic::Vxorpd
    );
    let last = instruction.op_register(instruction.op_count().saturating_sub(1));
    let before = instruction.op_register(instruction.op_count().saturating_sub(2));
    combines && registers.into_iter().all(|is_one| is_one) && last == before && !last.is_zmm()
}

/// The instruction stores a vector register as it is, or its low part.
pub(crate) fn moves_vector(instruction: &Instruction) -> bool {
    use Mnemonic::{
        Movapd, Movaps, Movd, Movdqa, Movdqu, Movlpd, Movlps, Movq, Movsd, Movss, Movupd, Movups, Vmovapd, Vmovaps,
        Vmovd, Vmovdqa, Vmovdqu, Vmovq, Vmovsd, Vmovss, Vmovupd, Vmovups,
    };
    matches!(
        instruction.mnemonic(),
        Movapd
            | Movaps
            | Movd
            | Movdqa
            | Movdqu
            | Movlpd
            | Movlps
            | Movq
            | Movsd
            | Movss
            | Movupd
            | Movups
            | Vmovapd
            | Vmovaps
            | Vmovd
            | Vmovdqa
            | Vmovdqu
            | Vmovq
            | Vmovsd
            | Vmovss
            | Vmovupd
            | Vmovups
    )
}
