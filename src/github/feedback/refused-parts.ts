import { cut } from '../../core/text/cut.ts';
import { flatten } from '../../core/text/one-line.ts';
import { sentence } from '../../core/text/sentence.ts';
import type { PullRequestAnswer } from './pull-request-query.ts';

/** What the token may not read of the checks of a pull request. */
export interface RefusedParts {
  /** Why checks cannot be read, as a sentence; null: they can. */
  readonly checks: string | null;
  /** The same of commit statuses. */
  readonly statuses: string | null;
}

export const nothingRefused: RefusedParts = { checks: null, statuses: null };

interface PartialError {
  readonly message?: string;
  readonly path?: readonly unknown[];
}

type Permission = 'checks: read' | 'actions: read' | 'statuses: read';

/** GraphQL answers with data and errors at once where a token may read only some of it; null when anything but checks was refused, or all. */
export function besideRefused(
  error: unknown,
): { readonly data: PullRequestAnswer; readonly refused: RefusedParts } | null {
  const { errors = [], data } = (error instanceof Error ? error : {}) as {
    readonly errors?: readonly PartialError[];
    readonly data?: Partial<PullRequestAnswer> | null;
  };
  const found = errors.map((one) => ({ permission: permissionFor(one.path ?? []), message: one.message ?? '' }));
  const repository = data?.repository ?? null;
  if (repository === null || found.length === 0 || found.some(({ permission }) => permission === null)) return null;
  const why = (...of: readonly Permission[]): string | null => {
    const refused = found.filter(({ permission }) => permission !== null && of.includes(permission));
    const [first] = refused;
    if (first === undefined) return null;
    const lacking = of.filter((permission) => refused.some((one) => one.permission === permission));
    return whyRefused(first.message, lacking);
  };
  return {
    data: { repository },
    refused: { checks: why('checks: read', 'actions: read'), statuses: why('statuses: read') },
  };
}

/** What the field at the end of this path takes; null: it is not part of a check. */
function permissionFor(path: readonly unknown[]): Permission | null {
  if (path.includes('workflowRun')) return 'actions: read';
  if (path.includes('checkSuites')) return 'checks: read';
  return path.includes('status') ? 'statuses: read' : null;
}

function whyRefused(message: string, lacking: readonly Permission[]): string {
  if (!/^Resource not accessible by/i.test(message)) return sentence(`GitHub answers: ${cut(flatten(message), 300)}`);
  const permissions = lacking.map((permission) => `\`${permission}\``).join(' and ');
  return `The token lacks ${permissions}. Add it under \`permissions:\` in the workflow, or to the token that the input \`github-token\` gets.`;
}
