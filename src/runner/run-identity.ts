import { createHmac } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { sentence } from '../core/text/sentence.ts';
import { messageOf, UserError } from '../errors.ts';

/** What main and post of one use of the action know of their run without telling each other. */
export interface RunIdentity {
  /** UUID that marks the run's processes. */
  readonly runTag: string;
  /** The run's private folder. */
  readonly runFolder: string;
  /** Seals what main leaves on disk for post. Nobody without the job's token can make it. */
  readonly key: Buffer;
}

type Environment = Readonly<Record<string, string | undefined>>;

/** A job that uses the action more often than that has another problem. */
const MAX_USES = 8;
/** Only what the runner sets for each step itself: what an agent writes to GITHUB_ENV must not change who we are. */
const SECRETS = ['INPUT_GITHUB-TOKEN', 'ACTIONS_RUNTIME_TOKEN'];
const PLACE = ['RUNNER_TEMP', 'GITHUB_RUN_ID', 'GITHUB_RUN_ATTEMPT', 'GITHUB_JOB'];

/** The identities of this job's uses of the action, in the order in which they are taken; main and post derive the same. */
export function identitiesOf(environment: Environment): readonly [RunIdentity, ...RunIdentity[]] {
  const textsOf = (names: readonly string[]): string =>
    JSON.stringify(names.map((name) => (environment[name] ?? '').trim()));
  const job = digest(textsOf(SECRETS), textsOf(PLACE));
  const identity = (use: number): RunIdentity => {
    const runTag = uuidFrom(digest(job, `tag ${String(use)}`));
    const runFolder = join((environment['RUNNER_TEMP'] ?? '').trim(), `ralph-run-${runTag}`);
    return { runTag, runFolder, key: digest(job, `key ${runTag}`) };
  };
  return [identity(0), ...Array.from({ length: MAX_USES - 1 }, (_, at) => identity(at + 1))];
}

/** Makes the folder of the first identity that nobody has taken in this job; throws a UserError when it cannot. */
export function takeIdentity(environment: Environment): RunIdentity {
  for (const identity of identitiesOf(environment)) if (isMade(identity, environment)) return identity;
  throw new UserError(
    'infrastructure',
    `This job uses the action more than ${String(MAX_USES)} times, or the folders of its runs in RUNNER_TEMP are taken. Use it fewer times in one job.`,
  );
}

/** Whether the folder is ours alone: made just now, and no link. */
function isMade({ runFolder }: RunIdentity, environment: Environment): boolean {
  try {
    mkdirSync(runFolder, { mode: 0o700 });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw new UserError(
      'infrastructure',
      `No folder can be made in RUNNER_TEMP, which is "${environment['RUNNER_TEMP'] ?? ''}": ${sentence(messageOf(error))} It must be an existing folder that the runner may write to.`,
      { cause: error },
    );
  }
}

function digest(key: string | Buffer, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest();
}

/** Version 8: made of what its maker likes. */
function uuidFrom(bytes: Buffer): string {
  const hex = bytes.subarray(0, 16).toString('hex');
  const variant = ((Number.parseInt(hex.charAt(16), 16) & 0x3) | 0x8).toString(16);
  return [
    hex.slice(0, 8),
    hex.slice(8, 12),
    `8${hex.slice(13, 16)}`,
    `${variant}${hex.slice(17, 20)}`,
    hex.slice(20, 32),
  ].join('-');
}
