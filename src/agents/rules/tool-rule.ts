/** One rule of `allowed-tools`, the permission rule language of Claude Code, as far as agents differ in it. `text`: as the user wrote it. */
export type ToolRule = { readonly text: string } & (
  | { readonly kind: 'read' | 'edit'; readonly path: string | null }
  | { readonly kind: 'command'; readonly commands: Commands }
  | { readonly kind: 'web-fetch'; readonly domain: string | null }
  /** `tool`: null stands for all of the server's; it may hold stars. */
  | { readonly kind: 'mcp'; readonly server: string; readonly tool: string | null }
  /** `bookkeeping`: tools that every agent has in some form and that reach nothing, such as its list of things to do. */
  | { readonly kind: 'web-search' | 'subagent' | 'bookkeeping' | 'other' }
);

/** Which simple commands a rule names. `prefix`: its words, and any more behind them; in a `glob` each star is any text. */
export type Commands =
  | { readonly kind: 'any' }
  | { readonly kind: 'prefix'; readonly prefix: string }
  | { readonly kind: 'exact'; readonly command: string }
  | { readonly kind: 'glob'; readonly glob: string };

/** A command rule among others. */
export type CommandRule = Extract<ToolRule, { kind: 'command' }>;

/** Reads a rule; a tool that is not known is `other`. */
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

/** The commands that the inside of `Bash(...)` names; null: the rule is `Bash` alone. */
function parseCommands(inner: string | null): Commands {
  if (inner === null || inner === '*') return { kind: 'any' };
  const prefix = /^([^*]*?)(?::\*| \*)$/.exec(inner)?.[1];
  if (prefix !== undefined) return { kind: 'prefix', prefix };
  return inner.includes('*') ? { kind: 'glob', glob: inner } : { kind: 'exact', command: inner };
}

const READS: ReadonlySet<string> = new Set(['Read', 'Glob', 'Grep', 'LS', 'NotebookRead']);
/** The CLI applies a rule for one of them to all that change files. */
const EDITS: ReadonlySet<string> = new Set(['Edit', 'Write', 'MultiEdit', 'NotebookEdit']);
const SUBAGENTS: ReadonlySet<string> = new Set(['Task', 'Agent']);
const BOOKKEEPING: ReadonlySet<string> = new Set([
  ...['TodoWrite', 'TodoRead', 'TaskCreate', 'TaskGet', 'TaskList', 'TaskUpdate', 'TaskOutput', 'TaskStop'],
  ...['BashOutput', 'KillBash', 'KillShell', 'ExitPlanMode', 'EnterPlanMode', 'ToolSearch'],
]);

/** `Read(*)` and `Read(**)` are `Read`. */
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
