import {
  type GitHubAnswer,
  type Call,
  createInvalidAnswer,
  notFound,
  paginateItems,
  createRefusal,
  type Route,
  text,
  refuseTooLong,
} from './route.ts';
import { createStoredId, createStoredIssue, type StoredIssue, type StoredPull } from './state.ts';

export const pullRoutes: readonly Route[] = [
  { method: 'GET', path: '/pulls', needs: ['pull_requests=read'], answer: listPulls },
  { method: 'POST', path: '/pulls', needs: ['pull_requests=write'], answer: createPull },
  {
    method: 'GET',
    path: '/pulls/:number',
    needs: ['pull_requests=read'],
    answer: withPull(({ pull }, { render }) => ({ status: 200, body: render.pull(pull) })),
  },
  { method: 'PATCH', path: '/pulls/:number', needs: ['pull_requests=write'], answer: withPull(updatePull) },
  {
    method: 'POST',
    path: '/pulls/:number/requested_reviewers',
    needs: ['pull_requests=write'],
    answer: withPull(requestReview),
  },
];

interface Found {
  readonly pull: StoredPull;
  readonly issue: StoredIssue;
}

function withPull(answer: (found: Found, call: Call) => GitHubAnswer): (call: Call) => Promise<GitHubAnswer> {
  return async (call) => {
    await followBranches(call);
    const pull = call.state.pulls.find((candidate) => String(candidate.number) === call.parameters['number']);
    const issue = call.state.issues.find((candidate) => candidate.number === pull?.number);
    return pull === undefined || issue === undefined ? notFound : answer({ pull, issue }, call);
  };
}

async function listPulls(call: Call): Promise<GitHubAnswer> {
  await followBranches(call);
  const { state, query, render } = call;
  const wanted = query.get('state') ?? 'open';
  const found = state.pulls
    .filter((pull) => wanted === 'all' || stateOf(call, pull) === wanted)
    .filter(
      (pull) =>
        !query.get('head')?.includes(':') ||
        query.get('head') === `${pull.fork ?? state.repository.owner}:${pull.head}`,
    )
    .filter((pull) => !query.has('base') || query.get('base') === pull.base)
    .sort((left, right) => left.number - right.number);
  const ascending =
    query.get('direction') === 'asc' ||
    (query.has('sort') && query.get('sort') !== 'created' && !query.has('direction'));
  return paginateItems(call, ascending ? found : found.reverse(), render.pullInList);
}

/**
 * Opens a pull request. Checks in GitHub's order: the token's right to open one, both branches, an existing pull
 * request, and anything to merge.
 */
async function createPull(call: Call): Promise<GitHubAnswer> {
  const { state, body, token, render, viewer, now } = call;
  if (token.kind === 'app' && token.login === 'github-actions[bot]' && !state.settings.actionsMayOpenPullRequests) {
    return createRefusal(403, 'GitHub Actions is not permitted to create or approve pull requests.');
  }
  const branches = await call.branches();
  const [head, base] = [text(body['head']).replace(`${state.repository.owner}:`, ''), text(body['base'])];
  const [headSha, baseSha] = [branches[head], branches[base]];
  const missing = [
    { field: 'head', sha: headSha },
    { field: 'base', sha: baseSha },
  ].filter(({ sha }) => sha === undefined);
  if (headSha === undefined || baseSha === undefined)
    return createInvalidAnswer(...missing.map(({ field }) => ({ resource: 'PullRequest', field, code: 'invalid' })));
  const fullHead = `${state.repository.owner}:${head}`;
  if (
    state.pulls.some(
      (pull) => pull.head === head && pull.base === base && pull.fork === null && stateOf(call, pull) === 'open',
    )
  ) {
    return createInvalidAnswer({
      resource: 'PullRequest',
      code: 'custom',
      message: `A pull request already exists for ${fullHead}.`,
    });
  }
  if (headSha === baseSha)
    return createInvalidAnswer({
      resource: 'PullRequest',
      code: 'custom',
      message: `No commits between ${base} and ${head}`,
    });
  if (text(body['title']).trim() === '')
    return createInvalidAnswer({ resource: 'Issue', code: 'missing_field', field: 'title' });
  if (body['draft'] === true && !state.settings.draftsSupported)
    return createRefusal(422, 'Draft pull requests are not supported in this repository.');
  const refused = refuseTooLong(body['body'], 'Issue');
  if (refused !== null) return refused;

  const { number } = createStoredIssue(
    state,
    { title: text(body['title']), body: text(body['body']), author: viewer },
    now,
  );
  const pull: StoredPull = {
    id: createStoredId(state),
    number,
    head,
    fork: null,
    maintainerCanModify: body['maintainer_can_modify'] === true,
    base,
    draft: body['draft'] === true,
    headSha,
    baseSha,
    mergedAt: null,
    reviewers: [],
  };
  state.pulls.push(pull);
  return { status: 201, body: render.pull(pull) };
}

function updatePull({ pull, issue }: Found, { body, render, now }: Call): GitHubAnswer {
  const refused = refuseTooLong(body['body'], 'Issue');
  if (refused !== null) return refused;
  if (body['title'] !== undefined) issue.title = text(body['title']);
  if (body['body'] !== undefined) issue.body = text(body['body']);
  if (body['base'] !== undefined) pull.base = text(body['base']);
  if (body['state'] === 'open' || body['state'] === 'closed') {
    issue.state = body['state'];
    issue.closedAt = body['state'] === 'closed' ? now : null;
  }
  issue.updatedAt = now;
  return { status: 200, body: render.pull(pull) };
}

/** Requests reviews; one login that cannot review makes GitHub refuse the whole request. */
function requestReview({ pull, issue }: Found, { state, body, render }: Call): GitHubAnswer {
  const asked = names(body['reviewers']);
  // GitHub's message is longer; its OpenAPI description does not specify a text.
  if (asked.some((login) => login === issue.author.login || !state.collaborators.has(login))) return { status: 422 };
  const teams = names(body['team_reviewers']).map((slug) => `team:${slug}`);
  pull.reviewers.push(...[...asked, ...teams].filter((name) => !pull.reviewers.includes(name)));
  return { status: 201, body: render.pullInList(pull) };
}

function names(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.map(text) : [];
}

/** Updates the heads of open pull requests to the tips of their branches; a closed pull request keeps its last head. */
async function followBranches(call: Call): Promise<void> {
  const branches = await call.branches();
  for (const pull of call.state.pulls) {
    if (pull.fork === null && stateOf(call, pull) === 'open') pull.headSha = branches[pull.head] ?? pull.headSha;
  }
}

function stateOf({ state }: Call, pull: StoredPull): 'open' | 'closed' {
  return state.issues.find((issue) => issue.number === pull.number)?.state ?? 'closed';
}
