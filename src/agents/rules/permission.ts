import { isWithin } from '../../core/isolation/view.ts';
import { createGlob } from '../../core/text/glob.ts';
import {
  allowsEveryCommand,
  parseToolRule,
  findRefusedCommands,
  splitCommandLine,
  type ToolRule,
} from './shell-rules.ts';

/**
 * A tool call of an agent as far as its own fields describe it. Titles and descriptions are left out, because the model
 * writes them.
 */
export interface AskedCall {
  /** `web-search` has a query and no address. */
  readonly kind: 'command' | 'edit' | 'read' | 'search' | 'fetch' | 'web-search' | 'think' | 'other';
  /** The tool's own name; null if the agent does not give it. */
  readonly tool: string | null;
  /** The whole command line; null if the call runs no command. */
  readonly command: string | null;
  /** Files and folders that the call names, among them the folder in which a command runs. */
  readonly paths: readonly string[];
  readonly url: string | null;
  /** True if the call sets variables for the command. */
  readonly setsVariables: boolean;
}

/** The place where an agent works: a folder, and the tree that contains it. Both paths are absolute and real. */
export interface AskedPlace {
  readonly folder: string;
  readonly tree: string;
}

/**
 * Returns true if `allowed-tools` permits an agent's call; shared by all agents that ask. A call that omits information
 * that the decision needs is not permitted.
 */
export function isPermitted(call: AskedCall, allowedTools: readonly string[], place: AskedPlace): boolean {
  const rules = allowedTools.map(parseToolRule);
  const paths = call.paths.map((path) => resolveAbsolutePath(path, place));
  const { tool } = call;
  if (tool?.startsWith('mcp__') === true) return rules.some((rule) => allowsServerTool(rule, tool));
  switch (call.kind) {
    case 'command':
      return allowsEveryCommand(rules) || (areInside(paths, place) && allowsCommand(call, allowedTools, place));
    case 'edit':
      return paths.length > 0 && paths.every((path) => rules.some((rule) => allowsEdit(rule, path, place)));
    case 'read':
    case 'search':
      return (
        rules.some((rule) => rule.kind === 'read' && rule.path === null) ||
        ((paths.length > 0 || call.kind === 'search') &&
          paths.every((path) => isWithin(path, place.tree) || rules.some((rule) => allowsRead(rule, path, place))))
      );
    case 'fetch':
      return rules.some((rule) => rule.kind === 'web-fetch' && allowsAddress(rule.domain, call.url));
    case 'web-search':
      return rules.some(({ kind }) => kind === 'web-search');
    case 'think':
      return paths.length === 0;
    case 'other':
      return tool !== null && rules.some(({ kind, text }) => kind !== 'edit' && text === tool);
  }
}

function allowsCommand(
  { command, setsVariables }: AskedCall,
  allowedTools: readonly string[],
  place: AskedPlace,
): boolean {
  // Refuse `.?` and `.*`, with which some shells match the folder above.
  if (command === null || setsVariables || /(?:^|[\s'"/=])\.[?*[]/.test(command)) return false;
  const line = splitCommandLine(command);
  if (line.kind === 'opaque' || findRefusedCommands(command, allowedTools)?.length !== 0) return false;
  return line.parts.every((part) => {
    const [name, ...words] = part.replaceAll(/['"]/g, '').split(/\s+/);
    return (
      name !== 'cd' ||
      areInside(
        words.map((word) => resolveAbsolutePath(word, place)),
        place,
      )
    );
  });
}

/** Matches git's own files, with which git starts programs: an agent that can change them can run anything. */
const OF_GIT = /\/\.git(?:\/|$)/i;

function allowsEdit(rule: ToolRule, path: string, place: AskedPlace): boolean {
  if (rule.kind !== 'edit' || OF_GIT.test(path)) return false;
  return rule.path === null ? isWithin(path, place.tree) : matchesRule(rule.path, path, place);
}

function allowsRead(rule: ToolRule, path: string, place: AskedPlace): boolean {
  return rule.kind === 'read' && rule.path !== null && matchesRule(rule.path, path, place);
}

/**
 * Returns true if a path matches the pattern of a rule: `//etc/*` begins at the machine's root, any other at the
 * working folder, and one without a folder matches in every folder. Patterns below a home folder never match, because
 * the home is unknown here.
 */
function matchesRule(pattern: string, path: string, place: AskedPlace): boolean {
  if (pattern.startsWith('~')) return false;
  if (pattern.startsWith('//')) return createGlob(pattern.slice(1))(path);
  const own = pattern.replace(/^\.?\//, '');
  const anywhere = pattern.includes('/') ? own : `**/${own}`;
  return (
    isWithin(path, place.folder) && createGlob(anywhere.replace(/\/$/, '/**'))(path.slice(place.folder.length + 1))
  );
}

function allowsServerTool(rule: ToolRule, tool: string): boolean {
  if (rule.kind !== 'mcp') return false;
  const begin = `mcp__${rule.server}__`;
  return tool.startsWith(begin) && (rule.tool === null || createGlob(rule.tool)(tool.slice(begin.length)));
}

function allowsAddress(domain: string | null, url: string | null): boolean {
  const address = URL.parse(url ?? '');
  if (address === null || !/^https?:$/.test(address.protocol)) return false;
  if (domain === null || domain === address.hostname) return true;
  return domain.startsWith('*.') && address.hostname.endsWith(domain.slice(1));
}

function areInside(paths: readonly string[], { tree }: AskedPlace): boolean {
  return paths.every((path) => isWithin(path, tree));
}

/** Returns the path from the machine's root, without `.` and `..`; one that begins at a home stays as it is. */
export function resolveAbsolutePath(given: string, { folder }: Pick<AskedPlace, 'folder'>): string {
  const path = given.replace(/^file:\/\//, '');
  if (path.startsWith('~')) return path;
  const parts: string[] = [];
  for (const part of (path.startsWith('/') ? path : `${folder}/${path}`).split('/')) {
    if (part === '..') parts.pop();
    else if (part !== '' && part !== '.') parts.push(part);
  }
  return `/${parts.join('/')}`;
}
