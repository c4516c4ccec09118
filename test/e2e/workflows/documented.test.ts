import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parse, stringify } from 'yaml';
import { events } from '../../../testbed/testbed.ts';
import { findRunEnd } from '../../../testbed/workflow/play.ts';
import { nodesOf, read } from '../../unit/documents/pages.ts';
import { deepTest } from '../../runs.ts';
import { writtenWorkflows } from '../../workflow-lint.ts';
import { createScene, KEY, type Scene } from '../e2e-fixture.ts';

const RECIPES = 'docs/recipes.md';
const SLACK = 'https://hooks.slack.com/services/T0/B0/none';
const SET_UP = '.github/actions/ralph-setup/action.yml';

/** The parts of a workflow that recipes change. */
interface Workflow {
  readonly on: Readonly<Record<string, unknown>>;
  readonly jobs: { readonly ralph: Readonly<Record<string, unknown>> };
}

/** The workflow of a reader who followed the document, and the set-up action beside it. */
interface Followed {
  readonly where: string;
  readonly text: string;
  readonly setUp: string | null;
}

/** The whole workflow that the README shows. */
const whole = writtenWorkflows().filter(({ where, text }) => /\.md:/.test(where) && /\bcron: '17/.test(text));
const base = parse(whole[0]?.text ?? '') as Workflow;

/** The recipes' blocks by their headings. */
const blocks = nodesOf(RECIPES, 'code').flatMap(({ lang, value, position }) => {
  const above = read(RECIPES)
    .split('\n')
    .slice(0, position?.start.line ?? 0);
  const heading = above.findLast((line) => line.startsWith('## '))?.slice(3) ?? '';
  return lang === 'yaml' ? [{ heading, part: parse(value) as unknown }] : [];
});

/** The heading whose block has further events for `on:`. */
const EVENTS = 'React faster';

/** The changes that each recipe makes to the README's workflow. */
const recipes = [...new Set(blocks.map(({ heading }) => heading))].map((heading): Followed => {
  const parts = blocks.filter((block) => block.heading === heading).map(({ part }) => part);
  const steps = parts.filter((part) => Array.isArray(part)).flat();
  if (heading === EVENTS) {
    const workflow = { ...base, on: { ...base.on, ...(parts[0] as object) } };
    return { where: heading, text: stringify(workflow), setUp: null };
  }
  const maps = parts.filter((part) => !Array.isArray(part)) as (Partial<Workflow> & { readonly runs?: object })[];
  const action = maps.find((part) => part.runs !== undefined);
  const changes = maps.filter((part) => part !== action).map(({ jobs, ...job }) => ({ ...job, ...jobs?.ralph }));
  const isOwnJob = changes.some((change) => 'runs-on' in change);
  const ralph: Workflow['jobs']['ralph'] = Object.assign({}, isOwnJob ? {} : base.jobs.ralph, ...changes);
  const composite = { name: 'Set up', description: 'x', runs: { using: 'composite', steps } };
  const setUp = action ?? (steps.length === 0 ? null : composite);
  return {
    where: heading,
    text: stringify({ ...base, jobs: { ralph } }),
    setUp: setUp === null ? null : stringify(setUp),
  };
});

const documented: readonly Followed[] = [...whole.map((workflow) => ({ ...workflow, setUp: null })), ...recipes];

test('there are documented workflows: the whole one of the README, and one for each recipe', () => {
  expect(whole.map(({ where }) => where.replace(/:\d+$/, ''))).toEqual(['README.md']);
  const notRecipes = ['What they have in common', 'Traces', 'Twelve repositories'];
  const headings = [...read(RECIPES).matchAll(/^## (.+)$/gm)].map(([, name = '']) => name);
  expect(recipes.map(({ where }) => where)).toEqual(headings.filter((name) => !notRecipes.includes(name)));
});

test('a recipe has at most fifteen lines in a block', () => {
  const long = nodesOf(RECIPES, 'code').filter(({ lang, value }) => lang === 'yaml' && value.split('\n').length > 15);
  expect(long.map(({ value }) => value)).toEqual([]);
});

test.each(documented)('$where plays: every expression and every input exists', async (followed) => {
  await using scene = await createScene();
  await layFiles(scene, followed);
  const { text } = followed;
  const names = [...text.matchAll(/\bsecrets\.(\w+)/g)].map(([, name = '']) => name);
  const secrets = Object.fromEntries(names.map((name) => [name, name.endsWith('_WEBHOOK') ? SLACK : KEY]));
  const played = await scene.play({ workflow: withoutToolchain(text), event: events.schedule(), secrets });
  expect(findRunEnd(played)).toMatchObject({
    kind: 'ran',
    // The short workflow leaves the name of its runs to GitHub.
    runName: text.includes('run-name:') ? 'ralph: queue' : 'ralph',
    result: { main: { exitCode: 0 }, outputs: { outcome: 'idle', reason: 'no_such_label' } },
  });
});

// The gate of three jobs ends an idle run before any set-up step, which `three-jobs.test.ts` plays; here those of the recipes.
deepTest.each(recipes.filter(({ setUp }) => setUp !== null))(
  '$where works an issue with its set-up steps',
  async (followed) => {
    await using scene = await createScene();
    await layFiles(scene, followed);
    scene.openIssue('Greet');
    // The sample project is not one of this kind, and its agent is not isolated, so no host can be kept from it.
    const text = followed.text
      .replace(/^ {6}verify: (?:\|-?\n(?: {8}.*\n)+|.*\n)/m, '      verify: test -f package.json\n')
      .replace(/^ {6}allowed-hosts: .*\n/m, '');
    const played = await scene.play({ workflow: withoutToolchain(text), event: events.schedule() });
    expect(findRunEnd(played)).toMatchObject({ kind: 'ran', result: { outputs: { outcome: 'complete' } } });
  },
);

/** A toolchain is not loaded, even where the machine has the program that would. */
function withoutToolchain(text: string): string {
  return text.replace('run: rustup ', 'run: no-rustup-on-this-machine ').replace('docker run ', 'no-docker-here run ');
}

/** Puts files on the default branch: the set-up action, and an empty lockfile, which `npm ci` asks for. */
async function layFiles({ testbed: { folder, git } }: Scene, { setUp }: Followed): Promise<void> {
  const root = { name: 'sample', version: '1.0.0' };
  const lock = JSON.stringify({ ...root, lockfileVersion: 3, packages: { '': root } });
  const files = { 'package-lock.json': lock, ...(setUp === null ? {} : { [SET_UP]: withoutToolchain(setUp) }) };
  await git('read-tree', 'main');
  for (const [path, text] of Object.entries(files)) {
    const file = join(folder, 'new-file');
    await writeFile(file, text);
    await git('update-index', '--add', '--cacheinfo', `100644,${await git('hash-object', '-w', file)},${path}`);
  }
  const tree = await git('write-tree');
  await git('update-ref', 'refs/heads/main', await git('commit-tree', tree, '-p', 'main', '-m', 'Set up'));
}
