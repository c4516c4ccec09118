import { loadableAgents } from '../../agents/all.ts';
import type { AgentCli } from '../../agents/cli/cli.ts';
import { type AgentName, AGENTS } from '../../core/agent-names.ts';
import type { BaseTrial, KeyTrial } from '../../core/doctor/facts.ts';
import { toOneLine } from '../../core/text/phrase.ts';
import { MINUTE_MS } from '../../core/countdown.ts';
import { withNamedWait } from '../../ports/waits.ts';
import { fetchFor } from '../../github/proxied-fetch.ts';
import type { Verification } from '../../core/evidence.ts';
import { priceOfClaude } from '../../agents/claude/messages/prices.ts';
import type { ConfiguredAgent } from '../../config/config.ts';
import { findModelPrice, type Prices } from '../../core/spending/prices.ts';

/** The time limit for a trial of the verify commands. */
export const VERIFY_MS = 15 * MINUTE_MS;
const KEY_MS = 15_000;

/** Returns the result of the verify commands on a commit. A timeout does not prove that they fail. */
export function judgeBaseTrial(end: Verification, limitMs: number): BaseTrial {
  if (end.kind === 'passed') return { kind: 'passed', seconds: Math.ceil(end.durationMs / 1000) };
  if (end.kind === 'not-run') return { kind: 'impossible', why: 'it was interrupted.' };
  if (end.code === null)
    return { kind: 'impossible', why: `it did not end within ${String(Math.ceil(limitMs / MINUTE_MS))} min.` };
  return { kind: 'failed', command: end.command, tail: toOneLine(end.tail.trim().slice(-300), 300) };
}

/**
 * Tries the API key of an agent's provider with a request that costs nothing, if there is such a request; `which` is
 * the key's name in texts for people.
 */
export async function tryApiKey(
  env: NodeJS.ProcessEnv,
  { agent, which, log }: { readonly agent: AgentName; readonly which: string; readonly log: (line: string) => void },
): Promise<KeyTrial> {
  const { keyTrial }: AgentCli = await loadableAgents[agent].adapter();
  const key = keyTrial === undefined ? '' : (env[keyTrial.variable] ?? '').trim();
  if (keyTrial === undefined || key === '') return { kind: 'form-only' };
  const url = keyTrial.urlAt(env[keyTrial.address] ?? '');
  log(`${which} is tried with one request that costs nothing: GET ${url.replace(/\/\/[^/]*@/, '//')}`);
  const send = await fetchFor(url);
  return withNamedWait('the provider of the model', () => keyTrial.tryAt(key, { url, timeoutMs: KEY_MS, send }));
}

/**
 * Returns the user's models without a known price. GitHub's own service and a user's program choose models by
 * themselves.
 */
export function listUnpricedModels(
  order: readonly Pick<ConfiguredAgent, 'name' | 'model'>[],
  prices: Prices,
): readonly string[] {
  return order.flatMap(({ name, model }) =>
    model === null ||
    !AGENTS[name].isCounted ||
    priceOfClaude(model, prices) !== null ||
    findModelPrice(prices, model) !== null
      ? []
      : [model],
  );
}
