import { PassThrough } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { oneLine } from '../../../core/text/one-line.ts';
import { sentence } from '../../../core/text/sentence.ts';
import { MINUTE_MS } from '../../../core/time.ts';
import {
  CHUNK_BYTES,
  LARGEST_ANSWER_BYTES,
  parseTreeAnswer,
  type TreeAnswer,
  type TreeQuestion,
} from '../../../core/work-tree/answers.ts';
import { UserError } from '../../../errors.ts';
import type { Log } from '../../../ports/machine.ts';
import type { Room } from '../../../ports/room.ts';
import { createTail } from '../../../processes/output-tail.ts';
import { describeEnd, runProgram, type ProgramEnd } from '../../../processes/run-program.ts';
import { holdOutput } from './held-output.ts';
import type { TreeRequestOf, TreeSetup } from './requests.ts';

/** How the worker is started. */
export interface TreeWorkerCommand {
  readonly file: string;
  readonly args: readonly string[];
  /** Its whole environment. */
  readonly environment: Readonly<Record<string, string>>;
  /** What one answer may take. */
  readonly answerMs?: number;
}

/** A worker that is there for one piece of work. */
export interface TreeTalk {
  /** Throws UserError for what the worker could not do. */
  ask<K extends TreeQuestion>(kind: K, question: TreeRequestOf<K>): Promise<TreeAnswer<K>>;
  /** What follows an answer. */
  bytes(count: number): Promise<Buffer>;
}

/** Runs a piece of work with a worker of its own; one after the other. No worker is left when it settles: whatever runs in the room next runs as the same user. */
export type WithWorker = <T>(body: (talk: TreeTalk) => Promise<T>) => Promise<T>;

/** Each git command of the worker has a minute. */
const ANSWER_MS = 5 * MINUTE_MS;
/** A worker ends with its input. */
const END_MS = 2_000;
const TAIL_BYTES = 2_000;
const CURE = 'Re-run the workflow. If it happens again, look for what ends processes on the runner, or a full disk.';

/** The worker is not there any more, or not one of ours: `isGone` tells the first. */
class WorkerLost extends Error {
  readonly isGone: boolean;

  constructor(message: string, isGone: boolean) {
    super(message);
    this.isGone = isGone;
  }
}

/** Workers in the room, each opened with `setup`. */
export function createWorkers(options: WorkersOptions): WithWorker {
  let last: Promise<unknown> = Promise.resolve();

  async function attempt<T>(body: (talk: TreeTalk) => Promise<T>): Promise<T> {
    const worker = startWorker(options);
    try {
      await worker.talk.ask('open', options.setup);
      return await body(worker.talk);
    } finally {
      await worker.end();
    }
  }

  async function insist<T>(body: (talk: TreeTalk) => Promise<T>): Promise<T> {
    for (let isAgain = false; ; isAgain = true) {
      try {
        return await attempt(body);
      } catch (error) {
        if (!(error instanceof WorkerLost)) throw error;
        // Somebody may have ended it: all that it is asked for can be done twice.
        if (error.isGone && !isAgain) continue;
        throw new UserError(
          'infrastructure',
          `The files of the isolated agent in ${options.setup.place.top} cannot be reached: ${sentence(error.message)} ${CURE}`,
          { cause: error },
        );
      }
    }
  }

  return (body) => {
    const work = last.then(() => insist(body));
    last = work.catch(() => undefined);
    return work;
  };
}

export interface WorkersOptions {
  readonly room: Pick<Room, 'enter' | 'end'>;
  readonly command: TreeWorkerCommand;
  readonly setup: TreeSetup;
  readonly log: Pick<Log, 'warning'>;
}

function startWorker({ room, command, log }: WorkersOptions): { readonly talk: TreeTalk; end(): Promise<void> } {
  const { file, args, environment, answerMs = ANSWER_MS } = command;
  const questions = new PassThrough();
  const stop = new AbortController();
  const words = createTail(TAIL_BYTES);
  let problem: string | null = null;
  let lostRoom: { readonly error: unknown } | null = null;

  /** Why it is ended; the first reason stays. */
  function dismiss(why: string): void {
    problem ??= why;
    held.end();
    stop.abort();
  }

  const held = holdOutput(LARGEST_ANSWER_BYTES + CHUNK_BYTES, () => {
    dismiss('the worker printed more than it was asked for');
  });
  let end: ProgramEnd | null = null;
  const ended = runProgram({
    file,
    args,
    cwd: '/',
    environment,
    input: questions,
    timeoutMs: Infinity,
    signal: stop.signal,
    family: { kind: 'room', room },
    outputs: [held.push, words.push],
  })
    .then(
      (how) => (end = how),
      (error: unknown) => void (lostRoom = { error }),
    )
    .finally(held.end);

  function lost(): Error {
    if (lostRoom !== null) return lostRoom.error as Error;
    if (problem !== null) return new WorkerLost(problem, false);
    const said = oneLine(words.text(), 300);
    const how = end === null ? 'ended' : describeEnd(end);
    return new WorkerLost(`the worker ${how}${said === '' ? '' : ` and said: ${said}`}`, true);
  }

  /** What it answers, in time. */
  async function within<T>(answer: Promise<T | null>): Promise<T> {
    const late = setTimeout(() => {
      dismiss(`the worker did not answer within ${String(Math.round(answerMs / 1000))} s`);
    }, answerMs);
    const found = await answer.finally(() => {
      clearTimeout(late);
    });
    if (found !== null) return found;
    // How it ended is known a moment after its output has.
    if (problem === null) await ended;
    throw lost();
  }

  return {
    talk: {
      async ask(kind, question) {
        if (!held.isEmpty()) dismiss('the worker answered before it was asked');
        questions.write(`${JSON.stringify({ ...question, kind })}\n`);
        const found = parseTreeAnswer(kind, await within(held.line()));
        if (found === null) {
          dismiss('the worker answered something else than what it was asked for');
          throw lost();
        }
        for (const warning of found.warnings) log.warning(oneLine(warning, 500));
        if (found.answer.kind === 'failed')
          throw new UserError('infrastructure', sentence(oneLine(found.answer.why, 1000)));
        return found.answer;
      },
      bytes: (count) => within(held.bytes(count)),
    },
    async end() {
      questions.end();
      await Promise.race([ended, sleep(END_MS, undefined, { ref: false })]);
      stop.abort();
      await ended;
    },
  };
}
