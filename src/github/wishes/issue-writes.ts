import { capitalizeFirst } from '../../core/text/phrase.ts';
import { gatherCalls, settleCall } from '../../ports/gathered-calls.ts';
import type { Octokit } from '../client.ts';
import { readHttpStatus } from '../errors.ts';
import { extractGraphqlAnswer } from '../graphql/errors.ts';

/**
 * GraphQL ids that the run has seen: those of labels by name in lower case, because GitHub ignores case (null if only
 * the label's existence is known), and those of issues and pull requests by number.
 */
export interface KnownNodes {
  readonly labels: Map<string, string | null>;
  readonly threads: Map<number, string>;
}

/** The selection of each mutation's answer. */
const SELECTIONS = {
  addReaction: 'clientMutationId',
  addLabelsToLabelable: 'clientMutationId',
  removeLabelsFromLabelable: 'clientMutationId',
  addComment: 'commentEdge { node { id fullDatabaseId } }',
  updateIssueComment: 'clientMutationId',
} as const;

/** A mutation of GraphQL with its input. */
interface Mutation {
  readonly name: keyof typeof SELECTIONS;
  readonly input: Readonly<Record<string, unknown>>;
}

/**
 * A write on an issue. `mutation` is null if a GraphQL id that it needs is unknown, and `answerOf` reads its answer.
 * `alone` does the same by REST.
 */
interface IssueWrite<T> {
  readonly mutation: Mutation | null;
  readonly answerOf: (data: unknown) => T;
  readonly alone: () => Promise<T>;
}

/** Sends one write, batched with all others of the same turn of the event loop; each of them fails separately. */
export type WriteOnIssue = <T>(octokit: Octokit, write: IssueWrite<T>) => Promise<T>;

/**
 * Maximum number of mutations in a request: GitHub ends a request after 10 s, and performs one mutation after another.
 */
const MAX_MUTATIONS = 10;

type Gathered = IssueWrite<unknown> & { readonly octokit: Octokit };
type Together = Gathered & { readonly mutation: Mutation };

/** Creates the function that writes on issues: a single write is sent by REST, several in one GraphQL request. */
export function createIssueWriter(): WriteOnIssue {
  const write = gatherCalls(writeAll);
  return async <T>(octokit: Octokit, one: IssueWrite<T>) => (await write({ ...one, octokit })) as T;
}

async function writeAll(writes: readonly Gathered[]): Promise<readonly PromiseSettledResult<unknown>[]> {
  const together = writes.filter((one): one is Together => one.mutation !== null);
  const results = new Map<Gathered, PromiseSettledResult<unknown>>();
  if (together.length > 1)
    for (let from = 0; from < together.length; from += MAX_MUTATIONS)
      for (const [one, result] of await send(together.slice(from, from + MAX_MUTATIONS))) results.set(one, result);
  const settled: PromiseSettledResult<unknown>[] = [];
  for (const one of writes) settled.push(results.get(one) ?? (await settleCall(one.alone)));
  return settled;
}

/** Sends mutations in one request. If GitHub's answer says which one failed, only that one fails. */
async function send(
  writes: readonly Together[],
): Promise<readonly (readonly [Together, PromiseSettledResult<unknown>])[]> {
  const [first] = writes;
  if (first === undefined) return [];
  const numbered = writes.map((write, at) => ({ write, alias: `m${String(at)}`, variable: `i${String(at)}` }));
  const types = numbered.map(
    ({ write: { mutation }, variable }) => `$${variable}: ${capitalizeFirst(mutation.name)}Input!`,
  );
  const fields = numbered.map(
    ({ write: { mutation }, alias, variable }) =>
      `${alias}: ${mutation.name}(input: $${variable}) { ${SELECTIONS[mutation.name]} }`,
  );
  const inputs = Object.fromEntries(numbered.map(({ write, variable }) => [variable, write.mutation.input]));
  // Do not repeat a comment: after a failure GitHub may have written it already, and a second one would stay forever.
  const isRepeatable = writes.every(({ mutation }) => mutation.name !== 'addComment');
  const answered = await settleCall(() =>
    first.octokit.graphql<unknown>(`mutation (${types.join(', ')}) { ${fields.join(' ')} }`, {
      ...inputs,
      ...(isRepeatable ? {} : { request: { retries: 0 } }),
    }),
  );
  const { data, errors = [] } =
    answered.status === 'fulfilled' ? { data: answered.value } : extractGraphqlAnswer(answered.reason);
  const answers = (data ?? {}) as Readonly<Record<string, unknown>>;
  return numbered.map(({ write, alias }) => {
    const own = errors.filter(({ path }) => path?.[0] === alias);
    if (own.length > 0) return [write, refusedFor(Object.assign(new Error(own[0]?.message), { errors: own }))];
    const answer = answers[alias] ?? null;
    if (answer !== null) return [write, { status: 'fulfilled', value: write.answerOf(answer) }];
    return [write, refusedFor(answered.status === 'rejected' ? answered.reason : new Error('GitHub left it out'))];
  });
}

/**
 * Sends one write for several items. GitHub refuses the whole write if one of them is invalid; then writes each alone,
 * and throws the first refusal after all others are written.
 */
export async function writeAllOrEach<T>(
  all: readonly T[],
  write: (some: readonly T[]) => Promise<unknown>,
): Promise<void> {
  try {
    await write(all);
  } catch (error) {
    if (all.length === 1 || readHttpStatus(error) !== 422) throw error;
    const settled = await Promise.allSettled(all.map((one) => write([one])));
    const refused = settled.find((one) => one.status === 'rejected');
    if (refused !== undefined) throw refused.reason;
  }
}

function refusedFor(reason: unknown): PromiseRejectedResult {
  return { status: 'rejected', reason };
}
