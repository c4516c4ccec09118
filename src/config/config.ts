import type { AgentName } from '../core/agent-names.ts';
import type { Folder } from '../core/folder.ts';
import type { HostsAsked } from '../core/isolation/hosts.ts';
import type { WantedIsolation } from '../core/isolation/probe.ts';
import type { McpAsked } from '../core/mcp/values.ts';
import type { OutcomeKind } from '../core/outcome.ts';
import type { Recipients } from '../core/people/notifications.ts';
import type { Policy } from '../core/policy.ts';
import { leaseMs, type Lease } from '../core/sharing/lease.ts';
import type { Prices } from '../core/spending/prices.ts';
import type { TaskSourceName } from '../core/tasks/ids.ts';
import type { FoundSetting } from '../core/settings/effective.ts';

/** Which part of a run a job does: all of it, or one of three that hand over to each other through files. */
export const phases = ['all', 'gate', 'loop', 'publish'] as const;

export const stateStores = ['auto', 'cache', 'ref', 'none'] as const;

export const commentReading = ['writers', 'everybody', 'nobody'] as const;

/** What the user asked for, checked. Holds no secret but the token, which only gate and publish get. */
export interface Config {
  /** Empty in the job of the loop, which needs none. */
  readonly githubToken: string;
  readonly handoff: HandoffConfig;
  readonly isolation: IsolationConfig;
  readonly taskLabel: string;
  /** In the order in which tasks of the same priority are worked. */
  readonly taskSources: readonly TaskSourceName[];
  /** What headings of the plan begin with whose items are optional. */
  readonly optionalSections: readonly string[];
  /** Logins of bots whose labels, comments and edits count like those of a person who may write. */
  readonly allowedBots: readonly string[];
  /** Whose comments the agent gets to read. */
  readonly commentsFrom: (typeof commentReading)[number];
  /** Words of a command for a dispatched run; empty = none. */
  readonly command: string;
  readonly agent: AgentConfig;
  /** Where tasks, prompts, `.ralph/` and verify are. */
  readonly workingDirectory: Folder;
  /** Relative to the working directory. */
  readonly promptFile: string;
  readonly policy: Policy;
  /** Of models whose cost the agent does not report. */
  readonly prices: Prices;
  /** Percentage of a run's iterations from which it is shown that they changed nothing but tests. */
  readonly testOnlyPercent: number;
  /** One shell command each, from the workflow file and never from the branch. */
  readonly verify: readonly string[];
  readonly branchPrefix: string;
  /** null = the default branch. */
  readonly baseBranch: string | null;
  /** Open pull requests of all lanes beyond which the queue opens none; 0 = no limit. */
  readonly maxOpenPrs: number;
  readonly draft: boolean;
  /** Labels that every pull request has. */
  readonly prLabels: readonly string[];
  /** Whose review of a finished pull request is requested, and who is assigned to it. */
  readonly prReviewers: Recipients;
  readonly prAssignees: Recipients;
  /** Whom the product mentions where a person is needed. */
  readonly notify: Recipients;
  /** Whether commits name the agent as their co-author. */
  readonly coAuthor: boolean;
  readonly answers: AnswersConfig;
  readonly allowProtectedPaths: readonly string[];
  readonly maxPatchFiles: number;
  readonly maxPatchKib: number;
  readonly stateStore: (typeof stateStores)[number];
  readonly failOn: readonly OutcomeKind[];
  readonly settings: SettingsFound;
}

/** Settings of other Ralphs that the environment and a settings file have. */
interface SettingsFound {
  /** All of them, those included that an input overrules in this job. */
  readonly found: readonly FoundSetting[];
  /** What people hear of them, one line each. */
  readonly lines: readonly string[];
  /** Why nobody knows what the settings file of the base branch says, as a sentence; null: it is known. */
  readonly unknown: string | null;
}

/** What of its pull request a lane answers. */
interface AnswersConfig {
  readonly reviews: boolean;
  readonly checks: boolean;
  /** How often the same thing is answered before a person is asked; 0 = no limit. */
  readonly maxRounds: number;
  /** Whether threads that were answered with a change are marked as resolved. */
  readonly resolve: boolean;
}

interface HandoffConfig {
  readonly phase: (typeof phases)[number];
  /** Folder of the parcels that the jobs hand over. */
  readonly path: string;
  /** SHA-256 of what the gate handed over, in hex digits; empty in the job of the gate. */
  readonly digest: string;
}

interface IsolationConfig {
  readonly wanted: WantedIsolation;
  readonly hosts: HostsAsked;
}

interface AgentConfig {
  /** The next one works where the provider of those before it does not. */
  readonly order: readonly [ChosenAgent, ...ChosenAgent[]];
  readonly envNames: readonly string[];
  /** Where the servers of their tools are named. */
  readonly mcp: McpAsked;
  /** A call of which nothing but retries has come for so long is ended. */
  readonly stallMs: number;
}

/** One agent, as the user wants it. */
export interface ChosenAgent {
  readonly name: AgentName;
  /** Exact; empty where nothing is installed. */
  readonly version: string;
  /** null = install `version`. */
  readonly path: string | null;
  readonly args: readonly string[];
  /** null = the CLI's choice. */
  readonly model: string | null;
}

/** Where the run happens: the runner's variables, checked. */
export interface RunContext {
  readonly workspace: string;
  readonly temp: string;
  readonly repository: { readonly owner: string; readonly repo: string };
  readonly serverUrl: string;
  readonly apiUrl: string;
  readonly runId: string;
  readonly runAttempt: number;
  readonly runUrl: string;
  /** Where the run's log can be read: the page of its step where that is known, else `runUrl`. */
  readonly logUrl: string;
  /** As GitHub names it; '': not known. */
  readonly runnerName: string;
  /** The file of the workflow that runs, `.github/workflows/ralph.yml`; null: not known. */
  readonly workflowPath: string | null;
  readonly event: { readonly name: string; readonly payload: unknown };
  /** Why the agent cannot log in, as sentences; empty when it can. */
  readonly loginProblems: readonly string[];
  /** Why verify commands cannot work here, as sentences; empty when they can. */
  readonly verifyProblems: readonly string[];
}

/** How many jobs a run is of. */
export function jobsOf({ handoff }: Pick<Config, 'handoff'>): 'one' | 'three' {
  return handoff.phase === 'all' ? 'one' : 'three';
}

/** A run's claim to a lane, taken now. */
export function leaseOf(
  {
    config,
    context: { runId, runAttempt, runUrl },
    runTag,
  }: {
    readonly config: Pick<Config, 'policy' | 'handoff'>;
    readonly context: Pick<RunContext, 'runId' | 'runAttempt' | 'runUrl'>;
    readonly runTag: string;
  },
  now: number,
): Lease {
  const durationMs = leaseMs(config.policy.maxRunMs, jobsOf(config));
  return { runTag, runId, runAttempt, runUrl, acquiredAt: now, durationMs };
}
