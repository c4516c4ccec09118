import type { Client, Octokit, RepositoryName } from './client.ts';
import type { Purpose } from './errors.ts';
import { isWorthSmaller } from './graphql/weather.ts';

/** What is wanted to know of issues: a field of the repository that takes a number, what to select of it, and how many fit one request. */
export interface IssueQuestion {
  readonly field: 'issue' | 'issueOrPullRequest';
  readonly selection: string;
  /** Definitions of the fragments that `selection` uses. */
  readonly fragments: string;
  readonly atOnce: number;
}

/**
 * GraphQL's answers by number, in as few requests as `atOnce` allows. What is not there any more (deleted, transferred),
 * or cannot be there, is left out. Numbers are all that is written into a query; names go as variables.
 */
export async function askAboutIssues<T>(
  { ask }: Client,
  purpose: Purpose,
  { numbers, ...question }: IssueQuestion & { readonly numbers: readonly number[] },
): Promise<ReadonlyMap<number, T>> {
  const wanted = [...new Set(numbers)].filter(isPossible);
  const found = new Map<number, T>();
  for (let from = 0; from < wanted.length; from += question.atOnce) {
    const part = wanted.slice(from, from + question.atOnce);
    const answers = await ask(purpose, (octokit, at) => sendInParts<T>(octokit, at, { part, question }));
    for (const number of part) {
      const answer = answers[aliasOf(number)] ?? null;
      if (answer !== null) found.set(number, answer);
    }
  }
  return found;
}

/** Into so many parts a question is divided that GitHub could not answer. */
const PARTS = 5;

type Answers<T> = Readonly<Record<string, T | null>>;

/** A larger number is no Int of GraphQL, and would have the whole query refused. */
function isPossible(number: number): boolean {
  return Number.isInteger(number) && number > 0 && number < 2 ** 31;
}

function aliasOf(number: number): string {
  return `i${String(number)}`;
}

function query(numbers: readonly number[], { field, selection, fragments }: IssueQuestion): string {
  const fields = numbers.map((number) => `${aliasOf(number)}: ${field}(number: ${String(number)}) { ${selection} }`);
  return `query ($owner: String!, $repo: String!) { repository(owner: $owner, name: $repo) { ${fields.join(' ')} } }\n${fragments}`;
}

/** Sends a query once more, in parts of a few issues, if GitHub cannot answer it for all of them. */
async function sendInParts<T>(
  octokit: Octokit,
  at: RepositoryName,
  { part, question }: { readonly part: readonly number[]; readonly question: IssueQuestion },
): Promise<Answers<T>> {
  try {
    return await send<T>(octokit, at, query(part, question));
  } catch (error) {
    if (part.length === 1 || !isWorthSmaller(error)) throw error;
    const few = Math.ceil(part.length / PARTS);
    let answers: Answers<T> = {};
    for (let from = 0; from < part.length; from += few)
      answers = { ...answers, ...(await send<T>(octokit, at, query(part.slice(from, from + few), question))) };
    return answers;
  }
}

async function send<T>(octokit: Octokit, at: RepositoryName, text: string): Promise<Answers<T>> {
  try {
    return (await octokit.graphql<{ readonly repository: Answers<T> }>(text, { ...at })).repository;
  } catch (error) {
    const found = besideMissing<T>(error);
    if (found === null) throw error;
    return found;
  }
}

/** GraphQL answers with data and errors at once when some issues are not there; null when anything else went wrong as well. */
function besideMissing<T>(error: unknown): Answers<T> | null {
  const { errors, data } = (error instanceof Error ? error : {}) as {
    readonly errors?: readonly { readonly type?: string; readonly path?: readonly unknown[] }[];
    readonly data?: { readonly repository?: Answers<T> | null } | null;
  };
  const isMissingIssue = errors?.every(({ type, path }) => type === 'NOT_FOUND' && path?.length === 2) ?? false;
  return isMissingIssue ? (data?.repository ?? null) : null;
}
