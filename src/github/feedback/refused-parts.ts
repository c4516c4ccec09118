import { cut } from '../../core/text/cut.ts';
import { flatten } from '../../core/text/one-line.ts';
import { sentence } from '../../core/text/sentence.ts';
import { graphqlAnswerOf, isGraphqlWeather } from '../graphql/weather.ts';

/** What the token may not read of the checks of a pull request. */
export interface RefusedParts {
  /** Why checks cannot be read, as a sentence; null: they can. */
  readonly checks: string | null;
  /** The same of commit statuses. */
  readonly statuses: string | null;
  /** True if the checks could not be read for now only. */
  readonly isForNow: boolean;
}

/** Nothing was refused. */
const nothingRefused: RefusedParts = { checks: null, statuses: null, isForNow: false };

/** Every way in which a part of the checks can be refused takes these: a run of a workflow is read with `actions`. */
const NEEDED = { checks: ['checks: read', 'actions: read'], statuses: ['statuses: read'] } as const;
type Part = keyof typeof NEEDED;

/** GraphQL answers with data and errors at once where a token may read only some of it. Throws where anything but checks was refused, or all. */
export async function besideRefused<Answer extends { readonly repository: object }>(
  answer: Promise<Answer>,
): Promise<{ readonly data: Answer; readonly refused: RefusedParts }> {
  try {
    return { data: await answer, refused: nothingRefused };
  } catch (error) {
    const { errors = [], data: answered = null } = graphqlAnswerOf(error);
    const data = answered as (Omit<Answer, 'repository'> & { readonly repository: Answer['repository'] | null }) | null;
    const found = errors.map((one) => ({
      part: partAt(one.path ?? []),
      message: one.message ?? '',
      isForNow: isGraphqlWeather(one),
    }));
    if (data?.repository == null || found.length === 0 || found.some(({ part }) => part === null)) throw error;
    const why = (wanted: Part): string | null => {
      const first = found.find(({ part }) => part === wanted);
      return first === undefined ? null : whyRefused(first.message, NEEDED[wanted]);
    };
    const isForNow = found.some((one) => one.part === 'checks' && one.isForNow);
    return { data: data as Answer, refused: { checks: why('checks'), statuses: why('statuses'), isForNow } };
  }
}

/** What the field at the end of this path belongs to; null: to neither. */
function partAt(path: readonly unknown[]): Part | null {
  if (path.includes('checkSuites') || path.includes('statusCheckRollup')) return 'checks';
  return path.includes('status') ? 'statuses' : null;
}

function whyRefused(message: string, needed: readonly string[]): string {
  if (!/^Resource not accessible by/i.test(message)) return sentence(`GitHub answers: ${cut(flatten(message), 300)}`);
  const permissions = needed.map((permission) => `\`${permission}\``).join(' and ');
  return `The token may not read them. Add ${permissions} under \`permissions:\` in the workflow, or to the token that the input \`github-token\` gets.`;
}
