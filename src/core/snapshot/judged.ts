import { parseStateAt, type LaneState, type ParsedState } from '../lane/state/state.ts';
import type { LaneRecord, ParsedRecord } from '../sharing/lane-record.ts';
import { withAnswers } from '../sharing/waiting-issues.ts';
import { type LaneId, QUEUE } from '../tasks/ids.ts';
import { listLaneAnswers, parseLaneIn, type Snapshot } from './snapshot.ts';
import { listFirstNames, completeSentence } from '../text/phrase.ts';
import { withoutWords } from '../feedback/memory.ts';
import { hasAnySession } from '../lane/session.ts';
import { getProgress, withChangedTasks } from '../tasks/queue.ts';
import { isTaskBegun } from '../tasks/task.ts';

/** A copy of a lane's state outside of the snapshot, such as in the cache. */
export type CopyOfLane =
  | { readonly kind: 'found'; readonly sequence: number; readonly document: string | null; readonly signed: boolean }
  | { readonly kind: 'absent' }
  | { readonly kind: 'unavailable'; readonly why: string };

/** The judgement on a lane. `origin` is where its state came from, for a person. */
export type JudgedLane =
  | (StoredWithState & { readonly kind: 'found'; readonly state: LaneState; readonly origin: string })
  /** Copies exist, but none of them can be read. */
  | (StoredWithState & { readonly kind: 'unreadable'; readonly why: string; readonly origin: string })
  | (StoredWithState & { readonly kind: 'absent' })
  | { readonly kind: 'newer'; readonly version: number; readonly origin: string }
  | { readonly kind: 'unavailable'; readonly why: string };

/** Data stored together with a state; `savedBy` is the tag of the run that saved it, null if it is unknown. */
interface StoredWithState extends Pick<LaneRecord, 'savedBy' | 'orders' | 'lease'> {
  /** Sentences about problems of the state and of other copies. */
  readonly warnings: readonly string[];
}

/** The stores of a state by their names for people. */
export interface StoreNames {
  /** The store that decides. */
  readonly decides: string;
  /** The store with copies of the state. */
  readonly copies: string;
  /** True if the deciding store does not accept this run's writes, so that a copy may have later changes. */
  readonly standsIn: boolean;
}

/** Judges a lane by the snapshot, which decides; a copy is used only while the snapshot accepts no writes. */
export function judgeRecord(
  parsed: ParsedRecord,
  copy: CopyOfLane | null,
  { lane, stores, now }: { readonly lane: LaneId; readonly stores: StoreNames; readonly now: number },
): JudgedLane {
  const { decides, copies } = stores;
  if (parsed.kind === 'newer') return { kind: 'newer', version: parsed.version, origin: decides };
  const problem = parsed.kind === 'unreadable' ? parsed.why : null;
  const { document, sequence, savedBy, orders, lease } =
    parsed.kind === 'record' ? parsed.record : { document: null, sequence: 0, savedBy: null, orders: [], lease: null };
  const warnings = [
    ...(problem === null
      ? []
      : [`The state's ${decides} cannot be read: ${completeSentence(problem)} This run replaces it.`]),
    ...(copy?.kind === 'unavailable' ? [`The state's ${copies} cannot be read: ${completeSentence(copy.why)}`] : []),
  ];
  const withStored = (more: readonly string[]): StoredWithState => ({
    savedBy,
    orders,
    lease,
    warnings: [...warnings, ...more],
  });
  const state = document === null ? null : parseStateAt(document, lane, now);
  if (state?.kind === 'newer') return { kind: 'newer', version: state.version, origin: decides };
  const since = stores.standsIn ? readableCopy(copy, lane, now) : null;
  if (state?.kind === 'state') {
    const isBehind = since !== null && since.signed && since.sequence > sequence;
    return {
      kind: 'found',
      state: isBehind
        ? withSafeParts(state.state, selectRestrictiveParts(since.parsed.state, true).state)
        : state.state,
      origin: isBehind ? `${decides}, with newer parts from the ${copies}` : decides,
      ...withStored([...(isBehind ? [] : warnOfNewerCopy(copy, sequence, stores)), ...state.problems]),
    };
  }
  if (since !== null) {
    const cached = selectRestrictiveParts(since.parsed.state, since.signed);
    return {
      kind: 'found',
      state: cached.state,
      origin: copies,
      ...withStored([
        ...warnOfDropped(cached, since.sequence, { copies, why: `the ${decides} does not accept writes` }),
        ...since.parsed.problems,
      ]),
    };
  }
  if (state?.kind === 'unreadable')
    return {
      kind: 'unreadable',
      why: state.why,
      origin: decides,
      ...withStored([`The state #${sequence} in the ${decides} cannot be read: ${completeSentence(state.why)}`]),
    };
  if (problem !== null) return { kind: 'unreadable', why: problem, origin: decides, ...withStored([]) };
  return { kind: 'absent', ...withStored(warnOfNewerCopy(copy, 0, stores)) };
}

/** Returns a lane of a snapshot for people, with the answers of other lanes for its issues. */
export function viewLane(
  snapshot: Snapshot,
  lane: LaneId,
  { place, now }: { readonly place: string; readonly now: number },
): JudgedLane {
  const stores = { decides: place, copies: '', standsIn: false };
  const judged = judgeRecord(parseLaneIn(snapshot, lane), null, { lane, stores, now });
  if (judged.kind !== 'found') return judged;
  const answers = listLaneAnswers(snapshot, (issue) => lane === QUEUE || issue.task === lane);
  return { ...judged, state: withAnswers(judged.state, answers, []) };
}

/** Judges a lane that is stored only in copies. */
export function judgeCopy(
  copy: CopyOfLane,
  { lane, copies, now }: { readonly lane: LaneId; readonly copies: string; readonly now: number },
): JudgedLane {
  if (copy.kind === 'unavailable')
    return { kind: 'unavailable', why: `The state's ${copies} cannot be read: ${completeSentence(copy.why)}` };
  const stored: StoredWithState = { savedBy: null, orders: [], lease: null, warnings: [] };
  if (copy.kind === 'absent' || copy.document === null) return { kind: 'absent', ...stored };
  const parsed = parseStateAt(copy.document, lane, now);
  if (parsed.kind === 'newer') return { kind: 'newer', version: parsed.version, origin: copies };
  if (parsed.kind === 'unreadable')
    return {
      kind: 'unreadable',
      why: parsed.why,
      origin: copies,
      ...stored,
      warnings: [`The state #${copy.sequence} in the ${copies} cannot be read: ${completeSentence(parsed.why)}`],
    };
  const { state, dropped } = selectSignedParts(parsed.state, copy.signed);
  const others = { state, dropped: dropped.filter((part) => part !== 'approvals') };
  return {
    kind: 'found',
    state,
    origin: dropped.includes('approvals') ? `${copies}; approvals are checked again` : copies,
    ...stored,
    warnings: [
      ...warnOfDropped(others, copy.sequence, { copies, why: "it is not signed with this run's key" }),
      ...parsed.problems,
    ],
  };
}

/**
 * Returns the sequence up to which copies add nothing to the readable state; null if a copy is needed, for example for
 * the transcript.
 */
export function findSufficientSequence(parsed: ParsedRecord, lane: LaneId, now: number): number | null {
  if (parsed.kind !== 'record' || parsed.record.document === null) return null;
  const state = parseStateAt(parsed.record.document, lane, now);
  return state.kind === 'state' && state.state.transcript === null ? parsed.record.sequence : null;
}

type ReadableCopy = Extract<CopyOfLane, { kind: 'found' }> & {
  readonly parsed: Extract<ParsedState, { kind: 'state' }>;
};

function readableCopy(copy: CopyOfLane | null, lane: LaneId, now: number): ReadableCopy | null {
  if (copy?.kind !== 'found' || copy.document === null) return null;
  const parsed = parseStateAt(copy.document, lane, now);
  return parsed.kind === 'state' ? { ...copy, parsed } : null;
}

/** Returns a sentence about a copy that is newer than the state in the deciding store. */
function warnOfNewerCopy(
  copy: CopyOfLane | null,
  sequence: number,
  { decides, copies }: StoreNames,
): readonly string[] {
  if (copy?.kind !== 'found' || copy.sequence <= sequence) return [];
  const name = `The ${copies} has #${copy.sequence} of this state and the ${decides} has`;
  const what = sequence === 0 ? `${name} none` : `${name} #${sequence}`;
  return [
    copy.signed
      ? `${what}: it was reset, or the last run could not write it. The ${decides} decides.`
      : `${what}, which decides; the copy in the ${copies} is not signed with this run's key and is ignored.`,
  ];
}

function warnOfDropped(
  { dropped }: CachedState,
  sequence: number,
  { copies, why }: { readonly copies: string; readonly why: string },
): readonly string[] {
  return dropped.length === 0
    ? []
    : [
        `Ignored in the state #${sequence} from the ${copies}: ${listFirstNames(dropped)}, since ${completeSentence(why)}`,
      ];
}

/**
 * The trusted parts of a cached document. Trust is limited, because every workflow on the default branch can write the
 * cache.
 */
interface CachedState {
  readonly state: LaneState;
  /** The untrusted parts, in words for people: `approvals`, `a pause`. */
  readonly dropped: readonly string[];
}

/**
 * Returns the parts of a state that can only restrict a run: circuit, usage, sequence, task progress. Approvals,
 * people's requests, sessions and verifications are left out.
 */
export function selectRestrictiveParts(state: LaneState, signed: boolean): CachedState {
  const { state: kept, dropped } = selectSignedParts(state, false);
  return {
    dropped,
    state: {
      ...kept,
      // An unsigned count of obeyed orders is not trusted, because it could skip orders that were never obeyed.
      ordersApplied: signed ? kept.ordersApplied : 0,
      journalHash: null,
      baseVerification: null,
      redBase: null,
      headVerification: null,
      refusedPush: null,
    },
  };
}

/**
 * Returns the trusted state of a lane that exists only in a cache. Approvals are looked up again; a pause and a session
 * are kept only if they were signed with the agent's key.
 */
export function selectSignedParts(state: LaneState, signed: boolean): CachedState {
  const known = Object.entries(state.tasks).map(([id, task]) => {
    return [id, { ...task, approval: undefined, retried: signed ? task.retried : undefined }] as const;
  });
  const tasks = Object.fromEntries(known.filter(([, task]) => isTaskBegun(task) || task.retried));
  const asked: LaneState = { ...state, tasks };
  return {
    state: signed
      ? asked
      : {
          ...asked,
          pause: null,
          session: null,
          resting: {},
          transcript: null,
          retriesAll: false,
          leftCircuit: null,
          feedback: withoutWords(state.feedback),
        },
    dropped: [
      ...(Object.values(state.tasks).some(({ approval }) => approval !== undefined) ? ['approvals'] : []),
      ...(!signed && state.pause !== null ? ['a pause'] : []),
      ...(!signed && hasAnySession(state) ? ['a conversation'] : []),
    ],
  };
}

/**
 * Returns the state of the authoritative store with the safe parts of a state that a run saved elsewhere, after that
 * store stopped accepting writes.
 */
export function withSafeParts(state: LaneState, since: LaneState): LaneState {
  const { circuit, windows, signals, ledger, sequence, savedAt, park, currentTask, lastRun, lastIteration } = since;
  const parts = { circuit, providers: since.providers, windows, signals, ledger, sequence, savedAt };
  const tasks = withChangedTasks(since.tasks, Object.keys({ ...state.tasks, ...since.tasks }), (task, id) => {
    const { approval, answer, retried } = getProgress(state.tasks, id);
    return { ...task, approval, answer, retried };
  });
  return { ...state, ...parts, tasks, park, currentTask, lastRun, lastIteration, feedback: since.feedback };
}
