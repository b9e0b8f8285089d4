//! Descriptors of methods: what they take and return. Types are one letter each, `L` for all references.

/// The types of the arguments.
pub(crate) fn argument_types(descriptor: &str) -> Option<Vec<char>> {
    let inside = descriptor.strip_prefix('(')?.split(')').next()?;
    let mut types = Vec::new();
    let mut letters = inside.chars();
    while let Some(letter) = letters.next() {
        let mut kind = letter;
        while kind == '[' {
            kind = letters.next()?;
        }
        if kind == 'L' {
            letters.by_ref().find(|&letter| letter == ';')?;
        }
        types.push(if letter == '[' { 'L' } else { kind });
    }
    Some(types)
}

/// The types of the arguments as the descriptor has them.
pub(crate) fn argument_texts(descriptor: &str) -> Option<Vec<String>> {
    let mut rest = descriptor.strip_prefix('(')?.split(')').next()?;
    let mut texts = Vec::new();
    while !rest.is_empty() {
        let dimensions = rest.len() - rest.trim_start_matches('[').len();
        let length = match rest[dimensions..].chars().next()? {
            'L' => rest.find(';')? + 1,
            _ => dimensions + 1,
        };
        texts.push(rest[..length].to_owned());
        rest = &rest[length..];
    }
    Some(texts)
}

/// The type of the result.
pub(crate) fn return_type(descriptor: &str) -> char {
    match descriptor.split(')').nth(1).and_then(|text| text.chars().next()) {
        Some('[') | None => 'L',
        Some(kind) => kind,
    }
}

/// The local variables that arguments are put into.
pub(crate) struct Slots {
    pub(crate) each: Vec<u16>,
    pub(crate) end: u16,
}

impl Slots {
    pub(crate) fn of(types: &[char], first: u16) -> Option<Slots> {
        let (mut each, mut end) = (Vec::new(), first);
        for kind in types {
            each.push(end);
            end = end.checked_add(if matches!(kind, 'J' | 'D') { 2 } else { 1 })?;
        }
        Some(Slots { each, end })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descriptors_are_read() {
        assert_eq!(argument_types("(I[JLjava/lang/String;[[La;D)V").unwrap(), ['I', 'L', 'L', 'L', 'D']);
        assert_eq!((return_type("()V"), return_type("()[I"), return_type("(J)La;")), ('V', 'L', 'L'));
        assert_eq!(argument_texts("(I[JLa/B;[[La;)V").unwrap(), ["I", "[J", "La/B;", "[[La;"]);
        let slots = Slots::of(&['J', 'I'], 3).unwrap();
        assert_eq!((slots.each, slots.end), (vec![3, 5], 6));
    }
}
