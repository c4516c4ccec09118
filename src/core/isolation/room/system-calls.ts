/** What the processors that runners have need to be told: numbers of system calls, in the kernel's own order of bytes. */
interface Abi {
  /** As the kernel names it to a filter. */
  readonly arch: number;
  /** add_key, request_key, keyctl. */
  readonly keys: readonly number[];
  /** socket, socketpair: the family of a socket is their first argument. */
  readonly sockets: readonly number[];
  /** Those that make sockets in a way that no filter can look into. */
  readonly unseen: readonly number[];
  /** Bit of the calls of yet another ABI that has the same `arch`; null: there is none. */
  readonly otherAbi: number | null;
}

/** io_uring_setup, io_uring_enter, io_uring_register: the same everywhere. */
const IO_URING = [425, 426, 427] as const;
/** Calls to a filter of one ABI; programs of 32 bits run on the same kernel, and their socketcall hides its arguments. */
const ABIS: Readonly<Record<string, readonly [own: Abi, of32Bits: Abi]>> = {
  x64: [
    { arch: 0xc000_003e, keys: [248, 249, 250], sockets: [41, 53], unseen: IO_URING, otherAbi: 0x4000_0000 },
    { arch: 0x4000_0003, keys: [286, 287, 288], sockets: [359, 360], unseen: [102, ...IO_URING], otherAbi: null },
  ],
  arm64: [
    { arch: 0xc000_00b7, keys: [217, 218, 219], sockets: [198, 199], unseen: IO_URING, otherAbi: null },
    { arch: 0x4000_0028, keys: [309, 310, 311], sockets: [281, 288], unseen: [102, ...IO_URING], otherAbi: null },
  ],
};

/** Numbers of the calls by which a room is made, a program is sealed, and the seal is tried. */
export interface CallNumbers {
  readonly close: number;
  readonly prctl: number;
  readonly unshare: number;
  readonly addKey: number;
  readonly requestKey: number;
  readonly keyctl: number;
  readonly socket: number;
  readonly ioUringSetup: number;
}

const NUMBERS: Readonly<Record<string, Pick<CallNumbers, 'close' | 'prctl' | 'unshare'>>> = {
  x64: { close: 3, prctl: 157, unshare: 272 },
  arm64: { close: 57, prctl: 167, unshare: 97 },
};

/** Returns the numbers for a processor, named as Node names it, or null if they are not known. */
export function callNumbers(processor: string): CallNumbers | null {
  const [abi] = ABIS[processor] ?? [];
  const numbers = NUMBERS[processor];
  if (abi === undefined || numbers === undefined) return null;
  const [addKey = 0, requestKey = 0, keyctl = 0] = abi.keys;
  return { ...numbers, addKey, requestKey, keyctl, socket: abi.sockets[0] ?? 0, ioUringSetup: IO_URING[0] };
}

/** Local sockets, those of the internet, and those that ask the kernel for its interfaces: of a room's network all of them are its own. */
const FAMILIES = [1, 2, 10, 16];

const EPERM = 1;
const ENOSYS = 38;
const EAFNOSUPPORT = 97;
const ALLOW = 0x7fff_0000;
const KILL = 0x8000_0000;
const refused = (error: number): number => 0x0005_0000 + error;

/** Offsets in what a filter sees of a call. */
const SEEN = { number: 0, arch: 4, firstArgument: 16 };
const LOAD = 0x20;
const IF_EQUAL = 0x15;
const IF_AT_LEAST = 0x35;
const RETURN = 0x06;

type Instruction =
  | { readonly code: typeof LOAD | typeof RETURN; readonly value: number }
  /** Goes on behind the label `to` where it holds, else in the next line. */
  | { readonly code: typeof IF_EQUAL | typeof IF_AT_LEAST; readonly value: number; readonly to: string };
type Line = Instruction | { readonly label: string };

/**
 * A filter of system calls, as bytes in hexadecimal for seccomp(2): without the kernel's keys, which no namespace of
 * the room's holds back; without io_uring; and with sockets of those families only that a network namespace keeps apart.
 * The same for programs of 32 bits. Null: this processor is not known.
 */
export function callFilter(processor: string): string | null {
  const abis = ABIS[processor];
  if (abis === undefined) return null;
  const lines: readonly Line[] = [
    { code: LOAD, value: SEEN.arch },
    ...abis.map(({ arch }): Line => ({ code: IF_EQUAL, value: arch, to: String(arch) })),
    { code: RETURN, value: KILL },
    ...abis.flatMap(linesOf),
    { label: 'family' },
    { code: LOAD, value: SEEN.firstArgument },
    ...FAMILIES.map((family): Line => ({ code: IF_EQUAL, value: family, to: 'allow' })),
    { code: RETURN, value: refused(EAFNOSUPPORT) },
    { label: 'key' },
    { code: RETURN, value: refused(EPERM) },
    { label: 'unknown' },
    // A tracer that skips a call gives it this number.
    { code: IF_EQUAL, value: 0xffff_ffff, to: 'allow' },
    { label: 'unseen' },
    { code: RETURN, value: refused(ENOSYS) },
    { label: 'allow' },
    { code: RETURN, value: ALLOW },
  ];
  return assembled(lines);
}

function linesOf({ arch, keys, sockets, unseen, otherAbi }: Abi): readonly Line[] {
  const each = (numbers: readonly number[], to: string): readonly Line[] =>
    numbers.map((number) => ({ code: IF_EQUAL, value: number, to }));
  return [
    { label: String(arch) },
    { code: LOAD, value: SEEN.number },
    ...(otherAbi === null ? [] : [{ code: IF_AT_LEAST, value: otherAbi, to: 'unknown' } as const]),
    ...each(sockets, 'family'),
    ...each(keys, 'key'),
    ...each(unseen, 'unseen'),
    { code: RETURN, value: ALLOW },
  ];
}

function assembled(lines: readonly Line[]): string {
  const places = new Map<string, number>();
  let at = 0;
  for (const line of lines)
    if ('label' in line) places.set(line.label, at);
    else at += 1;
  return lines
    .filter((line): line is Instruction => !('label' in line))
    .map((line, nth) => instruction(line.code, line.value, 'to' in line ? (places.get(line.to) ?? 0) - nth - 1 : 0))
    .join('');
}

/** `jump`: how many instructions are passed over where it holds. */
function instruction(code: number, value: number, jump: number): string {
  const bytes = [code, 0, jump, 0, value % 256, Math.floor(value / 2 ** 8) % 256, Math.floor(value / 2 ** 16) % 256];
  return [...bytes, Math.floor(value / 2 ** 24)].map((byte) => byte.toString(16).padStart(2, '0')).join('');
}
