import { type GitHubAnswer, type Call, notFound } from './route.ts';
import { createFileAnswer } from './routes-settings.ts';
import { searchIssues } from './routes-search.ts';
import { createStrangeIssue } from './state.ts';

/**
 * Answers requests outside the repository: searches, and those for accounts, files of other repositories, and issues
 * that were transferred to one.
 */
export function answerElsewhere(call: Omit<Call, 'parameters'> & { readonly method: string }): GitHubAnswer {
  const { method, path, state, render } = call;
  const login = /^\/users\/([^/]+)$/.exec(path)?.[1];
  if (method === 'GET' && path === '/search/issues') return searchIssues(call);
  if (method === 'GET' && login !== undefined) return user(call, decodeURIComponent(login));
  const moved = [...state.gone.values()].find(
    (gone) => gone.kind === 'transferred' && path === `/repos/${gone.to}/issues/${String(gone.number)}`,
  );
  if (method === 'GET' && moved?.kind === 'transferred')
    return { status: 200, body: render.issue(createStrangeIssue({ number: moved.number, state: 'open' }), moved.to) };
  const file = /^\/repos\/([^/]+\/[^/]+)\/contents\/(.+)$/.exec(path);
  const text =
    file === null ? undefined : state.filesElsewhere.get(`${file[1] ?? ''}:${decodeURIComponent(file[2] ?? '')}`);
  return method === 'GET' && text !== undefined
    ? createFileAnswer(decodeURIComponent(file?.[2] ?? ''), text)
    : notFound;
}

function user({ render }: Pick<Call, 'render'>, login: string): GitHubAnswer {
  return login.endsWith('-deleted') ? notFound : { status: 200, body: render.user(login) };
}
