import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { loadableAgents } from '../../../src/agents/all.ts';
import type { LoadableAgent } from '../../../src/agents/manifest.ts';
import { AGENT_NAMES, AGENTS, KEY_INPUTS, listKeyVariables } from '../../../src/core/agent-names.ts';
import { allowsHost } from '../../../src/core/isolation/hosts.ts';

const SRC = join(import.meta.dirname, '../../../src');

describe.each(AGENT_NAMES)('the manifest of %s', (name) => {
  const manifest: LoadableAgent = loadableAgents[name];
  const { title, source, provider, hosts } = manifest;

  test('is in the folder of its name, and its CLI has what it says', async () => {
    expect(readdirSync(join(SRC, 'agents', name))).toContain('agent.ts');
    const { title: titleOfCli, source: sourceOfCli, coAuthor } = await manifest.adapter();
    expect([titleOfCli, sourceOfCli, coAuthor]).toEqual([title, source, manifest.coAuthor]);
  });

  test('names a package in an exact version, or a program of the user’s that nobody installs or counts', () => {
    // Inputs take NAME=VALUE.
    expect(name).toMatch(/^[a-z]+$/);
    if (source === null) {
      expect([provider.keys, hosts, manifest.isCounted]).toEqual([[], [], false]);
      return;
    }
    expect(source.version).toMatch(/^\d+\.\d+\.\d+$/);
    const programs = source.programs({ os: 'linux', cpu: 'x64' });
    expect(programs.length).toBeGreaterThan(0);
    for (const program of programs) expect(program).toMatch(/^(?:@[\w-]+\/)?[\w-]+\/\S+$/);
    expect(manifest.coAuthor).toMatch(/^[^<>]+ <\S+@\S+>$/);
  });

  test('has keys that its CLI gets, and hosts that only the broker reaches', async () => {
    for (const key of [...provider.keys, ...provider.otherSecrets]) expect(key).toMatch(provider.variables);
    for (const key of listKeyVariables(name)) expect(provider.keys).toContain(key);
    for (const key of [...provider.cloudKeys, ...provider.lastingCloudKeys])
      expect(key).toMatch(provider.cloudVariables);
    const access = (await manifest.adapter()).accessOf(
      Object.fromEntries(
        listKeyVariables(name)
          .slice(0, 1)
          .map((key) => [key, 'a-key-of-the-test']),
      ),
      { allowedTools: [], model: null, prices: {} },
    );
    if (access.kind !== 'brokered') return;
    expect(allowsHost({ allowed: { kind: 'any' }, never: hosts }, new URL(access.provider).hostname, 443)).toBe(false);
  });
});

test('a key of several agents has one description', () => {
  const forms = Object.values(AGENTS).flatMap(({ provider }) => provider.keyForms);
  const described = new Set(forms.map(({ variable, description }) => `${variable}: ${description}`));
  expect(described.size).toBe(KEY_INPUTS.length);
});

/** Files about something that one agent alone has, or about stored data. */
const MAY_NAME_CLAUDE = new Set([
  // Prices of its models are known.
  'wiring/doctor/trials.ts',
  // Its login on a person's machine.
  'cli/run/run.ts',
  // It alone turns documents into tasks.
  'cli/tasks/import.ts',
  'wiring/import.ts',
  // States from before there were others.
  'core/lane/state/state-migrations.ts',
]);

test('no other file of src/ names an agent: adding one is its folder and its line in agents/all.ts', () => {
  const names = AGENT_NAMES.filter((name) => name !== 'command').join('|');
  const naming = new RegExp(
    String.raw`(['"\`])(?:${names})\1|\b(?:AGENTS|loadableAgents)\.(?:${names})\b|agents/(?:${names})/`,
    'i',
  );
  const own = new RegExp(String.raw`^agents/(?:${names}|command|all\.ts)`);
  const files = readdirSync(SRC, { recursive: true })
    .map((path) => String(path))
    .filter((path) => path.endsWith('.ts'));
  const found = files.filter((path) => !own.test(path) && naming.test(readFileSync(join(SRC, path), 'utf8')));
  expect(found.sort()).toEqual([...MAY_NAME_CLAUDE].sort());
});
