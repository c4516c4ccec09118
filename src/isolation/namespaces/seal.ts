import { readdirSync, readFileSync } from 'node:fs';
import { buildCallFilter, findCallNumbers, type CallNumbers } from '../../core/isolation/sandbox/system-calls.ts';
import { toOneLine } from '../../core/text/phrase.ts';
import { findTrustedProgram } from '../../processes/trusted-programs.ts';
import { SYSTEM_PATH } from './root.ts';

/** A process of a user, with the name that it gives itself. */
interface UserProcess {
  readonly pid: number;
  readonly name: string;
}

/**
 * Runs a program without inherited descriptors above 2, with a session keyring of its own and under the filter. The
 * probe reports the parts that the kernel refuses. Arguments: CLOSE KEYCTL PRCTL FILTER PROGRAM…
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

/** Exits with 0 if the kernel accepts a system call, even if the call then fails. Arguments: NUMBER ARGUMENT… */
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

/** An interpreter on this machine that can make system calls. */
interface Language {
  readonly name: keyof typeof SEAL;
  /** The interpreter and its options, to which the text of a program is appended. */
  readonly argv: readonly [string, ...string[]];
  readonly numbers: CallNumbers;
}

/** Returns the interpreter, or null if this machine has no suitable one. */
function findLanguage(): Language | null {
  const numbers = findCallNumbers(process.arch);
  const [perl, python] = ['perl', 'python3'].map((name) => findTrustedProgram(name, { PATH: SYSTEM_PATH }));
  if (numbers === null) return null;
  if (perl != null) return { name: 'perl', argv: [perl, '-e'], numbers };
  return python == null ? null : { name: 'python', argv: [python, '-I', '-S', '-c'], numbers };
}

/**
 * Returns a command prefix that closes the gaps of namespaces: inherited descriptors, the session keyring and some
 * system calls. The program behind it must not be able to gain rights. Empty if this machine cannot do that.
 */
export function sealOfPrograms(): readonly string[] {
  const language = findLanguage();
  const filter = buildCallFilter(process.arch);
  if (language === null || filter === null) return [];
  const { argv, name, numbers } = language;
  return [...argv, SEAL[name], ...[numbers.close, numbers.keyctl, numbers.prctl].map(String), filter];
}

/**
 * Returns the command with which the probe makes a system call, without the call's number and arguments; null if this
 * machine cannot do that.
 */
export function findProbeCallCommand(): { readonly argv: readonly string[]; readonly numbers: CallNumbers } | null {
  const language = findLanguage();
  return language === null ? null : { argv: [...language.argv, CALL[language.name]], numbers: language.numbers };
}

/** Returns the processes of a user in this namespace and in those below it, without zombies. */
export function listUserProcesses(uid: number): readonly UserProcess[] {
  const seen = lookFor(uid);
  // Look twice before returning nothing: a single look may miss a child whose parent ends in the meantime.
  return seen.length > 0 ? seen : lookFor(uid);
}

function lookFor(uid: number): readonly UserProcess[] {
  return readdirSync('/proc').flatMap((pid) => {
    const status = /^\d+$/.test(pid) ? readStatus(pid) : '';
    const [, name = ''] = /^Name:\t(.*)$/m.exec(status) ?? [];
    const [, state = 'Z'] = /^State:\t(\w)/m.exec(status) ?? [];
    // Compare the real, effective, saved and file system ids: the owner of the folder is root if a process hides its
    // memory.
    const [, uids = ''] = /^Uid:\t(.*)$/m.exec(status) ?? [];
    const isOurs = uids.split('\t').includes(String(uid)) && !/[ZX]/.test(state);
    return isOurs ? [{ pid: Number(pid), name: toOneLine(name, 30) }] : [];
  });
}

function readStatus(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/status`, 'utf8');
  } catch {
    // The process has ended in the meantime.
    return '';
  }
}
