import {
  type GitHubAnswer,
  type Call,
  createInvalidAnswer,
  issuesDisabled,
  notFound,
  paginateItems,
  createRefusal,
  type Route,
  text,
  refuseTooLong,
} from './route.ts';
import { closeIssue, editComment, editIssue, labelIssue, reopenIssue, unlabelIssue } from './people.ts';
import {
  addComment,
  type GitHubState,
  type IssueReference,
  createStoredId,
  createStoredIssue,
  isSameName,
  createStrangeIssue,
  type StoredComment,
  type StoredIssue,
  type StoredReaction,
} from './state.ts';

/** Routes of issues, their comments, labels and reactions. A pull request's comments are an issue's comments. */
export const issueRoutes: readonly Route[] = [
  { method: 'GET', path: '/issues', needs: ['issues=read'], answer: listIssues },
  { method: 'POST', path: '/issues', needs: ['issues=write'], answer: createIssue },
  {
    method: 'GET',
    path: '/issues/:number',
    needs: ['issues=read', 'pull_requests=read'],
    answer: withIssue((issue, { render }) => ({ status: 200, body: render.issue(issue) })),
  },
  { method: 'PATCH', path: '/issues/:number', needs: ['issues=write'], answer: withIssue(updateIssue) },
  {
    method: 'GET',
    path: '/issues/:number/comments',
    needs: ['issues=read', 'pull_requests=read'],
    answer: withIssue(listComments),
  },
  {
    method: 'POST',
    path: '/issues/:number/comments',
    needs: ['issues=write', 'pull_requests=write'],
    answer: withIssue(writable(createComment)),
  },
  {
    method: 'GET',
    path: '/issues/comments/:id',
    needs: ['issues=read', 'pull_requests=read'],
    answer: withComment((comment, { render }) => ({ status: 200, body: render.comment(comment) })),
  },
  {
    method: 'PATCH',
    path: '/issues/comments/:id',
    needs: ['issues=write', 'pull_requests=write'],
    answer: withComment(updateComment),
  },
  {
    method: 'POST',
    path: '/issues/:number/assignees',
    needs: ['issues=write', 'pull_requests=write'],
    answer: withIssue(writable(assign)),
  },
  {
    method: 'GET',
    path: '/labels',
    needs: ['issues=read'],
    answer: (call) => paginateItems(call, call.state.labels, call.render.label),
  },
  { method: 'POST', path: '/labels', needs: ['issues=write'], answer: createLabel },
  { method: 'GET', path: '/issues/:number/labels', needs: ['issues=read'], answer: withIssue(labelsOf) },
  { method: 'POST', path: '/issues/:number/labels', needs: ['issues=write'], answer: withIssue(addLabels) },
  { method: 'DELETE', path: '/issues/:number/labels/:name', needs: ['issues=write'], answer: withIssue(removeLabel) },
  {
    method: 'GET',
    path: '/issues/:number/dependencies/blocked_by',
    needs: ['issues=read'],
    answer: withIssue((issue, call) => listReferences(call, issue.blockedBy)),
  },
  {
    method: 'GET',
    path: '/issues/:number/sub_issues',
    needs: ['issues=read'],
    answer: withIssue((issue, call) => listReferences(call, issue.subIssues)),
  },
  {
    method: 'POST',
    path: '/issues/:number/dependencies/blocked_by',
    needs: ['issues=write'],
    answer: withIssue((issue, call) => addReference(issue, call, 'blockedBy')),
  },
  {
    method: 'POST',
    path: '/issues/:number/sub_issues',
    needs: ['issues=write'],
    answer: withIssue((issue, call) => addReference(issue, call, 'subIssues')),
  },
  {
    method: 'GET',
    path: '/issues/:number/reactions',
    needs: ['issues=read'],
    answer: withIssue((issue, call) => listReactions(call, { kind: 'issue', number: issue.number })),
  },
  {
    method: 'POST',
    path: '/issues/:number/reactions',
    needs: ['issues=write', 'pull_requests=write'],
    answer: withIssue(writable((issue, call) => react(call, { kind: 'issue', number: issue.number }))),
  },
  {
    method: 'GET',
    path: '/issues/comments/:id/reactions',
    needs: ['issues=read'],
    answer: withComment((comment, call) => listReactions(call, { kind: 'comment', id: comment.id })),
  },
  {
    method: 'POST',
    path: '/issues/comments/:id/reactions',
    needs: ['issues=write', 'pull_requests=write'],
    answer: withComment((comment, call) => react(call, { kind: 'comment', id: comment.id })),
  },
];

function withIssue(answer: (issue: StoredIssue, call: Call) => GitHubAnswer): (call: Call) => GitHubAnswer {
  return (call) => {
    const issue = call.state.issues.find((candidate) => String(candidate.number) === call.parameters['number']);
    return issue === undefined ? goneOrNever(call) : answer(issue, call);
  };
}

/** Answers for an issue that does not exist: 410 if it was deleted, a redirect if it was transferred, 404 otherwise. */
function goneOrNever({ state, parameters, render, path }: Call): GitHubAnswer {
  const number = Number(parameters['number']);
  const gone = state.gone.get(number);
  if (gone === undefined) return notFound;
  if (gone.kind === 'deleted') return createRefusal(410, 'This issue was deleted');
  const location = render.address(
    path.replace(/^\/repos\/[^/]+\/[^/]+\/issues\/\d+/, `/repos/${gone.to}/issues/${String(gone.number)}`),
  );
  return {
    status: 301,
    body: { message: 'Moved Permanently', url: location, documentation_url: 'https://docs.github.com/rest' },
    headers: { location },
  };
}

/**
 * Restricts a change by the token's rights: `pull-requests: write` alone is enough for pull requests, and for nothing
 * else.
 */
function writable(
  answer: (issue: StoredIssue, call: Call) => GitHubAnswer,
): (issue: StoredIssue, call: Call) => GitHubAnswer {
  return (issue, call) => {
    const isPull = call.state.pulls.some((pull) => pull.number === issue.number);
    return isPull || call.token.permissions.issues === 'write'
      ? answer(issue, call)
      : createRefusal(
          403,
          `Resource not accessible by ${call.token.kind === 'app' ? 'integration' : 'personal access token'}`,
        );
  };
}

function withComment(answer: (comment: StoredComment, call: Call) => GitHubAnswer): (call: Call) => GitHubAnswer {
  return (call) => {
    const comment = call.state.comments.find((candidate) => String(candidate.id) === call.parameters['id']);
    return comment === undefined ? notFound : answer(comment, call);
  };
}

function listIssues(call: Call): GitHubAnswer {
  const { state, query, render } = call;
  if (!state.settings.issuesEnabled) return issuesDisabled;
  const wanted = query.get('labels')?.split(',').filter(Boolean) ?? [];
  const wantedState = query.get('state') ?? 'open';
  const found = state.issues
    .filter((issue) => wantedState === 'all' || issue.state === wantedState)
    .filter((issue) => wanted.every((name) => issue.labels.some((label) => isSameName(label, name))))
    .sort((left, right) => left.number - right.number);
  return paginateItems(call, query.get('direction') === 'asc' ? found : found.reverse(), render.issue);
}

function createIssue({ state, body, render, viewer, now }: Call): GitHubAnswer {
  if (!state.settings.issuesEnabled) return issuesDisabled;
  const [title, written] = [text(body['title']), text(body['body'])];
  if (title.trim() === '') return createInvalidAnswer({ resource: 'Issue', code: 'missing_field', field: 'title' });
  const refused = refuseTooLong(written, 'Issue');
  if (refused !== null) return refused;
  const { number } = createStoredIssue(state, { title, body: written, author: viewer }, now);
  for (const label of labelNames(body['labels'])) labelIssue(state, number, { label, by: viewer.login, now });
  const made = state.issues.find((issue) => issue.number === number);
  return made === undefined ? notFound : { status: 201, body: render.issue(made) };
}

/** Links an issue, named by its id, to another one. An issue has at most one parent. */
function addReference(
  issue: StoredIssue,
  { state, body, render }: Call,
  kind: 'blockedBy' | 'subIssues',
): GitHubAnswer {
  if (!state.settings.dependenciesKnown) return notFound;
  const id = body[kind === 'subIssues' ? 'sub_issue_id' : 'issue_id'];
  const other = state.issues.find((candidate) => candidate.id === id);
  if (other === undefined) return notFound;
  const has = ({ subIssues, blockedBy }: StoredIssue): boolean =>
    (kind === 'subIssues' ? subIssues : blockedBy).some(({ number }) => number === other.number);
  if (has(issue))
    return createRefusal(
      422,
      kind === 'subIssues'
        ? 'An error occurred while adding the sub-issue to the parent issue. Issue may not contain duplicate sub-issues'
        : 'Validation failed: Target issue has already been taken',
    );
  if (kind === 'subIssues' && state.issues.some(has)) return createRefusal(422, 'Sub issue may only have one parent');
  issue[kind].push({ number: other.number });
  return { status: 201, body: render.issue(kind === 'subIssues' ? issue : other) };
}

function updateIssue(issue: StoredIssue, { state, body, render, viewer, now }: Call): GitHubAnswer {
  const refused = refuseTooLong(body['body'], 'Issue');
  if (refused !== null) return refused;
  const deed = { by: viewer.login, now };
  const { number } = issue;
  editIssue(state, number, {
    ...deed,
    ...(body['title'] === undefined ? {} : { title: text(body['title']) }),
    ...(body['body'] === undefined ? {} : { body: text(body['body']) }),
  });
  if (body['state'] === 'closed') closeIssue(state, number, deed);
  if (body['state'] === 'open') reopenIssue(state, number, deed);
  if (Array.isArray(body['labels'])) {
    const wanted = labelNames(body['labels']);
    for (const label of issue.labels.filter((present) => !wanted.some((name) => isSameName(name, present))))
      unlabelIssue(state, number, { ...deed, label });
    for (const label of wanted) labelIssue(state, number, { ...deed, label });
  }
  return { status: 200, body: render.issue(issue) };
}

/** Assigns people; a login that cannot be assigned is silently left out. */
function assign(issue: StoredIssue, { state, body, render }: Call): GitHubAnswer {
  const asked = Array.isArray(body['assignees']) ? body['assignees'].map(text) : [];
  issue.assignees.push(...asked.filter((login) => state.collaborators.has(login) && !issue.assignees.includes(login)));
  return { status: 201, body: render.issue(issue) };
}

function listComments(issue: StoredIssue, call: Call): GitHubAnswer {
  const since = Date.parse(call.query.get('since') ?? '1970-01-01T00:00:00Z');
  const found = call.state.comments.filter((comment) => comment.issue === issue.number && comment.updatedAt >= since);
  return paginateItems(call, found, call.render.comment);
}

function createComment(issue: StoredIssue, { state, body, render, viewer, now }: Call): GitHubAnswer {
  if (issue.locked) return createRefusal(403, 'Unable to create comment because issue is locked.');
  const written = text(body['body']);
  if (written.trim() === '')
    return createInvalidAnswer({ resource: 'IssueComment', code: 'missing_field', field: 'body' });
  return (
    refuseTooLong(written, 'IssueComment') ?? {
      status: 201,
      body: render.comment(addComment(state, { issue: issue.number, body: written, author: viewer }, now)),
    }
  );
}

function updateComment(comment: StoredComment, { state, body, render, viewer, now }: Call): GitHubAnswer {
  const refused = refuseTooLong(body['body'], 'IssueComment');
  if (refused !== null) return refused;
  editComment(state, comment.id, { body: text(body['body']), by: viewer.login, now });
  return { status: 200, body: render.comment(comment) };
}

function createLabel({ state, body, render }: Call): GitHubAnswer {
  const name = text(body['name']);
  if (state.labels.some((label) => isSameName(label.name, name)))
    return createInvalidAnswer({ resource: 'Label', code: 'already_exists', field: 'name' });
  const label = {
    id: createStoredId(state),
    name,
    color: text(body['color']) || 'ededed',
    description: text(body['description']),
  };
  state.labels.push(label);
  return { status: 201, body: render.label(label) };
}

function labelsOf(issue: StoredIssue, { state, render }: Call): GitHubAnswer {
  return { status: 200, body: state.labels.filter((label) => issue.labels.includes(label.name)).map(render.label) };
}

/** Maximum length of a label's name; one longer name makes GitHub refuse the whole request. */
const MAX_LABEL_CHARS = 50;

function addLabels(issue: StoredIssue, call: Call): GitHubAnswer {
  const { state, viewer, now } = call;
  const names = labelNames(call.body['labels']);
  if (names.some((name) => name.length > MAX_LABEL_CHARS))
    return createInvalidAnswer({
      resource: 'Label',
      code: 'custom',
      field: 'name',
      message: 'name is too long (maximum is 50 characters)',
    });
  for (const label of names) labelIssue(state, issue.number, { label, by: viewer.login, now });
  return labelsOf(issue, call);
}

function removeLabel(issue: StoredIssue, call: Call): GitHubAnswer {
  const { state, viewer, now, parameters } = call;
  const isRemoved = unlabelIssue(state, issue.number, { label: parameters['name'] ?? '', by: viewer.login, now });
  return isRemoved ? labelsOf(issue, call) : createRefusal(404, 'Label does not exist');
}

function labelNames(labels: unknown): readonly string[] {
  return Array.isArray(labels)
    ? labels.map((label: unknown) =>
        text(typeof label === 'object' && label !== null && 'name' in label ? label.name : label),
      )
    : [];
}

function listReferences(call: Call, references: readonly IssueReference[]): GitHubAnswer {
  const { state, render } = call;
  if (!state.settings.dependenciesKnown) return notFound;
  return paginateItems(
    call,
    references.map((reference) => resolve(state, reference)),
    ({ issue, repository }) => render.issue(issue, repository),
  );
}

/**
 * Finds the issue behind a reference; for an issue of another repository, only the content of the reference is known.
 */
function resolve(
  { issues, repository }: GitHubState,
  reference: IssueReference,
): { readonly issue: StoredIssue; readonly repository: string } {
  if ('repository' in reference) return { issue: createStrangeIssue(reference), repository: reference.repository };
  const issue = issues.find(({ number }) => number === reference.number);
  if (issue === undefined) throw new Error(`The stand-in has no issue ${String(reference.number)}.`);
  return { issue, repository: `${repository.owner}/${repository.name}` };
}

function listReactions(call: Call, on: StoredReaction['on']): GitHubAnswer {
  return paginateItems(
    call,
    call.state.reactions.filter((reaction) => sameTarget(reaction.on, on)),
    call.render.reaction,
  );
}

/** Adds a reaction; if the account already gave the same one, it is returned with 200 instead of 201. */
function react(call: Call, on: StoredReaction['on']): GitHubAnswer {
  const { state } = call;
  const thread = on.kind === 'issue' ? on.number : state.comments.find(({ id }) => id === on.id)?.issue;
  if (state.issues.some(({ number, locked }) => number === thread && locked))
    return createRefusal(403, 'Unable to create reaction because issue is locked.');
  const { reaction, isNew } = reactTo(call, { on, content: text(call.body['content']) });
  return { status: isNew ? 201 : 200, body: call.render.reaction(reaction) };
}

/** Adds a reaction, unless the account already gave the same one, which is returned then. */
export function reactTo(
  { state, viewer, now }: Call,
  { on, content }: Pick<StoredReaction, 'on' | 'content'>,
): { readonly reaction: StoredReaction; readonly isNew: boolean } {
  const known = state.reactions.find(
    (reaction) => sameTarget(reaction.on, on) && reaction.content === content && reaction.author.login === viewer.login,
  );
  if (known !== undefined) return { reaction: known, isNew: false };
  const reaction: StoredReaction = { id: createStoredId(state), on, author: viewer, content, createdAt: now };
  state.reactions.push(reaction);
  return { reaction, isNew: true };
}

function sameTarget(left: StoredReaction['on'], right: StoredReaction['on']): boolean {
  return JSON.stringify(left) === JSON.stringify(right);
}
