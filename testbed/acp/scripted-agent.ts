#!/usr/bin/env node
import { spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { appendFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { Readable, Writable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  agent,
  type AgentContext,
  methods,
  ndJsonStream,
  RequestError,
  type PermissionOptionKind,
  type RequestPermissionResponse,
  type ToolCallUpdate,
} from '@agentclientprotocol/sdk';
import { isLastTask, writeStatusBlock, parseNamedTask, visitOf } from '../scripted-work.ts';

// A stand-in for an agent that speaks the Agent Client Protocol, made with the agent's side of the library. It uses no
// model and does honest work, unless RALPH_ACP_SCRIPT names a JSON file with a list of steps for each prompt.
// RALPH_ACP_HEARD may name a file that gets one line of JSON for each message that it gets.

/** A step of a prompt. */
export type AcpStep =
  | { readonly kind: 'say'; readonly text: string; readonly tokens?: number }
  /** Asks for permission and, if it is allowed, runs a bash script. */
  | {
      readonly kind: 'ask';
      readonly call: Partial<ToolCallUpdate>;
      readonly run?: string;
      readonly options?: readonly PermissionOptionKind[];
    }
  /** Reports a call as made, without asking. */
  | { readonly kind: 'make'; readonly call: Partial<ToolCallUpdate>; readonly run?: string }
  /** Sends an update as it is, of another session if one is named. */
  | { readonly kind: 'update'; readonly update: object; readonly session?: string }
  /** Sends a request of its own and keeps the answer. */
  | { readonly kind: 'request'; readonly method: string; readonly params: object }
  | { readonly kind: 'print'; readonly text: string; readonly times?: number }
  | { readonly kind: 'fail'; readonly code: number; readonly message: string; readonly data?: object }
  | { readonly kind: 'stop'; readonly reason: 'refusal' | 'max_tokens' | 'max_turn_requests' | 'end_turn' }
  /** Waits until it is cancelled, or forever. */
  | { readonly kind: 'hang'; readonly ignoresCancel?: true };

/** A script: the steps of each prompt, and the agent's description of itself. */
export interface AcpScript {
  readonly prompts: readonly (readonly AcpStep[])[];
  readonly version?: number;
  readonly abilities?: object;
  readonly opened?: object;
  /** Keeps running when its input has ended. */
  readonly stays?: true;
}

const { RALPH_ACP_SCRIPT, RALPH_ACP_HEARD } = process.env;
const script =
  RALPH_ACP_SCRIPT === undefined ? null : (JSON.parse(readFileSync(RALPH_ACP_SCRIPT, 'utf8')) as AcpScript);
const folder = join(homedir(), '.scripted-acp');
let turn = 0;
let cancelled = (): void => undefined;

if (script?.stays === true) setInterval(() => undefined, 1_000);
agent()
  .onRequest('initialize', ({ params }) => {
    hear('initialize', params);
    return {
      protocolVersion: script?.version ?? 1,
      agentCapabilities: { loadSession: true, ...script?.abilities },
      agentInfo: { name: 'scripted', version: '1' },
    };
  })
  .onRequest('session/new', ({ params }) => {
    hear('session/new', params);
    const sessionId = randomUUID();
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, sessionId), '');
    return { sessionId, ...script?.opened };
  })
  .onRequest('session/load', async ({ params, client }) => {
    hear('session/load', params);
    const { sessionId } = params;
    if (!existsSync(join(folder, sessionId))) throw RequestError.sessionNotFound(sessionId);
    // Repeat the conversation so far to the client, as a resumed session does.
    for (const text of readFileSync(join(folder, sessionId), 'utf8').split('\0').filter(Boolean))
      await say(client, sessionId, { kind: 'say', text, tokens: 99 });
    return {};
  })
  .onRequest('session/set_config_option', ({ params }) => {
    hear('session/set_config_option', params);
    return { configOptions: [] };
  })
  .onRequest('session/prompt', async ({ params, client }) => {
    const { sessionId } = params;
    const prompt = params.prompt.map((block) => (block.type === 'text' ? block.text : '')).join('');
    hear('session/prompt', { sessionId, prompt });
    if (script === null) return await work(client, sessionId, prompt);
    for (const step of script.prompts[Math.min(turn++, script.prompts.length - 1)] ?? []) {
      const stop = await take(client, sessionId, step);
      if (stop !== null) return { stopReason: stop };
    }
    return { stopReason: 'end_turn' };
  })
  .onNotification('session/cancel', ({ params }) => {
    hear('session/cancel', params);
    cancelled();
  })
  .connect(ndJsonStream(Writable.toWeb(process.stdout), Readable.toWeb(process.stdin)));

type Stop = 'refusal' | 'max_tokens' | 'max_turn_requests' | 'end_turn' | 'cancelled';

/** Takes a step; returns why the turn ends with it, or null. */
async function take(client: AgentContext, sessionId: string, step: AcpStep): Promise<Stop | null> {
  switch (step.kind) {
    case 'say':
      await say(client, sessionId, step);
      return null;
    case 'ask':
      await ask(client, sessionId, step);
      return null;
    case 'make': {
      const call = {
        ...step.call,
        title: step.call.title ?? 'a call',
        toolCallId: step.call.toolCallId ?? randomUUID(),
      };
      await client.notify('session/update', { sessionId, update: { sessionUpdate: 'tool_call', ...call } });
      await report(client, sessionId, { call, run: step.run });
      return null;
    }
    case 'update':
      await client.notify('session/update', { sessionId: step.session ?? sessionId, update: step.update });
      return null;
    case 'request':
      hear(
        step.method,
        await client
          .request(step.method, { sessionId, ...step.params })
          .catch((error: unknown) => (error instanceof RequestError ? error.toErrorResponse() : null)),
      );
      return null;
    case 'print':
      for (let time = 0; time < (step.times ?? 1); time += 1)
        if (!process.stdout.write(step.text)) await new Promise((done) => process.stdout.once('drain', done));
      return null;
    case 'fail':
      throw new RequestError(step.code, step.message, step.data);
    case 'stop':
      return step.reason;
    case 'hang':
      await new Promise<void>((done) => {
        if (step.ignoresCancel !== true) cancelled = done;
        void sleep(3_600_000).then(done);
      });
      return 'cancelled';
  }
}

async function say(client: AgentContext, sessionId: string, step: Extract<AcpStep, { kind: 'say' }>): Promise<void> {
  const half = Math.ceil(step.text.length / 2);
  for (const text of [step.text.slice(0, half), step.text.slice(half)])
    await client.notify('session/update', {
      sessionId,
      update: { sessionUpdate: 'agent_message_chunk', content: { type: 'text', text } },
    });
  if (step.tokens === undefined) return;
  await client.notify('session/update', {
    sessionId,
    update: {
      sessionUpdate: 'agent_message_chunk',
      content: { type: 'text', text: '' },
      _meta: { usage: { totalTokens: step.tokens } },
    },
  });
}

async function ask(
  client: AgentContext,
  sessionId: string,
  { call: given, run, options = ['allow_always', 'allow_once', 'reject_once'] }: Extract<AcpStep, { kind: 'ask' }>,
): Promise<boolean> {
  const call = { title: 'a call', ...given, toolCallId: given.toolCallId ?? randomUUID() };
  const { outcome } = await client.request<RequestPermissionResponse>(methods.client.session.requestPermission, {
    sessionId,
    toolCall: call,
    options: options.map((kind) => ({ optionId: `id-${kind}`, name: kind, kind })),
  });
  hear('permission', { title: call.title, outcome });
  const isAllowed = outcome.outcome === 'selected' && outcome.optionId.startsWith('id-allow');
  if (isAllowed) await report(client, sessionId, { call, run });
  else
    await client.notify('session/update', {
      sessionId,
      update: { sessionUpdate: 'tool_call_update', toolCallId: call.toolCallId, status: 'failed' },
    });
  return isAllowed;
}

async function report(
  client: AgentContext,
  sessionId: string,
  { call, run }: { readonly call: ToolCallUpdate; readonly run: string | undefined },
): Promise<void> {
  const tell = (status: 'in_progress' | 'completed' | 'failed') =>
    client.notify('session/update', {
      sessionId,
      update: { sessionUpdate: 'tool_call_update', toolCallId: call.toolCallId, status },
    });
  await tell('in_progress');
  const succeeded = run === undefined || spawnSync('bash', ['-c', run], { encoding: 'utf8' }).status === 0;
  await tell(succeeded ? 'completed' : 'failed');
}

/** Does the next visit of the task named in the prompt. */
async function work(client: AgentContext, sessionId: string, prompt: string): Promise<{ readonly stopReason: Stop }> {
  const task = parseNamedTask(prompt);
  if (task === null) {
    await say(client, sessionId, { kind: 'say', text: 'The prompt names no task, so I did nothing.' });
    return { stopReason: 'end_turn' };
  }
  const visit = visitOf(task, existsSync(visitOf(task, 1).path) ? 2 : 1);
  await say(client, sessionId, { kind: 'say', text: visit.message });
  const path = join(process.cwd(), visit.path);
  const mayWrite = await ask(client, sessionId, {
    kind: 'ask',
    call: { title: `Write ${visit.path}`, kind: 'edit', locations: [{ path }], rawInput: { file_path: path } },
  });
  if (mayWrite) {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, visit.content);
  }
  const command = `git add ${visit.path} && git commit -q -m "${visit.finishes ? 'Test' : 'Begin'} ${task.id}"`;
  await ask(client, sessionId, {
    kind: 'ask',
    call: { title: command, kind: 'execute', rawInput: { command } },
    run: command,
  });
  const block = writeStatusBlock({
    finishes: visit.finishes,
    exit: visit.finishes && isLastTask(prompt),
    tests: 'NOT_RUN',
    recommendation: visit.finishes ? 'Go on with the next task' : `Write the test of ${task.id}`,
    summary: visit.summary,
  });
  await say(client, sessionId, {
    kind: 'say',
    text: `${visit.finishes ? 'Finished' : 'Began'} ${task.id}.\n\n${block}`,
    tokens: 1_500,
  });
  return { stopReason: 'end_turn' };
}

function hear(what: string, value: unknown): void {
  if (RALPH_ACP_HEARD !== undefined) appendFileSync(RALPH_ACP_HEARD, `${JSON.stringify({ what, value })}\n`);
}
