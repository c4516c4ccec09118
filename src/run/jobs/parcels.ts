import { createHash } from 'node:crypto';
import type { Config } from '../../config/config.ts';
import { type HandedFile, type HandedIntake, parseHandedIntake, type Work } from '../../handover/intake.ts';
import { serializeFailure, serializeWork } from '../../handover/work-parcel.ts';
import { changeFactTexts } from '../../core/isolation/texts.ts';
import { hasAnySession } from '../../core/lane/session.ts';
import { parseState, type LaneState } from '../../core/lane/state/state.ts';
import type { Outcome } from '../../core/outcome.ts';
import { serializeState } from '../../core/lane/state/serialize-state.ts';
import { mapTexts } from '../../core/text/redact.ts';
import { UserError } from '../../errors.ts';
import { COMMIT_BUNDLES, type HandoffFolder, type HandoffName } from '../../ports/handoff.ts';
import type { SealedTranscript } from '../../ports/state.ts';

/** A parcel of the gate that another job has taken, with its hash (`of`). */
export interface TakenIntake {
  readonly handed: HandedIntake;
  readonly of: string;
}

/**
 * Takes the gate's hand-over, if its bytes have the hash in the gate's own output. Throws a UserError for anything
 * else.
 */
export async function takeIntake(
  folder: Pick<HandoffFolder, 'read'>,
  { digest, path, lane }: Pick<Config['handoff'], 'digest' | 'path' | 'lane'>,
): Promise<TakenIntake> {
  const content = await folder.read('gate/intake.json');
  const name = `${lane === '' ? '' : `${lane}/`}gate/intake.json`;
  if (content === null)
    throw new UserError(
      'configuration',
      `The hand-over of the gate is missing: there is no ${name} in ${path}. Download the artifact of the job with \`phase: gate\` to that folder first, or set \`handoff-path\`.`,
    );
  // Hash the same bytes that are used, because another program may write to the file at any moment.
  const found = hashOf(content);
  if (found !== digest)
    throw new UserError(
      'infrastructure',
      `${name} in ${path} is not what the gate handed over: its SHA-256 is ${found}, and \`handoff-digest\` says ${digest}. Another job changed it, or another attempt of this run wrote it. It is not used.`,
    );
  const handed = parseHandedIntake(Buffer.from(content).toString());
  if (handed === null)
    throw new UserError(
      'configuration',
      `${name} in ${path} was written by another version of this action. Use the same version in all three jobs.`,
    );
  return { handed, of: digest };
}

/** Returns the file that a parcel names; null when the parcel names none, or the content has another hash. */
export async function readNamedFile(
  folder: HandoffFolder,
  name: HandoffName,
  named: HandedFile | null,
): Promise<SealedTranscript | null> {
  if (named === null) return null;
  const content = await folder.read(name);
  return content === null || hashOf(content) !== named.sha256 ? null : { sha256: named.sha256, content };
}

function hashOf(content: Uint8Array): string {
  return createHash('sha256').update(content).digest('hex');
}

/** The dependencies of the loop's job for handing over. */
export interface HandOverDeps extends TakenIntake {
  readonly folder: HandoffFolder;
  readonly redact: (text: string) => string;
  readonly readJournal: () => string | null;
  readonly bundle: (file: { readonly path: string; readonly since: string }) => Promise<void>;
}

/**
 * Hands over the work so far. A kill leaves either this hand-over or the previous one complete, because the files that
 * a parcel names are written before it. `session` null omits the transcript.
 */
export async function giveWork(
  { handed, of, folder, redact, readJournal, bundle }: HandOverDeps,
  work: Work,
  session: ((state: LaneState) => Promise<SealedTranscript | null>) | null,
): Promise<void> {
  const since = handed.intake.opened.head;
  const commits = work.head === since ? null : await bundled();
  const { lane } = work.state;
  const transcript = session === null || !hasAnySession(work.state) ? null : await session(work.state);
  if (transcript !== null) await folder.write('loop/session.sealed', transcript.content);
  const kept = transcript === null ? null : { sha256: transcript.sha256, bytes: transcript.content.length };
  // Redact the state separately, in its stored form, because its schema must still accept it.
  const stored = parseState(serializeState({ ...mapTexts(work.state, redact), transcript: null }), lane);
  const { isolation } = work;
  const clean: Work = {
    ...mapTexts(work, redact),
    state: stored.kind === 'state' ? stored.state : work.state,
    isolation: isolation === null ? null : changeFactTexts(isolation, redact),
  };
  // Lines after this hand-over do no harm: the parcel's state names the last line that belongs to it.
  const journal = readJournal();
  if (journal !== null) await folder.write('loop/journal.jsonl', journal);
  await folder.write('loop/work.json', serializeWork(clean, { intake: handed, of, commits, session: kept }));
  if (commits !== null) await folder.move(NEXT_BUNDLE, BUNDLE);

  async function bundled(): Promise<HandedFile> {
    await folder.remove(NEXT_BUNDLE);
    await bundle({ path: await folder.pathOf(NEXT_BUNDLE), since });
    const file = await folder.fingerprint(NEXT_BUNDLE);
    if (file === null)
      throw new UserError(
        'infrastructure',
        'The commits of this run cannot be handed over: their bundle is missing, or larger than any push that GitHub takes.',
      );
    return file;
  }
}

const [BUNDLE, NEXT_BUNDLE] = COMMIT_BUNDLES;

/** Returns the file of the commits that a parcel names; null when no file has that hash. */
export async function findNamedBundle(folder: HandoffFolder, { sha256 }: HandedFile): Promise<HandoffName | null> {
  for (const name of COMMIT_BUNDLES) if ((await folder.fingerprint(name))?.sha256 === sha256) return name;
  return null;
}

/** Hands over that the loop failed before a call. */
export async function giveFailure(
  { folder, of, redact }: Pick<HandOverDeps, 'folder' | 'of' | 'redact'>,
  failure: Extract<Outcome, { kind: 'failed' }>,
): Promise<void> {
  await folder.write('loop/work.json', serializeFailure({ ...failure, message: redact(failure.message) }, of));
}
