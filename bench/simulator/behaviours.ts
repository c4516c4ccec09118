import type { TaskId } from '../../src/core/tasks/ids.ts';
import { chance, createRandom, integer, pick, type Random } from './random.ts';
import type { Claims, AgentOutput } from './agent-output.ts';
import { after, stepsLeft, testsPass, type Deed, type World } from './world.ts';

/**
 * The situation of an agent call. `turn` counts the calls of the whole history, `taskTurn` those for the task,
 * `sessionTurn` those of the session, from 0.
 */
interface Call {
  readonly turn: number;
  readonly taskTurn: number;
  readonly sessionTurn: number;
  readonly task: TaskId;
  readonly world: World;
  readonly now: number;
}

/** The agent's actions in the call. */
export interface Act {
  readonly deed: Deed;
  readonly output: AgentOutput;
  readonly end: 'exited' | 'crashed' | 'timeout';
  readonly minutes: number;
}

/** An agent as a function without memory, so that it can be evaluated again for calls that were never made. */
export type Mind = (call: Call) => Act;

export interface Behaviour {
  /** Minimum and maximum number of useful steps per task. */
  readonly steps: readonly [number, number];
  readonly create: (random: Random) => Mind;
}

const small = [1, 3] as const;

/** Every kind of agent by its name. */
export const behaviours = {
  finisher: { steps: [1, 1], create: (random) => honest(random) },
  'finisher-2-3-steps-a-task': { steps: [2, 3], create: (random) => honest(random) },
  'steady-worker': { steps: [4, 7], create: (random) => honest(random) },
  'growing-output': { steps: small, create: (random) => talking(honest(random), (turn) => 300 * (turn + 1)) },
  'shrinking-output': { steps: [2, 6], create: (random) => talking(honest(random), shrinking) },
  'progress-every-2nd': { steps: small, create: (random) => every(2, integer(random, 0, 1), random) },
  'progress-every-2nd-shrinking': {
    steps: small,
    create: (random) => talking(every(2, integer(random, 0, 1), random), shrinking),
  },
  'progress-every-3rd': { steps: [1, 2], create: (random) => every(3, integer(random, 0, 2), random) },
  'progress-every-3rd-shrinking': {
    steps: [1, 2],
    create: (random) => talking(every(3, integer(random, 0, 2), random), shrinking),
  },
  'progress-every-4th': { steps: [1, 2], create: (random) => every(4, integer(random, 0, 3), random) },
  'works-never-says-done': { steps: small, create: (random) => unclaimed(honest(random)) },
  'works-no-block': { steps: small, create: (random) => prose(honest(random), 'I changed the code as asked.') },
  'works-says-done-in-prose': { steps: [1, 1], create: (random) => prose(honest(random), 'All tasks are complete.') },
  'works-garbage-output': { steps: small, create: (random) => garbled(honest(random), integer(random, 0, 1e9)) },
  'asks-once-then-works': {
    steps: small,
    create: (random) => until(1, asking, until(integer(random, 1, 3), idle, honest(random))),
  },
  'denied-once-then-works': { steps: small, create: (random) => until(1, denied, honest(random)) },
  'denied-works-nevertheless': { steps: small, create: (random) => withDenials(honest(random)) },
  'rate-limit-then-works': { steps: small, create: (random) => limited(honest(random), integer(random, 0, 1e9)) },
  'overloaded-at-times': {
    steps: small,
    create: (random) => sometimes(overloaded, honest(random), { seed: integer(random, 0, 1e9), probability: 0.3 }),
  },
  'overloaded-for-long': { steps: small, create: (random) => until(integer(random, 3, 6), overloaded, honest(random)) },
  'crashes-at-times': {
    steps: small,
    create: (random) => sometimes(crashed, honest(random), { seed: integer(random, 0, 1e9), probability: 0.3 }),
  },
  'timeouts-with-changes': { steps: small, create: (random) => timingOut(honest(random)) },
  'same-error-works': { steps: [2, 7], create: (random) => complaining(honest(random)) },
  'tests-only-finishes': { steps: [1, 2], create: (random) => testing(honest(random)) },
  'tests-only-long': { steps: [3, 5], create: (random) => testing(honest(random)) },
  'early-EXIT_SIGNAL': { steps: [1, 1], create: (random) => exiting(honest(random)) },
  'EXIT_SIGNAL-midway': { steps: [2, 5], create: (random) => exiting(honest(random)) },
  'BLOCKED-once-then-works': { steps: small, create: (random) => until(1, blocked, honest(random)) },
  'hiccup-then-works': { steps: small, create: (random) => until(integer(random, 1, 2), idle, honest(random)) },
  'lost-in-a-long-session': { steps: small, create: (random) => forgetful(honest(random), integer(random, 2, 5)) },
  'one-task-too-hard': { steps: small, create: (random) => exceptFor('issue-1', honest(random)) },
  stuck: { steps: small, create: () => idle },
  'stuck-shrinking': { steps: small, create: () => talking(idle, shrinking) },
  'stuck-garbage-output': { steps: small, create: (random) => garbled(idle, integer(random, 0, 1e9)) },
  liar: { steps: small, create: () => lying },
  'liar-about-everything': { steps: small, create: () => exiting(lying) },
  'liar-about-tests': { steps: [2, 4], create: (random) => boasting(style(random)) },
  'claims-half-the-work': { steps: [2, 4], create: (random) => early(style(random)) },
  'asks-only': { steps: small, create: () => asking },
  'denied-only': { steps: small, create: () => denied },
  'crashes-always': { steps: small, create: () => crashed },
  'timeouts-without-changes': { steps: small, create: () => () => timeout('nothing') },
  'BLOCKED-always': { steps: small, create: () => blocked },
  'BLOCKED-asks-always': { steps: small, create: () => blockedAsking },
  'tests-only-no-use': {
    steps: small,
    create: () => () => act('test-noise', { status: 'IN_PROGRESS', files: 1, work: 'TESTING' }),
  },
  'commits-and-reverts': { steps: small, create: () => () => act('commit-and-revert', { status: 'IN_PROGRESS' }) },
  'empty-commits': { steps: small, create: () => () => act('empty-commit', { status: 'IN_PROGRESS' }) },
  'undoes-its-last-call': { steps: small, create: () => () => act('swing', { status: 'IN_PROGRESS', files: 1 }) },
  'busy-without-use': { steps: small, create: () => () => act('noise', { status: 'IN_PROGRESS', files: 1 }) },
  'good-then-stuck': {
    steps: [2, 5],
    create: (random) =>
      until(integer(random, 1, 6), honest(random), pick(random, [idle, lying, asking, denied, crashed, blocked])),
  },
  'good-stuck-good': { steps: [3, 6], create: goodStuckGood },
  mixed: { steps: small, create: mixed },
} satisfies Record<string, Behaviour>;

interface Style {
  readonly chars: number;
  readonly claimsExit: boolean;
  readonly minutes: number;
}

function style(random: Random): Style {
  return { chars: integer(random, 300, 1500), claimsExit: random() < 0.5, minutes: integer(random, 1, 4) };
}

export function honest(random: Random): Mind {
  const own = style(random);
  return (call) => honestAs(call, own);
}

/** Makes one step and reports it honestly. */
function honestAs({ world, task }: Call, { chars, claimsExit, minutes }: Style): Act {
  const next = after(world, 'step', task);
  const finished = (next.content.left[task] ?? 0) === 0;
  const changed = next !== world && (world.content.left[task] ?? 0) > 0;
  const claims: Partial<Claims> = finished
    ? {
        status: 'COMPLETE',
        tasks: changed ? 1 : 0,
        exit: claimsExit && stepsLeft(next) === 0,
        files: changed ? 1 : 0,
        tests: testsPass(next) ? 'PASSING' : 'FAILING',
      }
    : { status: 'IN_PROGRESS', files: 1, tests: testsPass(next) ? 'PASSING' : 'FAILING' };
  return { ...act('step', claims, chars), minutes };
}

export function act(deed: Deed, claims: Partial<Claims>, chars = 600): Act {
  const honestly: Claims = {
    status: 'IN_PROGRESS',
    exit: false,
    tasks: 0,
    files: 0,
    tests: 'NOT_RUN',
    work: 'IMPLEMENTATION',
    asks: null,
  };
  return {
    deed,
    end: 'exited',
    minutes: 2,
    output: { kind: 'block', ...honestly, ...claims, text: 'This is what I did.', chars, denied: [] },
  };
}

export const idle: Mind = () => act('nothing', { status: 'IN_PROGRESS' });
export const lying: Mind = () => act('nothing', { status: 'COMPLETE', tasks: 1, files: 2, tests: 'PASSING' });
export const blocked: Mind = () => act('nothing', { status: 'BLOCKED' });
export const blockedAsking: Mind = () => act('nothing', { status: 'BLOCKED', asks: 'Which currency: EUR or USD?' });
export const denied: Mind = () => refused(act('nothing', {}));
export const asking: Mind = () => ({
  ...act('nothing', {}),
  output: { kind: 'prose', text: 'Which database should I use?', chars: 0, denied: [] },
});
export const crashed: Mind = () => ({ deed: 'nothing', end: 'crashed', minutes: 1, output: { kind: 'silence' } });
export const unavailable: Mind = () => ({
  deed: 'nothing',
  end: 'crashed',
  minutes: 1,
  output: { kind: 'unavailable' },
});
const overloaded: Mind = () => ({ deed: 'nothing', end: 'crashed', minutes: 1, output: { kind: 'overloaded' } });

function timeout(deed: Deed): Act {
  return { deed, end: 'timeout', minutes: 15, output: { kind: 'silence' } };
}

/** Runs out of time in every second call, after its step. */
function timingOut(mind: Mind): Mind {
  return (call) => (call.turn % 2 === 0 ? timeout('step') : mind(call));
}

function exceptFor(task: TaskId, mind: Mind): Mind {
  return (call) => (call.task === task ? idle(call) : mind(call));
}

/** Repeats itself once its session has become too long. */
function forgetful(mind: Mind, attention: number): Mind {
  return (call) => (call.sessionTurn < attention ? mind(call) : idle(call));
}

function refused(made: Act): Act {
  return changed(made, (output) => ({ ...output, denied: ['docker ps'] }));
}

/** Returns the act with another text, or unchanged if it has no text. */
function changed(made: Act, change: (output: Extract<AgentOutput, { readonly text: string }>) => AgentOutput): Act {
  return 'text' in made.output ? { ...made, output: change(made.output) } : made;
}

export function shrinking(turn: number): number {
  return Math.ceil(20_000 * 0.25 ** turn);
}

export function talking(mind: Mind, chars: (turn: number) => number): Mind {
  return (call) => changed(mind(call), (output) => ({ ...output, chars: chars(call.turn) }));
}

function every(nth: number, phase: number, random: Random): Mind {
  const own = style(random);
  return (call) => ((call.turn + phase) % nth === 0 ? honestAs(call, own) : idle(call));
}

export function unclaimed(mind: Mind): Mind {
  return (call) =>
    changed(mind(call), (output) =>
      output.kind === 'block' ? { ...output, status: 'IN_PROGRESS', exit: false, tasks: 0 } : output,
    );
}

export function prose(mind: Mind, text: string): Mind {
  return (call) => changed(mind(call), ({ chars, denied }) => ({ kind: 'prose', text, chars, denied }));
}

function garbled(mind: Mind, seed: number): Mind {
  return (call) => {
    const random = createRandom(seed + call.turn);
    return {
      ...mind(call),
      output: {
        kind: 'bytes',
        bytes: Uint8Array.from({ length: integer(random, 0, 400) }, () => integer(random, 0, 255)),
      },
    };
  };
}

function withDenials(mind: Mind): Mind {
  return (call) => refused(mind(call));
}

export function complaining(mind: Mind): Mind {
  return (call) =>
    changed(mind(call), (output) => ({
      ...output,
      text: 'One thing is left for later:\nTypeError: cannot read properties of undefined',
    }));
}

function testing(mind: Mind): Mind {
  return (call) => ({
    ...changed(mind(call), (output) => (output.kind === 'block' ? { ...output, work: 'TESTING' } : output)),
    deed: 'test-step',
  });
}

export function exiting(mind: Mind): Mind {
  return (call) => changed(mind(call), (output) => (output.kind === 'block' ? { ...output, exit: true } : output));
}

/** Leaves broken code behind and claims that the tests pass. */
function boasting({ chars }: Style): Mind {
  return () => act('broken-step', { status: 'COMPLETE', tasks: 1, files: 1, tests: 'PASSING' }, chars);
}

/** Claims that a task is done after its first step. */
function early(own: Style): Mind {
  return () => ({ ...act('step', { status: 'COMPLETE', tasks: 1, files: 1 }, own.chars), minutes: own.minutes });
}

export function until(turn: number, first: Mind, then: Mind): Mind {
  return (call) => (call.turn < turn ? first(call) : then(call));
}

/** Behaves like `other` occasionally, but never twice in a row. */
function sometimes(
  other: Mind,
  mind: Mind,
  { seed, probability }: { readonly seed: number; readonly probability: number },
): Mind {
  const isOther = (turn: number): boolean => turn >= 0 && chance(seed, turn, probability) && !isOther(turn - 1);
  return (call) => (isOther(call.turn) ? other(call) : mind(call));
}

function limited(mind: Mind, seed: number): Mind {
  return sometimes(
    ({ now }) => ({
      deed: 'nothing',
      end: 'crashed',
      minutes: 1,
      output: { kind: 'usage-limit', resumeAt: now + integer(createRandom(seed), 10, 300) * 60_000 },
    }),
    mind,
    { seed, probability: 0.3 },
  );
}

function goodStuckGood(random: Random): Mind {
  const good = honest(random);
  const from = integer(random, 1, 4);
  return until(
    from,
    good,
    until(from + integer(random, 1, 6), pick(random, [idle, lying, asking, denied, crashed]), good),
  );
}

/** Behaves differently in each call; at least half of the calls are work. */
function mixed(random: Random): Mind {
  const seed = integer(random, 0, 1e9);
  const good = honest(random);
  const others: [Mind, ...Mind[]] = [
    idle,
    lying,
    asking,
    denied,
    crashed,
    overloaded,
    blocked,
    unclaimed(good),
    exiting(good),
    prose(good, 'Done with this part.'),
  ];
  return (call) => (chance(seed, call.turn, 0.5) ? good(call) : pick(createRandom(seed + call.turn), others)(call));
}
