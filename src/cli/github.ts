import type { Forge } from '../ports/forge.ts';

/** The repository of a checkout on GitHub, as the person's own token shows it; `repository` as `acme/shop`. */
export interface Viewer {
  readonly repository: string;
  readonly forge: Pick<Forge, 'openIssuesWithLabel' | 'dependenciesOf' | 'statesOf' | 'issue' | 'pullRequestOf'>;
}

/** What came of a look. `no-token`: the person's environment has none. */
type Seen<T> =
  | { readonly kind: 'seen'; readonly value: T }
  | { readonly kind: 'no-token' }
  | { readonly kind: 'failed'; readonly why: string };

/** A checkout, and its remote that names the repository; null: `origin`. */
export interface GitHubCheckout {
  readonly folder: string;
  readonly remote: string | null;
  readonly log: (line: string) => void;
}

/** Looks at GitHub with GITHUB_TOKEN or GH_TOKEN; what the server refuses is an answer. */
export type LookAtGitHub = <T>(checkout: GitHubCheckout, look: (viewer: Viewer) => Promise<T>) => Promise<Seen<T>>;
