import { type IsolationFacts, groupByMeaning } from '../../core/isolation/probe.ts';
import { DISCREPANCY_SUFFIX } from '../../core/isolation/egress/opening.ts';
import { countRefusedHosts } from '../../core/isolation/texts.ts';
import { renderMore, joinNames, toOneLine } from '../../core/text/phrase.ts';
import type { IsolationReport } from '../../handover/report.ts';
import { formatCount } from '../format.ts';

// All statements on isolation are based on measurements. Names of hosts and checks may come from the agent's programs
// or from another job, so they are untrusted text and are put in `backticks`.

const SHOWN_CHECKS = 5;
const SHOWN_HOSTS = 10;

/** Renders one line, such as `Isolation: user — own user; NO network limit`; `backticks` mark code. */
export function renderIsolation({ facts, from }: IsolationReport): string {
  const { level, why, processesLeft } = facts;
  const parts = [
    ...checkWords(facts),
    networkWords(facts),
    keyWords(facts),
    ...(processesLeft === null
      ? []
      : [processesLeft === 1 ? '1 process left' : `${String(processesLeft)} processes left`]),
  ];
  const line = `Isolation${FROM[from]}: ${level} — ${parts.join('; ')}`;
  return why === null ? line : `${line}. ${toOneLine(why, 500)}`;
}

const FROM = {
  'this-job': '',
  'loop-job': ' (reported by the job of the loop)',
  record: ' (as the main step recorded it)',
} as const;

/** Describes what the level separates if all checks pass, otherwise the number of failed checks. */
function checkWords(facts: IsolationFacts): readonly string[] {
  const { level, probe, network } = facts;
  if (level === 'none') return ['nothing separates the agent from this action'];
  if (probe === null) return ['NOT CHECKED'];
  if (probe.failed.length > 0)
    return [`${String(probe.failed.length)} of ${formatCount(probe.checks, 'check')} FAILED`];
  const isLimited = network === 'limited';
  switch (level) {
    case 'namespace':
      return [`own ${listed(['user', 'processes', 'files', ...(isLimited ? ['network'] : [])])}`];
    case 'user':
      return [isLimited ? 'own user, limited network' : 'own user'];
    case 'sandbox':
      return [`own ${listed(['processes', 'files', ...(isLimited ? ['network'] : [])])}`, "the runner's own user"];
  }
}

function networkWords({ network, allowedHosts }: IsolationFacts): string {
  switch (network) {
    case 'limited':
      return `${formatCount(allowedHosts, 'host')} allowed`;
    case 'any':
      return 'all hosts allowed (`allowed-hosts: any`)';
    case 'open':
      return 'NO network limit';
  }
}

/**
 * Describes the agent's access to the model key. If any check failed, the agent may have been able to read the action's
 * memory, which contains the key.
 */
function keyWords(facts: IsolationFacts): string {
  if (!facts.keyHidden) return 'the agent held the model key';
  return isProven(facts) ? 'the agent never held the model key' : 'the agent was not given the model key';
}

function isProven({ level, probe }: IsolationFacts): boolean {
  return level !== 'none' && probe?.failed.length === 0;
}

/** Lists the weaknesses, each with its remedy, as sentences in which `backticks` mark code; empty if none. */
export function describeIsolationProblems({ facts, from }: IsolationReport): readonly string[] {
  const problems = [
    ...levelProblem(facts),
    ...probeProblems(facts),
    ...networkProblem(facts),
    ...leftProblem(facts),
    ...refusedProblem(facts),
    ...(facts.caches === null ? [] : [toOneLine(facts.caches, 500)]),
  ];
  return problems.map((problem) => SAID_BY[from] + problem);
}

const SAID_BY = {
  'this-job': '',
  'loop-job': 'The job of the loop reports: ',
  record: 'The main step recorded: ',
} as const;

const BETTER_RUNNER = "a runner with sudo, such as GitHub's Ubuntu runners";

function levelProblem({ level }: IsolationFacts): readonly string[] {
  if (level !== 'none') return [];
  return [
    `The agent was not isolated: its programs could read every key and token of this job, and change what later steps run. Use ${BETTER_RUNNER}, and leave \`isolation\` at \`auto\`.`,
  ];
}

function probeProblems({ level, probe }: IsolationFacts): readonly string[] {
  if (level === 'none') return [];
  if (probe === null)
    return ['The isolation was not checked from where the agent runs, so nothing proves it. The job log says why.'];
  const { can, cannot, unknown } = groupByMeaning(probe.failed);
  return [
    ...(can.length === 0
      ? []
      : [
          `The isolation has gaps: the agent can ${named(can)}. Give this job no secret that the agent must not have, and use ${BETTER_RUNNER}.`,
        ]),
    ...(cannot.length === 0
      ? []
      : [
          `The isolation is too strict on this runner: the agent cannot ${named(cannot)}. Choose another level with \`isolation\`.`,
        ]),
    ...(unknown.length === 0 ? [] : [`Other checks of the isolation failed: ${named(unknown.map(marked))}.`]),
  ];
}

function networkProblem({ level, network }: IsolationFacts): readonly string[] {
  if (network !== 'open' || level === 'none') return [];
  return [
    `Nothing limits the agent's network: what it reads, it can send anywhere. Use ${BETTER_RUNNER}, to have \`allowed-hosts\` enforced.`,
  ];
}

function leftProblem({ processesLeft }: IsolationFacts): readonly string[] {
  if (processesLeft === null || processesLeft === 0) return [];
  const left =
    processesLeft === 1 ? '1 process of the agent was' : `${String(processesLeft)} processes of the agent were`;
  return [`${left} still running at the end, and may see what later steps do. Use a fresh runner for the next job.`];
}

function refusedProblem(facts: IsolationFacts): readonly string[] {
  const hosts = countRefusedHosts(facts);
  if (hosts.length === 0) return [];
  const shown = hosts.slice(0, SHOWN_HOSTS).map(([host, times]) => `${marked(host)} (${String(times)}×)`);
  return [
    `Refused hosts: ${shown.join(', ')}${renderMore(hosts.length - shown.length)}. Add those that the work needs to \`allowed-hosts\`; any other can be a sign that hidden instructions misled the agent.${hosts.some(([host]) => DISCREPANCY_SUFFIX.test(host)) ? INSIDE : ''}`,
  ];
}

const INSIDE =
  ' "HOST as NAME" is a connection to HOST in which a program asked for NAME. A connection may only name the host that it was opened to, and on port 443 only by TLS.';

function named(names: readonly string[]): string {
  return names.length <= SHOWN_CHECKS ? listed(names) : joinNames(names, SHOWN_CHECKS);
}

/** Renders `user, processes and files`. */
function listed(words: readonly string[]): string {
  return words.length < 2 ? words.join('') : `${words.slice(0, -1).join(', ')} and ${words.at(-1) ?? ''}`;
}

function marked(foreign: string): string {
  return `\`${toOneLine(foreign, 80).replaceAll('`', "'")}\``;
}
