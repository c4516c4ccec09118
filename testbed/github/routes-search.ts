import { type Call, type GitHubAnswer, createInvalidAnswer, createRefusal } from './route.ts';
import { isSameName, type StoredIssue } from './state.ts';

/**
 * Answers a search for issues of the repository by words in title or body and by qualifiers, all of which must match.
 * Operators and parentheses are not supported.
 */
export function searchIssues({ state, query, render, token }: Omit<Call, 'parameters'>): GitHubAnswer {
  if (token.permissions.issues === undefined) return createRefusal(403, 'Resource not accessible by integration');
  const terms = (query.get('q') ?? '').match(/(?:[^\s"]|"[^"]*")+/g) ?? [];
  const stranger = terms.find((term) => /^(?:author|assignee):nobody-/.test(term));
  if (stranger !== undefined)
    return createInvalidAnswer({
      resource: 'Search',
      field: 'q',
      code: 'invalid',
      message: 'The listed users cannot be searched either because the users do not exist.',
    });
  const { owner, name } = state.repository;
  const found = state.issues
    .filter((issue) => terms.every((term) => holds(issue, term.replaceAll('"', ''))))
    .toSorted((one, other) => one.createdAt - other.createdAt || one.number - other.number);
  const size = Math.min(Number(query.get('per_page') ?? 30), 100);
  const page = Number(query.get('page') ?? 1);
  return {
    status: 200,
    body: {
      total_count: found.length,
      incomplete_results: false,
      search_type: 'lexical',
      items: found
        .slice((page - 1) * size, page * size)
        .map((issue) => ({ ...render.issue(issue), state: 'open', score: 1 })),
    },
  };

  function holds(issue: StoredIssue, term: string): boolean {
    const [, sign = '', field = '', value = term] = /^(-?)([a-z]+):(.+)$/.exec(term) ?? [];
    return fits(issue, field, value) !== (sign === '-');
  }

  function fits(issue: StoredIssue, field: string, value: string): boolean {
    const isOf = (values: readonly string[]): boolean => values.some((one) => isSameName(one, value));
    switch (field) {
      case 'repo':
        return isSameName(value, `${owner}/${name}`);
      case 'is':
        if (value === 'open') return issue.state === 'open' || state.stillIndexed.has(issue.number);
        return value === 'issue' && !state.pulls.some(({ number }) => number === issue.number);
      case 'author':
        return isOf([issue.author.login]);
      case 'label':
        return isOf(issue.labels);
      case 'assignee':
        return isOf(issue.assignees);
      case 'milestone':
      case 'type':
      case 'project':
        return isOf(issue.given[field]);
      default:
        return `${issue.title} ${issue.body}`.toLowerCase().includes(value.toLowerCase());
    }
  }
}
