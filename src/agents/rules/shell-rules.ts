import { type AgentName, AGENTS } from '../../core/agent-names.ts';
import type { RulesGap } from '../../core/agents/rules-verdict.ts';
import type { Denial } from '../../core/analysis/analysis.ts';
import type { KindOfDenial } from '../../core/lane/denials.ts';

/**
 * One rule of `allowed-tools`, in the permission rule language of Claude Code, as far as agents differ in it. `text` is
 * the rule as the user wrote it.
 */
export type ToolRule = { readonly text: string } & (
  | { readonly kind: 'read' | 'edit'; readonly path: string | null }
  | { readonly kind: 'command'; readonly commands: RuleCommands }
  | { readonly kind: 'web-fetch'; readonly domain: string | null }
  /** A null `tool` means all tools of the server; a name may contain stars. */
  | { readonly kind: 'mcp'; readonly server: string; readonly tool: string | null }
  /** `bookkeeping`: harmless tools that every agent has in some form, such as its to-do list. */
  | { readonly kind: 'web-search' | 'subagent' | 'bookkeeping' | 'other' }
);

/**
 * The simple commands that a rule names. `prefix`: these words, followed by any others; `glob`: each star matches any
 * text.
 */
export type RuleCommands = { readonly kind: 'any' } | NamedCommands;

export interface NamedCommands {
  readonly kind: 'prefix' | 'exact' | 'glob';
  readonly text: string;
}

/** A rule for commands. */
type CommandRule = Extract<ToolRule, { kind: 'command' }>;

const READS: ReadonlySet<string> = new Set(['Read', 'Glob', 'Grep', 'LS', 'NotebookRead']);

/** Tools that change files: the CLI applies a rule for one of them to all. */
const EDITS: ReadonlySet<string> = new Set(['Edit', 'Write', 'MultiEdit', 'NotebookEdit']);

const SUBAGENTS: ReadonlySet<string> = new Set(['Task', 'Agent']);

const BOOKKEEPING: ReadonlySet<string> = new Set([
  ...['TodoWrite', 'TodoRead', 'TaskCreate', 'TaskGet', 'TaskList', 'TaskUpdate', 'TaskOutput', 'TaskStop'],
  ...['BashOutput', 'KillBash', 'KillShell', 'ExitPlanMode', 'EnterPlanMode', 'ToolSearch'],
]);

/** The parts of a shell command, as far as they can be known without running a shell. */
type ShellParts =
  /** Simple commands; `compound` means more than one, a redirection, or several lines. */
  | { readonly kind: 'parts'; readonly parts: readonly string[]; readonly compound: boolean }
  /** Substitutions, groups, here-documents, background jobs, redirections to files: not judged. */
  | { readonly kind: 'opaque' };

const MAX_CHARS = 10_000;

const opaque: ShellParts = { kind: 'opaque' };

const HARMLESS_REDIRECTION = /^(?:2>&1|1>&2|>&2|&>\s*\/dev\/null|[12]?>\s*\/dev\/null|<\s*\/dev\/null)(?=\s|[;&|\n]|$)/;

/** The mark that continues a command on the next line, except in a comment. */
const CONTINUATION = '\\\n';

const SEPARATOR = /^(?:&&|\|\||;|\||\r?\n)/;

/** Commands that only read; Claude Code allows them without a rule inside the work tree, and so rules omit them. */
export const READ_ONLY_COMMANDS = ['cd', 'pwd', 'ls', 'cat', 'head', 'tail', 'grep', 'wc', 'echo', 'true'] as const;

/** Returns how an agent's refused calls are classified. */
export function kindOfDenialBy(agent: AgentName): KindOfDenial {
  const { shell, question } = AGENTS[agent].tools;
  return (denial, rules) => {
    if (denial.tool === question) return 'question';
    return shell.includes(denial.tool) && isCompoundOfAllowed(denial, rules) ? 'compound' : 'forbidden';
  };
}

/**
 * Returns the simple commands of a command line that the rules do not allow; null if the line cannot be parsed safely.
 */
export function findRefusedCommands(line: string, rules: readonly string[]): readonly string[] | null {
  const command = splitCommandLine(line);
  if (command.kind === 'opaque') return null;
  return command.parts.filter((part) => !allowed(part, rules));
}

function isCompoundOfAllowed({ command: line }: Denial, rules: readonly string[]): boolean {
  if (line === null) return false;
  const command = splitCommandLine(line);
  const isCompound = command.kind === 'parts' && (command.compound || line.trim().includes('\n'));
  if (command.kind === 'opaque' || !isCompound || command.parts.length === 0) return false;
  return command.parts.every((part) => allowed(part, rules));
}

function allowed(command: string, rules: readonly string[]): boolean {
  return onlyReadsInside(command) || rules.some((rule) => allows(rule, command));
}

function onlyReadsInside(command: string): boolean {
  const [name = '', ...words] = command.replaceAll(/['"]/g, '').split(/\s+/);
  // Allow an absolute path in `cd`: agents begin many commands with a `cd` to the work tree's full path, which is not
  // known here.
  if (name === 'cd') return words.length > 0 && !words.some((word) => /^[~-]|(?:^|\/)\.\.(?:\/|$)/.test(word));
  return READ_ONLY_COMMANDS.some((name) => startsWithWords(command, name)) && !words.some((word) => OUTSIDE.test(word));
}

/**
 * Matches a word that may lead out of the work tree: an absolute path, a home, or a path upwards; also as the value of
 * an option.
 */
const OUTSIDE = /^(?:-\w+|--[\w-]+=)?[/~]|(?:^|[/=])\.\.(?:\/|$)|^-\w+\.\.(?:\/|$)/;

/**
 * Returns true if an allow rule (`Bash`, `Bash(npm:*)`, `Bash(npm install)`, `Bash(git *)`) covers a simple command.
 */
function allows(rule: string, command: string): boolean {
  const parsed = parseToolRule(rule);
  return parsed.kind === 'command' && covers(parsed.commands, command);
}

function covers(commands: RuleCommands, command: string): boolean {
  switch (commands.kind) {
    case 'any':
      return true;
    case 'prefix':
      return startsWithWords(command, commands.text);
    case 'exact':
      return command === commands.text;
    case 'glob':
      return matchesGlob(command, commands.text);
  }
}

function startsWithWords(command: string, prefix: string): boolean {
  return command === prefix || command.startsWith(`${prefix} `);
}

/** Returns true if a text matches; `*` matches any text. */
function matchesGlob(text: string, pattern: string): boolean {
  const [first = '', ...others] = pattern.split('*');
  const last = others.pop();
  if (last === undefined) return text === pattern;
  if (!text.startsWith(first)) return false;
  let at = first.length;
  for (const piece of others) {
    const found = text.indexOf(piece, at);
    if (found === -1) return false;
    at = found + piece.length;
  }
  return text.length - last.length >= at && text.endsWith(last);
}

/**
 * Splits a command line at `&&`, `||`, `;`, `|` and line ends outside quotes, without its comments; a line that cannot
 * be parsed safely is opaque.
 */
export function splitCommandLine(command: string): ShellParts {
  if (command.length > MAX_CHARS) return opaque;
  const text = withoutBlanks(command);
  const parts: string[] = [];
  let part = '';
  let compound = text.replaceAll(CONTINUATION, '').includes('\n');
  let at = 0;
  while (at < text.length) {
    const rest = text.slice(at, at + 64);
    const operator = SEPARATOR.exec(rest)?.[0];
    const redirection = HARMLESS_REDIRECTION.exec(rest)?.[0];
    const quoted = quotedText(text, at);
    if (operator !== undefined) {
      parts.push(part);
      part = '';
      compound = true;
      at += operator.length;
    } else if (redirection !== undefined) {
      compound = true;
      at += redirection.length;
    } else if (rest.startsWith(CONTINUATION)) {
      at += CONTINUATION.length;
    } else if (rest.startsWith('#') && /(?:^|[ \t])$/.test(part)) {
      // End a comment with its line, even after a backslash.
      const lineEnd = text.indexOf('\n', at);
      at = lineEnd === -1 ? text.length : lineEnd;
    } else if (quoted !== null) {
      part += quoted;
      at += quoted.length;
    } else if (/[`$(){}<>&'"\\#!]|[^\S \t]/.test(text.charAt(at))) {
      return opaque;
    } else {
      part += text.charAt(at);
      at += 1;
    }
  }
  const named = [...parts, part].map(withoutBlanks).filter((piece) => piece !== '');
  return { kind: 'parts', parts: named, compound };
}

/** Returns the text without the blanks of a shell around it; to a shell, every other space is part of a word. */
function withoutBlanks(text: string): string {
  return text.replace(/^[ \t\n]+|[ \t\n]+$/g, '');
}

/**
 * Returns the quoted string that starts at `at`, including its quotes; null if no whole one does, or a shell
 * would change it.
 */
function quotedText(text: string, at: number): string | null {
  const quote = text.charAt(at);
  if (quote !== "'" && quote !== '"') return null;
  const end = text.indexOf(quote, at + 1);
  if (end === -1) return null;
  const quoted = text.slice(at, end + 1);
  return quote === '"' && /[$`\\]/.test(quoted) ? null : quoted;
}

/** Parses a rule; an unknown tool is `other`. */
export function parseToolRule(rule: string): ToolRule {
  const text = rule.trim();
  const [, tool = '', specifier] = /^([^()]+)(?:\(([^]*)\))?$/.exec(text) ?? [];
  const inner = specifier?.trim() ?? null;
  if (inner === '') return { kind: 'other', text };
  if (tool === 'Bash') return { kind: 'command', text, commands: parseCommands(inner) };
  if (READS.has(tool)) return { kind: 'read', text, path: restricting(inner) };
  if (EDITS.has(tool)) return { kind: 'edit', text, path: restricting(inner) };
  if (tool === 'WebFetch') return parseWebFetch(text, restricting(inner));
  if (tool === 'WebSearch') return { kind: 'web-search', text };
  if (tool.startsWith('mcp__') && inner === null) return parseMcp(text);
  if (inner === null && SUBAGENTS.has(tool)) return { kind: 'subagent', text };
  return { kind: BOOKKEEPING.has(tool) ? 'bookkeeping' : 'other', text };
}

/** Returns the commands inside `Bash(...)`; null means a plain `Bash`. */
function parseCommands(inner: string | null): RuleCommands {
  if (inner === null || inner === '*') return { kind: 'any' };
  const prefix = /^([^*]*?)(?::\*| \*)$/.exec(inner)?.[1];
  if (prefix !== undefined) return { kind: 'prefix', text: prefix };
  return { kind: inner.includes('*') ? 'glob' : 'exact', text: inner };
}

/** Returns the restriction, or null for `Read(*)` and `Read(**)`, which equal `Read`. */
function restricting(inner: string | null): string | null {
  return inner === '*' || inner === '**' ? null : inner;
}

function parseWebFetch(text: string, inner: string | null): ToolRule {
  if (inner === null) return { kind: 'web-fetch', text, domain: null };
  const domain = /^domain:\s*([\w*.-]+)$/.exec(inner)?.[1]?.toLowerCase();
  if (domain === undefined) return { kind: 'other', text };
  return { kind: 'web-fetch', text, domain: domain === '*' ? null : domain };
}

function parseMcp(text: string): ToolRule {
  const [, server, tool] = /^mcp__([A-Za-z0-9.-]+(?:_[A-Za-z0-9.-]+)*)(?:__([\w*.-]+))?$/.exec(text) ?? [];
  if (server === undefined) return { kind: 'other', text };
  return { kind: 'mcp', text, server, tool: tool === undefined || tool === '*' ? null : tool };
}

/** A user's rules in an agent's own form. */
export interface MappedRules<Own> extends RulesGap {
  readonly own: Own;
}

/** Returns the command rules, in order. */
export function selectCommandRules(rules: readonly ToolRule[]): readonly CommandRule[] {
  return rules.filter((rule) => rule.kind === 'command');
}

/** Returns true if some rule allows every command. */
export function allowsEveryCommand(rules: readonly ToolRule[]): boolean {
  return selectCommandRules(rules).some(({ commands }) => commands.kind === 'any');
}

/**
 * Returns the mapped rules of an agent whose own rules do not support paths. `without` are the user's rules that have
 * no counterpart there; `more` describes the calls that the agent's own rules allow in addition.
 */
export function mapSharedRules<Own>(
  rules: readonly ToolRule[],
  own: Own,
  { without, more }: { readonly without: readonly ToolRule[]; readonly more: readonly (string | null)[] },
): MappedRules<Own> {
  return {
    own,
    unmapped: textsOfRules([...without, ...editsOfPaths(rules), ...selectOutsideReads(rules)]),
    allowsMore: describeAllowedMore([describeMoreEdits(rules), ...more]),
  };
}

/** Returns the rules as the user wrote them, each once. */
export function textsOfRules(rules: readonly ToolRule[]): readonly string[] {
  return [...new Set(rules.map(({ text }) => text))];
}

/**
 * Returns rules such as `Edit(src/**)`. Agents whose own rules do not support paths may change any file of the
 * repository instead.
 */
function editsOfPaths(rules: readonly ToolRule[]): readonly ToolRule[] {
  if (rules.some((rule) => rule.kind === 'edit' && rule.path === null)) return [];
  return rules.filter(({ kind }) => kind === 'edit');
}

/**
 * Returns the rules for reading outside the repository, which other agents do not support. Reading inside needs no
 * rule, as in Claude Code.
 */
export function selectOutsideReads(rules: readonly ToolRule[]): readonly ToolRule[] {
  return rules.filter((rule) => rule.kind === 'read' && /^(?:\/\/|~)|(?:^|\/)\.\.(?:\/|$)/.test(rule.path ?? ''));
}

/** Joins the descriptions of the calls that the agent may make beyond its rules; null without descriptions. */
export function describeAllowedMore(parts: readonly (string | null)[]): string | null {
  const said = parts.filter((part) => part !== null);
  return said.length === 0 ? null : said.join(', and ');
}

/** Returns the text about edits for `describeAllowedMore`. */
export function describeMoreEdits(rules: readonly ToolRule[]): string | null {
  return editsOfPaths(rules).length === 0 ? null : 'change every file of the repository';
}
