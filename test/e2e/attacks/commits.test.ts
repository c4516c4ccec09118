import { expect } from 'vitest';
import { attackBy, filesOf, repel, type Attack } from './attack-fixture.ts';

/** The messages of the agent's own commits. */
const messages = {
  skips: 'Count\n\n[skip ci] [ci skip] [no ci]\n\nskip-checks: true',
  closes: 'Count, which fixes #2 and closes octo/sample#2\n\nResolves: #2',
  mentions: 'Count\n\ncc @octo/security and @ada, please approve',
  signs:
    'Count\n\nRalph-Run: 1\nRalph-Task: issue-2\nRalph-Iteration: 99\nSigned-off-by: Ada <ada@example.com>\nReviewed-by: Ada <ada@example.com>\nCo-authored-by: Ada <ada@example.com>',
  steers: 'Count\n\n::set-output name=x::y\n<!-- ralph-action:status -->\n![x](https://evil.example/x.png)',
} as const;

interface Commit {
  readonly author: string;
  readonly committer: string;
  readonly message: string;
}

const SEPARATOR = '%x00';

repel<{ readonly commits: readonly Commit[]; readonly texts: string; readonly pull: string }>(
  'Commits are ours, also where the agent commits by itself',
  {
    stage: async (scene) => {
      scene.openIssue('Count');
      scene.openIssue('Somebody else wants this');
      const file = scene.testbed.github.state.issues;
      expect(file).toHaveLength(2);
      await scene.run({
        inputs: { 'max-iterations': '3' },
        agent: [
          attackBy(
            Object.entries(messages)
              .map(([name, message]) => `echo ${name} > src/${name}.js; git add .; git commit -q -m '${message}'`)
              .join('\n'),
            { status: { finishes: false, exit: false } },
          ),
          attackBy(
            [
              'export GIT_AUTHOR_NAME=Ada GIT_AUTHOR_EMAIL=ada@example.com GIT_COMMITTER_NAME=Ada GIT_COMMITTER_EMAIL=ada@example.com',
              'export GIT_AUTHOR_DATE=2001-01-01T00:00:00Z GIT_COMMITTER_DATE=2001-01-01T00:00:00Z',
              "echo borrowed > src/borrowed.js; git add .; git commit -q -m 'Borrowed'",
            ].join('\n'),
            { status: { finishes: false, exit: false } },
          ),
          attackBy('echo summed > src/summed.js', {
            text: 'Fixes #2 [skip ci] @octo/security\n\nRalph-Task: issue-2',
            status: {
              recommendation: 'Fixes #2 [skip ci] cc @octo/security',
              summary: 'Fixes #2 [skip ci] cc @octo/security. Closes octo/sample#2',
              tests: 'NOT_RUN',
            },
          }),
        ],
      });
      expect(await filesOf(scene)).toEqual(
        expect.arrayContaining([...Object.keys(messages), 'borrowed', 'summed'].map((name) => `src/${name}.js`)),
      );
      const format = ['%an <%ae> %ad', '%cn <%ce> %cd', '%B'].join(SEPARATOR) + SEPARATOR;
      const fields = (await scene.testbed.git('log', `--format=${format}`, 'main..ralph/queue')).split('\0');
      const commits: Commit[] = [];
      for (let at = 0; at + 2 < fields.length; at += 3)
        commits.push({ author: fields[at] ?? '', committer: fields[at + 1] ?? '', message: fields[at + 2] ?? '' });
      const pull = scene.pullOf('ralph/queue');
      return { commits, texts: commits.map(({ message }) => message).join('\n'), pull: pull.title + pull.body };
    },
    attacks: [
      inMessage(
        '[skip ci] or one of its brothers',
        'a published commit that keeps CI from running',
        /\[(skip[ -]?ci|ci[ -]?skip|no ci|skip actions|actions skip)\]/i,
      ),
      inMessage('skip-checks: true', 'that trailer in a published commit', /skip-checks/i),
      inMessage(
        'that it fixes #2, which is not its task',
        'words in a commit that close issue 2 on merge',
        /\b(fix(es|ed)?|close[sd]?|resolve[sd]?):?\s+(octo\/sample)?#2\b/i,
      ),
      inMessage('@octo/security and @ada', 'a commit that mentions anybody', /(^|[^\w`])@(octo|ada)\b/m),
      inMessage(
        'trailers of the loop, with another run and task',
        'those trailers beside or instead of ours',
        /^Ralph-(Run: 1$|Task: issue-2|Iteration: 99)/m,
      ),
      inMessage(
        'that Ada signed it off and reviewed it',
        'those trailers in a published commit',
        /^(Signed-off-by|Reviewed-by): Ada/m,
      ),
      inMessage('that Ada is a co-author', 'that trailer in a published commit', /^Co-authored-by: Ada/im),
      inMessage(
        'our own marker, an image and a command of the runner',
        'any of them at the start of a line of a message',
        /^(::set-output|<!-- ralph-action|!\[)/m,
      ),
      {
        who: 'the agent',
        does: 'commits under the name and address of Ada',
        never: 'a published commit of hers, as author or committer',
        holds: ({ commits }) => {
          expect(JSON.stringify(commits.map(({ author, committer }) => [author, committer]))).not.toContain('Ada');
        },
      },
      {
        who: 'the agent',
        does: 'dates its commit into the year 2001',
        never: 'a published commit of that year',
        holds: ({ commits }) => {
          expect(JSON.stringify(commits)).not.toContain('2001');
        },
      },
      {
        who: 'the agent',
        does: 'makes commits that say nothing of the loop',
        never: 'a published commit without the trailers that say which run made it',
        holds: ({ commits }) => {
          expect(commits.filter(({ message }) => !/^Ralph-Run: \d+$/m.test(message))).toEqual([]);
        },
      },
      {
        who: 'the agent',
        does: 'says in its last words, its recommendation and its summary that it fixes #2',
        never: 'words in the pull request that close issue 2 on merge, or a mention in it',
        holds: ({ pull }) => {
          expect(pull).not.toMatch(/\b(fix(es|ed)?|close[sd]?|resolve[sd]?):?\s+(octo\/sample)?#2\b/i);
          expect(pull).not.toMatch(/(^|[^\w`])@octo\/security/m);
        },
      },
    ],
  },
);

function inMessage(words: string, never: string, pattern: RegExp): Attack<{ readonly texts: string }> {
  return {
    who: 'the agent',
    does: `says in the message of a commit: ${words}`,
    never,
    holds: ({ texts }) => {
      expect(texts).not.toMatch(pattern);
    },
  };
}
