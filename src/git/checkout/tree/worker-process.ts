import { PassThrough } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { MINUTE_MS } from '../../../core/countdown.ts';
import { toOneLine, completeSentence } from '../../../core/text/phrase.ts';
import {
  CHUNK_BYTES,
  MAX_TREE_ANSWER_BYTES,
  parseTreeAnswer,
  type TreeAnswer,
  type TreeQuestion,
} from '../../../core/work-tree/answers.ts';
import { UserError } from '../../../errors.ts';
import type { Log } from '../../../ports/machine.ts';
import type { AgentSandbox } from '../../../ports/agent-sandbox.ts';
import { withNamedWait } from '../../../ports/waits.ts';
import { createOutputTail } from '../../../processes/output-tail.ts';
import { describeEnd, type ProgramEnd, runProgram } from '../../../processes/run-program.ts';
import type { TreeRequestOf, TreeSetup } from './inbox.ts';

/** Output of a program that nobody has read yet. */
interface HeldOutput {
  push(chunk: Buffer): void;
  /** Marks the end of the output. */
  end(): void;
  /** Returns the next line without its line feed, or null if the output ended or the line is longer than the buffer. */
  line(): Promise<string | null>;
  /** Returns the next `count` bytes, or null if the output ended before. */
  bytes(count: number): Promise<Buffer | null>;
  /** Returns true if the buffer is empty. */
  isEmpty(): boolean;
}

export interface TreeWorkerCommand {
  readonly file: string;
  readonly args: readonly string[];
  /** The worker's whole environment. */
  readonly environment: Readonly<Record<string, string>>;
  /** Maximum time of one answer, in ms. */
  readonly answerMs?: number;
}

/** A worker that is started for one piece of work. */
export interface TreeTalk {
  /** Asks the worker. Throws UserError if it could not do the work. */
  ask<K extends TreeQuestion>(kind: K, question: TreeRequestOf<K>): Promise<TreeAnswer<K>>;
  /** Returns the bytes that follow an answer. */
  bytes(count: number): Promise<Buffer>;
}

/**
 * Runs a piece of work with a separate worker, one after the other. The worker has ended when it settles, because the
 * next program in the sandbox runs as the same user.
 */
export type WithWorker = <T>(body: (talk: TreeTalk) => Promise<T>) => Promise<T>;

/** Maximum time of one answer, in ms; each git command of the worker has a minute. */
const ANSWER_MS = 5 * MINUTE_MS;

/** Time in ms for a worker to end after its input has ended. */
const END_MS = 2_000;

const TAIL_BYTES = 2_000;

const ADVICE =
  'Re-run the workflow. If it happens again, check whether something ends processes on the runner, or whether its disk is full.';

/** A worker that ended (`isGone`), or that sent an answer that only a forged worker sends. */
class WorkerLost extends Error {
  readonly isGone: boolean;

  constructor(message: string, isGone: boolean) {
    super(message);
    this.isGone = isGone;
  }
}

/** Creates workers in the agent's sandbox, each opened with `setup`. */
export function createWorkers(options: WorkersOptions): WithWorker {
  let last: Promise<unknown> = Promise.resolve();

  async function attempt<T>(body: (talk: TreeTalk) => Promise<T>): Promise<T> {
    const worker = startTreeWorker(options);
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
        // The agent may have killed the worker, so ask again: every question is safe to repeat.
        if (error.isGone && !isAgain) continue;
        throw new UserError(
          'infrastructure',
          `The files of the isolated agent in ${options.setup.place.top} cannot be reached: ${completeSentence(error.message)} ${ADVICE}`,
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

interface WorkersOptions {
  readonly agentSandbox: Pick<AgentSandbox, 'enter' | 'end'>;
  readonly command: TreeWorkerCommand;
  readonly setup: TreeSetup;
  readonly log: Pick<Log, 'warning'>;
}

function startTreeWorker({ agentSandbox, command, log }: WorkersOptions): {
  readonly talk: TreeTalk;
  end(): Promise<void>;
} {
  const { file, args, environment, answerMs = ANSWER_MS } = command;
  const questions = new PassThrough();
  const stop = new AbortController();
  const words = createOutputTail(TAIL_BYTES);
  let problem: string | null = null;
  let lostSandbox: { readonly error: unknown } | null = null;

  /** Ends the worker; the first reason is kept. */
  function dismiss(why: string): void {
    problem ??= why;
    held.end();
    stop.abort();
  }

  const held = holdOutput(MAX_TREE_ANSWER_BYTES + CHUNK_BYTES, () => {
    dismiss('the worker printed more than the answer');
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
    family: { kind: 'sandbox', agentSandbox },
    outputs: [held.push, words.push],
  })
    .then(
      (how) => (end = how),
      (error: unknown) => void (lostSandbox = { error }),
    )
    .finally(held.end);

  function lost(): Error {
    if (lostSandbox !== null) return lostSandbox.error as Error;
    if (problem !== null) return new WorkerLost(problem, false);
    const lastOutput = toOneLine(words.text(), 300);
    const how = end === null ? 'ended' : describeEnd(end);
    return new WorkerLost(`the worker ${how}${lastOutput === '' ? '' : ` and said: ${lastOutput}`}`, true);
  }

  /** Waits for an answer for a limited time. */
  async function within<T>(answer: Promise<T | null>): Promise<T> {
    const late = setTimeout(() => {
      dismiss(`the worker did not answer within ${String(Math.round(answerMs / 1000))} s`);
    }, answerMs);
    const found = await withNamedWait("git in the agent's work tree", () => answer).finally(() => {
      clearTimeout(late);
    });
    if (found !== null) return found;
    // The exit becomes known a moment after the end of the output, so wait for it.
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
          dismiss('the worker gave an answer that does not fit the question');
          throw lost();
        }
        for (const warning of found.warnings) log.warning(toOneLine(warning, 500));
        if (found.answer.kind === 'failed')
          throw new UserError('infrastructure', completeSentence(toOneLine(found.answer.why, 1000)));
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

/** Creates a buffer of at most `mostBytes`; on more output, the buffer ends and `overflow` is called. */
function holdOutput(mostBytes: number, overflow: () => void): HeldOutput {
  let held: Buffer[] = [];
  let size = 0;
  let isOver = false;
  let arrived = (): void => undefined;

  function finish(): void {
    isOver = true;
    arrived();
  }

  /** Removes and returns the first `count` bytes. */
  function cut(count: number): Buffer {
    const all = Buffer.concat(held);
    held = count === all.length ? [] : [all.subarray(count)];
    size -= count;
    return all.subarray(0, count);
  }

  /** Waits for more output; returns false at its end. */
  async function more(): Promise<boolean> {
    if (isOver) return false;
    const { promise, resolve } = Promise.withResolvers<undefined>();
    arrived = () => {
      resolve(undefined);
    };
    await promise;
    return true;
  }

  return {
    push(chunk) {
      if (isOver) return;
      if (size + chunk.length > mostBytes) {
        held = [];
        size = 0;
        finish();
        overflow();
        return;
      }
      held.push(chunk);
      size += chunk.length;
      arrived();
    },
    end: finish,
    async line() {
      // Remember the position, so that each chunk is searched only once.
      for (let seen = 0, before = 0; ;) {
        for (; seen < held.length; seen += 1) {
          const chunk = held[seen] ?? Buffer.alloc(0);
          const at = chunk.indexOf(10);
          if (at !== -1) {
            const line = cut(before + at + 1);
            return line.subarray(0, -1).toString();
          }
          before += chunk.length;
        }
        if (!(await more())) return null;
      }
    },
    async bytes(count) {
      while (size < count) if (!(await more())) return null;
      return cut(count);
    },
    isEmpty: () => size === 0,
  };
}
