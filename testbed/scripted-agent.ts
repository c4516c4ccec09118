#!/usr/bin/env node
import { spawn, spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import {
  appendFileSync,
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { buildProjectSlug } from '../src/agents/claude/try-key.ts';
import { findCorrection, type Correction } from './corrections.ts';
import {
  isLastTask,
  markItemDone,
  writeStatusBlock,
  parseNamedTask,
  visitOf,
  type ItemPosition,
} from './scripted-work.ts';

// A stand-in for the Claude Code CLI: it accepts the options that the action passes, prints the same stream of events
// and keeps a transcript for --resume, but uses no model. Its work is fixed in scripted-work.ts and corrections.ts.
//
// RALPH_SCRIPT may name a JSON file with a list of behaviours, one for each future call; each call removes one (if the
// file cannot be written, a count in the config folder records how many are used up), and an empty list means honest
// work. RALPH_PAUSE_MS is the time that a call pretends to think (default 100). RALPH_HEARD may name a file that gets
// one line of JSON for each call: its arguments and its prompt.

/** A line of the file named by RALPH_HEARD. */
export interface HeardCall {
  readonly args: readonly string[];
  readonly prompt: string;
}

/** The behaviour of a call that replaces honest work. */
export type Behaviour =
  | { readonly kind: 'work' }
  | { readonly kind: 'work-without-block' }
  | { readonly kind: 'hang'; readonly ignoreSigterm: boolean }
  /** Leaves a process behind in its own session and writes its id to `pidFile`; then works. */
  | { readonly kind: 'orphan'; readonly pidFile: string }
  /** Like `orphan`, but then ignores SIGTERM and hangs. */
  | { readonly kind: 'hang-with-orphan'; readonly pidFile: string }
  /** Works, and also writes these files. */
  | { readonly kind: 'work-and-write'; readonly files: Readonly<Record<string, string>> }
  /** Writes these files (null removes one) instead of working, and ends with `message`. */
  | { readonly kind: 'play'; readonly files: Readonly<Record<string, string | null>>; readonly message: string }
  /**
   * Runs a bash script in the work tree instead of working; its output appears as a tool's output. Ends with `text` and
   * claims that the task is finished, except for the fields in `status` (null claims nothing).
   */
  | {
      readonly kind: 'shell';
      readonly script: string;
      readonly text?: string;
      readonly status?: Partial<Parameters<typeof writeStatusBlock>[0]> | null;
    }
  /** Works, and writes its environment and git's credential settings to `file`, as JSON. */
  | { readonly kind: 'look-around'; readonly file: string }
  /** Removes the run's own folder, which contains the agent's settings, the run's record and the private repository. */
  | { readonly kind: 'remove-run-folder' }
  /** The provider answers with this status and text. */
  | { readonly kind: 'refused'; readonly status: number; readonly text: string }
  | { readonly kind: 'exit'; readonly code: number; readonly stderr: string }
  /** `resetsAt` in seconds since the epoch. */
  | { readonly kind: 'usage-limit'; readonly resetsAt: number }
  | { readonly kind: 'denial'; readonly command: string }
  | { readonly kind: 'garbage'; readonly text: string }
  /** Answers with text, claims nothing and changes nothing. */
  | { readonly kind: 'idle' };

const { values: options } = parseArgs({
  options: {
    version: { type: 'boolean' },
    print: { type: 'boolean', short: 'p' },
    verbose: { type: 'boolean' },
    'output-format': { type: 'string' },
    'permission-mode': { type: 'string' },
    allowedTools: { type: 'string' },
    disallowedTools: { type: 'string' },
    'setting-sources': { type: 'string' },
    'strict-mcp-config': { type: 'boolean' },
    settings: { type: 'string' },
    'add-dir': { type: 'string' },
    model: { type: 'string' },
    'max-turns': { type: 'string' },
    'max-budget-usd': { type: 'string' },
    resume: { type: 'string' },
  },
});

if (options.version === true)
  console.log("the sandbox's scripted agent (no model; the sandbox plays without isolation)");
else process.exitCode = await run(heard(readFileSync(0, 'utf8')), nextBehaviour());

function heard(prompt: string): string {
  const file = process.env['RALPH_HEARD'] ?? '';
  const call: HeardCall = { args: process.argv.slice(2), prompt };
  if (file !== '') appendFileSync(file, `${JSON.stringify(call)}\n`);
  return prompt;
}

async function run(prompt: string, behaviour: Behaviour): Promise<number> {
  const session = openSession(options.resume ?? null);
  if (session === null) {
    const text = `No conversation found with session ID: ${options.resume}`;
    console.error(text);
    emit({
      type: 'result',
      subtype: 'error_during_execution',
      is_error: true,
      num_turns: 0,
      session_id: options.resume,
      total_cost_usd: 0,
      usage: {},
      modelUsage: {},
      permission_denials: [],
      errors: [text],
    });
    return 1;
  }
  emit({
    type: 'system',
    subtype: 'init',
    cwd: process.cwd(),
    session_id: session.id,
    tools: ['Bash', 'Write'],
    mcp_servers: [],
    model: 'scripted (not a model)',
    permissionMode: 'acceptEdits',
    apiKeySource: 'none',
    claude_code_version: 'scripted 1.0',
  });
  session.record('user', prompt);
  switch (behaviour.kind) {
    case 'hang':
      return hang(session, behaviour.ignoreSigterm);
    case 'hang-with-orphan':
      leaveOrphan(behaviour.pidFile);
      return hang(session, true);
    case 'exit':
      console.error(behaviour.stderr);
      return behaviour.code;
    case 'garbage':
      process.stdout.write(behaviour.text);
      return 0;
    case 'usage-limit':
      return reachLimit(session, behaviour.resetsAt);
    case 'refused':
      return endRefused(session, behaviour);
    case 'remove-run-folder':
      // Each agent has a folder below the run's folder.
      rmSync(dirname(dirname(process.env['CLAUDE_CONFIG_DIR'] ?? '')), { recursive: true });
      return 0;
    case 'orphan':
      leaveOrphan(behaviour.pidFile);
      break;
    case 'work-and-write':
      writeFiles(behaviour.files);
      break;
    case 'play':
      writeFiles(behaviour.files);
      break;
    case 'shell':
      runShell(session, behaviour.script);
      break;
    case 'look-around':
      lookAround(behaviour.file);
  }
  await sleep(Number(process.env['RALPH_PAUSE_MS'] ?? 100));
  const denials = behaviour.kind === 'denial' ? [deny(session, behaviour.command)] : [];
  const final = finalMessage(session, prompt, behaviour);
  emitText(session, final);
  session.record('assistant', final);
  emit(
    result(session, {
      result: final,
      permission_denials: denials,
      num_turns: 3,
      total_cost_usd: 0.01,
      usage: { input_tokens: 1200, output_tokens: 300, cache_read_input_tokens: 0, cache_creation_input_tokens: 0 },
    }),
  );
  return 0;
}

function finalMessage(session: Session, prompt: string, behaviour: Behaviour): string {
  switch (behaviour.kind) {
    case 'play':
      return behaviour.message;
    case 'idle':
      return 'I looked around and changed nothing.';
    case 'shell': {
      const { text = 'I ran a script.', status = {} } = behaviour;
      if (status === null) return text;
      const finished = { finishes: true, exit: isLastTask(prompt), tests: 'PASSING', recommendation: 'Go on' } as const;
      return `${text}\n\n${writeStatusBlock({ ...finished, ...status })}`;
    }
    default:
      return work(session, prompt, behaviour.kind !== 'work-without-block');
  }
}

/** Does the next visit of the task named in the prompt and returns the final message. */
function work(session: Session, prompt: string, withBlock: boolean): string {
  const task = parseNamedTask(prompt);
  if (task === null) return 'The prompt names no task, so I did nothing.';
  const correction = findCorrection(prompt, task);
  if (correction?.paths.every((path) => existsSync(path)) === true)
    return correctFiles(session, correction, isLastTask(prompt));
  const visit = visitOf(task, existsSync(visitOf(task, 1).path) ? 2 : 1);
  emitText(session, visit.message);
  emitWrite(session, visit);
  if (visit.finishes && task.item !== null) markItem(task.item);
  const passes = visit.finishes && spawnSync(process.execPath, [visit.path], { stdio: 'ignore' }).status === 0;
  const summary = visit.finishes ? `Finished ${task.id}.` : `Began ${task.id}; its test is missing.`;
  if (!withBlock) return summary;
  const tests = !visit.finishes ? 'NOT_RUN' : passes ? 'PASSING' : 'FAILING';
  const block = writeStatusBlock({
    finishes: visit.finishes,
    exit: visit.finishes && isLastTask(prompt),
    tests,
    recommendation: visit.finishes ? 'Go on with the next task' : `Write the test of ${task.id}`,
    summary: visit.summary,
  });
  return `${summary}\n\n${block}`;
}

/** Makes the change of the branch's files that people or CI ask for. */
function correctFiles(session: Session, { message, paths, correct, summary }: Correction, isLast: boolean): string {
  emitText(session, message);
  for (const path of paths) emitWrite(session, { path, content: correct(readFileSync(path, 'utf8')) });
  const claim = { finishes: true, exit: isLast, tests: 'NOT_RUN', recommendation: 'Go on', summary } as const;
  return `${summary}\n\n${writeStatusBlock(claim)}`;
}

function emitWrite(session: Session, { path, content }: { readonly path: string; readonly content: string }): void {
  const id = `toolu_${randomUUID()}`;
  const input = { file_path: join(process.cwd(), path), content };
  emit(assistant(session, { type: 'tool_use', id, name: 'Write', input }));
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, content);
  emit({
    type: 'user',
    message: {
      role: 'user',
      content: [{ type: 'tool_result', tool_use_id: id, content: `File created successfully at: ${path}` }],
    },
    parent_tool_use_id: null,
    session_id: session.id,
    uuid: randomUUID(),
  });
}

function deny(session: Session, command: string): object {
  const use = emitBash(session, command, { is_error: true, content: 'This command requires approval' });
  return { tool_name: 'Bash', tool_use_id: use.id, tool_input: use.input };
}

/** Runs a script with its output in a file, so that a process that it leaves behind does not block this one. */
function runShell(session: Session, script: string): void {
  const folder = mkdtempSync(join(tmpdir(), 'scripted-agent-'));
  const output = join(folder, 'output');
  const file = openSync(output, 'w');
  const { status } = spawnSync('bash', ['-c', script], { stdio: ['ignore', file, file] });
  closeSync(file);
  const content = readFileSync(output, 'utf8');
  rmSync(folder, { recursive: true });
  emitBash(session, script, { is_error: status !== 0, content });
}

function emitBash(
  session: Session,
  command: string,
  answer: { readonly is_error: boolean; readonly content: string },
): { readonly id: string; readonly input: { readonly command: string } } {
  const use = { type: 'tool_use', id: `toolu_${randomUUID()}`, name: 'Bash', input: { command } };
  emit(assistant(session, use));
  emit({
    type: 'user',
    message: { role: 'user', content: [{ type: 'tool_result', tool_use_id: use.id, ...answer }] },
    parent_tool_use_id: null,
    session_id: session.id,
    uuid: randomUUID(),
  });
  return use;
}

function reachLimit(session: Session, resetsAt: number): number {
  const text = "You've hit your 5-hour limit";
  emit({
    type: 'rate_limit_event',
    rate_limit_info: {
      status: 'rejected',
      resetsAt,
      rateLimitType: 'five_hour',
      overageStatus: 'rejected',
      isUsingOverage: false,
    },
    session_id: session.id,
    uuid: randomUUID(),
  });
  emit({
    ...assistant(session, { type: 'text', text }),
    error: 'rate_limit',
    is_api_error_message: true,
    api_error_status: 429,
    api_error: 'usage_limit_reached',
  });
  emit(result(session, { is_error: true, api_error_status: 429, terminal_reason: 'api_error', result: text }));
  return 1;
}

function endRefused(session: Session, { status, text }: { readonly status: number; readonly text: string }): number {
  emit({
    ...assistant(session, { type: 'text', text }),
    error: status === 401 ? 'authentication_failed' : 'rate_limit',
    is_api_error_message: true,
    api_error_status: status,
  });
  emit(result(session, { is_error: true, api_error_status: status, terminal_reason: 'api_error', result: text }));
  return 1;
}

async function hang(session: Session, ignoreSigterm: boolean): Promise<number> {
  if (ignoreSigterm) process.on('SIGTERM', () => undefined);
  emitText(session, 'I think for a very long time.');
  await new Promise(() => setInterval(() => undefined, 60_000));
  return 0;
}

/** Marks an item as done; does nothing if its file does not contain it on this branch. */
function markItem(item: ItemPosition): void {
  if (existsSync(item.path)) writeFileSync(item.path, markItemDone(readFileSync(item.path, 'utf8'), item));
}

function writeFiles(files: Readonly<Record<string, string | null>>): void {
  for (const [path, content] of Object.entries(files)) {
    if (content === null) {
      rmSync(path);
      continue;
    }
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, content);
  }
}

function lookAround(file: string): void {
  const config = spawnSync('git', ['config', '--list', '--show-origin'], { encoding: 'utf8' }).stdout;
  const fetch = spawnSync('git', ['ls-remote', 'origin'], {
    encoding: 'utf8',
    env: { ...process.env, GIT_TERMINAL_PROMPT: '0' },
  }).status;
  writeFileSync(
    file,
    JSON.stringify({ environment: process.env, config, fetch, localConfig: readFileSync('.git/config', 'utf8') }),
  );
}

function leaveOrphan(pidFile: string): void {
  const orphan = spawn('sleep', ['1000'], { detached: true, stdio: 'inherit' });
  orphan.unref();
  writeFileSync(pidFile, String(orphan.pid));
}

function emitText(session: Session, text: string): void {
  emit(assistant(session, { type: 'text', text }));
}

function assistant(session: Session, block: object): object {
  return {
    type: 'assistant',
    message: {
      id: `msg_${randomUUID()}`,
      type: 'message',
      role: 'assistant',
      model: 'scripted',
      content: [block],
      stop_reason: null,
      usage: { input_tokens: 400, output_tokens: 1 },
    },
    parent_tool_use_id: null,
    session_id: session.id,
    uuid: randomUUID(),
  };
}

function result(session: Session, fields: object): object {
  return {
    type: 'result',
    subtype: 'success',
    is_error: false,
    duration_ms: 300,
    duration_api_ms: 0,
    num_turns: 1,
    session_id: session.id,
    total_cost_usd: 0,
    usage: {},
    modelUsage: {},
    permission_denials: [],
    uuid: randomUUID(),
    ...fields,
  };
}

function emit(event: object): void {
  process.stdout.write(`${JSON.stringify(event)}\n`);
}

interface Session {
  readonly id: string;
  record(role: 'user' | 'assistant', text: string): void;
}

/** Opens a new session or the one to be resumed; returns null if the latter has no transcript. */
function openSession(resume: string | null): Session | null {
  const folder = join(
    process.env['CLAUDE_CONFIG_DIR'] ?? join(homedir(), '.claude'),
    'projects',
    buildProjectSlug(realpathSync(process.cwd())),
  );
  const id = resume ?? randomUUID();
  const path = join(folder, `${id}.jsonl`);
  if (resume !== null && !existsSync(path)) return null;
  mkdirSync(folder, { recursive: true });
  return {
    id,
    record: (role, text) => {
      appendFileSync(
        path,
        `${JSON.stringify({ type: role, message: { role, content: text }, sessionId: id, uuid: randomUUID(), timestamp: new Date().toISOString() })}\n`,
      );
    },
  };
}

function nextBehaviour(): Behaviour {
  const path = process.env['RALPH_SCRIPT'] ?? '';
  if (path === '' || !existsSync(path)) return { kind: 'work' };
  const script = JSON.parse(readFileSync(path, 'utf8')) as Behaviour[];
  try {
    writeFileSync(path, JSON.stringify(script.slice(1)));
    return script[0] ?? { kind: 'work' };
  } catch {
    // In the agent's sandbox the script is read-only, so the number of used behaviours is kept in another folder.
    const played = join(process.env['CLAUDE_CONFIG_DIR'] ?? '', 'played');
    const count = existsSync(played) ? Number(readFileSync(played, 'utf8')) : 0;
    writeFileSync(played, String(count + 1));
    return script[count] ?? { kind: 'work' };
  }
}
