import { formatInstant, formatTimeLeft, MINUTE_MS } from '../countdown.ts';
import { listFirstNames } from '../text/phrase.ts';

/**
 * The validity of the agent's login: `lasting` for a stored key, `until` (an instant in ms) for a login that the job
 * requested, `absent` if the job requested a login and got none.
 */
export type LoginTerm =
  | { readonly kind: 'lasting' }
  | { readonly kind: 'until'; readonly endsAt: number }
  | { readonly kind: 'absent' };

/**
 * The providers to which a workflow can log in for Claude Code. The first of a provider's `inputs` requests the login,
 * and all of them are required; `variable` is set for Claude Code after the login.
 */
export const LOGINS = {
  aws: { title: 'Amazon Bedrock', inputs: ['aws-role', 'aws-region'], variable: 'CLAUDE_CODE_USE_BEDROCK' },
  google: {
    title: 'Google Vertex AI',
    inputs: ['google-workload-identity-provider', 'google-service-account'],
    variable: 'CLAUDE_CODE_USE_VERTEX',
  },
  anthropic: {
    title: 'Anthropic',
    inputs: ['anthropic-federation-rule', 'anthropic-organization'],
    variable: 'CLAUDE_CODE_OAUTH_TOKEN',
  },
} as const;

/** The input that requests a login, by the provider's variable. */
export const LOGIN_INPUTS: ReadonlyMap<string, string> = new Map(
  Object.values(LOGINS).map(({ variable, inputs: [input] }) => [variable, input]),
);

/**
 * Returns a sentence if an agent has several logins, or null if it has one. `names` are the logins' inputs and
 * variables.
 */
export function describeSeveralLogins(names: readonly string[]): string | null {
  if (names.length < 2) return null;
  return `The agent has several logins but uses only one of them: ${listFirstNames(names.map((name) => `\`${name}\``))}. Remove the others.`;
}

/** Returns the sentence for a run whose login none of its agents can use. */
export function describeUnusableLogin(agents: readonly string[]): string {
  return `This workflow logs in for Claude Code only, and the run calls ${listFirstNames(agents)}. Use the workflow ralph.yml with a stored key, or \`agent: claude\`.`;
}

/** Time in ms by which a run stops before its login ends, to allow for clock skew and for an answer in progress. */
const SPARE_MS = MINUTE_MS;

/** Minimum run time in ms, the same as the minimum of `max-minutes`. */
const SHORTEST_RUN_MS = 2 * MINUTE_MS;

/**
 * A run's time limit in ms, given its login. `warning` is a sentence for people, or null if the login outlasts the run.
 */
type RunTime =
  | { readonly kind: 'limit'; readonly maxRunMs: number; readonly warning: string | null }
  | { readonly kind: 'unusable'; readonly problem: string };

const ABSENT = `This run has no login for its agent, so no call was made. Give the workflow one provider: ${Object.values(
  LOGINS,
)
  .map(({ inputs: [first, second] }) => `\`${first}\` and \`${second}\``)
  .join(
    '; or ',
  )}. If it has one, the provider refused the login; the log of this job has its message. The login was requested for the whole length of the job (\`timeout-minutes\`), but most roles and service accounts allow only 60 minutes: raise their limit at the provider, or lower \`timeout-minutes\` and \`max-minutes\`.`;

/** Decides how long a run that begins at `now` may work: never beyond the end of its login. */
export function limitRunTime(term: LoginTerm, { now, maxRunMs }: { now: number; maxRunMs: number }): RunTime {
  if (term.kind === 'absent') return { kind: 'unusable', problem: ABSENT };
  const leftMs = term.kind === 'lasting' ? Infinity : term.endsAt - SPARE_MS - now;
  if (leftMs >= maxRunMs) return { kind: 'limit', maxRunMs, warning: null };
  const ends = term.kind === 'lasting' ? '' : formatInstant(term.endsAt);
  const wanted = `the ${String(Math.round(maxRunMs / MINUTE_MS))} minutes of \`max-minutes\``;
  const longer = `Let the provider give a longer login, or lower \`max-minutes\`.`;
  return leftMs < SHORTEST_RUN_MS
    ? {
        kind: 'unusable',
        problem: `The agent's login ends at ${ends}, too early for a call, so none was made. The run may take ${wanted}. ${longer}`,
      }
    : {
        kind: 'limit',
        maxRunMs: leftMs,
        warning: `The agent's login ends at ${ends}, before ${wanted} are over, so this run works for ${formatTimeLeft(leftMs)} only. ${longer}`,
      };
}

/**
 * Returns the sentence that refuses calls without isolation in a job that can request logins. `why` is the reason why
 * isolation is missing; null if it is unknown.
 */
export function describeMissingIsolation(why: string | null): string {
  return `This job can ask for logins (\`id-token: write\`), and without isolation its agent could do so as well. No call was made. ${why === null ? '' : `${why} `}Use a runner with sudo, such as GitHub's Ubuntu runners, and leave \`isolation\` at \`auto\`; with a stored key, the workflow ralph.yml works without isolation.`;
}
