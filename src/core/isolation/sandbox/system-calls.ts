/** The system call numbers of one ABI of a runner's processor, in the kernel's byte order. */
interface Abi {
  /** Value of `arch` that the kernel passes to a filter. */
  readonly arch: number;
  /** Numbers of add_key, request_key and keyctl. */
  readonly keys: readonly number[];
  /** Numbers of socket and socketpair, whose first argument is the socket family. */
  readonly sockets: readonly number[];
  /** Numbers of calls that create sockets in a way that no filter can inspect. */
  readonly unseen: readonly number[];
  /** Bit that marks calls of another ABI with the same `arch`; null if there is no such ABI. */
  readonly otherAbi: number | null;
}

/** Numbers of io_uring_setup, io_uring_enter and io_uring_register, which are equal on all processors. */
const IO_URING = [425, 426, 427] as const;
/**
 * The ABIs by processor. The same kernel also runs 32-bit programs, whose socketcall hides its arguments from a filter.
 */
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

/** The numbers of the system calls that create a sandbox, apply the filter to a program, and test the filter. */
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

/** Returns the numbers for a processor, named as in Node, or null for an unknown processor. */
export function findCallNumbers(processor: string): CallNumbers | null {
  const [abi] = ABIS[processor] ?? [];
  const numbers = NUMBERS[processor];
  if (abi === undefined || numbers === undefined) return null;
  const [addKey = 0, requestKey = 0, keyctl = 0] = abi.keys;
  return { ...numbers, addKey, requestKey, keyctl, socket: abi.sockets[0] ?? 0, ioUringSetup: IO_URING[0] };
}

/**
 * The allowed socket families: local, IPv4, IPv6, and netlink for the kernel's interfaces. A sandbox's network
 * namespace separates all of them.
 */
const FAMILIES = [1, 2, 10, 16];

const EPERM = 1;
const ENOSYS = 38;
const EAFNOSUPPORT = 97;
const ALLOW = 0x7fff_0000;
const KILL = 0x8000_0000;
const refused = (error: number): number => 0x0005_0000 + error;

/** Offsets in the data about a call that a filter receives. */
const CALL_DATA = { number: 0, arch: 4, firstArgument: 16 };
const LOAD = 0x20;
const IF_EQUAL = 0x15;
const IF_AT_LEAST = 0x35;
const RETURN = 0x06;

type Instruction =
  | { readonly code: typeof LOAD | typeof RETURN; readonly value: number }
  /** Jumps to the label `to` if the condition is true, else continues with the next line. */
  | { readonly code: typeof IF_EQUAL | typeof IF_AT_LEAST; readonly value: number; readonly to: string };
type Line = Instruction | { readonly label: string };

/**
 * Builds a system call filter for seccomp(2), as hexadecimal bytes. The filter refuses calls that namespaces do not
 * contain: kernel keys, io_uring and some socket families. It applies the same limits to 32-bit programs. Returns null
 * for an unknown processor.
 */
export function buildCallFilter(processor: string): string | null {
  const abis = ABIS[processor];
  if (abis === undefined) return null;
  const lines: readonly Line[] = [
    { code: LOAD, value: CALL_DATA.arch },
    ...abis.map(({ arch }): Line => ({ code: IF_EQUAL, value: arch, to: String(arch) })),
    { code: RETURN, value: KILL },
    ...abis.flatMap(filterLinesOf),
    { label: 'family' },
    { code: LOAD, value: CALL_DATA.firstArgument },
    ...FAMILIES.map((family): Line => ({ code: IF_EQUAL, value: family, to: 'allow' })),
    { code: RETURN, value: refused(EAFNOSUPPORT) },
    { label: 'key' },
    { code: RETURN, value: refused(EPERM) },
    { label: 'unknown' },
    // Allow this value, because a tracer that skips a call replaces its number with it.
    { code: IF_EQUAL, value: 0xffff_ffff, to: 'allow' },
    { label: 'unseen' },
    { code: RETURN, value: refused(ENOSYS) },
    { label: 'allow' },
    { code: RETURN, value: ALLOW },
  ];
  return assembleLines(lines);
}

function filterLinesOf({ arch, keys, sockets, unseen, otherAbi }: Abi): readonly Line[] {
  const each = (numbers: readonly number[], to: string): readonly Line[] =>
    numbers.map((number) => ({ code: IF_EQUAL, value: number, to }));
  return [
    { label: String(arch) },
    { code: LOAD, value: CALL_DATA.number },
    ...(otherAbi === null ? [] : [{ code: IF_AT_LEAST, value: otherAbi, to: 'unknown' } as const]),
    ...each(sockets, 'family'),
    ...each(keys, 'key'),
    ...each(unseen, 'unseen'),
    { code: RETURN, value: ALLOW },
  ];
}

function assembleLines(lines: readonly Line[]): string {
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

/** Encodes an instruction; `jump` is the number of instructions skipped if its condition is true. */
function instruction(code: number, value: number, jump: number): string {
  const bytes = [code, 0, jump, 0, value % 256, Math.floor(value / 2 ** 8) % 256, Math.floor(value / 2 ** 16) % 256];
  return [...bytes, Math.floor(value / 2 ** 24)].map((byte) => byte.toString(16).padStart(2, '0')).join('');
}
