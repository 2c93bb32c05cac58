//! The kernel's verifier permits 8 functions within each other, and 512 bytes of stack for all of them. These tests add up each chain of calls in each
//! object, without a kernel and with all modifiers at once: code counts also if the loaded modifiers do not need it. How long programs are is not seen here.

use std::collections::BTreeMap;

use object::{Object as _, ObjectSection as _, ObjectSymbol as _, RelocationTarget, SectionKind, SymbolKind};

use super::{OBJECTS, SHARDED, unpacked};

const MOST_FRAMES: usize = 8;
const MOST_STACK: u32 = 512;
/// The verifier rounds each frame up, where the kernel translates programs (without a translator to 32). A function without a frame counts as one here.
const FRAME_ALIGNMENT: u32 = 16;

/// The register that points to the end of the frame.
const FRAME_POINTER: u8 = 10;
const CALL: u8 = 0x85;
/// In a call's source register: it calls a function of the object.
const PSEUDO_CALL: u8 = 1;
const MOVE: u8 = 0xbf;
const ADD_CONSTANT: u8 = 0x07;
/// The address of something, which is a callback if it is a function
const ADDRESS: u8 = 0x18;
const INSTRUCTION_BYTES: u64 = 8;

/// The kernel calls these from timers, so they begin chains of their own.
const CALLBACKS: [&str; 2] = ["release_held", "check_starvation"];

/// Where a function begins: the index of its section, and the address there
type Place = (usize, u64);

#[derive(Default)]
struct Function {
    name: String,
    stack: u32,
    calls: Vec<Place>,
}

/// The deepest chain of calls from a function on, by bytes of stack and by frames
#[derive(Clone, Default)]
struct Chains {
    stack: (u32, String),
    frames: (usize, String),
}

struct Instruction {
    code: u8,
    to: u8,
    from: u8,
    offset: i16,
    constant: i32,
}

impl Instruction {
    fn read(bytes: &[u8]) -> Instruction {
        let &[code, registers, a, b, c, d, e, f] = bytes else { panic!("{} bytes", bytes.len()) };
        Instruction {
            code,
            to: registers & 15,
            from: registers >> 4,
            offset: i16::from_le_bytes([a, b]),
            constant: i32::from_le_bytes([c, d, e, f]),
        }
    }

    /// How far below the end of the frame it reads or writes. By their classes, loads are 1, and stores 2 and 3.
    fn accesses(&self) -> Option<u32> {
        let base = match self.code & 7 {
            1 => self.from,
            2 | 3 => self.to,
            _ => return None,
        };
        (base == FRAME_POINTER && self.offset < 0).then(|| u32::from(self.offset.unsigned_abs()))
    }
}

/// The bytes of stack that a function uses: what it reads and writes there, and what it passes on the addresses of.
fn stack(code: &[u8]) -> u32 {
    let mut deepest = 0;
    let mut points_to_end = [false; 16];
    for bytes in code.chunks_exact(INSTRUCTION_BYTES as usize) {
        let one = Instruction::read(bytes);
        deepest = deepest.max(one.accesses().unwrap_or(0));
        if one.code == ADD_CONSTANT && points_to_end[usize::from(one.to)] && one.constant < 0 {
            deepest = deepest.max(one.constant.unsigned_abs());
        }
        // Loads and arithmetic write the register; stores and jumps do not.
        if matches!(one.code & 7, 0 | 1 | 4 | 7) {
            let copies = one.from == FRAME_POINTER || points_to_end[usize::from(one.from)];
            points_to_end[usize::from(one.to)] = one.code == MOVE && copies;
        }
    }
    deepest
}

fn functions(elf: &object::File<'_>) -> BTreeMap<Place, Function> {
    let mut all = BTreeMap::new();
    for symbol in elf.symbols().filter(|symbol| symbol.kind() == SymbolKind::Text && symbol.is_definition()) {
        let index = symbol.section_index().expect("a function is in a section");
        let section = elf.section_by_index(index).expect("the section is there");
        let code = section.data_range(symbol.address(), symbol.size()).expect("bytes").expect("code");
        let name = symbol.name().expect("a name").to_owned();
        all.insert((index.0, symbol.address()), Function { name, stack: stack(code), calls: Vec::new() });
    }
    for section in elf.sections() {
        let data = section.data().expect("bytes");
        let relocated: BTreeMap<u64, RelocationTarget> =
            section.relocations().map(|(at, relocation)| (at, relocation.target())).collect();
        let own: Vec<Place> = all.keys().copied().filter(|(index, _)| *index == section.index().0).collect();
        for (i, place) in own.iter().enumerate() {
            let end = own.get(i + 1).map_or(data.len() as u64, |(_, next)| *next);
            let addresses = (place.1..end).step_by(INSTRUCTION_BYTES as usize);
            let calls =
                addresses.filter_map(|at| called(elf, (section.index().0, at), data, &relocated, &all));
            let calls: Vec<Place> = calls.collect();
            assert!(calls.iter().all(|called| all.contains_key(called)), "a call of no function: {calls:?}");
            all.entry(*place).or_default().calls = calls;
        }
    }
    all
}

/// The function of the object that is called there, or whose address is taken. The constant counts instructions, from the next one or from the symbol's address; of an
/// address it counts bytes.
/// The kernel's functions are in no section.
fn called(
    elf: &object::File<'_>,
    (section, at): Place,
    data: &[u8],
    relocated: &BTreeMap<u64, RelocationTarget>,
    all: &BTreeMap<Place, Function>,
) -> Option<Place> {
    let one = Instruction::read(data.get(at as usize..(at + INSTRUCTION_BYTES) as usize)?);
    let from_constant =
        |base: u64| base.wrapping_add_signed((i64::from(one.constant) + 1) * INSTRUCTION_BYTES as i64);
    let is_call = (one.code, one.from) == (CALL, PSEUDO_CALL);
    match relocated.get(&at) {
        None => is_call.then(|| (section, from_constant(at))),
        Some(RelocationTarget::Symbol(symbol)) => {
            let symbol = elf.symbol_by_index(*symbol).expect("the symbol is there");
            let index = symbol.section_index()?;
            let is_code =
                elf.section_by_index(index).is_ok_and(|section| section.kind() == SectionKind::Text);
            if is_call {
                return Some((index.0, from_constant(symbol.address())));
            }
            if one.code == ADDRESS && is_code {
                let place = (index.0, symbol.address() + u64::from(one.constant.unsigned_abs()));
                let name = all.get(&place).map_or("no function", |function| &function.name);
                let is_known = CALLBACKS.contains(&name);
                assert!(is_known, "`{name}` at {place:?} is a callback: does the kernel call it at once?");
            }
            None
        }
        Some(other) => panic!("a relocation of another kind: {other:?}"),
    }
}

fn chains(of: Place, all: &BTreeMap<Place, Function>, known: &mut BTreeMap<Place, Chains>) -> Chains {
    if let Some(known) = known.get(&of) {
        return known.clone();
    }
    let function = &all[&of];
    let frame = function.stack.max(1).next_multiple_of(FRAME_ALIGNMENT);
    let mut deepest = Chains::default();
    for called in &function.calls {
        let below = chains(*called, all, known);
        if below.stack.0 > deepest.stack.0 {
            deepest.stack = below.stack;
        }
        if below.frames.0 > deepest.frames.0 {
            deepest.frames = below.frames;
        }
    }
    let named = |below: &str| format!("{}({}) {below}", function.name, function.stack);
    let own = Chains {
        stack: (frame + deepest.stack.0, named(&deepest.stack.1)),
        frames: (1 + deepest.frames.0, named(&deepest.frames.1)),
    };
    known.insert(of, own.clone());
    own
}

#[test]
fn calls_are_no_deeper_than_the_verifier_permits() {
    let mut too_deep = String::new();
    for (kind, objects) in [("", OBJECTS), ("@cpu", SHARDED)] {
        assert!(!objects.is_empty(), "no objects");
        for entry in objects {
            let mut deepest = (0, 0);
            let bytes = unpacked(entry).expect("an object");
            let elf = object::File::parse(&*bytes).expect("ELF");
            let (all, mut known) = (functions(&elf), BTreeMap::new());
            assert!(all.values().any(|function| function.name == "host_dispatch"), "{}", entry.0);
            for place in all.keys() {
                let Chains { stack, frames } = chains(*place, &all, &mut known);
                deepest = (deepest.0.max(stack.0), deepest.1.max(frames.0));
                if stack.0 > MOST_STACK {
                    too_deep += &format!("{}{kind}: {} bytes: {}\n", entry.0, stack.0, stack.1);
                }
                if frames.0 > MOST_FRAMES {
                    too_deep += &format!("{}{kind}: {} frames: {}\n", entry.0, frames.0, frames.1);
                }
            }
            println!("{}{kind}: {} bytes, {} frames", entry.0, deepest.0, deepest.1);
            let sees_calls = deepest.0 > MOST_STACK / 2 && deepest.1 > MOST_FRAMES / 2;
            assert!(sees_calls, "it sees no calls in {}{kind}: {deepest:?}", entry.0);
        }
    }
    assert!(too_deep.is_empty(), "{too_deep}");
}

/// r1 = r10; r1 += -72; *(u64 *)(r10 - 8) = r2; r3 = *(u32 *)(r10 - 100); r4 = r1; r4 += -200
#[test]
fn the_stack_of_a_function_is_as_deep_as_it_reaches() {
    let one = |code: u8, to: u8, from: u8, offset: i16, constant: i32| {
        let mut bytes = vec![code, to | from << 4];
        bytes.extend(offset.to_le_bytes());
        bytes.extend(constant.to_le_bytes());
        bytes
    };
    let code = [
        one(MOVE, 1, FRAME_POINTER, 0, 0),
        one(ADD_CONSTANT, 1, 0, 0, -72),
        one(0x7b, FRAME_POINTER, 2, -8, 0),
        one(0x61, 3, FRAME_POINTER, -100, 0),
        one(MOVE, 4, 1, 0, 0),
        one(ADD_CONSTANT, 4, 0, 0, -200),
    ];
    assert_eq!(stack(&code[..3].concat()), 72);
    assert_eq!(stack(&code.concat()), 100, "r1 is elsewhere when it is copied");
    assert_eq!(stack(&[code[0].clone(), code[4].clone(), code[5].clone()].concat()), 200, "a copy of a copy");
}
