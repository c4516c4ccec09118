/** Names that a line of a code block begins with when it is a shell's. */
const SHELLS = ['', 'sh', 'bash', 'shell', 'console', 'zsh', 'text'];

const MAX_COMMANDS = 50;

/** What is checked, in the order in which it is shown. */
export const checks = [
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

type Check = (typeof checks)[number];

/** `ok`: fine; `warning`: runs work, but not as well as they could; `problem`: runs fail; `unchecked`: it could not be checked from here. */
export const findingKinds = ['ok', 'warning', 'problem', 'unchecked'] as const;

/** What to do: a sentence, and what goes with it; `paste`: lines or a command, `link`: the very page. */
interface Cure {
  readonly text: string;
  readonly paste: string | null;
  readonly link: string | null;
}

/** The answer of one check; `where`: the workflow's file, null for what is of the repository or of this machine. */
export interface Finding {
  readonly check: Check;
  readonly kind: (typeof findingKinds)[number];
  readonly where: string | null;
  readonly says: string;
  readonly cure: Cure | null;
}

/** How findings are marked. */
export const MARKS: Readonly<Record<Finding['kind'], string>> = { ok: '✓', warning: '⚠', problem: '✗', unchecked: '⚠' };

/** A cure whose parts are given as they are needed. */
export function cure(text: string, parts: Partial<Pick<Cure, 'paste' | 'link'>>): Cure {
  return { text, paste: parts.paste ?? null, link: parts.link ?? null };
}

export function fine(check: Check, says: string): Finding {
  return { check, kind: 'ok', where: null, says, cure: null };
}

export function warning(check: Check, says: string, what: Cure): Finding {
  return { check, kind: 'warning', where: null, says, cure: what };
}

export function problem(check: Check, says: string, what: Cure): Finding {
  return { check, kind: 'problem', where: null, says, cure: what };
}

/** A problem whose sentences say themselves what to do. */
export function refused(check: Check, says: string): Finding {
  return { check, kind: 'problem', where: null, says, cure: null };
}

/** A warning whose sentences say themselves what to do. */
export function noted(check: Check, says: string): Finding {
  return { check, kind: 'warning', where: null, says, cure: null };
}

export function unchecked(check: Check, says: string, what: Cure): Finding {
  return { check, kind: 'unchecked', where: null, says, cure: what };
}

/** Commands that notes for an agent name: lines of shell blocks, indented lines, and `Tests: \`npm test\``. */
export function commandsIn(markdown: string): readonly string[] {
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
