import { type Answer, type Call, notFound } from './route.ts';
import { strangeIssue } from './state.ts';

/**
 * Answers requests outside the repository: for accounts, and for issues that were transferred to another repository.
 */
export function answerElsewhere(call: Omit<Call, 'parameters'> & { readonly method: string }): Answer {
  const { method, path, state, render } = call;
  const login = /^\/users\/([^/]+)$/.exec(path)?.[1];
  if (method === 'GET' && login !== undefined) return user(call, decodeURIComponent(login));
  const moved = [...state.gone.values()].find(
    (gone) => gone.kind === 'transferred' && path === `/repos/${gone.to}/issues/${String(gone.number)}`,
  );
  if (method === 'GET' && moved?.kind === 'transferred')
    return { status: 200, body: render.issue(strangeIssue({ number: moved.number, state: 'open' }), moved.to) };
  return notFound;
}

function user({ render }: Pick<Call, 'render'>, login: string): Answer {
  return login.endsWith('-deleted') ? notFound : { status: 200, body: render.user(login) };
}
