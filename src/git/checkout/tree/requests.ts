import type { ObjectId } from '../../../core/evidence.ts';
import type { TreeQuestion } from '../../../core/work-tree/answers.ts';
import type { WorkFiles } from '../../../ports/repository.ts';
import type { OwnSetup } from '../private-repository.ts';
import type { WorkspacePlace } from '../workspace.ts';
import type { AsFound } from './found/as-found.ts';
import type { BesideQuestion } from './found/beside.ts';

/** What a worker needs to know of the work tree; all of it was found before an agent could touch it. */
export interface TreeSetup {
  readonly place: WorkspacePlace;
  /** Settings and excludes of git directories of ours over it. */
  readonly own: Pick<OwnSetup, 'config' | 'excludes' | 'sparse'>;
  /** The checkout's own config, without credentials, in base64. */
  readonly config: string;
  /** Where the worker keeps its git directories: the agent may do with them what it likes. */
  readonly outbox: string;
  /** Where what we lend lies: ours, and read-only for the worker. */
  readonly inbox: string;
  /** Commits whose past is not in the inbox. */
  readonly roots: readonly ObjectId[];
}

/** What each question says. */
interface Questions {
  /** The first one of all. */
  readonly open: TreeSetup;
  /** To forget all that the worker kept from one time to the next. */
  readonly reset: object;
  /** `has`: trees that need not be sent again. */
  readonly read: { readonly tip: ObjectId; readonly has: readonly ObjectId[]; readonly asFound: readonly AsFound[] };
  /** A part of what was read. */
  readonly pack: { readonly of: 'commits' | 'content'; readonly from: number };
  readonly 'put-back': { readonly wanted: ObjectId; readonly asFound: readonly AsFound[] };
  readonly 'patch-of': BesideQuestion;
  readonly leave: { readonly branch: string; readonly tip: ObjectId; readonly has: readonly ObjectId[] };
  readonly 'read-texts': { readonly paths: readonly string[] };
  readonly 'read-end': { readonly path: string; readonly maxBytes: number };
  readonly replace: Parameters<WorkFiles['replace']>[0];
  readonly remove: { readonly path: string };
}

/** What a question of a kind says beside its kind. */
export type TreeRequestOf<K extends TreeQuestion> = Questions[K];

/** A question to the worker, one line of JSON. It comes from us alone. */
export type TreeRequest = { readonly [K in TreeQuestion]: { readonly kind: K } & Questions[K] }[TreeQuestion];

/** Where packs, the checkout's own objects and the first index lie in the inbox. */
export const INBOX = { objects: 'objects', history: 'history', index: 'index' } as const;
