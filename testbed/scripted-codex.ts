#!/usr/bin/env node
import { spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { appendFileSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { isLastTask, writeStatusBlock, parseNamedTask, visitOf } from './scripted-work.ts';

// A stand-in for Codex, like scripted-agent.ts for Claude Code: it prints the events of `codex exec --json`, keeps what
// `resume` needs, and uses no model. It commits its own work.
//
// RALPH_CODEX_LIMIT may contain a time such as `11:01 AM`: the provider is then at its usage limit until that time, in
// UTC. RALPH_CODEX_REVIEW may contain a bash script, which a review runs in the work tree and whose output is its final
// message.

const args = process.argv.slice(2);
if (args.includes('--version')) console.log('codex-cli 0.0.0-scripted');
// The action makes this call to test whether Codex's sandbox starts.
else if (args[0] === 'exec') process.exitCode = turn(readFileSync(0, 'utf8'));

function turn(prompt: string): number {
  const session = openSession(args[1] === 'resume' ? (args.at(-2) ?? '') : null);
  if (session === null) {
    const text = `no rollout found for thread id ${args.at(-2) ?? ''} (code -32600)`;
    console.error(`Error: thread/resume: thread/resume failed: ${text}`);
    return 1;
  }
  emit({ type: 'thread.started', thread_id: session.id });
  emit({ type: 'turn.started' });
  const limit = process.env['RALPH_CODEX_LIMIT'] ?? '';
  if (limit !== '') {
    const message = `You’ve hit your usage limit. Upgrade to Pro (https://chatgpt.com/explore/pro), visit https://chatgpt.com/settings/usage to purchase more credits or try again at ${limit}.`;
    emit({ type: 'error', message });
    emit({ type: 'turn.failed', error: { message } });
    return 1;
  }
  emitMessage(work(prompt));
  emit({ type: 'turn.completed', usage: session.use({ input_tokens: 1200, output_tokens: 300 }) });
  return 0;
}

/** Does the next visit of the task named in the prompt and returns the final message. */
function work(prompt: string): string {
  const review = process.env['RALPH_CODEX_REVIEW'] ?? '';
  if (review !== '' && prompt.includes('End your final message with your findings'))
    return spawnSync('bash', ['-c', review], { encoding: 'utf8', maxBuffer: 64 * 2 ** 20 }).stdout;
  const task = parseNamedTask(prompt);
  if (task === null) return 'The prompt names no task, so I did nothing.';
  const visit = visitOf(task, existsSync(visitOf(task, 1).path) ? 2 : 1);
  emitMessage(visit.message);
  const change = { type: 'file_change', changes: [{ path: join(process.cwd(), visit.path), kind: 'add' }] };
  emitItem('item.started', { ...change, status: 'in_progress' });
  mkdirSync(dirname(visit.path), { recursive: true });
  writeFileSync(visit.path, visit.content);
  emitItem('item.completed', { ...change, status: 'completed' });
  runShell(`git add ${visit.path} && git commit -q -m "${visit.finishes ? 'Test' : 'Begin'} ${task.id}"`);
  const block = writeStatusBlock({
    finishes: visit.finishes,
    exit: visit.finishes && isLastTask(prompt),
    tests: 'NOT_RUN',
    recommendation: visit.finishes ? 'Go on with the next task' : `Write the test of ${task.id}`,
    summary: visit.summary,
  });
  return `${visit.finishes ? 'Finished' : 'Began'} ${task.id}.\n\n${block}`;
}

function runShell(command: string): void {
  const item = { type: 'command_execution', command: `/bin/bash -lc '${command}'` };
  emitItem('item.started', { ...item, aggregated_output: '', exit_code: null, status: 'in_progress' });
  const { status, stdout, stderr } = spawnSync('bash', ['-c', command], { encoding: 'utf8' });
  emitItem('item.completed', {
    ...item,
    aggregated_output: stdout + stderr,
    exit_code: status,
    status: status === 0 ? 'completed' : 'failed',
  });
}

interface Usage {
  readonly input_tokens: number;
  readonly output_tokens: number;
}

interface Session {
  readonly id: string;
  /** Adds the usage and returns the session's total. */
  use(usage: Usage): Usage;
}

/** Opens a new session or the one to be resumed; returns null if the latter has no rollout. */
function openSession(resume: string | null): Session | null {
  const sessions = join(process.env['CODEX_HOME'] ?? '', 'sessions');
  const id = resume ?? randomUUID();
  const known = existsSync(sessions) ? readdirSync(sessions, { recursive: true, encoding: 'utf8' }) : [];
  const found = known.find((path) => path.endsWith(`-${id}.jsonl`));
  if (resume !== null && found === undefined) return null;
  const file = join(sessions, found ?? join('2026', '01', '01', `rollout-2026-01-01T00-00-00-${id}.jsonl`));
  const record = (type: string, payload: object): void => {
    appendFileSync(file, `${JSON.stringify({ timestamp: new Date().toISOString(), type, payload })}\n`);
  };
  if (found === undefined) {
    mkdirSync(dirname(file), { recursive: true });
    record('session_meta', { id, cwd: process.cwd(), cli_version: '0.0.0-scripted' });
  }
  const before = lastUsage(readFileSync(file, 'utf8'));
  record('event_msg', { type: 'task_started' });
  record('response_item', { type: 'message', role: 'user', content: [] });
  return {
    id,
    use: (usage) => {
      const total = {
        input_tokens: before.input_tokens + usage.input_tokens,
        output_tokens: before.output_tokens + usage.output_tokens,
      };
      record('event_msg', { type: 'token_count', info: { total_token_usage: total } });
      return total;
    },
  };
}

function lastUsage(rollout: string): Usage {
  const totals = rollout.split('\n').flatMap((line) => {
    const found = /"total_token_usage":(\{[^}]*\})/.exec(line)?.[1];
    return found === undefined ? [] : [JSON.parse(found) as Usage];
  });
  return totals.at(-1) ?? { input_tokens: 0, output_tokens: 0 };
}

function emitMessage(text: string): void {
  emitItem('item.completed', { type: 'agent_message', text });
}

function emitItem(type: string, item: object): void {
  emit({ type, item: { id: `item_${randomUUID()}`, ...item } });
}

function emit(event: object): void {
  process.stdout.write(`${JSON.stringify(event)}\n`);
}
