/** A file that one job of a split run leaves for another: `gate/` and `loop/` say whose it is. */
export type HandoffName =
  | 'gate/intake.json'
  | 'gate/session.sealed'
  | 'loop/work.json'
  | (typeof COMMIT_BUNDLES)[number]
  | 'loop/session.sealed'
  // For people: the job that publishes does not read it.
  | 'loop/beside.patch';

/** Where commits are handed over, and where they lie while the parcel still names those before. */
export const COMMIT_BUNDLES = ['loop/commits.bundle', 'loop/commits.next.bundle'] as const;

/** What can be said of a file without reading it whole: its hash, in hex digits, and its size. */
interface Fingerprint {
  readonly sha256: string;
  readonly bytes: number;
}

/** The folder through which the jobs of a split run hand over. What another job left there is data: sizes are bounded, and no link is followed. */
export interface HandoffFolder {
  /** null: there is no regular file of that name, or it is larger than any that we hand over. */
  read(name: HandoffName): Promise<Uint8Array | null>;
  fingerprint(name: HandoffName): Promise<Fingerprint | null>;
  /** Puts it there whole, or not at all; throws UserError when it cannot. */
  write(name: HandoffName, content: string | Uint8Array): Promise<void>;
  /** Where a program puts a file, or reads it; its folder is there. */
  pathOf(name: HandoffName): Promise<string>;
  /** Puts what lies under one name in the place of another, whole. */
  move(from: HandoffName, to: HandoffName): Promise<void>;
  /** Takes away what an earlier job or attempt left under that name. */
  remove(name: HandoffName): Promise<void>;
}
