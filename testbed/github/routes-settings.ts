import { type GitHubAnswer, type Call, notFound, paginateItems, createRefusal, type Route } from './route.ts';
import { isSameName } from './state.ts';

/** Routes of the repository's settings, as far as a token may read them. */
export const settingRoutes: readonly Route[] = [
  { method: 'GET', path: '/labels/:name', needs: ['issues=read', 'pull_requests=read'], answer: label },
  { method: 'GET', path: '/actions/permissions/workflow', needs: ['administration=read'], answer: workflowPermissions },
  { method: 'GET', path: '/actions/secrets', needs: ['secrets=read'], answer: (call) => secrets(call, 'secrets') },
  {
    method: 'GET',
    path: '/actions/organization-secrets',
    needs: ['secrets=read'],
    answer: (call) => secrets(call, 'organizationSecrets'),
  },
  { method: 'GET', path: '/actions/workflows', needs: ['actions=read'], answer: workflows },
  { method: 'GET', path: '/contents/:path', needs: ['contents=read'], answer: content },
  { method: 'GET', path: '/git/matching-refs/:ref', needs: ['contents=read'], answer: matchingRefs },
  { method: 'GET', path: '/rules/branches/:branch', needs: ['metadata=read'], answer: rules },
  { method: 'GET', path: '/rulesets', needs: ['metadata=read'], answer: rulesets },
  { method: 'GET', path: '/branches/:branch/protection', needs: ['administration=read'], answer: protection },
];

const SHA = 'c'.repeat(40);

function label({ state, parameters, render }: Call): GitHubAnswer {
  const found = state.labels.find(({ name }) => isSameName(name, parameters['name'] ?? ''));
  return found === undefined ? notFound : { status: 200, body: render.label(found) };
}

function workflowPermissions({ state }: Call): GitHubAnswer {
  return {
    status: 200,
    body: {
      default_workflow_permissions: state.setUp.workflowsWrite ? 'write' : 'read',
      can_approve_pull_request_reviews: state.settings.actionsMayOpenPullRequests,
    },
  };
}

function secrets(call: Call, of: 'secrets' | 'organizationSecrets'): GitHubAnswer {
  const names = call.state.setUp[of];
  const at = new Date(call.now).toISOString();
  const answer = paginateItems(call, names, (name) => ({ name, created_at: at, updated_at: at }));
  return { ...answer, body: { total_count: names.length, secrets: answer.body } };
}

function workflows(call: Call): GitHubAnswer {
  const known = call.state.setUp.workflows;
  const at = new Date(call.now).toISOString();
  const url = 'https://github.example/workflow';
  const answer = paginateItems(call, known, ({ path, state }) => ({
    ...{ id: 1, node_id: 'W_1', name: path, path, state, created_at: at, updated_at: at },
    ...{ url, html_url: url, badge_url: url },
  }));
  return { ...answer, body: { total_count: known.length, workflows: answer.body } };
}

async function content({ parameters, textOf }: Call): Promise<GitHubAnswer> {
  const path = parameters['path'] ?? '';
  const text = await textOf(path);
  return text === null ? notFound : createFileAnswer(path, text);
}

/** Returns GitHub's answer for a file. */
export function createFileAnswer(path: string, text: string): GitHubAnswer {
  const url = `https://github.example/${path}`;
  return {
    status: 200,
    body: {
      ...{ type: 'file', encoding: 'base64', size: Buffer.byteLength(text), name: path.split('/').at(-1), path },
      ...{ content: Buffer.from(text).toString('base64'), sha: SHA, url, git_url: url, html_url: url },
      ...{ download_url: url, _links: { git: url, self: url, html: url } },
    },
  };
}

async function matchingRefs({ parameters, branches }: Call): Promise<GitHubAnswer> {
  const start = `refs/${parameters['ref'] ?? ''}`;
  const refs = Object.entries(await branches()).map(([name, sha]) => ({ ref: `refs/heads/${name}`, sha }));
  const url = 'https://github.example/ref';
  return {
    status: 200,
    body: refs
      .filter(({ ref }) => ref.startsWith(start))
      .map(({ ref, sha }) => ({ ref, node_id: 'REF_1', url, object: { type: 'commit', sha, url } })),
  };
}

function rules(call: Call): GitHubAnswer {
  const { owner, name } = call.state.repository;
  const branch = call.parameters.branch;
  const applied = call.state.setUp.rules.filter((rule) => (rule.branch ?? branch) === branch);
  return paginateItems(call, applied, ({ type, ruleset }) => ({
    type,
    ruleset_source_type: 'Repository',
    ruleset_source: `${owner}/${name}`,
    ruleset_id: ruleset,
  }));
}

function rulesets(call: Call): GitHubAnswer {
  const { owner, name } = call.state.repository;
  return paginateItems(call, call.state.setUp.pushRulesets, (ruleset) => ({
    ...ruleset,
    target: 'push',
    source_type: 'Repository',
    source: `${owner}/${name}`,
    enforcement: 'active',
  }));
}

async function protection({ state, parameters, branches }: Call): Promise<GitHubAnswer> {
  const branch = parameters['branch'] ?? '';
  const found = state.setUp.protections.get(branch);
  if (found !== undefined) return { status: 200, body: found };
  const isThere = Object.hasOwn(await branches(), branch);
  return createRefusal(404, isThere ? 'Branch not protected' : 'Branch not found');
}
