import { KNOWN_SIGNALS } from '../../src/core/analysis/done-signals.ts';
import type { Config } from '../../src/config/config.ts';
import type { Verification } from '../../src/core/evidence.ts';
import type { LoopDeps, OpenedAgent } from '../../src/loop/deps.ts';
import { kindOfDenialBy } from '../../src/agents/rules/shell-rules.ts';
import type { TaskId } from '../../src/core/tasks/ids.ts';
import type { AgentCall, AgentRun } from '../../src/ports/agent.ts';
import { analyzeOutput } from '../analyze-output.ts';
import type { Act, Mind } from './behaviours.ts';
import { print } from './agent-output.ts';
import { after, snapshotOf, testsPass, type World } from './world.ts';

const kindOfDenial = kindOfDenialBy('claude');

/** One action of the agent, with the world before and after it. */
export interface Done {
  readonly task: TaskId;
  readonly act: Act;
  readonly before: World;
  readonly after: World;
}

/** The data that change while the loop runs: the world, the clock, and all of the agent's actions in the history. */
export interface Scene {
  world: World;
  now: number;
  readonly done: Done[];
  /** Number of calls in the newest session. */
  sessionTurns: number;
}

const MINUTE = 60_000;

/** Creates the real loop's ports in memory; `mind` is the agent, and its output goes through the real analysis. */
export function createMachine(scene: Scene, agent: { readonly mind: Mind }, config: Config): LoopDeps {
  const opened: OpenedAgent = {
    called: { name: 'simulated', version: '0' },
    agent: {
      kindOfDenial,
      coAuthor: 'Claude <noreply@anthropic.com>',
      importSession: () => Promise.resolve(true),
      exportSession: () => Promise.resolve(null),
      call: (call) => Promise.resolve(answer(scene, agent.mind, call)),
      sweep: () => Promise.resolve(),
    },
  };
  return {
    config,
    clock: { now: () => scene.now },
    log: { info: () => undefined, warning: () => undefined, error: () => undefined, group: (_title, body) => body() },
    signal: new AbortController().signal,
    context: { runId: '1', runAttempt: 1, runUrl: '', verifyProblems: [] },
    runTag: 'simulated',
    prompt: {
      text: 'Work.',
      path: null,
      setup: null,
      instructions: [],
      specifications: [],
      lockTools: [],
      signals: KNOWN_SIGNALS,
    },
    readLearnings: () => Promise.resolve(''),
    store: {
      lastSeen: () => null,
      read: () => Promise.resolve({ kind: 'none' }),
      update: () => Promise.resolve({ kind: 'unguarded', why: 'nothing is kept', last: null }),
      transcript: () => Promise.resolve({ kind: 'found', transcript: { sha256: '', content: new Uint8Array() } }),
    },
    seal: { open: (content) => Promise.resolve({ kind: 'opened', content }) },
    files: { read: () => Promise.resolve({}), replace: () => Promise.resolve(), remove: () => Promise.resolve() },
    redact: String,
    sha256: String,
    showLive: () => Promise.resolve(),
    showWait: () => Promise.resolve(),
    sayLeft: () => undefined,
    sleep: () => Promise.resolve(),
    ending: new AbortController().signal,
    waitPolicy: null,
    lookAtPeople: null,
    narrate: () => undefined,
    record: () => undefined,
    journalHash: () => null,
    appendJournal: () => undefined,
    keepPatch: () => undefined,
    pipeline: null,
    commands: { run: () => Promise.resolve({ end: { kind: 'exited', code: 0 }, tail: '' }) },
    verifier: {
      verify: ({ folder }) =>
        Promise.resolve(
          folder === null || folder === snapshotOf(scene.world).head
            ? verification(scene.world)
            : { kind: 'passed', durationMs: 1 },
        ),
    },
    repository: repositoryOf(scene),
    outlet: { kind: 'push', remote: takingRemote, forge: noPullRequest },
    agents: [{ name: 'claude', open: () => Promise.resolve(opened), opened: () => opened }],
    stepAgents: [],
  };
}

/** GitHub's answers before a push; these lanes have no pull request. */
export const noPullRequest = {
  headNow: () => Promise.resolve(null),
  withdrawFromMerging: () => Promise.resolve(),
  makeDraft: () => Promise.resolve(),
};

/** A server that accepts every push. */
export const takingRemote = {
  push: taken,
  pushOn: taken,
  pushWithState: () => Promise.resolve({ kind: 'pushed', state: null } as const),
  sign: () => Promise.resolve({ kind: 'as-they-are' as const }),
  probePush: taken,
  probeMerge: taken,
  branches: () => Promise.resolve({}),
  pathsByTask: () => Promise.resolve([]),
  remakeCommitsWithout: () => Promise.resolve(null),
};

function taken(): Promise<{ readonly kind: 'pushed' }> {
  return Promise.resolve({ kind: 'pushed' });
}

function verification(world: World): Verification {
  return testsPass(world)
    ? { kind: 'passed', durationMs: 1 }
    : { kind: 'failed', command: 'npm test', code: 1, tail: '', durationMs: 1 };
}

function repositoryOf(scene: Scene): LoopDeps['repository'] {
  return {
    snapshot: () => Promise.resolve(snapshotOf(scene.world)),
    compare: (before, now) => {
      const path = scene.done.at(-1)?.act.deed.startsWith('test') === true ? 'test/shop.test.ts' : 'src/shop.ts';
      const files = before.tree === now.tree ? [] : [path];
      return Promise.resolve({
        files,
        fileCount: files.length,
        insertions: files.length,
        deletions: 0,
        agentCommits: 0,
      });
    },
    commit: ({ before, after: left }) => {
      const { head } = snapshotOf(scene.world);
      return Promise.resolve({
        head,
        commit: head === before.head ? null : head,
        withheld: [],
        withheldNow: [],
        beside: [],
        besideNow: [],
        newlyIgnored: [],
        publishedPaths: [],
        lookAt: [],
        published: { head, tree: left.tree },
        merge: 'none',
      });
    },
    publishedTexts: () => Promise.resolve({}),
    commitTexts: () => Promise.resolve({ ...snapshotOf(scene.world), withheld: [] }),
    takeHead: () => Promise.resolve(),
    beginMerge: () => Promise.resolve({ kind: 'up-to-date' }),
    lockFilesLeft: () => Promise.resolve([]),
    keepAlone: () => Promise.resolve('kept'),
    abandonMerge: () => Promise.resolve(),
    putBack: () => Promise.resolve([]),
    review: () => Promise.resolve(null),
    checkOutTree: () => Promise.resolve(() => Promise.resolve()),
    checkOutCommitAlone: (commit) => Promise.resolve(commit),
    taskChanges: () => Promise.resolve([]),
    commitReverted: ({ commit }) => Promise.resolve(commit),
  };
}

function answer(scene: Scene, mind: Mind, call: AgentCall): AgentRun {
  const before = scene.world;
  const turn = scene.done.length;
  scene.sessionTurns = call.resume === null ? 0 : scene.sessionTurns + 1;
  const task = /^# (?:Your task|The task of the iteration): (\S+)$/m.exec(call.prompt)?.[1] ?? '';
  const taskTurn = scene.done.filter((done) => done.task === task).length;
  const act = mind({ turn, taskTurn, sessionTurn: scene.sessionTurns, task, world: before, now: scene.now });
  scene.world = after(before, act.deed, task);
  scene.done.push({ task, act, before, after: scene.world });

  const wantedMs = act.minutes * MINUTE;
  const durationMs = Math.min(wantedMs, call.timeoutMs);
  scene.now += durationMs;
  const isTimeout = act.end === 'timeout' || wantedMs > call.timeoutMs;
  const output = isTimeout ? new Uint8Array() : print(act.output, call.resume ?? `session-${String(turn)}`);
  const { analysis, finalChars, endsInFencedBlock } = analyzeOutput(output, scene.now);
  return {
    analysis,
    finalMessage: '',
    outputChars: finalChars,
    fencedBlock: endsInFencedBlock,
    failedServers: [],
    durationMs,
    end: isTimeout ? { kind: 'timeout', of: call.timeoutOf } : { kind: 'exited', code: act.end === 'crashed' ? 1 : 0 },
  };
}
