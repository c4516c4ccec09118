import type { AgentName } from '../agent-names.ts';
import type { ReportedSettings } from '../settings/effective.ts';
import { toIssueLane, QUEUE } from '../tasks/ids.ts';
import type { RalphStep, Workflow } from './workflow.ts';

/** A value that was asked for, or a sentence about why it is unknown. */
export type AskedValue<T> =
  | { readonly kind: 'known'; readonly value: T }
  | { readonly kind: 'unknown'; readonly why: string };

/**
 * A rule that applies to a branch, and its ruleset; `source` is the repository or organisation that has the ruleset.
 */
export interface BranchRule {
  readonly type: string;
  readonly ruleset: number;
  readonly source: string;
  readonly ofOrganization: boolean;
}

/** A repository's settings on GitHub. */
export interface RepositorySettings {
  readonly token: AskedValue<{ readonly writes: boolean; readonly mayOpenPullRequests: boolean }>;
  /** Names of the secrets that the repository's workflows can use, including those of its organisation. */
  readonly secrets: AskedValue<readonly string[]>;
  readonly hasLabel: AskedValue<boolean>;
  readonly workflows: AskedValue<readonly WorkflowState[]>;
  /** Texts of files on the default branch by their paths; null for a file that does not exist. */
  readonly onDefaultBranch: AskedValue<Readonly<Record<string, string | null>>>;
  /** Existing branches whose names conflict with the queue's branch or with one for an issue. */
  readonly inTheWay: AskedValue<readonly { readonly branch: string; readonly existing: readonly string[] }[]>;
  /** The rules of the queue's branch and of one for an issue, as examples of all branches of Ralph. */
  readonly branchRules: AskedValue<readonly BranchRule[]>;
  /**
   * The classic protection rules of the same branches; null if neither branch exists, because GitHub returns none then.
   */
  readonly branchProtection: AskedValue<readonly string[] | null>;
  readonly pushRulesets: AskedValue<readonly { readonly id: number; readonly name: string }[]>;
}

/** Returns example branches of Ralph, for settings that GitHub only returns by a branch's name. */
export function listExampleBranches(prefix: string): readonly string[] {
  return [prefix + QUEUE, prefix + toIssueLane(1)];
}

/** A workflow's state; `state` is GitHub's word: `active`, `disabled_inactivity`, `disabled_manually`. */
interface WorkflowState {
  readonly path: string;
  readonly state: string;
}

/** Returns settings that are all unknown for one reason. */
export function createUnknownSettings(why: string): RepositorySettings {
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

/** The repository on GitHub; `webUrl` has no slash at the end. */
export interface RepositoryFacts {
  readonly name: string;
  readonly webUrl: string;
  readonly settings: RepositorySettings;
}

/** The result of a trial of the agent's key in this environment. */
export type KeyTrial =
  | { readonly kind: 'none' }
  /** A key exists, but not in the form that the agent needs; `problems` are sentences. */
  | { readonly kind: 'malformed'; readonly problems: readonly string[] }
  /** A key exists under a name that the agent does not read; `why` is a sentence. */
  | { readonly kind: 'misnamed'; readonly why: string }
  | { readonly kind: 'form-only' }
  | { readonly kind: 'accepted' }
  | { readonly kind: 'refused'; readonly status: number }
  | { readonly kind: 'unanswered'; readonly why: string };

/** The result of the verify commands on the base; `not-tried` means that nobody asked for it. */
export type BaseTrial =
  | { readonly kind: 'not-tried' }
  /**
   * The result that an earlier run found for the same commit and commands; `failed` is the command, or null if all
   * passed.
   */
  | { readonly kind: 'remembered'; readonly failed: string | null }
  | { readonly kind: 'passed'; readonly seconds: number }
  | { readonly kind: 'failed'; readonly command: string; readonly tail: string }
  /** A command needs a variable that it does not get; `why` is a sentence for each. */
  | { readonly kind: 'withheld'; readonly why: string }
  | { readonly kind: 'impossible'; readonly why: string };

/**
 * The steps of an iteration, as runs read their file from the base branch. `where` is the workflow, or null for this
 * run and for `ralph run`.
 */
export interface PipelineTrial {
  readonly where: string | null;
  readonly found:
    | { readonly kind: 'unknown'; readonly why: string }
    /** `problems` are sentences with file, line and column. */
    | { readonly kind: 'wrong'; readonly problems: readonly string[] }
    /** `says` lists the steps and the unused files; empty if there is no pipeline file. */
    | { readonly kind: 'read'; readonly says: readonly string[]; readonly warnings: readonly string[] };
  /** Variables that the pipeline's files name and whose values only a run knows. */
  readonly openVariables: readonly string[];
}

/** A workflow file of the checkout that uses the action, or that cannot be read; `why` is the reason. */
export type WorkflowFile =
  | { readonly kind: 'workflow'; readonly text: string; readonly workflow: Workflow }
  | { readonly kind: 'unreadable'; readonly path: string; readonly why: string };

/** A workflow of the checkout that does not use the action; `name` is the one that `workflow_run` takes. */
export interface OtherWorkflow {
  readonly name: string;
  readonly checksPullRequests: boolean;
}

/** Everything that the checks read. */
export interface DoctorFacts {
  readonly files: readonly WorkflowFile[];
  readonly others: readonly OtherWorkflow[];
  /** One entry for each workflow. */
  readonly settings: readonly ReportedSettings[];
  readonly pipelines: readonly PipelineTrial[];
  readonly repository: AskedValue<RepositoryFacts>;
  readonly key: KeyTrial;
  readonly verify: BaseTrial;
  /** Text of .ralph/AGENT.md; empty if it does not exist. */
  readonly agentNotes: string;
  readonly hasNpm: boolean;
  /** The cost that all runs of today (UTC) used or reserved, in US dollars. */
  readonly spentTodayUsd: AskedValue<number>;
}

/** The rules of the action that the checks need: its inputs, events, login and tool rules. */
export interface ActionRules {
  /** The inputs of action.yml. */
  readonly inputs: readonly string[];
  /** The inputs that only the action of one job has. */
  readonly jobInputs: readonly string[];
  /** Returns what became of an old name as a verb phrase, or null if the name is not an old one. */
  readonly renamed: (name: string) => string | null;
  /** Returns the problems of inputs' texts, as verb phrases. */
  readonly inputProblems: (
    texts: Readonly<Record<string, string>>,
  ) => readonly { readonly name: string; readonly why: string }[];
  readonly events: readonly { readonly event: string; readonly types: readonly string[] | null }[];
  /** Returns the problems of a login with these variables, for the agents that a step's inputs name. */
  readonly loginProblems: (
    environment: Readonly<Record<string, string>>,
    step: Pick<RalphStep, 'action' | 'inputs'>,
  ) => readonly string[];
  /** Returns the agents that the inputs name, in their order. If `path` is null, `version` is installed. */
  readonly agents: (
    inputs: Readonly<Record<string, string>>,
  ) => readonly { readonly name: AgentName; readonly version: string; readonly path: string | null }[];
  /** Returns the models that the inputs name and that have no known price. */
  readonly unpricedModels: (inputs: Readonly<Record<string, string>>) => readonly string[];
  readonly keyInputs: readonly string[];
  /**
   * Returns the simple commands of a line that these rules do not allow, or null if the line cannot be parsed with
   * certainty.
   */
  readonly refusedCommands: (line: string, rules: readonly string[]) => readonly string[] | null;
  /** Returns the rules that a text of `allowed-tools` means. */
  readonly toolRulesOf: (text: string) => readonly string[];
  readonly defaults: Readonly<Record<string, string>>;
}

/** The inputs whose default a check needs. */
export type DefaultedInput =
  | 'task-label'
  | 'task-sources'
  | 'notify'
  | 'auto-merge'
  | 'sign-commits'
  | 'state-store'
  | 'agent-version'
  | 'allowed-tools'
  | 'max-cost-usd'
  | 'max-cost-usd-per-day'
  | 'max-minutes'
  | 'answer-reviews'
  | 'answer-checks'
  | 'branch-prefix';

/**
 * Returns the workflow files with the effective settings in place of inputs that are not given, because the checks look
 * at the values that count. Settings with problems, which are reported separately, change nothing.
 */
export function withEffectiveInputs(
  files: readonly WorkflowFile[],
  answered: readonly ReportedSettings[],
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
