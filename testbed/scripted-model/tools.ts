import { posix } from 'node:path';
import type { OfferedTool, ToolUse } from './exchange.ts';
import type { ModelStep } from './step.ts';

type Intent = Extract<ModelStep, { kind: 'run' | 'read' | 'write' }>;

/** Returns the call of the offered tool that fulfils the intent, or null if none does. */
export function chooseToolUse(intent: Intent, tools: readonly OfferedTool[], folder: string | null): ToolUse | null {
  if (intent.kind === 'run') return firstOf(tools, ({ name }) => runners[name]?.(intent.command));
  const path = posix.resolve(folder ?? '/', intent.path);
  const use = firstOf(tools, ({ name, isText }) => {
    if (folder === null && needsFolder.has(name)) return undefined;
    return intent.kind === 'read' ? readers[name]?.(intent.path, path) : writers[name]?.(intent, path, isText);
  });
  const command = intent.kind === 'read' ? `cat ${quoted(intent.path)}` : writeCommand(intent);
  return use ?? firstOf(tools, ({ name }) => runners[name]?.(command));
}

type Input = ToolUse['input'];

function firstOf(tools: readonly OfferedTool[], inputFor: (tool: OfferedTool) => Input | undefined): ToolUse | null {
  for (const tool of tools) {
    const input = inputFor(tool);
    if (input !== undefined) return { tool: tool.name, namespace: tool.namespace, input };
  }
  return null;
}

type Write = Extract<Intent, { kind: 'write' }>;

const DESCRIPTION = 'A step of the script';

/**
 * Tools that run a command, by their names in the CLIs: Claude Code, Codex (three generations), Gemini CLI and Qwen
 * Code, OpenCode and Copilot CLI.
 */
const runners: Readonly<Record<string, (command: string) => Input>> = {
  Bash: (command) => ({ command, description: DESCRIPTION }),
  exec_command: (cmd) => ({ cmd }),
  shell: (command) => ({ command: ['bash', '-lc', command] }),
  shell_command: (command) => ({ command }),
  exec: (cmd) => `const result = await tools.exec_command(${JSON.stringify({ cmd })});\ntext(JSON.stringify(result));`,
  run_shell_command: (command) => ({ command, description: DESCRIPTION, is_background: false }),
  bash: (command) => ({ command, description: DESCRIPTION }),
};

const writers: Readonly<Record<string, (write: Write, path: string, isText: boolean) => Input>> = {
  Write: ({ path, content }) => ({ file_path: path, content }),
  apply_patch: (write, _path, isText) => (isText ? patch(write) : { input: patch(write) }),
  exec: (write) => `text(await tools.apply_patch(${JSON.stringify(patch(write))}));`,
  write_file: ({ content }, path) => ({ file_path: path, content }),
  write: ({ content }, path) => ({ filePath: path, content }),
  create: ({ content }, path) => ({ path, file_text: content }),
};

/** Tools that read a file: those of Claude Code, Gemini CLI and Qwen Code, OpenCode and Copilot CLI. */
const readers: Readonly<Record<string, (path: string, whole: string) => Input>> = {
  Read: (path) => ({ file_path: path }),
  read_file: (_, whole) => ({ file_path: whole }),
  read: (_, whole) => ({ filePath: whole }),
  view: (_, whole) => ({ path: whole }),
};

/** Tools that accept absolute paths only. */
const needsFolder = new Set(['write_file', 'write', 'create', 'read_file', 'read', 'view']);

function patch({ path, content }: Write): string {
  const lines = content.replace(/\n$/, '').split('\n');
  return ['*** Begin Patch', `*** Add File: ${path}`, ...lines.map((line) => `+${line}`), '*** End Patch', ''].join(
    '\n',
  );
}

function writeCommand({ path, content }: Write): string {
  const encoded = Buffer.from(content).toString('base64');
  return `mkdir -p "$(dirname ${quoted(path)})" && printf %s ${encoded} | base64 -d > ${quoted(path)}`;
}

function quoted(path: string): string {
  return `'${path.replaceAll("'", String.raw`'\''`)}'`;
}

/** Returns the working folder that a CLI names to its model. */
export function findNamedFolder(text: string): string | null {
  return FOLDER.exec(text)?.[1] ?? null;
}

const FOLDER =
  /(?:<cwd>|[Ww]orking directory: |working in the directory: |\*\*Workspace Directories:\*\*\\n +- )(\/[^<"\\\n]+)/;
