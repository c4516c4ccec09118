import type { SetupChoices } from '../../core/setup/files.ts';

/** The web address of a checkout's repository; `server` has no slash at the end. */
interface Home {
  readonly server: string;
  readonly repository: string;
}

/** A checkout as git knows it. */
export type SetupCheckout =
  | { readonly kind: 'missing'; readonly why: string }
  | {
      readonly kind: 'open';
      readonly folder: string;
      readonly paths: readonly string[];
      /** The executable files, as in a `RepositoryListing`. */
      readonly executable: readonly string[];
      /** Files of the set-up that git ignores and therefore would not add. */
      readonly ignored: readonly string[];
      readonly home: Home | null;
      /** The default branch, or null if it is unknown. */
      readonly defaultBranch: string | null;
    };

/** The access of init to everything other than the checkout's files. */
export interface SetupWorld {
  openCheckout(at: { readonly folder: string; readonly remote: string | null }): Promise<SetupCheckout>;
  /** Reads a file of this package; throws if it does not exist. */
  packageFile(path: string): Promise<string>;
  digest(text: string): string;
  /**
   * Returns the repository that this package was installed from or is a clone of, as `acme/ralph-action`; null if
   * unknown.
   */
  home(): Promise<string | null>;
  /**
   * Runs commands in a clean clone of HEAD, and returns the result as a sentence; `log` receives the output line by
   * line.
   */
  tryVerify(
    at: { readonly folder: string; readonly commands: readonly string[] },
    log: (line: string) => void,
  ): Promise<string>;
  /** The person who answers, or null if nobody can answer. */
  readonly person: Person | null;
  /** True if the output shows colours. */
  readonly colours: boolean;
  /** The width of the terminal, or null if the output is not a terminal. */
  readonly columns: number | null;
}

/** The person who answers questions. */
export interface Person {
  /**
   * Lets the person change the choices; returns null if they cancel. `offered` are other checks of CI to add to
   * `verify`.
   */
  choose(found: SetupChoices, offered: readonly string[]): Promise<SetupChoices | null>;
  /** Asks for agreement; a key shows all changes. */
  review(question: string, showAll: () => void): Promise<boolean>;
  confirm(question: string): Promise<boolean>;
}
