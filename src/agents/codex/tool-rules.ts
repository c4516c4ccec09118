import {
  allowsEveryCommand,
  commandRules,
  moreEdits,
  moreOf,
  readsOutside,
  textsOfRules,
  type MappedRules,
} from '../rules/mapped-rules.ts';
import { createKindOfDenial, refusedCommands } from '../rules/shell-rules.ts';
import { parseToolRule, type ToolRule } from '../rules/tool-rule.ts';

/** Codex, 0.169, knows no rules for commands or tools: a sandbox of the operating system holds all that it runs. */
export interface CodexSandbox {
  readonly mode: 'read-only' | 'workspace-write';
  /** For `sandbox_workspace_write.network_access`. */
  readonly networkAccess: boolean;
  /** For `sandbox_workspace_write.writable_roots`, besides the work tree. */
  readonly writableRoots: readonly string[];
}

/** `gitFolder`: where the repository's own files are, such as `/repo/.git`. */
export function mapRules(
  rules: readonly string[],
  { gitFolder }: { readonly gitFolder: string },
): MappedRules<CodexSandbox> {
  const parsed = rules.map(parseToolRule);
  const commands = commandRules(parsed).length > 0;
  const edits = parsed.some(({ kind }) => kind === 'edit');
  return {
    own: {
      mode: commands || edits ? 'workspace-write' : 'read-only',
      networkAccess: commands,
      // The sandbox keeps the folder read-only otherwise, and Git can record nothing.
      writableRoots: WRITES_TO_GIT.some((line) => refusedCommands(line, rules)?.length === 0) ? [gitFolder] : [],
    },
    unmapped: textsOfRules([...parsed.filter(isWithoutCounterpart), ...readsOutside(parsed)]),
    allowsMore: moreOf([
      allowsEveryCommand(parsed) || !(commands || edits)
        ? null
        : `run every command inside its sandbox, ${commands ? 'with' : 'without'} the network`,
      commands ? null : moreEdits(parsed),
    ]),
  };
}

const WRITES_TO_GIT = ['git add -A', 'git commit -m x', 'git commit'];

function isWithoutCounterpart(rule: ToolRule): boolean {
  switch (rule.kind) {
    case 'command':
      return rule.commands.kind !== 'any';
    case 'edit':
      return rule.path !== null;
    case 'read':
    case 'bookkeeping':
    case 'web-search':
    // By the servers that it is given.
    case 'mcp':
      return false;
    case 'web-fetch':
    case 'subagent':
    case 'other':
      return true;
  }
}

/** The CLI does not report what its sandbox refused; this is for its events of commands. */
export const kindOfDenial = createKindOfDenial({ shell: ['command_execution'], question: null });
