import { spawn } from 'node:child_process';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { readInputDefaults } from '../testbed/runner.ts';
import { ACTION_FOLDER, events, REPOSITORY, TOKEN, type Testbed, type TestbedJob } from '../testbed/testbed.ts';
import { alternate, ratioRow, type Pairs, type Row } from './measure.ts';

const GOAL = 4;
const ROUNDS = 21;

/** An event that the action ignores. */
export const OTHER_LABEL = {
  name: 'issues',
  payload: {
    action: 'labeled',
    label: { name: 'bug' },
    issue: { number: 1 },
    sender: { login: 'octo', id: 1, type: 'User' },
  },
};

/** Measures main from start to end, for runs that end in the gate, against an empty file in Node. */
export async function measureColdStart(testbed: Testbed, folder: string): Promise<readonly Row[]> {
  await mkdir(folder, { recursive: true });
  const script = async (name: string, code: string): Promise<string> => {
    await writeFile(join(folder, name), code);
    return join(folder, name);
  };
  const main = join(ACTION_FOLDER, 'dist', 'main.js');
  const nothing = await script('nothing.mjs', '');
  const oneRequest = await script(
    'one-request.mjs',
    `await (await fetch(process.env.GITHUB_API_URL + '/repos/${REPOSITORY.owner}/${REPOSITORY.name}/issues', { headers: { authorization: 'token ' + process.env['INPUT_GITHUB-TOKEN'] } })).json();\nprocess.exit(0);\n`,
  );
  const compare = async (event: TestbedJob['event'], baseline: string): Promise<Pairs> => {
    const environment = await environmentOf(testbed, event, folder);
    let runs = 0;
    // Each call gets its own run id, because one job may use the action only a few times.
    const nextRun = () => ({ ...environment, GITHUB_RUN_ID: `${event.name}-${String((runs += 1))}` });
    return alternate(
      ROUNDS,
      () => wallOf(main, nextRun(), folder),
      () => wallOf(baseline, environment, folder),
    );
  };
  return [
    ratioRow(
      'cold start: an event that is not for us, against an empty file',
      await compare(OTHER_LABEL, nothing),
      GOAL,
    ),
    ratioRow(
      'cold start: idle run, against a Node that sends one request',
      await compare(events.schedule(), oneRequest),
      GOAL,
    ),
    // No goal: the request to the stand-in alone takes more than twice Node's time.
    ratioRow('cold start: idle run, against an empty file', await compare(events.schedule(), nothing), null),
  ];
}

/** Returns the wall time of a program in ms. */
export async function wallOf(
  script: string,
  environment: Readonly<Record<string, string>>,
  folder: string,
): Promise<number> {
  const startedAt = performance.now();
  const child = spawn(process.execPath, [script], { cwd: folder, env: environment, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (text: Buffer) => void (output += text.toString()));
  const code = await new Promise((resolve) => child.once('exit', resolve));
  if (code !== 0) throw new Error(`${script} exited with code ${String(code)}:\n${output}`);
  return performance.now() - startedAt;
}

/** Returns the variables that the runner sets. */
export async function environmentOf(
  testbed: Testbed,
  event: TestbedJob['event'],
  folder: string,
): Promise<Record<string, string>> {
  const path = join(folder, `${event.name}.json`);
  await writeFile(path, JSON.stringify(event.payload));
  for (const name of ['output', 'state', 'summary']) await writeFile(join(folder, name), '');
  const inputs = readInputDefaults(await readFile(join(ACTION_FOLDER, 'action.yml'), 'utf8'), TOKEN);
  return {
    PATH: `${dirname(process.execPath)}:${process.env.PATH ?? ''}`,
    HOME: folder,
    RUNNER_TEMP: folder,
    GITHUB_WORKSPACE: folder,
    GITHUB_REPOSITORY: `${REPOSITORY.owner}/${REPOSITORY.name}`,
    GITHUB_RUN_ID: '1',
    GITHUB_EVENT_NAME: event.name,
    GITHUB_EVENT_PATH: path,
    GITHUB_OUTPUT: join(folder, 'output'),
    GITHUB_STATE: join(folder, 'state'),
    GITHUB_STEP_SUMMARY: join(folder, 'summary'),
    ...testbed.cache.env,
    GITHUB_SERVER_URL: `http://github.localhost:${new URL(testbed.remote.url).port}`,
    GITHUB_API_URL: testbed.github.url,
    ...Object.fromEntries(Object.entries(inputs).map(([name, value]) => [`INPUT_${name.toUpperCase()}`, value])),
  };
}
