import type { FoundTask } from '../../core/tasks/files/requirements.ts';

/** What `ralph import` has of the world. Neither throws for what a server or an agent does. */
export interface ImportWorld {
  /** Gives the agent a folder with the document alone in it, and returns what it wrote to the answer's file. */
  askAgent(
    asked: AskedAgent,
  ): Promise<{ readonly kind: 'answer'; readonly text: string } | { readonly kind: 'failed'; readonly why: string }>;
  /** The open issues of the checkout's repository that have the label, as tasks whose titles end in their numbers. */
  issues(
    asked: AskedIssues,
  ): Promise<
    { readonly kind: 'tasks'; readonly tasks: readonly FoundTask[] } | { readonly kind: 'failed'; readonly why: string }
  >;
}

export interface AskedAgent {
  readonly document: { readonly name: string; readonly text: string };
  readonly answerName: string;
  readonly prompt: string;
  /** null: `claude` on the PATH. */
  readonly agentPath: string | null;
  /** null: the CLI's choice. */
  readonly model: string | null;
  readonly maxCostUsd: number;
  readonly log: (line: string) => void;
}

export interface AskedIssues {
  /** The checkout, whose remote `origin` names the repository. */
  readonly folder: string;
  readonly label: string;
  readonly log: (line: string) => void;
}

/** Loaded by the command alone: the others start without agent, git and network. */
export type OpenImport = () => Promise<ImportWorld>;
