import { expect, test } from 'vitest';
import type { AgentName } from '../../../src/core/agent-names.ts';
import { openLogin } from '../../../src/wiring/agent.ts';
import type { World } from '../../../src/wiring/world.ts';

interface Row {
  readonly what: string;
  readonly agent: AgentName;
  readonly environment?: Readonly<Record<string, string>>;
  readonly limits?: readonly [run: number, day: number];
  /** The warning; null if none. */
  readonly says: RegExp | null;
}

test.each<Row>([
  { what: "a user's own program", agent: 'command', says: /has no limit in dollars during a call.*max-iterations/ },
  { what: 'only a limit for the day', agent: 'command', limits: [0, 20], says: /has no limit in dollars/ },
  { what: 'without a limit in dollars', agent: 'command', limits: [0, 0], says: null },
  { what: 'a login that no broker holds', agent: 'codex', says: /Codex.*during a call.*`prices` has its model/ },
  { what: 'its key', agent: 'codex', environment: { OPENAI_API_KEY: 'a-key-of-openai' }, says: null },
  { what: 'an agent that tells the cost', agent: 'opencode', says: /OpenCode.*it reports what a call cost/ },
  { what: 'an agent whose program ends such a call', agent: 'claude', says: null },
])('$what: $agent', async ({ agent, environment = {}, limits: [maxCostUsd, maxCostUsdPerDay] = [5, 20], says }) => {
  const warnings: string[] = [];
  const world = {
    environment,
    config: {
      policy: { allowedTools: ['Read', 'Edit', 'Write', 'Bash'], maxCostUsd, maxCostUsdPerDay },
      prices: {},
      agent: { envNames: [] },
    },
    log: { warning: (text: string) => warnings.push(text) },
  } as unknown as World;
  const isolation = { level: 'none', agentSandbox: null, listen: () => Promise.resolve(1) } as const;
  await openLogin(world, { name: agent, model: null } as Parameters<typeof openLogin>[1], isolation);
  const said = warnings.filter((text) => text.includes('in dollars'));
  expect(said).toHaveLength(says === null ? 0 : 1);
  if (says !== null) expect(said[0]).toMatch(says);
});
