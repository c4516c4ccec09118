import type { PullRequestNow } from '../../src/core/feedback/pull-request-now.ts';
import { comment, failing, person, review, thread } from '../../test/loop/feedback/said.ts';
import { addCommit } from '../../test/loop/stage/in-memory.ts';
import type { Project } from '../../test/loop/stage/project.ts';
import { play, source, VERIFY, type Scene, type Turn } from './play.ts';

const BRANCH = 'ralph/queue';
const TITLE = 'Orders of 50 € and more ship for free';

const shipping: Turn = {
  writes: { 'src/shipping.ts': source('shipping', 61), 'src/cart.ts': source('cart', 18) },
  says: 'done',
  recommendation: 'Free shipping is in, and the cart says how much is missing.',
  minutes: 4,
};

/** Sets the feedback that the pull request has from now on. */
function say(project: Project, said: Partial<Omit<PullRequestNow, 'number' | 'url' | 'head'>>): void {
  project.forge.saidOf.set(BRANCH, said);
}

const red = failing({ name: 'test (24)', url: 'https://github.test/acme/shop/actions/runs/77/job/31' });

/** Makes CI fail in a way that its log explains. */
function failTest({ forge }: Project): void {
  forge.details.set('test (24)', {
    job: 'test (24)',
    step: 'Run npm test',
    annotations: [{ path: 'src/shipping.ts', line: 12, level: 'failure', message: 'expected 4.9 to be 0' }],
    log: '2026-11-20T10:00:00.0000000Z  × an order of 50.00 € ships for free\n2026-11-20T10:00:00.0000000Z    → expected 4.9 to be +0\n',
    missing: null,
  });
}

/** Changes a file of the branch in the base branch. */
function moveBase({ origin }: Project): void {
  const parent = origin.branches.get('main') ?? '';
  const tree = { ...origin.commits.get(parent)?.tree, 'src/cart.ts': source('basket', 9) };
  origin.branches.set('main', addCommit(origin, { tree, parent, message: 'Baskets' }));
}

/** The scenes of pull requests with feedback. */
export const feedbackScenes: readonly Scene[] = [
  {
    name: 'reviewed',
    title: 'A review with three threads and a suggestion, a red check and a conflict, all answered',
    issue: 12,
    play: () =>
      play({
        issues: { 12: TITLE },
        inputs: { verify: VERIFY },
        turns: [answer],
        said: [
          (project) => {
            failTest(project);
            moveBase(project);
            say(project, {
              reviews: [review({ text: 'Nearly there. Please say in the README from when shipping is free.' })],
              threads: [
                thread(
                  [comment(11, 'Why a constant of its own?', { hunk: '@@ -0,0 +2 @@\n+export const shipping1 = 1;' })],
                  { path: 'src/shipping.ts', line: 2, originalLine: 2 },
                ),
                thread(
                  [
                    comment(12, 'The limit belongs in the settings.', {
                      hunk: '@@ -0,0 +4 @@\n+export const shipping3 = 3;',
                    }),
                    comment(13, 'Yes, next to the VAT rate.', { by: person('owner') }),
                  ],
                  { path: 'src/shipping.ts', line: 4, originalLine: 4 },
                ),
                thread(
                  [
                    comment(14, 'Shorter:\n```suggestion\nexport const shipping = 0;\n```', {
                      hunk: '@@ -0,0 +1 @@\n+export const shipping0 = 0;',
                    }),
                  ],
                  { path: 'src/shipping.ts' },
                ),
              ],
              checks: { kind: 'known', head: [red], base: [] },
              mergeable: 'conflicting',
            });
          },
        ],
      }),
  },
  {
    name: 'half-answered',
    title: 'A limit in the middle of a review, and a question in one of its threads',
    issue: 12,
    play: () =>
      play({
        issues: { 12: TITLE },
        inputs: { verify: VERIFY, 'max-iterations': '3' },
        turns: [asking],
        said: [
          (project) => {
            const texts = ['Round up or down?', 'Rename it.', 'And here.', 'Is this used?'];
            const threads = texts.map((text, at) =>
              thread([comment(11 + at, text)], { path: 'src/shipping.ts', line: 2 + at, originalLine: 2 + at }),
            );
            say(project, { reviews: [review()], threads });
          },
        ],
      }),
  },
  {
    name: 'same-complaint',
    title: 'A check that fails again after each of three rounds: a person is asked',
    issue: 12,
    play: () =>
      play({
        issues: { 12: TITLE },
        inputs: { verify: VERIFY },
        turns: [again],
        said: [1, 2, 3, 4].map(() => (project: Project) => {
          failTest(project);
          say(project, { checks: { kind: 'known', head: [red], base: [] } });
        }),
      }),
  },
  {
    name: 'checks-missing',
    title: 'Checks that never start, said once with the remedy',
    issue: 12,
    play: () =>
      play({
        issues: { 12: TITLE },
        inputs: { verify: VERIFY },
        turns: [shipping],
        said: [
          (project) => {
            const passed = failing({ result: 'passed', conclusion: 'success' });
            say(project, { checks: { kind: 'known', head: [], base: [passed] } });
          },
        ],
      }),
  },
];

function answer(task: string): Turn {
  if (task === 'issue-12') return shipping;
  if (task === 'conflict-base')
    return {
      writes: { 'src/cart.ts': source('basket', 14) },
      says: 'done',
      recommendation: 'The cart says how much is missing, in the baskets of the base branch.',
    };
  if (task === 'thread-11')
    return { says: 'done', recommendation: 'The tests and the cart both need it, so it stays a constant of its own.' };
  return {
    writes: { [`src/${task}.ts`]: source('limit', 4) },
    says: 'done',
    recommendation: task.startsWith('check-')
      ? 'The limit is inclusive now: 50.00 € ship for free.'
      : 'The limit is in the settings, next to the VAT rate.',
  };
}

function asking(task: string): Turn {
  if (task === 'issue-12') return shipping;
  if (task === 'thread-11')
    return { says: 'blocked', recommendation: 'Does the law round for the customer? Up or down, one of the two.' };
  return { writes: { [`src/${task}.ts`]: source('name', 2) }, says: 'done', recommendation: 'Renamed.' };
}

let attempts = 0;

function again(task: string): Turn {
  if (task === 'issue-12') return shipping;
  attempts += 1;
  return {
    writes: { 'src/shipping.ts': source('shipping', 61 + attempts) },
    says: 'done',
    recommendation: 'The rounding of the total was wrong; it is in cents now.',
  };
}
