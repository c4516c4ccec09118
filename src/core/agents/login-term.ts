import { formatInstant, formatTimeLeft, MINUTE_MS } from '../countdown.ts';
import { namesOf } from '../text/phrase.ts';

/**
 * The time for which the agent's login holds: `lasting` like a stored key, `until` an instant in ms if the job itself
 * asked for it, `absent` if the job asked and got none.
 */
export type LoginTerm =
  | { readonly kind: 'lasting' }
  | { readonly kind: 'until'; readonly endsAt: number }
  | { readonly kind: 'absent' };

/**
 * The providers to which a workflow can log in for Claude Code: the inputs that each needs, the first of which asks for
 * the login, and the variable that then means it.
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

/** The input that asks for a login, by the variable that then means it. */
export const LOGIN_INPUTS: ReadonlyMap<string, string> = new Map(
  Object.values(LOGINS).map(({ variable, inputs: [input] }) => [variable, input]),
);

/** Returns the sentence about an agent that is given several logins, by their inputs and variables; null for one. */
export function describeSeveralLogins(names: readonly string[]): string | null {
  if (names.length < 2) return null;
  return `The agent is given several logins, and it uses only one: ${namesOf(names.map((name) => `\`${name}\``))}. Remove the others.`;
}

/** Returns the sentence about a login that none of the called agents can use. */
export function describeUnusableLogin(agents: readonly string[]): string {
  return `This workflow logs in for Claude Code only, and the run calls ${namesOf(agents)}. Use the workflow ralph.yml with a stored key, or \`agent: claude\`.`;
}

/** Time in ms before a login's end at which a run stops working, for clocks that differ and an answer under way. */
const SPARE_MS = MINUTE_MS;

/** The shortest run in ms; `max-minutes` allows no shorter one either. */
const SHORTEST_RUN_MS = 2 * MINUTE_MS;

/** A run's time limit under a login, in ms; `warning` is a sentence for people, null if the login outlasts the run. */
type RunTime =
  | { readonly kind: 'limit'; readonly maxRunMs: number; readonly warning: string | null }
  | { readonly kind: 'unusable'; readonly problem: string };

const ABSENT = `This run has no login of its agent, so no call was made. Give the workflow one provider: ${Object.values(
  LOGINS,
)
  .map(({ inputs: [first, second] }) => `\`${first}\` and \`${second}\``)
  .join(
    '; or ',
  )}. If it has one, the provider refused the login, and the log of this job has its words. The login was asked for as long as the job may last (\`timeout-minutes\`), and most roles and service accounts allow 60 minutes: raise that at the provider, or lower \`timeout-minutes\` and \`max-minutes\`.`;

/** Decides how long a run may work that begins at `now`: never longer than its agent is logged in. */
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

/** Returns why an agent without isolation gets no call in a job that can ask for logins; `why` says what is missing. */
export function needsIsolation(why: string | null): string {
  return `This job can ask for logins (\`id-token: write\`), and without isolation its agent could do so as well. No call was made. ${why === null ? '' : `${why} `}Use a runner with sudo, such as GitHub's Ubuntu runners, and leave \`isolation\` at \`auto\`; with a stored key, the workflow ralph.yml works without isolation.`;
}
