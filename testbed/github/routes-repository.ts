import { type GitHubAnswer, type Call, notFound, paginateItems, type Route } from './route.ts';
import type { StoredCache } from './state.ts';

/** Routes of the repository itself, its collaborators and its Actions caches. */
export const repositoryRoutes: readonly Route[] = [
  {
    method: 'GET',
    path: '',
    needs: ['metadata=read'],
    answer: ({ render }) => ({ status: 200, body: render.repository() }),
  },
  { method: 'GET', path: '/collaborators/:login/permission', needs: ['metadata=read'], answer: permission },
  { method: 'GET', path: '/actions/runs/:run', needs: ['actions=read'], answer: showRun },
  { method: 'GET', path: '/actions/runs/:run/attempts/:attempt/jobs', needs: ['actions=read'], answer: listJobs },
  { method: 'GET', path: '/actions/caches', needs: ['actions=read'], answer: listCaches },
  { method: 'DELETE', path: '/actions/caches', needs: ['actions=write'], answer: deleteCaches },
  { method: 'DELETE', path: '/actions/caches/:id', needs: ['actions=write'], answer: deleteCache },
];

/**
 * Answers with an account's permission: anyone may read a public repository; a login that ends in `-deleted` does not
 * exist.
 */
function permission({ state, parameters, render }: Call): GitHubAnswer {
  const login = parameters['login'] ?? '';
  if (login.endsWith('-deleted')) return notFound;
  const { permission: level, roleName } = state.collaborators.get(login) ?? { permission: 'read', roleName: 'read' };
  return {
    status: 200,
    body: {
      permission: level,
      role_name: roleName,
      user: { ...render.person({ login, type: 'User' }), role_name: roleName },
    },
  };
}

/** Answers with a workflow run, which has ended if all its jobs have. */
function showRun({ state, parameters, render }: Call): GitHubAnswer {
  const jobs = state.jobs.filter(({ runId }) => String(runId) === parameters['run']);
  return jobs.length === 0 ? notFound : { status: 200, body: render.workflowRun(jobs) };
}

function listJobs(call: Call): GitHubAnswer {
  const { run, attempt } = call.parameters;
  const found = call.state.jobs.filter(
    ({ runId, runAttempt }) => String(runId) === run && String(runAttempt) === attempt,
  );
  if (found.length === 0) return notFound;
  const answer = paginateItems(call, found, call.render.job);
  return { ...answer, body: { total_count: found.length, jobs: answer.body } };
}

function listCaches(call: Call): GitHubAnswer {
  const found = matching(call, (cache, key) => cache.key.startsWith(key));
  // Restores are not counted here, so the default order, by last access, equals the order by creation.
  const measure = (cache: StoredCache) =>
    call.query.get('sort') === 'size_in_bytes' ? cache.sizeInBytes : cache.createdAt;
  const ascending = found.toSorted((left, right) => measure(left) - measure(right) || left.id - right.id);
  const answer = paginateItems(
    call,
    call.query.get('direction') === 'asc' ? ascending : ascending.reverse(),
    call.render.cache,
  );
  return { ...answer, body: { total_count: found.length, actions_caches: answer.body } };
}

function deleteCaches(call: Call): GitHubAnswer {
  const found = matching(call, (cache, key) => cache.key === key);
  if (found.length === 0) return notFound;
  for (const cache of found) call.caches.remove(cache);
  return { status: 200, body: { total_count: found.length, actions_caches: found.map(call.render.cache) } };
}

function deleteCache({ caches, parameters }: Call): GitHubAnswer {
  const found = caches.list().find(({ id }) => String(id) === parameters['id']);
  if (found === undefined) return notFound;
  caches.remove(found);
  return { status: 204 };
}

function matching(
  { caches, query }: Call,
  keyFits: (cache: StoredCache, key: string) => boolean,
): readonly StoredCache[] {
  const ref = query.get('ref');
  return caches.list().filter((cache) => keyFits(cache, query.get('key') ?? '') && (ref === null || cache.ref === ref));
}
