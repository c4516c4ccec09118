import { readdirSync, readFileSync } from 'node:fs';
import { callFilter, callNumbers, type CallNumbers } from '../../core/isolation/room/system-calls.ts';
import { oneLine } from '../../core/text/phrase.ts';
import { trustedProgram } from '../../processes/trusted-programs.ts';
import { SYSTEM_PATH } from './root.ts';

/** A process of a user; `name` is what it calls itself. */
interface UserProcess {
  readonly pid: number;
  readonly name: string;
}

/**
 * CLOSE KEYCTL PRCTL FILTER PROGRAM…: the program runs without what was inherited behind the first three descriptors, with
 * a session keyring of its own, and under the filter. What the kernel refuses of it is found by the probe.
 */
const SEAL = {
  perl: `
my ($close, $keyctl, $prctl, $filter, @program) = @ARGV;
if (opendir my $open, "/proc/self/fd") { syscall($close + 0, $_ + 0) for grep { /^\\d+$/ && $_ > 2 } readdir $open }
syscall($keyctl + 0, 1, 0);
my $code = pack "H*", $filter;
my $handed = pack "S x6 P", length($code) / 8, $code;
syscall($prctl + 0, 22, 2, $handed, 0, 0);
exec { $program[0] } @program or exit 127;
`,
  python: `
import ctypes, os, signal, struct, sys
_, keyctl, prctl, code, *program = sys.argv[1:]
os.closerange(3, 1 + max(map(int, os.listdir("/proc/self/fd"))))
call = ctypes.CDLL(None).syscall
call(int(keyctl), 1, 0)
code = ctypes.create_string_buffer(bytes.fromhex(code), len(code) // 2)
call(int(prctl), 22, 2, struct.pack("H6xQ", len(code) // 8, ctypes.addressof(code)), 0, 0)
for ignored in (signal.SIGPIPE, signal.SIGXFSZ): signal.signal(ignored, signal.SIG_DFL)
os.execv(program[0], program)
`,
};

/** NUMBER ARGUMENT…: exits with 0 where the kernel takes a call, whatever it then says of the arguments. */
const CALL = {
  perl: `
my @words = map { /^-?\\d+$/ ? $_ + 0 : $_ } @ARGV;
exit 0 if syscall(shift @words, @words) >= 0;
exit((grep { $! == $_ } 1, 13, 38, 97) ? 1 : 0);
`,
  python: `
import ctypes, sys
kernel = ctypes.CDLL(None, use_errno=True)
words = [int(word) if word.lstrip("-").isdigit() else word.encode() for word in sys.argv[1:]]
sys.exit(int(kernel.syscall(*words) < 0 and ctypes.get_errno() in (1, 13, 38, 97)))
`,
};

/** A language of this machine in which system calls can be made. */
interface Language {
  readonly name: keyof typeof SEAL;
  /** The command line that seals, to which a program's own is appended. */
  readonly argv: readonly [string, ...string[]];
  readonly numbers: CallNumbers;
}

/** Null: the machine has none. */
function findLanguage(): Language | null {
  const numbers = callNumbers(process.arch);
  const [perl, python] = ['perl', 'python3'].map((name) => trustedProgram(name, { PATH: SYSTEM_PATH }));
  if (numbers === null) return null;
  if (perl != null) return { name: 'perl', argv: [perl, '-e'], numbers };
  return python == null ? null : { name: 'python', argv: [python, '-I', '-S', '-c'], numbers };
}

/** Put before a program that may gain no rights, it takes away what no namespace does; empty: nothing here can do that. */
export function sealOfPrograms(): readonly string[] {
  const language = findLanguage();
  const filter = callFilter(process.arch);
  if (language === null || filter === null) return [];
  const { argv, name, numbers } = language;
  return [...argv, SEAL[name], ...[numbers.close, numbers.keyctl, numbers.prctl].map(String), filter];
}

/** How the probe makes system calls: what stands before a number and arguments; null: nothing here can do that. */
export function callsOfProbe(): { readonly argv: readonly string[]; readonly numbers: CallNumbers } | null {
  const language = findLanguage();
  return language === null ? null : { argv: [...language.argv, CALL[language.name]], numbers: language.numbers };
}

/** The processes of a user, in whatever namespace below ours. Those that have ended and wait to be collected are none. */
export function processesOf(uid: number): readonly UserProcess[] {
  const seen = lookFor(uid);
  // A single look may miss a child whose parent ended while we looked.
  return seen.length > 0 ? seen : lookFor(uid);
}

function lookFor(uid: number): readonly UserProcess[] {
  return readdirSync('/proc').flatMap((pid) => {
    const status = /^\d+$/.test(pid) ? readStatus(pid) : '';
    const [, name = ''] = /^Name:\t(.*)$/m.exec(status) ?? [];
    const [, state = 'Z'] = /^State:\t(\w)/m.exec(status) ?? [];
    // Real, effective, saved and of the file system: the owner of the folder would be root's where a process hides its memory.
    const [, uids = ''] = /^Uid:\t(.*)$/m.exec(status) ?? [];
    const isOurs = uids.split('\t').includes(String(uid)) && !/[ZX]/.test(state);
    return isOurs ? [{ pid: Number(pid), name: oneLine(name, 30) }] : [];
  });
}

function readStatus(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/status`, 'utf8');
  } catch {
    // It has ended in the meantime.
    return '';
  }
}
