/** A file that one job of a split run leaves for another; `gate/` and `loop/` name the job that writes it. */
export type HandoffName =
  | 'gate/intake.json'
  | 'gate/session.sealed'
  | 'loop/work.json'
  | (typeof COMMIT_BUNDLES)[number]
  | 'loop/session.sealed'
  | 'loop/journal.jsonl'
  // This file is for people, so the job that publishes does not read it.
  | 'loop/beside.patch';

/**
 * The files in which commits are handed over. The second contains new commits while the parcel still names the first.
 */
export const COMMIT_BUNDLES = ['loop/commits.bundle', 'loop/commits.next.bundle'] as const;

/** The hash of a file, in hex digits, and its size, both computed without holding the whole file in memory. */
interface Fingerprint {
  readonly sha256: string;
  readonly bytes: number;
}

/**
 * The folder through which the jobs of a split run hand over. Files that another job left there are untrusted data:
 * sizes are bounded, and no link is followed.
 */
export interface HandoffFolder {
  /**
   * Returns the content; returns null if there is no regular file of that name, or it is larger than any that we hand
   * over.
   */
  read(name: HandoffName): Promise<Uint8Array | null>;
  fingerprint(name: HandoffName): Promise<Fingerprint | null>;
  /** Writes the file completely or not at all; throws UserError if that fails. */
  write(name: HandoffName, content: string | Uint8Array): Promise<void>;
  /** Returns the path at which a program writes or reads the file; its folder exists. */
  pathOf(name: HandoffName): Promise<string>;
  /** Replaces one file with another, atomically. */
  move(from: HandoffName, to: HandoffName): Promise<void>;
  /** Removes the file of that name that an earlier job or attempt left. */
  remove(name: HandoffName): Promise<void>;
}
