/** The languages of code blocks that contain shell commands. */
const SHELLS = ['', 'sh', 'bash', 'shell', 'console', 'zsh', 'text'];

const MAX_COMMANDS = 50;

/** The checks, in the order in which they are shown. */
export const doctorChecks = [
  'workflow-file',
  'placeholder',
  'inputs',
  'settings',
  'pipeline',
  'triggers',
  'event-filter',
  'permissions',
  'answers',
  'pull-requests',
  'checkout',
  'runner',
  'secret',
  'key',
  'agent',
  'label',
  'schedule',
  'notify',
  'branch-names',
  'branch-rules',
  'branch-protection',
  'push-rules',
  'cache',
  'verify',
  'allowed-tools',
  'isolation',
  'spend',
  'state',
] as const;

type Check = (typeof doctorChecks)[number];

/**
 * The kinds of findings. `ok`: fine; `warning`: runs work, but not as well as they could; `problem`: runs fail;
 * `unchecked`: the check could not be done here.
 */
export const findingKinds = ['ok', 'warning', 'problem', 'unchecked'] as const;

/** The way to fix a finding. */
interface Remedy {
  readonly text: string;
  /** Lines or a command to paste; null if none. */
  readonly paste: string | null;
  /** URL of the page with the setting; null if none. */
  readonly link: string | null;
}

/** The result of one check. */
export interface Finding {
  readonly check: Check;
  readonly kind: (typeof findingKinds)[number];
  /** The workflow's file; null if the finding is about the repository or this machine. */
  readonly where: string | null;
  readonly says: string;
  readonly remedy: Remedy | null;
}

/** The marks of findings in texts for people. */
export const FINDING_MARKS: Readonly<Record<Finding['kind'], string>> = {
  ok: '✓',
  warning: '⚠',
  problem: '✗',
  unchecked: '⚠',
};

/** Creates a remedy; omitted parts are null. */
export function createRemedy(text: string, parts: Partial<Pick<Remedy, 'paste' | 'link'>>): Remedy {
  return { text, paste: parts.paste ?? null, link: parts.link ?? null };
}

/** Creates the finding of a check that passed. */
export function okFinding(check: Check, says: string): Finding {
  return { check, kind: 'ok', where: null, says, remedy: null };
}

/** Creates a warning with its remedy. */
export function warningFinding(check: Check, says: string, what: Remedy): Finding {
  return { check, kind: 'warning', where: null, says, remedy: what };
}

/** Creates a problem with its remedy. */
export function problemFinding(check: Check, says: string, what: Remedy): Finding {
  return { check, kind: 'problem', where: null, says, remedy: what };
}

/** Creates a problem whose text already says what to do. */
export function problemWithoutRemedy(check: Check, says: string): Finding {
  return { check, kind: 'problem', where: null, says, remedy: null };
}

/** Creates a warning whose text already says what to do. */
export function warningWithoutRemedy(check: Check, says: string): Finding {
  return { check, kind: 'warning', where: null, says, remedy: null };
}

/** Creates the finding of a check that could not be done, with the way to make it possible. */
export function uncheckedFinding(check: Check, says: string, what: Remedy): Finding {
  return { check, kind: 'unchecked', where: null, says, remedy: what };
}

/**
 * Returns the commands named in notes for an agent: lines of shell blocks, indented lines, and inline code after a
 * label such as `Tests:`.
 */
export function findCommandsInNotes(markdown: string): readonly string[] {
  const found: string[] = [];
  let fence: { readonly mark: string; readonly isShell: boolean } | null = null;
  for (const line of markdown.split(/\r?\n/)) {
    const [, mark = '', language = ''] = /^ {0,3}(`{3,}|~{3,})\s*(\S*)/.exec(line) ?? [];
    if (fence !== null) {
      if (mark.startsWith(fence.mark)) fence = null;
      else if (fence.isShell) found.push(line);
    } else if (mark !== '') fence = { mark, isShell: SHELLS.includes(language.toLowerCase()) };
    else if (/^(?: {4}|\t)/.test(line) && !/^\s+[-*+\d]/.test(line)) found.push(line);
    else {
      const named = /^[^`]*:\**\s*`([^`]+)`[\s.]*$/.exec(line)?.[1];
      if (named !== undefined) found.push(named);
    }
  }
  return found
    .map((line) => line.trim().replace(/^\$\s+/, ''))
    .filter((line) => line !== '' && !line.startsWith('#'))
    .slice(0, MAX_COMMANDS);
}
