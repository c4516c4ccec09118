import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ACTION_FOLDER, events } from '../../../../testbed/testbed.ts';
import type { Behaviour } from '../../../../testbed/scripted-agent.ts';
import type { PlayedJob } from '../../../../testbed/workflow/job.ts';
import { noOwnMachine } from '../../../own-machine.ts';
import { rows } from '../../../runs.ts';
import { createScene, type Scene } from '../../e2e-fixture.ts';

// The workflow without stored keys. Everything secret that a login involves is called login-of-… in the testbed: what
// the provider gave, and the variables by which a job asks for tokens.

const AWS = 'aws-role: arn:aws:iam::123456789012:role/ralph\n      aws-region: eu-west-1';
const GOOGLE = `google-workload-identity-provider: projects/1/locations/global/workloadIdentityPools/ci/providers/ci
      google-service-account: ralph@shop.iam.gserviceaccount.com`;

/** Returns a caller of the workflow with these inputs. */
function callerWith(inputs: string): string {
  return readFileSync(join(ACTION_FOLDER, 'templates/workflows/three-jobs.yml'), 'utf8')
    .replace('ralph.yml', 'ralph-keyless.yml')
    .replace('\npermissions:\n', '\npermissions:\n  id-token: write\n')
    .replace(/^ {4}# with:[^]*$/m, `    with:\n      ${inputs}\n`);
}

/** Searches what a program of the agent can read. The patterns do not match themselves. */
const SEARCH = [
  "env | grep -E 'ACTIONS_|login-of-[a-z]' > variables.txt",
  "grep -aohE 'ACTIONS_ID[_]|login-of-[a-z]+' /proc/[0-9]*/environ /proc/[0-9]*/cmdline 2>/dev/null > processes.txt",
  'find . "$HOME" /tmp /var/tmp /run /home /root -name "gha-creds*" 2>/dev/null > names.txt',
  'grep -rlaE "login-of-[a]ws|login-of-[g]oogle|login-of-[r]equest" . "$HOME" /tmp /var/tmp /home /root 2>/dev/null > files.txt',
  "env | grep -oE '^CLAUDE_CODE_SKIP_(BEDROCK|VERTEX)_AUTH=1' > login.txt",
  'true',
].join('\n');

/** Fails if a command of verify finds a login or the means to ask for one. */
const VERIFY = `! env | grep -E '^(ACTIONS_|AWS_[A-Z_]*(KEY|TOKEN)|CLOUDSDK_|CLAUDE_CODE_)' && ! grep -aqE 'ACTIONS_ID[_]' /proc/[0-9]*/environ`;

async function play(scene: Scene, inputs: string, agent: readonly Behaviour[] = []) {
  const played = await scene.play({
    event: events.schedule('17 * * * *'),
    // A stored login beside that of the job: the agent sees neither.
    secrets: { env: 'AWS_SECRET_ACCESS_KEY=login-of-aws-as-stored\nAWS_SESSION_TOKEN=login-of-aws-as-stored' },
    workflow: callerWith(inputs),
    agent,
  });
  if (played.kind !== 'called') throw new Error(`It did not call the workflow: ${JSON.stringify(played)}`);
  const ranOf = (name: string): Extract<PlayedJob['end'], { kind: 'ran' }> => {
    const job = Object.entries(played.jobs).find(([full]) => full.endsWith(name))?.[1] ?? 'skipped';
    if (job === 'skipped' || job.end.kind !== 'ran') throw new Error(`The job ${name} did not run the action.`);
    return job.end;
  };
  return { loop: ranOf('loop'), publish: ranOf('publish') };
}

describe.skipIf(noOwnMachine !== null).each(
  rows(1, [
    ['Bedrock', AWS],
    ['Vertex AI', GOOGLE],
  ]),
)('the login to %s', (provider, inputs) => {
  let scene: Scene;
  let loop: Awaited<ReturnType<typeof play>>['loop'];
  beforeAll(async () => {
    scene = await createScene({ level: 'namespace' });
    scene.openIssue('Count');
    const all = `${inputs}\n      max-iterations: 1\n      verify: ${JSON.stringify(VERIFY)}`;
    ({ loop } = await play(scene, all, [{ kind: 'shell', script: SEARCH }]));
  }, 240_000);
  afterAll(() => scene[Symbol.asyncDispose]());

  const found = (name: string): string => readFileSync(join(loop.workspace, name), 'utf8');

  test('is that of the agent, through the broker', () => {
    expect(loop.result.main.log).toContain('Iteration 1/1');
    expect(found('login.txt')).toBe(`CLAUDE_CODE_SKIP_${provider === 'Bedrock' ? 'BEDROCK' : 'VERTEX'}_AUTH=1\n`);
    expect(loop.result.main.log).toContain('the agent never held the model key');
  });

  test.each([
    ['the agent searches its variables', 'variables.txt'],
    ['the agent searches the variables and arguments of all processes', 'processes.txt'],
    ['the agent searches for the file of the login', 'names.txt'],
    ['the agent searches all files for what the provider gave', 'files.txt'],
  ])('%s: nothing', (_, name) => {
    expect(found(name)).toBe('');
  });

  test('verify searches for the same: nothing, and the log shows nothing', () => {
    const { log } = loop.result.main;
    expect(log).toContain('verify passed');
    expect(log).not.toContain('verify failed');
    const shown = log.split('\n').filter((line) => !line.startsWith('::add-mask::'));
    expect(shown.filter((line) => /login-of-(?:aws|google|request|url)|ACTIONS_ID_/.test(line))).toEqual([]);
  });
});

describe.skipIf(noOwnMachine !== null)('before a call, the run ends', () => {
  // test/loop/split/login.test.ts has what a run without a login says.
  test.each(
    rows(1, [
      ['without isolation', '', AWS, 'without isolation its agent could do so as well'],
      [
        'if the provider grants no login as long as the job',
        'namespace',
        `${GOOGLE}\n      timeout-minutes: '120'`,
        'most roles and service accounts allow only 60 minutes',
      ],
    ]),
  )('%s, and people read why', async (_, level, inputs, why) => {
    await using scene = await createScene({ level });
    const issue = scene.openIssue('Count');
    const { loop, publish } = await play(scene, inputs);
    expect(loop.result.main.log).not.toContain('Iteration 1');
    expect(publish.result.outputs).toMatchObject({ outcome: 'failed', reason: 'configuration' });
    expect(publish.result.main.log + JSON.stringify(scene.commentsOn(issue.number))).toContain(why);
  });
});
