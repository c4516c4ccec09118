import { computeCostAt, type Price } from '../../../core/spending/prices.ts';
import type { AgentEvent, AgentFailure, Dialect } from '../../reading/agent-event.ts';
import { asAmount, asArray, asObject, asString, type JsonObject } from '../../reading/json-value.ts';
import type { AskedCall } from '../../rules/permission.ts';
import { createToolCalls, type ToolCall } from './tool-calls.ts';

/**
 * Turns the updates of a session into events, including updates before the prompt, which replay the conversation of an
 * earlier process.
 */
export interface UpdateConverter {
  /** Returns the events of an update, and its tool call if it is about one. */
  take(update: JsonObject): { readonly events: readonly AgentEvent[]; readonly call: ToolCall | null };
  /** Returns the message that is now complete, and clears it. */
  flush(): readonly AgentEvent[];
  /** Returns the usage events at the end of a prompt, from its response. */
  used(response: JsonObject): readonly AgentEvent[];
  /** Returns the latest known cost of the session in dollars. */
  cost(): number;
}

/** Length in characters from which a message keeps only its end, where the status block is. */
const MAX_TEXT_CHARS = 1024 * 1024;

/** Maximum number of running calls that are remembered as reported. */
const MAX_SHOWN = 1_000;

/** Error texts of this client and of the runtimes that most agents use. */
export const acpErrors: Pick<Dialect, 'reported' | 'printed' | 'noise'> = {
  reported: [
    ['unknown-session', /^The session cannot be continued\b/],
    ['max-turns', /^The agent used up its turns\b/],
    [
      'server',
      /\b(?:fetch failed|connection error|socket hang up|ECONNREFUSED|ECONNRESET|ENOTFOUND|ETIMEDOUT)\b|^terminated\b/i,
    ],
  ],
  printed: [],
  noise: null,
};

/**
 * Creates a converter for the updates of one session, which has cost `costBefore` dollars in earlier processes. `price`
 * returns the price of its model, for an agent that reports tokens and no cost; for `commandOf`, see AcpCall.
 */
export function createUpdateConverter({
  costBefore,
  price,
  commandOf,
}: {
  readonly costBefore: number;
  readonly price: () => Price | null;
  readonly commandOf: (call: JsonObject) => string | null;
}): UpdateConverter {
  const calls = createToolCalls(commandOf);
  const shown = new Set<string>();
  let said = '';
  let message: unknown = null;
  let hasTokens = false;
  let cost = { before: costBefore, now: null as number | null };
  return { take, flush, used, cost: () => cost.now ?? cost.before };

  function take(update: JsonObject): ReturnType<UpdateConverter['take']> {
    switch (update['sessionUpdate']) {
      case 'agent_message_chunk':
        return { events: [...speak(update), ...countTokens(update)], call: null };
      case 'tool_call':
      case 'tool_call_update': {
        const call = calls.take(update);
        return call === null ? { events: [ACTIVITY], call } : { events: [...flush(), ...describeCall(call)], call };
      }
      case 'plan':
        return { events: [describePlan(asArray(update['entries']))], call: null };
      case 'usage_update':
        cost = { ...cost, now: dollars(update) ?? cost.now };
        return { events: [ACTIVITY], call: null };
      default:
        return { events: [ACTIVITY], call: null };
    }
  }

  function speak(update: JsonObject): readonly AgentEvent[] {
    const text = asString(asObject(update['content'])?.['text']) ?? '';
    const begun = message !== (update['messageId'] ?? null) && text !== '' ? flush() : [];
    if (text !== '') message = update['messageId'] ?? null;
    said += text;
    // Cut at twice the length, so that time stays proportional to the output.
    if (said.length > 2 * MAX_TEXT_CHARS) said = said.slice(-MAX_TEXT_CHARS);
    return [...begun, ACTIVITY];
  }

  function flush(): readonly AgentEvent[] {
    const text = said.slice(-MAX_TEXT_CHARS);
    said = '';
    return text.trim() === '' ? [] : [{ kind: 'text', text }];
  }

  /** Returns the usage that some agents report in an empty message after each answer of the model. */
  function countTokens(update: JsonObject): readonly AgentEvent[] {
    const usage = usageIn(update);
    if (usage === null) return [];
    hasTokens = true;
    return [{ kind: 'turns', more: 1 }, usedEvent(usage, null)];
  }

  function used(response: JsonObject): readonly AgentEvent[] {
    const usage = hasTokens ? null : usageIn(response);
    // Subtract the earlier cost: the agent reports the whole session, including earlier processes, unless it started
    // again from zero.
    const costUsd = cost.now === null ? null : cost.now - (cost.now < cost.before ? 0 : cost.before);
    cost = { before: cost.now ?? cost.before, now: null };
    hasTokens = false;
    return usage === null && costUsd === null ? [] : [usedEvent(usage, costUsd)];
  }

  /** Returns the usage event; tokens without a reported cost are priced by the model, if its price is known. */
  function usedEvent(usage: Usage | null, costUsd: number | null): AgentEvent {
    const given = usage === null || costUsd !== null || cost.now !== null || cost.before > 0 ? null : price();
    const priced = usage === null || given === null ? null : computeCostAt(given, usage);
    return { kind: 'used', tokens: usage && usage.input + usage.output, costUsd: costUsd ?? priced };
  }

  function describeCall(call: ToolCall): readonly AgentEvent[] {
    const isOver = call.status === 'completed' || call.status === 'failed';
    const isDescribed = (call.kind === 'command' ? call.command : describeCallTarget(call)) !== null;
    const events: AgentEvent[] = [];
    if (!shown.has(call.id) && (call.status !== 'pending' || isDescribed)) {
      if (shown.size >= MAX_SHOWN) shown.clear();
      shown.add(call.id);
      events.push({ kind: 'tool-use', id: call.id, tool: nameTool(call), command: describeCallTarget(call) });
    }
    if (isOver) {
      shown.delete(call.id);
      events.push({ kind: 'tool-result', failed: call.status === 'failed' });
    }
    return events.length === 0 ? [ACTIVITY] : events;
  }
}

/** Returns the name under which a call is reported; all commands share one name. */
export function nameTool({ kind, tool }: Pick<AskedCall, 'kind' | 'tool'>): string {
  return kind === 'command' ? 'execute' : (tool ?? kind);
}

/** Returns the command, address or first path of a call, for people; null if it names none of them. */
export function describeCallTarget({
  command,
  url,
  paths,
}: Pick<AskedCall, 'command' | 'url' | 'paths'>): string | null {
  return command ?? url ?? paths[0] ?? null;
}

/** Returns a failure that has only a text. */
export function createPlainFailure(text: string): AgentFailure {
  return { text, status: null, at: null };
}

/** Returns the failure that a response to a prompt reports, or null. */
export function parseStopFailure(reason: unknown): AgentFailure | null {
  switch (reason) {
    case 'end_turn':
      return null;
    case 'max_turn_requests':
      return createPlainFailure('The agent used up its turns.');
    case 'max_tokens':
      return createPlainFailure("The model's answer reached its maximum length.");
    case 'refusal':
      return createPlainFailure('The agent refused to continue.');
    default:
      return createPlainFailure('The agent ended its turn without a result.');
  }
}

/** The protocol's error code for an agent without a login. */
const AUTH_REQUIRED = -32_000;

/** Returns the failure for a protocol error; agents put the provider's words into its data. */
export function parseProtocolFailure(code: number, message: string, data: unknown): AgentFailure {
  const details = asObject(data);
  const own = asString(data) ?? asString(details?.['details']) ?? asString(details?.['message']) ?? '';
  const text = [message.replace(/^Internal error(?:: )?/, ''), own].filter((part) => part !== '').join(': ');
  const told = asAmount(details?.['status']) ?? asAmount(details?.['statusCode']) ?? code;
  const named = /^\W{0,3}(?:API Error:? )?(\d{3})\b|\b(?:status|HTTP)(?: code)?:? (\d{3})\b|"code":\s?(\d{3})\b/i.exec(
    text,
  );
  const status = isStatus(told) ? told : Number(named?.slice(1).find(Boolean) ?? Number.NaN);
  return {
    text: text === '' ? message : text,
    status: isStatus(status) ? status : code === AUTH_REQUIRED ? 401 : null,
    at: null,
  };
}

function isStatus(value: number): boolean {
  return Number.isInteger(value) && value >= 400 && value < 600;
}

function dollars(update: JsonObject): number | null {
  const cost = asObject(update['cost']);
  // Treat 0 as unknown, because OpenCode reports it for a model whose price it does not know.
  return cost?.['currency'] === 'USD' ? asAmount(cost['amount']) || null : null;
}

/** Token counts by price class; `cached` is a part of `input`. */
interface Usage {
  readonly input: number;
  readonly cached: number;
  readonly output: number;
}

/** Returns the tokens in a message, or null; without a number of output tokens, the total is treated as output. */
function usageIn(message: JsonObject): Usage | null {
  const meta = asObject(message['_meta']);
  const usage = asObject(message['usage']) ?? asObject(meta?.['usage']);
  // Gemini CLI reports tokens in this form.
  const count = asObject(asObject(meta?.['quota'])?.['token_count']);
  const [read, written] = [asAmount(count?.['input_tokens']), asAmount(count?.['output_tokens'])];
  const total =
    asAmount(usage?.['totalTokens']) ?? (read === null && written === null ? null : (read ?? 0) + (written ?? 0));
  if (total === null) return null;
  const said = asAmount(usage?.['outputTokens']) ?? written;
  const output = said === null ? total : Math.min(total, said + (asAmount(usage?.['thoughtTokens']) ?? 0));
  return { input: total - output, cached: asAmount(usage?.['cachedReadTokens']) ?? 0, output };
}

function describePlan(entries: readonly unknown[]): AgentEvent {
  const steps = entries.map(asObject);
  const done = steps.filter((step) => step?.['status'] === 'completed').length;
  const next = asString(steps.find((step) => step?.['status'] !== 'completed')?.['content']) ?? '';
  return { kind: 'tool-use', id: null, tool: `plan: ${String(done)} of ${String(steps.length)} done,`, command: next };
}

const ACTIVITY: AgentEvent = { kind: 'activity' };
