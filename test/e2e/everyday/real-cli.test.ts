import { expect, test } from 'vitest';
import { TOOL_CACHE } from '../../../testbed/testbed.ts';
import { startScriptedModel } from '../../../testbed/scripted-model/server.ts';
import { createWorkerScript } from '../../../testbed/worker-script.ts';
import { createScene, KEY } from '../e2e-fixture.ts';
import { deepTest } from '../../runs.ts';

// The first run downloads the CLI, 175 MB.
test(
  'the real Claude Code CLI, installed by the action itself, against a scripted model: over two machines, with its session',
  { timeout: 400_000 },
  async () => {
    await using model = await startScriptedModel({ script: createWorkerScript() });
    await using scene = await createScene();
    scene.openIssue('Count');
    const job = { inputs: { 'agent-path': '' }, env: { RUNNER_TOOL_CACHE: TOOL_CACHE, ANTHROPIC_BASE_URL: model.url } };

    const first = await scene.run({ ...job, inputs: { ...job.inputs, 'max-iterations': '1' } });
    expect(first).toMatchObject({ main: { exitCode: 0 }, outputs: { outcome: 'limit', iterations: '1' } });
    expect(first.main.log).toContain('→ Write');
    expect(first.summary).toContain('Claude Code 2.1.330');
    // The agent had a placeholder; the broker inserted the key.
    expect(new Set(model.requests.map(({ headers }) => headers['x-api-key']))).toEqual(new Set([KEY]));

    const second = await scene.run(job);
    expect(second).toMatchObject({ main: { exitCode: 0 }, outputs: { outcome: 'complete', iterations: '1' } });
    expect(second.main.log).toContain('session: resumed');
    // The second commit is the agent's own.
    expect(await scene.commitsOf('ralph/queue')).toEqual(['Count', 'Test issue-1']);
  },
);

// Also tested by integration/agents/claude-broker.
deepTest.each([
  [
    'requests are signed with keys of AWS',
    (secret: string) => ({ AWS_ACCESS_KEY_ID: 'ASIAEXAMPLE', AWS_SECRET_ACCESS_KEY: secret }),
    /^AWS4-HMAC-SHA256 Credential=ASIAEXAMPLE\//,
  ],
  [
    'requests have its key',
    (secret: string) => ({ AWS_BEARER_TOKEN_BEDROCK: secret }),
    /^Bearer a-secret-access-key-of-the-job$/,
  ],
])(
  'the same on Amazon Bedrock: %s, which neither agent, log nor state holds',
  { timeout: 400_000 },
  async (_, keysOf, authorization) => {
    await using model = await startScriptedModel({ script: createWorkerScript() });
    await using scene = await createScene();
    scene.openIssue('Count');
    const secret = 'a-secret-access-key-of-the-job';
    const env = {
      RUNNER_TOOL_CACHE: TOOL_CACHE,
      CLAUDE_CODE_USE_BEDROCK: '1',
      ANTHROPIC_API_KEY: '',
      AWS_REGION: 'eu-west-1',
      ...keysOf(secret),
      ANTHROPIC_BEDROCK_BASE_URL: model.url,
    };
    const ended = await scene.run({ inputs: { 'agent-path': '', 'anthropic-api-key': '' }, env });
    expect(ended).toMatchObject({ main: { exitCode: 0 }, outputs: { outcome: 'complete' } });
    // The only line with the secret is the command that asks the runner to hide it.
    const shown = ended.main.log.split('\n').filter((line) => line !== `::add-mask::${secret}`);
    expect([...shown, ended.summary].join('\n')).not.toContain(secret);
    for (const { path, headers } of model.requests) {
      expect(path).toMatch(/^\/model\/eu\.anthropic\.claude-[^/]+\/invoke-with-response-stream$/);
      expect(headers.authorization).toMatch(authorization);
    }
  },
);
