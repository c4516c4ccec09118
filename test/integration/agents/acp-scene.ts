import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { inject } from 'vitest';
import type { AcpScript, AcpStep } from '../../../testbed/acp/scripted-agent.ts';
import { writeStatusBlock } from '../../../testbed/scripted-work.ts';
import { createAcpCli } from '../../../src/agents/acp/cli.ts';
import type { AgentCall } from '../../../src/ports/agent.ts';
import { callOf, createAgentOn, createMachine } from './agent-fixture.ts';

export const DONE: AcpStep = {
  kind: 'say',
  text: `Done.\n\n${writeStatusBlock({ finishes: true, exit: true, tests: 'NOT_RUN', recommendation: 'none' })}`,
  tokens: 150,
};

type Given = Omit<Parameters<typeof createAgentOn>[1], 'command'>;

/** Creates a separate machine with the scripted agent, whose script may be changed between calls. */
export async function createAcpScene(script: AcpScript, given: Given = {}) {
  const machine = await createMachine();
  const [path, heard] = [join(machine.home, 'script.json'), join(machine.home, 'heard')];
  const play = (next: AcpScript): void => {
    writeFileSync(path, JSON.stringify(next));
  };
  play(script);
  const program = join(inject('programs'), 'scripted-acp.mjs');
  const under = createAgentOn(machine, {
    cli: createAcpCli(),
    ...given,
    command: { kind: 'path', path: program },
    environment: { RALPH_ACP_SCRIPT: path, RALPH_ACP_HEARD: heard, ...given.environment },
  });
  return {
    ...machine,
    ...under,
    play,
    calls: (prompt: string, more: Partial<AgentCall> = {}) => under.agent.call(callOf({ prompt, ...more })),
    /** The messages that the agent got, in order. */
    heard: (what: string): unknown[] =>
      (existsSync(heard) ? readFileSync(heard, 'utf8').trim().split('\n') : [])
        .map((line) => JSON.parse(line) as { readonly what: string; readonly value: unknown })
        .flatMap((one) => (one.what === what ? [one.value] : [])),
  };
}

/** Returns a script of one prompt that ends with the status block. */
export const oneTurn = (...steps: readonly AcpStep[]): AcpScript => ({ prompts: [[...steps, DONE]] });
