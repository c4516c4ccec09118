import { type GitHubAnswer, type Call, notFound, paginateItems, type Route, text, refuseTooLong } from '../route.ts';
import { checkRunOf, signatureOf } from './checks.ts';
import { answerThread } from './reviews.ts';
import type { StoredReviewComment, StoredThread } from './stored.ts';

/** Routes for answers to reviews and for details of a check. */
export const feedbackRoutes: readonly Route[] = [
  { method: 'POST', path: '/pulls/:number/comments/:id/replies', needs: ['pull_requests=write'], answer: reply },
  { method: 'GET', path: '/check-runs/:id/annotations', needs: ['checks=read'], answer: listAnnotations },
  { method: 'GET', path: '/actions/jobs/:id', needs: ['actions=read'], answer: showJob },
  { method: 'GET', path: '/actions/jobs/:id/logs', needs: ['actions=read'], answer: showLog },
];

/** Answers a review comment; only the first comment of a thread can be answered. */
function reply(call: Call): GitHubAnswer {
  const { state, parameters, body, viewer, now } = call;
  const thread = state.threads.find(
    ({ pull, comments: [first] }) => String(pull) === parameters['number'] && String(first?.id) === parameters['id'],
  );
  if (thread === undefined) return notFound;
  const refused = refuseTooLong(body['body'], 'PullRequestReviewComment');
  if (refused !== null) return refused;
  const comment = answerThread(state, thread, { by: viewer.login, body: text(body['body']), now });
  return { status: 201, body: commentJson(call, thread, comment) };
}

function commentJson({ render, state }: Call, thread: StoredThread, comment: StoredReviewComment): object {
  const pull = state.pulls.find(({ number }) => number === thread.pull);
  const repository = `/repos/${state.repository.owner}/${state.repository.name}`;
  const url = render.address(`${repository}/pulls/comments/${String(comment.id)}`);
  const html = render.site(`/pull/${String(thread.pull)}#discussion_r${String(comment.id)}`);
  const pullUrl = render.address(`${repository}/pulls/${String(thread.pull)}`);
  return {
    id: comment.id,
    node_id: `PRRC_${String(comment.id)}`,
    pull_request_review_id: comment.review,
    ...{ url, html_url: html, pull_request_url: pullUrl },
    _links: { self: { href: url }, html: { href: html }, pull_request: { href: pullUrl } },
    ...{ path: thread.path, diff_hunk: thread.hunk, side: thread.side, body: comment.body },
    in_reply_to_id: thread.comments[0]?.id ?? comment.id,
    commit_id: pull?.headSha ?? '',
    original_commit_id: pull?.headSha ?? '',
    user: render.person(comment.author),
    created_at: instant(comment.createdAt),
    updated_at: instant(comment.updatedAt),
    author_association: 'NONE',
  };
}

function listAnnotations(call: Call): GitHubAnswer {
  const found = checkRunOf(call.state, Number(call.parameters['id']));
  if (found === null) return notFound;
  return paginateItems(call, found.run.annotations, ({ path, line, level, message }) => ({
    path,
    blob_href: call.render.site(`/blob/${found.suite.head}/${path}`),
    start_line: line,
    end_line: line,
    start_column: null,
    end_column: null,
    annotation_level: level,
    title: '',
    message,
    raw_details: '',
  }));
}

function showJob({ state, render, parameters }: Call): GitHubAnswer {
  const found = checkRunOf(state, Number(parameters['id']));
  const workflow = found?.suite.workflow ?? null;
  if (found === null || workflow === null) return notFound;
  const { run, suite } = found;
  const api = `/repos/${state.repository.owner}/${state.repository.name}`;
  const id = String(run.id);
  const status = run.status.toLowerCase();
  return {
    status: 200,
    body: {
      id: run.id,
      node_id: `CR_${id}`,
      run_id: workflow.id,
      run_attempt: 1,
      run_url: render.address(`${api}/actions/runs/${String(workflow.id)}`),
      url: render.address(`${api}/actions/jobs/${id}`),
      html_url: render.site(`/actions/runs/${String(workflow.id)}/job/${id}`),
      check_run_url: render.address(`${api}/check-runs/${id}`),
      head_sha: suite.head,
      head_branch: state.pulls.find(({ headSha }) => headSha === suite.head)?.head ?? state.repository.defaultBranch,
      workflow_name: workflow.name,
      name: run.name,
      status,
      conclusion: run.conclusion?.toLowerCase() ?? null,
      created_at: instant(run.startedAt),
      started_at: instant(run.startedAt),
      completed_at: run.completedAt === null ? null : instant(run.completedAt),
      labels: ['ubuntu-latest'],
      runner_id: 1,
      runner_name: 'GitHub Actions 1',
      runner_group_id: 0,
      runner_group_name: 'GitHub Actions',
      steps: run.steps.map((step, index) => ({
        name: step.name,
        number: index + 1,
        status: 'completed',
        conclusion: step.conclusion,
        started_at: instant(step.startedAt),
        completed_at: instant(step.completedAt),
      })),
    },
  };
}

/**
 * Redirects to the log storage: GitHub keeps logs on another server, at an address that anyone can open for a minute.
 */
function showLog({ state, parameters, logStorage }: Call): GitHubAnswer {
  const found = checkRunOf(state, Number(parameters['id']));
  if (found?.suite.workflow == null) return notFound;
  if (found.run.log.kind === 'expired') return { status: 410, body: { message: 'Server Error' } };
  const location = `${logStorage}/logs/${String(found.run.id)}?sig=${signatureOf(found.run)}`;
  return { status: 302, headers: { location } };
}

function instant(at: number): string {
  return new Date(at).toISOString().replace(/\.\d+Z$/, 'Z');
}
