import { listenOnLoopback } from '../../src/isolation/listening.ts';
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { createAgentLogin } from '../../src/wiring/agents/agent-settings.ts';
import type { BrokerDoor, BrokerTimes } from './broker-process.ts';
import { spread, type Row } from '../measure.ts';

const REQUEST_GOAL_MS = 1.5;
/** Goal for the added time per token; shorter than the gap between two tokens that anyone would notice. */
const TOKEN_GOAL_MS = 1;

/**
 * Measures the time that the broker adds to a request of 50 KB and to a streamed token; model and client are in another
 * process.
 */
export async function measureBroker(): Promise<readonly Row[]> {
  const child = fork(fileURLToPath(new URL('broker-process.ts', import.meta.url)));
  try {
    const [url] = (await once(child, 'message')) as [string];
    const { broker } = await createAgentLogin(
      'claude',
      { ANTHROPIC_API_KEY: 'sk-ant-of-the-bench', ANTHROPIC_BASE_URL: url },
      { allowedTools: [], model: null, prices: {}, listen: listenOnLoopback },
    );
    if (broker === null) throw new Error('there is no broker');
    const call = await broker.open({ costUsd: null, tokens: null }, () => undefined);
    const door: BrokerDoor = {
      url: call.environment['ANTHROPIC_BASE_URL'] ?? '',
      key: call.environment['ANTHROPIC_API_KEY'] ?? '',
    };
    child.send(door);
    const [{ requests, tokens }] = (await once(child, 'message')) as [BrokerTimes];
    await call.end();
    return [
      row('broker: added to a request of 50 KB', requests, REQUEST_GOAL_MS),
      row('broker: added to a streamed token', tokens, TOKEN_GOAL_MS),
    ];
  } finally {
    child.kill();
  }
}

function row(measure: string, pairs: readonly (readonly [number, number])[], goal: number): Row {
  const added = spread(pairs.map(([ours, theirs]) => ours - theirs));
  const [ours, theirs] = [spread(pairs.map(([ms]) => ms)), spread(pairs.map(([, ms]) => ms))];
  return {
    measure,
    value: `${added.median.toFixed(2)} ms; ${ours.median.toFixed(2)} ms against ${theirs.median.toFixed(2)} ms`,
    goal: `≤ ${String(goal)} ms`,
    isMet: added.median <= goal,
  };
}
