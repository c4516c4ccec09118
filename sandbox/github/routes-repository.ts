import { type Answer, type Call, notFound, page, type Route } from './route.ts';
import type { StoredCache } from './state.ts';

/** The repository itself, its collaborators and its Actions caches. */
export const repositoryRoutes: readonly Route[] = [
  { method: 'GET', path: '', needs: ['metadata=read'], answer: ({ render }) => ({ status: 200, body: render.repository() }) },
  { method: 'GET', path: '/collaborators/:login/permission', needs: ['metadata=read'], answer: permission },
  { method: 'GET', path: '/actions/caches', needs: ['actions=read'], answer: listCaches },
  { method: 'DELETE', path: '/actions/caches', needs: ['actions=write'], answer: deleteCaches },
];

/** Everybody may read a public repository; a login that ends in `-deleted` stands for an account that is none. */
function permission({ state, parameters, render }: Call): Answer {
  const login = parameters['login'] ?? '';
  if (login.endsWith('-deleted')) return notFound;
  const { permission: level, roleName } = state.collaborators.get(login) ?? { permission: 'read', roleName: 'read' };
  return { status: 200, body: { permission: level, role_name: roleName, user: { ...render.person({ login, type: 'User' }), role_name: roleName } } };
}

function listCaches(call: Call): Answer {
  const found = matching(call, (cache, key) => cache.key.startsWith(key));
  const answer = page(call, found, call.render.cache);
  return { ...answer, body: { total_count: found.length, actions_caches: answer.body } };
}

function deleteCaches(call: Call): Answer {
  const found = matching(call, (cache, key) => cache.key === key);
  if (found.length === 0) return notFound;
  for (const cache of found) call.state.caches.splice(call.state.caches.indexOf(cache), 1);
  return { status: 200, body: { total_count: found.length, actions_caches: found.map(call.render.cache) } };
}

function matching({ state, query }: Call, keyFits: (cache: StoredCache, key: string) => boolean): readonly StoredCache[] {
  const ref = query.get('ref');
  return state.caches.filter((cache) => keyFits(cache, query.get('key') ?? '') && (ref === null || cache.ref === ref));
}
