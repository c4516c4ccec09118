import {
  allowsEveryCommand,
  commandRules,
  editsOfPaths,
  moreEdits,
  readsOutside,
  textsOfRules,
  type MappedRules,
} from '../rules/mapped-rules.ts';
import { createKindOfDenial, READERS } from '../rules/shell-rules.ts';
import { parseToolRule, type Commands, type ToolRule } from '../rules/tool-rule.ts';

type Action = 'allow' | 'deny';

/** For `permission` of the configuration (opencode, 1.18): of the keys and patterns that match, the last counts. */
export type Permission = Readonly<Record<string, Action | Readonly<Record<string, Action>>>>;

/** Rules as permissions. Nothing in them asks: without a person that would end the turn. */
export function mapRules(rules: readonly string[]): MappedRules<Permission> {
  const parsed = rules.map(parseToolRule);
  const has = (kind: ToolRule['kind']) => parsed.some((rule) => rule.kind === kind);
  const action = (allowed: boolean): Action => (allowed ? 'allow' : 'deny');
  const own = new Map<string, Permission[string]>([
    ['*', 'deny'],
    ...parsed.flatMap((rule) => (rule.kind === 'mcp' ? serverKeys(rule).map((key) => [key, 'allow'] as const) : [])),
    // Behind the names of servers, which could be made to match these.
    ...['read', 'glob', 'grep', 'list', 'todowrite', 'todoread'].map((key) => [key, 'allow'] as const),
    ...['skill', 'lsp', 'question', 'codesearch', 'plan_enter', 'plan_exit', 'doom_loop'].map(
      (key) => [key, 'deny'] as const,
    ),
    ['edit', action(has('edit'))],
    ['bash', bashPermission(parsed)],
    ['webfetch', webPermission(parsed)],
    ['websearch', action(has('web-search'))],
    ['task', action(has('subagent'))],
    ['external_directory', 'deny'],
  ]);
  return {
    own: Object.fromEntries(own),
    unmapped: textsOfRules([...parsed.filter(isWithoutCounterpart), ...editsOfPaths(parsed), ...readsOutside(parsed)]),
    allowsMore: moreEdits(parsed),
  };
}

export const kindOfDenial = createKindOfDenial({ shell: ['bash'], question: 'question' });

function isWithoutCounterpart(rule: ToolRule): boolean {
  switch (rule.kind) {
    case 'command':
      return rule.commands.kind !== 'any' && commandPatterns(rule.commands).length === 0;
    case 'web-fetch':
      return rule.domain !== null && webPatterns(rule.domain).length === 0;
    case 'mcp':
      return serverKeys(rule).length === 0;
    case 'other':
      return true;
    case 'read':
    case 'edit':
    case 'web-search':
    case 'subagent':
    case 'bookkeeping':
      return false;
  }
}

/** Tools of a server are named `server_tool`, with `_` for every sign that a name may not hold. */
function serverKeys({ server, tool }: Extract<ToolRule, { kind: 'mcp' }>): readonly string[] {
  const name = (text: string) => text.replace(/[^\w*-]/g, '_');
  return [`${name(server)}_${name(tool ?? '*')}`];
}

function bashPermission(rules: readonly ToolRule[]): Permission[string] {
  if (allowsEveryCommand(rules)) return 'allow';
  const patterns = commandRules(rules).flatMap(({ commands }) =>
    commands.kind === 'any' ? [] : commandPatterns(commands),
  );
  if (patterns.length === 0) return 'deny';
  return Object.fromEntries([
    ['*', 'deny'],
    ...READERS.flatMap((name) => [name, `${name} *`]).map((pattern) => [pattern, 'allow'] as const),
    ...LEADING_OUT.map((pattern) => [pattern, 'deny'] as const),
    // The user's own come last: what they name may lead anywhere.
    ...patterns.map((pattern) => [pattern, 'allow'] as const),
  ]);
}

/** Commands that may read, or write, outside the work tree; a backslash counts as `/` in patterns. `cd` has its own check of paths. */
const LEADING_OUT = [
  ...['cd', 'cd -*', 'cd * -*'],
  ...['* /*', '*=/*', '* -?/*', '*~*', '*..*', '*>*', '*<*', '*$*', '*`*'],
  ...['*"*', "*'*", '*{*', '*\t*', '*\n*'],
];

/** None where a sign would mean something else than itself. */
function commandPatterns(commands: Exclude<Commands, { kind: 'any' }>): readonly string[] {
  switch (commands.kind) {
    case 'prefix':
      return commands.prefix.trim() === '' ? [] : literal(commands.prefix, (text) => [text, `${text} *`]);
    case 'exact':
      return literal(commands.command, (text) => [text]);
    case 'glob':
      return literal(commands.glob, (text) => [text]);
  }
}

function literal(text: string, patterns: (text: string) => readonly string[]): readonly string[] {
  return /[?\\]|^~|^\$HOME|\{(?:env|file):/.test(text) ? [] : patterns(text);
}

function webPermission(rules: readonly ToolRule[]): Permission[string] {
  const domains = rules.flatMap((rule) => (rule.kind === 'web-fetch' ? [rule.domain] : []));
  if (domains.includes(null)) return 'allow';
  const patterns = domains.flatMap((domain) => (domain === null ? [] : webPatterns(domain)));
  if (patterns.length === 0) return 'deny';
  return Object.fromEntries([['*', 'deny'] as const, ...patterns.map((pattern) => [pattern, 'allow'] as const)]);
}

/** A star would also match the path of an address elsewhere. */
function webPatterns(domain: string): readonly string[] {
  return domain.includes('*') ? [] : [`https://${domain}`, `https://${domain}/*`];
}
