import type { Choices } from '../../core/setup/files.ts';

/** Where a checkout's repository is on the web; `server` without a slash at the end. */
interface Home {
  readonly server: string;
  readonly repository: string;
}

/** A checkout as git knows it. */
export type Checkout =
  | { readonly kind: 'missing'; readonly why: string }
  | {
      readonly kind: 'open';
      readonly folder: string;
      readonly paths: readonly string[];
      /** As in a `Listing`. */
      readonly executable: readonly string[];
      /** Files of the set-up that git would not add, as it ignores them. */
      readonly ignored: readonly string[];
      readonly home: Home | null;
      /** Null: nothing says which. */
      readonly defaultBranch: string | null;
    };

/** What init has of the world besides the checkout's files. */
export interface SetupWorld {
  openCheckout(at: { readonly folder: string; readonly remote: string | null }): Promise<Checkout>;
  /** A file of this package; throws when it is not there. */
  packageFile(path: string): Promise<string>;
  digest(text: string): string;
  /** The repository that this package was installed from, or is a clone of, as `acme/ralph-action`; null: nobody knows. */
  home(): Promise<string | null>;
  /** Runs commands in a clean clone of HEAD, and returns the result as a sentence; `log` gets what happens meanwhile. */
  tryVerify(
    at: { readonly folder: string; readonly commands: readonly string[] },
    log: (line: string) => void,
  ): Promise<string>;
  /** Null: nobody is there to answer. */
  readonly person: Person | null;
  /** Whether the output shows colours. */
  readonly colours: boolean;
}

/** Who answers; null: they gave up. */
export interface Person {
  /** `offered`: other checks of CI, to add to `verify`. */
  choose(found: Choices, offered: readonly string[]): Promise<Choices | null>;
  /** Asks for agreement; a key shows the whole. */
  review(question: string, showAll: () => void): Promise<boolean>;
  confirm(question: string): Promise<boolean>;
}
