/** A program to start. `environment` is its whole environment. */
export interface SandboxProgram {
  readonly file: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly environment: Readonly<Record<string, string>>;
  /** The tree that the program finds in place of the checkout, if the sandbox can do that; null = none. */
  readonly tree: string | null;
}

/** Folders of a run's sandbox, at the same paths inside and outside. */
export interface AgentSandboxFolders {
  /** Home of the sandbox's user, who owns it. */
  readonly home: string;
  /** Folder of the trees that the lane's code runs in. We create each tree and then give it to the sandbox's user. */
  readonly trees: string;
  /** Folder of the agent's conversation; we own it until it is given to the sandbox's user. */
  readonly session: string;
  /** Folder of the files that we hand in; we own it, and it is readable inside. */
  readonly inbox: string;
}

/**
 * The sandbox in which all of the lane's code runs, as a user of its own. It is null without isolation; programs then
 * run as this user.
 */
export interface AgentSandbox {
  readonly folders: AgentSandboxFolders;
  /**
   * Returns the program to start instead, so that the given one runs in the sandbox; throws a UserError when the
   * sandbox is lost.
   */
  enter(program: SandboxProgram): Promise<Omit<SandboxProgram, 'tree'>>;
  /** Returns the path at which a program that runs with `tree` finds it. */
  seenAt(tree: string): string;
  /**
   * Asks every process in the sandbox to end, and kills what is left after `graceMs`; returns descriptions of the
   * processes that survive, usually none.
   */
  end(graceMs: number): Promise<readonly string[]>;
  /**
   * Empties the temporary folders of a sandbox without processes and makes a new home, for a verification that must not
   * see any file of the agent; returns that home.
   */
  refresh(): Promise<string>;
  /** Makes the sandbox's user the owner of a folder and of everything in it that we own; links are not followed. */
  give(path: string): Promise<void>;
  /** Makes us the owner of a folder again; the sandbox must have no processes. Returns false if it was not given. */
  takeBack(path: string): Promise<boolean>;
}
