import type { AgentName } from '../core/agent-names.ts';
import type { LoginTerm } from '../core/agents/login-term.ts';
import type { Folder } from '../core/folder.ts';
import type { HostsAsked } from '../core/isolation/hosts.ts';
import type { WantedIsolation } from '../core/isolation/probe.ts';
import type { McpAsked } from '../core/mcp/values.ts';
import type { OutcomeKind } from '../core/outcome.ts';
import type { Recipients } from '../core/people/notifications.ts';
import type { LookAtKind } from '../core/review/manifest.ts';
import type { Policy } from '../core/policy.ts';
import { computeMaxLeaseMs, type Lease } from '../core/sharing/lease.ts';
import type { Prices } from '../core/spending/prices.ts';
import type { TaskSourceName } from '../core/tasks/ids.ts';
import type { IssueQuery } from '../core/tasks/issue-query.ts';
import type { FoundSetting } from '../core/settings/effective.ts';

/**
 * The parts of a run that a job can do: all of it, or one of three parts that hand over to each other through files.
 */
export const jobPhases = ['all', 'gate', 'loop', 'publish', 'finish'] as const;

/** Values of `prove-tests`. */
export const proveModes = ['auto', 'true', 'false'] as const;

export const stateStores = ['auto', 'cache', 'ref', 'none'] as const;

/** When commits are signed: where a rule of the branch requires it, always, or never. */
export const signingModes = ['auto', 'true', 'false'] as const;

export const commentReading = ['writers', 'everybody', 'nobody'] as const;

/** The user's configuration, checked. It contains two secrets, token and webhook, which only gate and publish get. */
export interface Config {
  /** The token; empty in the job of the loop, which does not need a token. */
  readonly githubToken: string;
  readonly handoff: HandoffConfig;
  readonly isolation: IsolationConfig;
  /**
   * The repository whose settings file provides what this repository does not set, or null if there is no such
   * repository.
   */
  readonly settingsFrom: string | null;
  readonly taskLabel: string;
  /** The search that finds tasks in addition to the label, or null if there is no search. */
  readonly issueQuery: IssueQuery | null;
  /** True if an issue of the repository serves as the dashboard. */
  readonly dashboard: boolean;
  /** True if each run's receipt is kept as a file of its job. */
  readonly receipts: boolean;
  /** The sources of tasks, in the order in which tasks of the same priority are worked on. */
  readonly taskSources: readonly TaskSourceName[];
  /** The beginnings of headings of the plan whose items are optional. */
  readonly optionalSections: readonly string[];
  /** Logins of bots whose labels, comments and edits are treated like those of a person with write access. */
  readonly allowedBots: readonly string[];
  /** The people whose comments the agent can read. */
  readonly commentsFrom: (typeof commentReading)[number];
  /** The words of a command for a dispatched run; empty without a command. */
  readonly command: string;
  readonly agent: AgentConfig;
  /** The folder with the tasks, the prompts and `.ralph/`, in which verify runs. */
  readonly workingDirectory: Folder;
  /** Path of the prompt file, relative to the working directory. */
  readonly promptFile: string;
  readonly policy: Policy;
  /** Prices of the models whose cost the agent does not report. */
  readonly prices: Prices;
  /** Percentage of a run's iterations at which the summary reports that they changed only tests. */
  readonly testOnlyPercent: number;
  /** Shell commands, from the workflow file and never from the branch. */
  readonly verify: readonly string[];
  readonly branchPrefix: string;
  /** The base branch, or null for the default branch. */
  readonly baseBranch: string | null;
  /** Maximum number of open pull requests of all lanes; at this number the queue opens no more. 0 = no limit. */
  readonly maxOpenPrs: number;
  /** Maximum number of lanes on which a run of the queue works in parallel. */
  readonly parallel: number;
  readonly draft: boolean;
  /** The *Look at first* kinds that prevent auto-merge, or null if auto-merge is never enabled. */
  readonly autoMerge: readonly LookAtKind[] | null;
  /** Labels of every pull request. */
  readonly prLabels: readonly string[];
  /** The people and teams whose review of a finished pull request is requested. */
  readonly prReviewers: Recipients;
  /** The people to whom a finished pull request is assigned. */
  readonly prAssignees: Recipients;
  /** The people whom the product mentions when a person is needed. */
  readonly notify: Recipients;
  readonly webhook: WebhookConfig;
  /**
   * The condition under which new tests are proven by running them without the change. `auto`: if `verify` takes at
   * most five minutes.
   */
  readonly proveTests: (typeof proveModes)[number];
  /** True if commits name the agent as their co-author. */
  readonly coAuthor: boolean;
  readonly signCommits: (typeof signingModes)[number];
  /** True if the messages of commits end with a sign-off by their author. */
  readonly signOff: boolean;
  readonly answers: AnswersConfig;
  readonly allowProtectedPaths: readonly string[];
  readonly maxPatchFiles: number;
  readonly maxPatchKib: number;
  readonly stateStore: (typeof stateStores)[number];
  readonly failOn: readonly OutcomeKind[];
  readonly settings: SettingsFound;
}

/** Settings of other Ralphs in the environment and in a settings file. */
interface SettingsFound {
  /** All settings, including those that an input overrides in this job. */
  readonly found: readonly FoundSetting[];
  /** Lines that report the settings to people. */
  readonly lines: readonly string[];
  /** The reason why the settings file of the base branch is unknown, as a sentence, or null if the file is known. */
  readonly unknown: string | null;
}

/**
 * The receiver of messages: its address, or null if none, and the key of their signatures, which may be empty.
 */
export interface WebhookConfig {
  readonly address: string | null;
  readonly secret: string;
}

/** The feedback on its pull request that a lane answers. */
interface AnswersConfig {
  readonly reviews: boolean;
  readonly checks: boolean;
  /** Number of times that the same feedback is answered before a person is asked; 0 = no limit. */
  readonly maxRounds: number;
  /** True if threads that were answered with a change are marked as resolved. */
  readonly resolve: boolean;
}

interface HandoffConfig {
  readonly phase: (typeof jobPhases)[number];
  /** Folder of the parcels that the jobs hand over. */
  readonly path: string;
  /** SHA-256 of the gate's hand-over, in hex digits; empty in the job of the gate. */
  readonly digest: string;
  /**
   * The lane whose hand-over the job takes, from the folder of that name; `each` in a gate that writes one folder per
   * lane; empty if there is a single hand-over without such a folder.
   */
  readonly lane: string;
  /** GitHub's result of the loop's job, for the job that publishes; empty in other jobs. */
  readonly loopResult: '' | 'success' | 'failure' | 'cancelled' | 'skipped';
  readonly login: LoginTerm;
}

interface IsolationConfig {
  readonly wanted: WantedIsolation;
  readonly hosts: HostsAsked;
}

interface AgentConfig {
  /** The agents in their order; each one works only while the providers of those before it are unavailable. */
  readonly order: readonly [ConfiguredAgent, ...ConfiguredAgent[]];
  /** The agents that are not in the order, each of which a step of a pipeline may name. */
  readonly others: readonly ConfiguredAgent[];
  readonly envNames: readonly string[];
  /** The configuration of the servers for the agents' tools. */
  readonly mcp: McpAsked;
  /** Time in ms after which a call that only retries is ended. */
  readonly stallMs: number;
}

export interface ConfiguredAgent {
  readonly name: AgentName;
  /** The exact version; empty if nothing is installed. */
  readonly version: string;
  /** Path of the CLI, or null to install `version`. */
  readonly path: string | null;
  readonly args: readonly string[];
  /** The model, or null if the CLI chooses it. */
  readonly model: string | null;
}

/** The place of the run: the runner's variables, checked. */
export interface RunContext {
  readonly workspace: string;
  readonly temp: string;
  readonly repository: { readonly owner: string; readonly repo: string };
  readonly serverUrl: string;
  readonly apiUrl: string;
  readonly runId: string;
  readonly runAttempt: number;
  readonly runUrl: string;
  /** Address of the run's log: the page of its step if that is known, otherwise `runUrl`. */
  readonly logUrl: string;
  /** The runner's name at GitHub; empty if unknown. */
  readonly runnerName: string;
  /** Path of the workflow's file, such as `.github/workflows/ralph.yml`, or null if it is unknown. */
  readonly workflowPath: string | null;
  readonly event: { readonly name: string; readonly payload: unknown };
  /** Reasons why the agent cannot log in, as sentences; empty if it can. */
  readonly loginProblems: readonly string[];
  /** Reasons why the agents that are not in the order cannot log in, by their names. */
  readonly otherLoginProblems: Readonly<Partial<Record<AgentName, readonly string[]>>>;
  /** Reasons why verify commands cannot work here, as sentences; empty if they can. */
  readonly verifyProblems: readonly string[];
}

/** Returns the number of jobs of a run. */
export function countJobs({ handoff }: Pick<Config, 'handoff'>): 'one' | 'three' {
  return handoff.phase === 'all' ? 'one' : 'three';
}

/** Creates a run's lease of a lane, acquired now. */
export function createLease(
  run: {
    readonly config: Pick<Config, 'policy' | 'handoff'>;
    readonly context: Pick<RunContext, 'runId' | 'runAttempt' | 'runUrl'>;
    readonly runTag: string;
  },
  now: number,
  before = 0,
): Lease {
  const { config, context, runTag } = run;
  const { runId, runAttempt, runUrl } = context;
  const durationMs = computeMaxLeaseMs(config.policy.maxRunMs, countJobs(config), before);
  return { runTag, runId, runAttempt, runUrl, acquiredAt: now, durationMs };
}
