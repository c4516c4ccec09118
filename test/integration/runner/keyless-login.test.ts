import { spawnSync } from 'node:child_process';
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { KEYLESS } from '../../../scripts/reusable-workflow.ts';
import { loginTermField, parseInputText } from '../../../src/config/fields.ts';

interface Step {
  readonly id?: string;
  readonly run?: string;
}

const workflow = parse(await readFile(new URL(`../../../${KEYLESS.branch}`, import.meta.url), 'utf8')) as {
  readonly jobs: Readonly<Record<string, { readonly steps: readonly Step[] }>>;
};

/** Runs a script of the job of the loop as the runner does; returns its outputs by name. */
async function runStep(id: string, env: Readonly<Record<string, string>>, curl = 'exit 1') {
  const folder = await mkdtemp(join(tmpdir(), 'ralph-login-'));
  try {
    const program = join(folder, 'curl');
    await writeFile(program, `#!/bin/bash\necho "$*" >> "$0.calls"; cat >> "$0.calls"; ${curl}\n`);
    await chmod(program, 0o755);
    const outputs = join(folder, 'outputs');
    await writeFile(outputs, '');
    const script = workflow.jobs['loop']?.steps.find((step) => step.id === id)?.run ?? '';
    const { status, stdout } = spawnSync('bash', ['--noprofile', '--norc', '-eo', 'pipefail', '-c', script], {
      env: { PATH: `${folder}:${process.env['PATH'] ?? ''}`, HOME: folder, GITHUB_OUTPUT: outputs, ...env },
      encoding: 'utf8',
    });
    const lines = (await readFile(outputs, 'utf8')).split('\n').filter(Boolean);
    const said = Object.fromEntries(lines.map((line) => line.split(/=(.*)/s, 2) as [string, string]));
    return { status, log: stdout, outputs: said, asked: await readFile(`${program}.calls`, 'utf8').catch(() => '') };
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** Returns the seconds from now until the instant in an output, which the action itself must be able to read. */
function secondsUntil(text: string | undefined): number {
  const term = parseInputText(loginTermField, text ?? '').value;
  if (term.kind !== 'until') throw new Error(`${text ?? ''} is no instant.`);
  return (term.endsAt - Date.now()) / 1000;
}

test.each([
  ['60', 3600],
  ['90.5', 5400],
  // AWS grants no shorter login, and neither grants a longer one.
  ['5', 900],
  ['4320', 43_200],
])('a job of %s minutes asks for a login of %i seconds, and knows its end', async (minutes, seconds) => {
  const { outputs } = await runStep('login', { MINUTES: minutes });
  expect(outputs['seconds']).toBe(String(seconds));
  expect(Math.abs(secondsUntil(outputs['ends']) - seconds)).toBeLessThan(30);
});

const IDS = { RULE: 'fdrl_1', ORGANIZATION: 'b3f1-00', ACCOUNT: '', WORKSPACE: '' };
const TOKENS = {
  ACTIONS_ID_TOKEN_REQUEST_URL: 'https://id.example/?v=2',
  ACTIONS_ID_TOKEN_REQUEST_TOKEN: 'request-token',
};
const ANSWERS = `case "$*" in
  *id.example*) echo '{"count":3,"value":"e30.jwt.sig"}';;
  *api.anthropic.com/v1/oauth/token) echo '{"access_token":"sk-ant-oat01-x_Y-z","token_type":"Bearer","expires_in":600}';;
esac`;

test('the login to Anthropic exchanges the identity of the job for a token, and masks it', async () => {
  const { status, log, outputs, asked } = await runStep('anthropic', { ...IDS, ...TOKENS, ACCOUNT: 'svac_1' }, ANSWERS);
  expect(status, log).toBe(0);
  expect(outputs['token']).toBe('sk-ant-oat01-x_Y-z');
  expect(Math.abs(secondsUntil(outputs['ends']) - 600)).toBeLessThan(30);
  expect(log).toBe('::add-mask::sk-ant-oat01-x_Y-z\n');
  expect(asked).toContain('https://id.example/?v=2&audience=https%3A%2F%2Fapi.anthropic.com\n');
  expect(asked).toContain('header = "Authorization: Bearer request-token"');
  expect(JSON.parse(/^\{.*"grant_type".*\}$/m.exec(asked)?.[0] ?? '')).toEqual({
    grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer',
    assertion: 'e30.jwt.sig',
    federation_rule_id: 'fdrl_1',
    organization_id: 'b3f1-00',
    service_account_id: 'svac_1',
  });
});

test.each([
  ['an answer without a token', IDS, `echo '{"error":"invalid_grant"}'`],
  ['a refusal', IDS, 'exit 22'],
  ['an input that is not an ID', { ...IDS, RULE: 'fdrl_1","assertion":"x' }, ANSWERS],
])('%s fails the step, and gives no output', async (_, ids, curl) => {
  const { status, outputs } = await runStep('anthropic', { ...ids, ...TOKENS }, curl);
  expect(status).not.toBe(0);
  expect(outputs).toEqual({});
});
