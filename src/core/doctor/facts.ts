import type { AgentName } from '../agent-names.ts';
import type { AnsweredSettings } from '../settings/effective.ts';
import { issueLane, QUEUE } from '../tasks/ids.ts';
import type { Workflow } from './workflow.ts';

/** What was asked for, or why it could not be had, as a sentence. */
export type Asked<T> =
  | { readonly kind: 'known'; readonly value: T }
  | { readonly kind: 'unknown'; readonly why: string };

/** A rule that applies to a branch, and the ruleset that has it; `source`: the repository or organisation of that ruleset. */
export interface BranchRule {
  readonly type: string;
  readonly ruleset: number;
  readonly source: string;
  readonly ofOrganization: boolean;
}

/** What GitHub says of a repository's settings. */
export interface RepositorySettings {
  readonly token: Asked<{ readonly writes: boolean; readonly mayOpenPullRequests: boolean }>;
  /** Names of the secrets that the repository's workflows can use, those of its organisation included. */
  readonly secrets: Asked<readonly string[]>;
  readonly hasLabel: Asked<boolean>;
  readonly workflows: Asked<readonly WorkflowState[]>;
  /** By path: the file's text on the default branch; null: it is not there. */
  readonly onDefaultBranch: Asked<Readonly<Record<string, string | null>>>;
  /** Existing branches whose names conflict with the queue's branch or with one for an issue. */
  readonly inTheWay: Asked<readonly { readonly branch: string; readonly existing: readonly string[] }[]>;
  /** Those of the branches of the queue and of an issue, which stand for all of Ralph's. */
  readonly branchRules: Asked<readonly BranchRule[]>;
  /** Those of a classic protection of the same branches; null: neither is there yet, so that GitHub does not say. */
  readonly branchProtection: Asked<readonly string[] | null>;
  readonly pushRulesets: Asked<readonly { readonly id: number; readonly name: string }[]>;
}

/** Branches that stand for all of Ralph's, where settings are asked for by a branch's name. */
export function typicalBranches(prefix: string): readonly string[] {
  return [prefix + QUEUE, prefix + issueLane(1)];
}

/** `state` as GitHub calls it: `active`, `disabled_inactivity`, `disabled_manually`. */
interface WorkflowState {
  readonly path: string;
  readonly state: string;
}

/** The settings of a repository that could not be asked for any. */
export function unknownSettings(why: string): RepositorySettings {
  const unknown = { kind: 'unknown', why } as const;
  return {
    token: unknown,
    secrets: unknown,
    hasLabel: unknown,
    workflows: unknown,
    onDefaultBranch: { kind: 'unknown', why },
    inTheWay: unknown,
    branchRules: unknown,
    branchProtection: unknown,
    pushRulesets: unknown,
  };
}

/** The repository on GitHub; `webUrl` without a slash at the end. */
export interface Repository {
  readonly name: string;
  readonly webUrl: string;
  readonly settings: RepositorySettings;
}

/** What became of the agent's key that stands in the environment here. */
export type KeyTrial =
  | { readonly kind: 'none' }
  /** A key that is there, but not as the agent looks for it, as sentences. */
  | { readonly kind: 'malformed'; readonly problems: readonly string[] }
  /** There is one under a name that the agent does not look for, as a sentence. */
  | { readonly kind: 'misnamed'; readonly why: string }
  | { readonly kind: 'form-only' }
  | { readonly kind: 'accepted' }
  | { readonly kind: 'refused'; readonly status: number }
  | { readonly kind: 'unanswered'; readonly why: string };

/** What became of the verify commands on the base; `not-tried`: nobody asked for it. */
export type BaseTrial =
  | { readonly kind: 'not-tried' }
  /** What an earlier run found of the same commit and commands; `failed`: the command, null: all passed. */
  | { readonly kind: 'remembered'; readonly failed: string | null }
  | { readonly kind: 'passed'; readonly seconds: number }
  | { readonly kind: 'failed'; readonly command: string; readonly tail: string }
  | { readonly kind: 'impossible'; readonly why: string };

/** What the steps of an iteration are, as runs read their file from the base branch. `where`: the workflow; null: of this run, or of `ralph run`. */
export interface PipelineTrial {
  readonly where: string | null;
  readonly found:
    | { readonly kind: 'unknown'; readonly why: string }
    /** Sentences with file, line and column. */
    | { readonly kind: 'wrong'; readonly problems: readonly string[] }
    /** `says`: which steps there are, and which files are not used; empty: there is no such file. */
    | { readonly kind: 'read'; readonly says: readonly string[]; readonly warnings: readonly string[] };
  /** Variables that its files name, and whose values only a run knows. */
  readonly openVariables: readonly string[];
}

/** A workflow file of the checkout that uses the action; one that cannot be read is named with why. */
export type WorkflowFile =
  | { readonly kind: 'workflow'; readonly text: string; readonly workflow: Workflow }
  | { readonly kind: 'unreadable'; readonly path: string; readonly why: string };

/** A workflow of the checkout that does not use the action; `name`: as `workflow_run` takes it. */
export interface OtherWorkflow {
  readonly name: string;
  readonly checksPullRequests: boolean;
}

/** Everything that the checks look at. */
export interface Facts {
  readonly files: readonly WorkflowFile[];
  readonly others: readonly OtherWorkflow[];
  /** One for each workflow. */
  readonly settings: readonly AnsweredSettings[];
  readonly pipelines: readonly PipelineTrial[];
  readonly repository: Asked<Repository>;
  readonly key: KeyTrial;
  readonly verify: BaseTrial;
  /** Text of .ralph/AGENT.md; empty: there is none. */
  readonly agentNotes: string;
  readonly hasNpm: boolean;
  /** What all runs of today (UTC) used and hold, in US dollars. */
  readonly spentTodayUsd: Asked<number>;
}

/** What the checks know of the action: its inputs, events, login and tool rules. */
export interface ActionRules {
  /** Of action.yml. */
  readonly inputs: readonly string[];
  /** Of the action of one job alone. */
  readonly jobInputs: readonly string[];
  /** What an old name is called now, as a predicate; null: it is not an old name. */
  readonly renamed: (name: string) => string | null;
  /** What is wrong with the texts of inputs, as predicates. */
  readonly inputProblems: (
    texts: Readonly<Record<string, string>>,
  ) => readonly { readonly name: string; readonly why: string }[];
  readonly events: readonly { readonly event: string; readonly types: readonly string[] | null }[];
  /** Problems of a login with these variables, for the agents that the inputs name. */
  readonly loginProblems: (
    environment: Readonly<Record<string, string>>,
    inputs: Readonly<Record<string, string>>,
  ) => readonly string[];
  /** The agents that the inputs name, in their order. `path` null: `version` is installed. */
  readonly agents: (
    inputs: Readonly<Record<string, string>>,
  ) => readonly { readonly name: AgentName; readonly version: string; readonly path: string | null }[];
  /** The models that the inputs name and whose price nobody knows. */
  readonly unpricedModels: (inputs: Readonly<Record<string, string>>) => readonly string[];
  readonly keyInputs: readonly string[];
  /** The simple commands of a line that these rules do not allow; null: the line is not plainly understood. */
  readonly refusedCommands: (line: string, rules: readonly string[]) => readonly string[] | null;
  /** The rules that a text of `allowed-tools` means. */
  readonly toolRulesOf: (text: string) => readonly string[];
  /** Of all settings. */
  readonly defaults: Readonly<Record<string, string>>;
}

/** Inputs whose default a check needs. */
export type DefaultedInput =
  | 'task-label'
  | 'task-sources'
  | 'notify'
  | 'state-store'
  | 'agent-version'
  | 'allowed-tools'
  | 'max-cost-usd'
  | 'max-cost-usd-per-day'
  | 'max-minutes'
  | 'answer-reviews'
  | 'answer-checks'
  | 'branch-prefix';

/** The workflow files with what their runs work with in the place of inputs that nobody gave: the checks look at what counts. Settings with problems, which are reported themselves, change nothing. */
export function withEffectiveInputs(
  files: readonly WorkflowFile[],
  answered: readonly AnsweredSettings[],
): readonly WorkflowFile[] {
  return files.map((file) => {
    if (file.kind !== 'workflow') return file;
    const { workflow } = file;
    const of = answered.find(({ workflow: path }) => path === workflow.path);
    if (of === undefined || of.problems.length > 0) return file;
    const found = of.settings
      .filter(({ origin }) => origin !== 'default')
      .map(({ input, text }) => [input, text] as const);
    const uses = workflow.uses.map((step) => ({ ...step, inputs: { ...step.inputs, ...Object.fromEntries(found) } }));
    return { ...file, workflow: { ...workflow, uses } };
  });
}
