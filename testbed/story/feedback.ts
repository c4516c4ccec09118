import { feedbackEvents } from '../feedback-events.ts';
import { addCheck } from '../github/feedback/checks.ts';
import { submitReview } from '../github/feedback/reviews.ts';
import type { StoredThread } from '../github/feedback/stored.ts';
import type { StoredPull } from '../github/state.ts';
import { REPOSITORY, type Testbed, type TestbedJob } from '../testbed.ts';

type Event = TestbedJob['event'];

const REVIEWER = 'ada';
const SUGGESTED = '// Written once, and read often.';
const HEADER = '// SPDX-License-Identifier: MIT';
const BY_HAND = '// Changed by hand.';
const LOCK_FILE = 'package-lock.json';

/** The feedback of people and CI on the story's pull request, in order, with a check of the answers. */
export interface StoryFeedback {
  /** Requests changes in two threads, one of which contains a suggested change. */
  review(): Promise<Event>;
  /** Lets CI fail on the newest head. */
  turnRed(): Promise<Event>;
  /** Pushes a change to main that conflicts with the branch, in code and in a lock file. */
  moveBaseOn(): Promise<void>;
  /** Returns the threads as people see them. */
  conversation(): readonly string[];
  /** Returns the failed expectations as sentences. */
  problems(): Promise<readonly string[]>;
}

/** Creates the feedback of people and CI, which is empty at first. */
export function createStoryFeedback(testbed: Testbed, branch: string): StoryFeedback {
  const { github, git } = testbed;
  const { state } = github;
  let threads: readonly StoredThread[] = [];

  function pull(): StoredPull {
    const found = state.pulls.find(({ head }) => head === branch);
    if (found === undefined) throw new Error(`${branch} has no pull request to review.`);
    return found;
  }

  /** Returns the first two code files that the branch adds, because each agent names its files differently. */
  async function filesToReview(): Promise<readonly [string, string]> {
    const listed = await git('diff', '--name-only', '--diff-filter=AM', `${REPOSITORY.defaultBranch}...${branch}`);
    const code = listed.split('\n').filter((path) => /^[\w./-]+\.[cm]?[jt]s$/.test(path));
    const [first, second = first] = code.sort((a, b) => Number(isTest(a)) - Number(isTest(b)));
    if (first === undefined || second === undefined) throw new Error(`${branch} changes no code to review.`);
    return [first, second];
  }

  async function textOf(path: string, at = branch): Promise<string> {
    return git('show', `${at}:${path}`);
  }

  return {
    async review() {
      state.collaborators.set(REVIEWER, { permission: 'write', roleName: 'write' });
      const [spelledOut, inWords] = await filesToReview();
      const [top = ''] = (await textOf(spelledOut)).split('\n');
      const lines = (await textOf(inWords)).split('\n');
      const submitted = submitReview(
        state,
        {
          pull: pull().number,
          by: REVIEWER,
          state: 'CHANGES_REQUESTED',
          comments: [
            {
              path: spelledOut,
              line: 1,
              hunk: hunkOf([top]),
              body: `Please begin with a word to the reader.\n\n\`\`\`suggestion\n${SUGGESTED}\n${top}\n\`\`\``,
            },
            {
              path: inWords,
              line: lines.length,
              hunk: hunkOf(lines),
              body: 'Please add a comment at the end that says that this was reviewed, and stays as small as it is.',
            },
          ],
        },
        Date.now(),
      );
      ({ threads } = submitted);
      return feedbackEvents.reviewed(state, submitted.review);
    },

    async turnRed() {
      const [, path] = await filesToReview();
      const head = await git('rev-parse', branch);
      Object.assign(pull(), { headSha: head });
      const passes = Array.from({ length: 300 }, (_, index) => `  ok ${String(index + 1)} - a file begins as it must`);
      addCheck(
        state,
        {
          head,
          name: 'lint',
          conclusion: 'FAILURE',
          steps: [
            { name: 'Set up job', lines: ['Current runner version: 2.330.0'] },
            {
              name: 'Run npm run lint',
              conclusion: 'failure',
              lines: [
                '##[group]Run npm run lint',
                '##[endgroup]',
                ...passes,
                `##[error]${path}: the first line must be "${HEADER}"`,
                '##[error]Process completed with exit code 1.',
              ],
            },
          ],
        },
        Date.now(),
      );
      const suite = state.suites.find((one) => one.head === head);
      if (suite === undefined) throw new Error('The stand-in keeps no suite of the check.');
      return feedbackEvents.workflowRun(state, suite);
    },

    async moveBaseOn() {
      const [path] = await filesToReview();
      const { defaultBranch } = REPOSITORY;
      const before = await textOf(path, defaultBranch).catch(() => 'export const byHand = true;');
      await testbed.remote.commitByHand(defaultBranch, {
        [path]: `${BY_HAND}\n${before}\n`,
        [LOCK_FILE]: lockFile('0.9.1'),
      });
      Object.assign(pull(), { headSha: await testbed.remote.commitByHand(branch, { [LOCK_FILE]: lockFile('0.9.0') }) });
    },

    conversation: () =>
      threads.flatMap((thread) =>
        thread.comments.map(({ author, body }) => {
          const said = body.replace(/<!--[^]*?-->/g, '').trim();
          return `${author.login} on ${thread.path}: ${said.replaceAll(/\s*\n\s*/g, ' ')}`;
        }),
      ),

    async problems() {
      const tasks = await git('log', '--format=%(trailers:key=Ralph-Task,valueonly)', `main..${branch}`);
      const changes = await git('log', '-m', '--first-parent', '--patch', '--format=%B', `main..${branch}`);
      const [spelledOut] = await filesToReview();
      const isMerged = await git('merge-base', '--is-ancestor', 'main', branch).then(
        () => true,
        () => false,
      );
      const problem = (holds: boolean, words: string): readonly string[] => (holds ? [] : [words]);
      return [
        ...threads.flatMap(({ path, comments }) =>
          problem(
            comments.length === 2 && comments[1]?.author.type === 'Bot',
            `The thread on ${path} has ${String(comments.length - 1)} answers instead of one.`,
          ),
        ),
        ...problem(threads.length === 2, 'The review did not begin two threads.'),
        ...problem((await textOf(spelledOut)).includes(SUGGESTED), 'The suggested change is not on the branch.'),
        ...problem(changes.includes('Apply a suggestion by'), 'The suggested change was not committed without a call.'),
        ...problem(/^check-/m.test(tasks), 'Nothing was committed for the red check.'),
        ...problem(isMerged, 'The base branch is not merged into the branch.'),
        ...problem((await textOf(spelledOut)).includes(BY_HAND), 'What was changed by hand is lost in the merge.'),
        ...problem(/"name": "sample"/.test(await textOf(LOCK_FILE)), 'The lock file was not made again.'),
        ...problem(!/^[+ ](?:<{7}|>{7}) /m.test(changes), 'A commit has conflict markers.'),
      ];
    },
  };
}

/** Returns a lock file that npm would rewrite, because it lacks the project's name. */
function lockFile(version: string): string {
  return `${JSON.stringify({ version, lockfileVersion: 3, requires: true, packages: {} }, null, 2)}\n`;
}

function isTest(path: string): boolean {
  return /test/.test(path);
}

function hunkOf(lines: readonly string[]): string {
  return [`@@ -0,0 +1,${String(lines.length)} @@`, ...lines.map((line) => `+${line}`)].join('\n');
}
