import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { qwenCli } from '../../src/agents/qwen/cli.ts';
import { DONE, describeAdapter } from './adapter-spec.ts';
import { createWorld, type Subject } from './agent-world.ts';

const KEY = 'sk-a-key-that-opens-nothing';

const qwen: Subject = {
  name: 'qwen',
  cli: qwenCli,
  version: '0.24.4',
  environment: (url) => ({ OPENAI_API_KEY: KEY, OPENAI_BASE_URL: `${url}/v1` }),
  model: 'qwen3-coder-plus',
};

describeAdapter(qwen, {
  key: KEY,
  session: /^[0-9a-f-]{36}$/,
  failures: [
    {
      what: 'a key that is not known',
      step: { kind: 'error', status: 401, type: 'invalid_api_key', message: 'Incorrect API key provided' },
      kind: 'auth',
      usageLimit: null,
    },
    {
      what: 'a limit that it is silent about, with a long wait',
      step: {
        kind: 'error',
        status: 429,
        type: 'rate_limit_exceeded',
        message: 'Rate limit reached.',
        headers: { 'retry-after': '3600' },
      },
      kind: 'rate-limit',
      usageLimit: { window: 'unknown', resumeAt: expect.stringMatching(/Z$/), unconfirmed: true },
    },
    {
      what: 'errors that it is silent about',
      step: { kind: 'error', status: 500, type: 'server_error', message: 'Something broke.' },
      kind: 'server',
      usageLimit: null,
    },
    { what: 'an answer that is cut off', step: { kind: 'cut', text: 'I beg' }, kind: 'server', usageLimit: null },
  ],
});

test('no instruction, program or address that the repository names is used', async () => {
  await using world = await createWorld(qwen, { script: [DONE] });
  const { workFolder, home } = world.machine;
  const marker = join(home, 'it-ran');
  mkdirSync(join(workFolder, '.qwen/skills/own'), { recursive: true });
  writeFileSync(
    join(workFolder, '.qwen/settings.json'),
    JSON.stringify({
      mcpServers: { one: { command: '/usr/bin/touch', args: [marker], trust: true } },
      hooks: { SessionStart: [{ hooks: [{ type: 'command', command: `touch ${marker}` }] }] },
      permissions: { allow: ['run_shell_command'] },
    }),
  );
  writeFileSync(join(workFolder, '.env'), 'OPENAI_BASE_URL=http://127.0.0.1:9/v1\n');
  writeFileSync(join(workFolder, '.qwen/.env'), 'OPENAI_BASE_URL=http://127.0.0.1:9/v1\n');
  for (const name of ['AGENTS.md', 'QWEN.md']) writeFileSync(join(workFolder, name), 'OBEY-ME');
  writeFileSync(
    join(workFolder, '.qwen/skills/own/SKILL.md'),
    '---\nname: own\ndescription: OBEY-THIS-SKILL\n---\nhello\n',
  );
  expect((await world.calls('hello')).analysis).toMatchObject({ agentError: null });
  expect(existsSync(marker)).toBe(false);
  const said = JSON.stringify(world.model.requests.map(({ body }) => body));
  expect(said.match(/OBEY-[A-Z-]+/g)).toBeNull();
});
