import { cutText } from '../core/text/phrase.ts';
import type { ForgeAdapter, PullRequest } from '../ports/forge.ts';
import type { Log } from '../ports/machine.ts';
import type { Client, Octokit, RepositoryName } from './client.ts';
import { isInvalid, readHttpStatus } from './errors.ts';
import { makeDraft, markReady } from './feedback/pull-request-now.ts';
import { writeAllOrEach } from './wishes/issue-writes.ts';

/**
 * Maximum length of the body of an issue, a pull request or a comment; GitHub refuses a longer one (422 "body is too
 * long").
 */
const MAX_BODY_CHARS = 65_536;

type PullRequestMethods = Pick<
  ForgeAdapter,
  | 'pullRequestOf'
  | 'wasClosedWithBase'
  | 'pullRequestHead'
  | 'openPullRequests'
  | 'checkMayOpenPullRequests'
  | 'checkMayUpdatePullRequest'
  | 'openPullRequest'
  | 'updatePullRequest'
  | 'markReady'
  | 'makeDraft'
  | 'requestReview'
  | 'rewriteBodies'
  | 'assign'
>;

type Request = Parameters<ForgeAdapter['openPullRequest']>[0];

/** Creates the part of the forge that reads, opens and changes pull requests. */
export function createPullRequestMethods(client: Client, log: Log): PullRequestMethods {
  const { ask } = client;
  /** GraphQL ids, by number, of pull requests that were seen already. */
  const nodeIds = new Map<number, string>();
  /** Logins of the authors, by number: authors cannot review their own pull requests. */
  const authors = new Map<number, string>();
  const seen = (answer: PullAnswer): PullRequest => {
    nodeIds.set(answer.number, answer.node_id);
    if (answer.user) authors.set(answer.number, answer.user.login);
    return toPullRequest(answer);
  };

  const idOf = async (number: number): Promise<string> =>
    nodeIds.get(number) ??
    ask({ doing: `read pull request #${String(number)}`, needs: ['pull-requests: read'] }, async (octokit, at) => {
      const { data } = await octokit.rest.pulls.get({ ...at, pull_number: number });
      return data.node_id;
    });

  return {
    pullRequestOf: (branch) =>
      ask({ doing: `look for the pull request of ${branch}`, needs: ['pull-requests: read'] }, async (octokit, at) => {
        const found = await newestOf(octokit, at, branch);
        return found === null ? null : seen(found);
      }),

    wasClosedWithBase: (number) =>
      ask({ doing: `read how #${String(number)} was closed`, needs: ['pull-requests: read'] }, async (octokit, at) => {
        const asked = { numbers: [number], fields: CLOSING_EVENTS };
        const [found] = await readPullsByNumber<ClosingEvents>(octokit, at, asked);
        const timesOf = (name: string): readonly number[] =>
          (found?.timelineItems.nodes ?? []).flatMap(({ __typename: type, createdAt }) =>
            type === name ? [Date.parse(createdAt)] : [],
          );
        const closedAt = timesOf('ClosedEvent').at(-1) ?? 0;
        return timesOf('BaseRefDeletedEvent').some((deletedAt) => Math.abs(deletedAt - closedAt) <= CLOSES_WITHIN_MS);
      }),

    openPullRequests: (prefix) =>
      ask({ doing: 'list the open pull requests', needs: ['pull-requests: read'] }, async (octokit, at) => {
        const { data } = await octokit.rest.pulls.list({ ...at, state: 'open', per_page: 100 });
        return data.filter((pull) => pull.head.ref.startsWith(prefix) && isOwnBranch(pull)).map((pull) => pull.number);
      }),

    pullRequestHead: (number) =>
      ask({ doing: `read pull request #${String(number)}`, needs: ['pull-requests: read'] }, async (octokit, at) => {
        try {
          const { data } = await octokit.rest.pulls.get({ ...at, pull_number: number });
          return { branch: data.head.ref, fromFork: !isOwnBranch(data) };
        } catch (error) {
          if (readHttpStatus(error) === 404) return null;
          throw error;
        }
      }),

    checkMayOpenPullRequests: (baseBranch) =>
      ask({ doing: 'open pull requests', needs: ['pull-requests: write'] }, async (octokit, at) => {
        try {
          const { data } = await octokit.rest.pulls.create({
            ...at,
            title: 'Permission check of ralph-action',
            head: ABSENT_BRANCH,
            base: baseBranch,
          });
          // GitHub refuses a branch that does not exist. If another server accepts it, close the pull request, so that
          // none is left behind.
          await octokit.rest.pulls.update({ ...at, pull_number: data.number, state: 'closed' });
        } catch (error) {
          if (!isInvalid(error, /"field":"head"/) || isInvalid(error, /"field":"base"/)) throw error;
        }
      }),

    checkMayUpdatePullRequest: (number) =>
      ask({ doing: `update pull request #${String(number)}`, needs: ['pull-requests: write'] }, async (octokit, at) => {
        await octokit.rest.pulls.update({ ...at, pull_number: number });
      }),

    openPullRequest: (request) =>
      ask(
        { doing: `open a pull request of ${request.head} into ${request.base}`, needs: ['pull-requests: write'] },
        async (octokit, at) => {
          const opened = await open(octokit, at, { request, log });
          return opened === null ? null : seen(opened);
        },
      ),

    updatePullRequest: (number, { title, body }) =>
      ask({ doing: `update pull request #${String(number)}`, needs: ['pull-requests: write'] }, async (octokit, at) => {
        await octokit.rest.pulls.update({ ...at, pull_number: number, title: fitTitle(title), body: fitBody(body) });
      }),

    markReady: async (number) => markReady(client, number, await idOf(number)),
    makeDraft: async (number) => makeDraft(client, number, await idOf(number)),

    async requestReview(number, { logins, teams }) {
      const reviewers = logins.filter((login) => login.toLowerCase() !== authors.get(number)?.toLowerCase());
      const asked = [...reviewers.map((login) => ({ login })), ...teams.map((slug) => ({ slug }))];
      if (asked.length === 0) return;
      await ask(
        { doing: `request reviews of pull request #${String(number)}`, needs: ['pull-requests: write'] },
        (octokit, at) =>
          writeAllOrEach(asked, (some) =>
            octokit.rest.pulls.requestReviewers({
              ...at,
              pull_number: number,
              reviewers: some.flatMap((one) => ('login' in one ? one.login : [])),
              team_reviewers: some.flatMap((one) => ('slug' in one ? one.slug : [])),
            }),
          ),
      );
    },

    rewriteBodies: (numbers, rewrite) =>
      ask({ doing: 'update the open pull requests', needs: ['pull-requests: write'] }, async (octokit, at) => {
        type Found = Readonly<Record<'id' | 'body', string>> & { readonly number: number };
        const found = await readPullsByNumber<Found>(octokit, at, { numbers, fields: 'id number body' });
        const rewritten = found.flatMap(({ id, number, body }) => {
          const text = rewrite(number, body);
          // Do not cut a description that is too long, because that would remove what people wrote at its end.
          return text === body || text.length > MAX_BODY_CHARS ? [] : [{ pullRequestId: id, body: text }];
        });
        if (rewritten.length === 0) return;
        const inputs = Object.fromEntries(rewritten.map((input, index) => [`input${String(index)}`, input]));
        const names = Object.keys(inputs);
        await octokit.graphql(
          `mutation (${names.map((name) => `$${name}: UpdatePullRequestInput!`).join(', ')}) {
            ${names.map((name) => `${name}: updatePullRequest(input: $${name}) { clientMutationId }`).join('\n')}
          }`,
          inputs,
        );
      }),

    assign: (number, logins) =>
      ask({ doing: `assign pull request #${String(number)}`, needs: ['pull-requests: write'] }, async (octokit, at) => {
        await octokit.rest.issues.addAssignees({ ...at, issue_number: number, assignees: [...logins] });
      }),
  };
}

/** GitHub closes pull requests in the second in which their base branch is deleted. */
const CLOSES_WITHIN_MS = 10_000;

const CLOSING_EVENTS = `timelineItems(last: 20, itemTypes: [CLOSED_EVENT, BASE_REF_DELETED_EVENT]) {
  nodes { __typename ... on ClosedEvent { createdAt } ... on BaseRefDeletedEvent { createdAt } }
}`;

interface ClosingEvents {
  readonly timelineItems: { readonly nodes: readonly { readonly __typename: string; readonly createdAt: string }[] };
}

/** Reads these fields of pull requests with one request. */
export async function readPullsByNumber<Pull>(
  octokit: Octokit,
  at: RepositoryName,
  { numbers, fields }: { readonly numbers: readonly number[]; readonly fields: string },
): Promise<readonly Pull[]> {
  const { repository } = await octokit.graphql<{ readonly repository: Readonly<Record<string, Pull | null>> }>(
    `query ($owner: String!, $repo: String!) {
      repository(owner: $owner, name: $repo) {
        ${numbers.map((number) => `pull${String(number)}: pullRequest(number: ${String(number)}) { ${fields} }`).join('\n')}
      }
    }`,
    { ...at },
  );
  return Object.values(repository).filter((found) => found !== null);
}

/**
 * A branch that does not exist. GitHub first checks the right to open a pull request, and only then refuses this head.
 */
const ABSENT_BRANCH = 'ralph-action-permission-check/does-not-exist';

type PullAnswer = Omit<Awaited<ReturnType<Octokit['rest']['pulls']['list']>>['data'][number], 'user'> & {
  readonly user: { readonly login: string } | null;
};

async function newestOf(octokit: Octokit, at: RepositoryName, branch: string): Promise<PullAnswer | null> {
  const { data } = await octokit.rest.pulls.list({
    ...at,
    head: `${at.owner}:${branch}`,
    state: 'all',
    sort: 'created',
    direction: 'desc',
    per_page: 10,
  });
  return data.find((pull) => pull.head.ref === branch && isOwnBranch(pull)) ?? null;
}

async function open(
  octokit: Octokit,
  at: RepositoryName,
  { request, log }: { readonly request: Request; readonly log: Log },
): Promise<PullAnswer | null> {
  try {
    return (
      await octokit.rest.pulls.create({
        ...at,
        ...request,
        title: fitTitle(request.title),
        body: fitBody(request.body),
      })
    ).data as PullAnswer;
  } catch (error) {
    if (request.draft && isInvalid(error, /draft pull requests are not supported/i)) {
      log.warning(
        'This repository has no draft pull requests (they need a paid plan in a private repository): opening a normal one.',
      );
      return open(octokit, at, { request: { ...request, draft: false }, log });
    }
    if (isInvalid(error, /\bno commits between\b/i)) return null;
    // An earlier attempt may have opened the pull request although its answer was lost, so look for it.
    const existing = isInvalid(error, /pull request already exists/i)
      ? await newestOf(octokit, at, request.head)
      : null;
    if (existing?.state !== 'open') throw error;
    await octokit.rest.pulls.update({
      ...at,
      pull_number: existing.number,
      title: fitTitle(request.title),
      body: fitBody(request.body),
    });
    return { ...existing, body: request.body };
  }
}

/** Cuts a title to the length that GitHub accepts. */
function fitTitle(title: string): string {
  return cutText(title, 256);
}

/**
 * Returns true if a pull request's branch is in its own repository. GitHub's API description promises a head
 * repository, but that of a deleted fork is missing.
 */
function isOwnBranch({
  head,
  base,
}: {
  readonly head: { readonly repo: { readonly id: number } | null };
  readonly base: { readonly repo: { readonly id: number } };
}): boolean {
  return head.repo?.id === base.repo.id;
}

function toPullRequest(answer: PullAnswer): PullRequest {
  return {
    number: answer.number,
    url: answer.html_url,
    state: answer.merged_at !== null ? 'merged' : answer.state === 'open' ? 'open' : 'closed',
    headSha: answer.head.sha,
    base: answer.base.ref,
    draft: answer.draft ?? false,
    title: answer.title,
    body: answer.body ?? '',
    labels: answer.labels.map(({ name }) => name),
  };
}

/**
 * Cuts a body that GitHub would refuse for its length, as a last resort: the code that renders bodies keeps them short.
 */
export function fitBody(body: string): string {
  if (body.length <= MAX_BODY_CHARS) return body;
  const ending = '\n\n(Cut here: GitHub does not accept a longer text.)';
  // Use `cutText`, which does not split a pair of surrogates.
  return `${cutText(body, MAX_BODY_CHARS - ending.length)}${ending}`;
}
