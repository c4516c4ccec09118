import type { TaskChanges } from '../../../src/core/proof/judge.ts';
import { LEFT_OUT_CLAUSES } from '../../../src/core/review/left-out.ts';
import { createUnknownSettings } from '../../../src/core/doctor/facts.ts';
import { createHash } from 'node:crypto';
import { parseRefusal, refusalOfSigning } from '../../../src/core/refusals/refusal.ts';
import { countConflicts } from '../../../src/core/feedback/conflict/conflict-markers.ts';
import { CONFLICT_TASK } from '../../../src/core/feedback/subject.ts';
import { isLockFile } from '../../../src/core/review/test-files.ts';
import { listNeedsIn } from '../../../src/core/people/notifications.ts';
import type {
  CheckDetails,
  CheckNow,
  PullRequestNow,
  ReviewState,
} from '../../../src/core/feedback/pull-request-now.ts';
import type { ObjectId } from '../../../src/core/evidence.ts';
import type {
  Account,
  DashboardIssue,
  Dependency,
  ForgeAdapter,
  Issue,
  IssueComment,
  IssueHistory,
  Permission,
  PullRequest,
} from '../../../src/ports/forge.ts';
import { parseTaskInMessage } from '../../../src/core/text/commit-message.ts';
import type { Clock, Log } from '../../../src/ports/machine.ts';
import type { StateUpdate, WriteResult } from '../../../src/ports/state.ts';
import type { RevertCommit } from '../../../src/core/snapshot/stored-pull.ts';
import type {
  CommittedIteration,
  WorkBeside,
  OpenedLane,
  Review,
  Repository,
  WorkFiles,
} from '../../../src/ports/repository.ts';
import type { PushResult, Remote } from '../../../src/ports/remote.ts';

/** A work tree: content by path. */
export type Files = Readonly<Record<string, string>>;

interface Commit {
  readonly tree: Files;
  readonly parent: ObjectId | null;
  readonly message: string;
}

/** A repository on a server, visible to every machine. */
export interface Origin {
  readonly commits: Map<ObjectId, Commit>;
  readonly trees: Map<ObjectId, Files>;
  readonly branches: Map<string, ObjectId>;
  /** The bundle files that jobs hand over: their newest commits by path. */
  readonly bundles: Map<string, ObjectId>;
  /** Reverts in the base branch's history. */
  readonly reverts: RevertCommit[];
  /** Merges that people have edited. */
  readonly edited: Set<string>;
}

/** Adds a commit to the repository and returns its id. */
export function addCommit(origin: Pick<Origin, 'commits' | 'trees'>, commit: Commit): ObjectId {
  const id = idOf(commit);
  origin.commits.set(id, commit);
  origin.trees.set(idOf(commit.tree), commit.tree);
  return id;
}

/** Creates a repository whose branch `main` has one commit with `files`. */
export function createOrigin(files: Files): Origin {
  const origin: Origin = {
    commits: new Map(),
    trees: new Map(),
    branches: new Map(),
    bundles: new Map(),
    reverts: [],
    edited: new Set(),
  };
  origin.branches.set('main', addCommit(origin, { tree: files, parent: null, message: 'Start' }));
  return origin;
}

export interface FakeClock extends Clock {
  advance(ms: number): void;
}

export function createClock(start: number): FakeClock {
  let now = start;
  return {
    now: () => now,
    advance: (ms) => {
      now += ms;
    },
  };
}

/** The errors that methods throw, until they are removed. */
type Faults<Port> = Map<keyof Port, Error>;

/** A checkout on a new machine. `files` is the work tree, which an agent may change. */
export interface Checkout extends Repository {
  files: Record<string, string>;
  /** True if there is a tree in which an agent works. */
  readonly isLaid: () => boolean;
  readonly faults: Faults<Repository>;
  readonly broken: string[];
  /** Work beside the work tree; an agent may add or remove entries. */
  beside: WorkBeside[];
  /** Files that git ignores; an agent may add some. */
  ignored: string[];
  /** The work beside the tree that was saved as patches. */
  readonly patches: WorkBeside[];
  /** Patterns of protected paths that may be published. */
  allowed: readonly string[];
}

export function createCheckout(origin: Origin): Checkout {
  const { commits, trees, branches } = origin;
  let head = branches.get('main') ?? '';
  let isLaid = false;
  const faults: Faults<Repository> = new Map();
  const treeOf = (commit: ObjectId): Files => commits.get(commit)?.tree ?? fail(`There is no commit ${commit}.`);
  const namesAtRoot = (names: readonly string[]): Promise<readonly string[]> =>
    guarded(faults, 'readTexts', () => {
      const files = Object.keys(treeOf(branches.get('main') ?? ''));
      const folders = files.flatMap((path) => [...path.matchAll(/\//g)].map(({ index }) => path.slice(0, index + 1)));
      return [...new Set([...files, ...folders])].filter((path) => names.some((name) => matches(path, name)));
    });
  let isMerging = false;
  let merged: ObjectId | null = null;
  let lockFiles: readonly string[] = [];
  let lastSnapshot: Files | null = null;
  let besideBefore: readonly WorkBeside[] = [];
  let ignoredBefore: readonly string[] = [];
  const takeBeside = (): Pick<CommittedIteration, 'beside' | 'besideNow' | 'newlyIgnored'> => {
    const newlyIgnored = checkout.ignored.filter((path) => !ignoredBefore.includes(path));
    ignoredBefore = [...checkout.ignored];
    const beside = checkout.beside.filter((one) => !besideBefore.includes(one));
    besideBefore = [...checkout.beside];
    return { beside, besideNow: besideBefore.map(({ name }) => name), newlyIgnored };
  };
  /** The files that the server refused, with their content then; null refuses any content. */
  const refusedFiles = new Map<string, { readonly why: string; readonly content: string | null }>();
  const isRefused = (path: string, content: string | undefined): boolean => {
    const known = refusedFiles.get(path);
    return known !== undefined && content !== undefined && (known.content === null || known.content === content);
  };
  /** Returns the files with those that the server refused reset to the branch's version. */
  const publishable = (files: Files): Files => {
    const old = treeOf(head);
    return Object.fromEntries(
      Object.entries(files).flatMap(([path, text]) => {
        if (!isRefused(path, text)) return [[path, text]];
        return old[path] === undefined ? [] : [[path, old[path]]];
      }),
    );
  };
  const withheldOf = (files: Files): { readonly path: string; readonly why: string }[] =>
    Object.entries(files).flatMap(([path, text]) =>
      isRefused(path, text) ? [{ path, why: refusedFiles.get(path)?.why ?? '' }] : [],
    );
  const isMarked = (path: string): boolean => /^<<<<<<< /m.test(checkout.files[path] ?? '');
  const forkOf = (main: string): string =>
    history(commits, head).find((commit) => history(commits, main).includes(commit)) ?? main;
  /**
   * Protected files as they were when they were withheld: while they are unchanged, they count as equal to the commit.
   */
  const withheldTexts = new Map<string, string>();
  const withoutKnown = (files: Files, tip: Files): Files =>
    Object.fromEntries(
      Object.entries(files).flatMap(([path, text]) =>
        text !== withheldTexts.get(path) ? [[path, text]] : tip[path] === undefined ? [] : [[path, tip[path]]],
      ),
    );
  const checkout: Checkout = {
    files: { ...treeOf(head) },
    isLaid: () => isLaid,
    faults,
    broken: [],
    beside: [],
    ignored: [],
    patches: [],
    allowed: [],
    missing: () => Promise.resolve(null),
    problems: () => guarded(faults, 'problems', () => checkout.broken),
    readTexts: (paths, lane) =>
      guarded(faults, 'readTexts', () => {
        const texts = (files: Files): Record<string, string> =>
          Object.fromEntries(Object.entries(files).filter(([path]) => paths.some((pattern) => matches(path, pattern))));
        const main = branches.get('main') ?? '';
        const fork =
          lane === null
            ? undefined
            : history(commits, lane.head).find((commit) => history(commits, main).includes(commit));
        return {
          base: texts(treeOf(main)),
          lane: lane === null ? null : texts(treeOf(lane.head)),
          fork: fork === undefined ? null : texts(treeOf(fork)),
          unread: {},
          links: {},
        };
      }),
    compareOpen: ({ base, pulls }) =>
      guarded(faults, 'compareOpen', () => {
        const onBase = history(commits, base.tip);
        const measured = pulls.map(({ number, head }) => {
          const fork = history(commits, head).find((commit) => onBase.includes(commit)) ?? base.tip;
          const changed = (tip: ObjectId): Files => {
            const [before, after] = [treeOf(fork), treeOf(tip)];
            return Object.fromEntries(Object.entries(after).filter(([path, text]) => before[path] !== text));
          };
          return { number, isBehind: fork !== base.tip, own: changed(head), ofBase: changed(base.tip) };
        });
        return measured.map(({ number, isBehind, own, ofBase }) => ({
          ...{ number, isBehind },
          conflictsWith: measured
            .filter((one) => one.number !== number)
            .filter((one) => Object.keys(own).some((path) => path in one.own && one.own[path] !== own[path]))
            .map((one) => one.number),
          changedInBase: Object.keys(own).filter((path) => path in ofBase),
        }));
      }),
    history: ({ branches: asked, symbols }) =>
      guarded(faults, 'history', () => {
        const differing = (before: Files, after: Files): string[] =>
          [...new Set([...Object.keys(before), ...Object.keys(after)])].filter((path) => before[path] !== after[path]);
        const onMain = history(commits, branches.get('main') ?? '');
        const changed = asked.map(({ branch, head: tip }) => {
          const fork = history(commits, tip).find((commit) => onMain.includes(commit)) ?? '';
          return [branch, differing(treeOf(fork), treeOf(tip))] as const;
        });
        return {
          files: Object.keys(treeOf(onMain[0] ?? '')),
          commits: onMain.slice(0, -1).map((commit, at) => differing(treeOf(onMain[at + 1] ?? ''), treeOf(commit))),
          definitions: new Map(
            symbols.map((symbol) => {
              const isDefined = ([, text]: [string, string]): boolean => text.includes(`function ${symbol}(`);
              return [
                symbol,
                Object.entries(treeOf(onMain[0] ?? ''))
                  .filter(isDefined)
                  .map(([path]) => path),
              ];
            }),
          ),
          changed: Object.fromEntries(changed),
        };
      }),
    branchesWith: (commit, asked) =>
      guarded(faults, 'branchesWith', () =>
        asked.filter((name) => history(commits, branches.get(name) ?? '').includes(commit)),
      ),
    revertsIn: (tip, since) => Promise.resolve(commits.has(tip) ? origin.reverts.filter(({ at }) => at >= since) : []),
    editedMerges: (asked) => Promise.resolve(asked.flatMap((one) => one.commits.filter((id) => origin.edited.has(id)))),
    namesOf: namesAtRoot,
    namesAtRoot,
    openLane: ({ baseBranch, start }) =>
      guarded(faults, 'openLane', (): OpenedLane => {
        const base = branches.get(baseBranch) ?? fail(`There is no branch ${baseBranch}.`);
        head = start.kind === 'continue' ? start.remoteHead : base;
        refusedFiles.clear();
        checkout.files = { ...treeOf(head) };
        const ofBase = history(commits, base);
        const lane = history(commits, head);
        const mergeBase =
          lane.find((commit) => ofBase.includes(commit)) ?? fail('The lane and its base have nothing in common.');
        const ahead = lane.indexOf(mergeBase);
        const isOfPerson = (commit: string): boolean =>
          !/^(?:Ralph-Run: |Merge )/m.test(commits.get(commit)?.message ?? '');
        const personHead = lane.slice(0, ahead).find(isOfPerson) ?? null;
        const ofRun = lane.slice(0, ahead).findLastIndex((commit) => !isOfPerson(commit));
        const below = ofRun === -1 ? 0 : ahead - 1 - ofRun;
        const named = (part: readonly string[]): readonly string[] =>
          part.flatMap((commit) =>
            [...(commits.get(commit)?.message ?? '').matchAll(/^Ralph-Task: (\S+)$/gm)].map(([, task = '']) => task),
          );
        const tasks = ahead > 0 && named(lane.slice(0, ahead)).length === 0 ? null : [...new Set(named(lane))];
        return {
          head,
          base,
          fork: mergeBase,
          baseTree: evidenceOf(treeOf(mergeBase)),
          ahead,
          below,
          personHead,
          tasks,
          warnings: [],
        };
      }),
    snapshot: () =>
      guarded(faults, 'snapshot', () => {
        lastSnapshot = { ...checkout.files };
        const files = publishable(withoutKnown(lastSnapshot, treeOf(head)));
        trees.set(evidenceOf(files), files);
        return { head, tree: evidenceOf(files) };
      }),
    compare: (before, after) =>
      guarded(faults, 'compare', () => {
        const [old, now] = [trees.get(before.tree) ?? {}, trees.get(after.tree) ?? {}];
        const files = [...new Set([...Object.keys(old), ...Object.keys(now)])]
          .filter((path) => old[path] !== now[path] && !isNote(path))
          .sort();
        return { files, fileCount: files.length, insertions: files.length, deletions: 0, agentCommits: 0 };
      }),
    commit: ({ before, after, message, trailers }) =>
      guarded(faults, 'commit', () => {
        const whole = trees.get(after.tree) ?? fail(`There is no tree ${after.tree}.`);
        const old = treeOf(head);
        const isWithheld = (path: string): boolean =>
          whyWithheld(path, checkout.allowed) !== null && whole[path] !== old[path];
        const here = Object.keys(whole).filter(isWithheld);
        for (const path of here) withheldTexts.set(path, whole[path] ?? '');
        const tree = Object.fromEntries(
          Object.entries(whole).flatMap(([path, text]) =>
            isWithheld(path) ? (old[path] === undefined ? [] : [[path, old[path]]]) : [[path, text]],
          ),
        );
        trees.set(evidenceOf(tree), tree);
        const named = (paths: readonly string[]) =>
          paths.map((path) => ({ path, why: whyWithheld(path, checkout.allowed) ?? LEFT_OUT_CLAUSES.other }));
        const marked = isMerging ? Object.keys(tree).filter((path) => /^<<<<<<< /m.test(tree[path] ?? '')) : [];
        if (marked.length > 0) {
          const withheld = marked.map((path) => ({ path, why: 'it still has conflict markers' }));
          return {
            head,
            commit: null,
            withheld,
            withheldNow: withheld,
            beside: [],
            besideNow: [],
            newlyIgnored: [],
            publishedPaths: [],
            lookAt: [],
            published: { head, tree: after.tree },
            merge: 'open' as const,
          };
        }
        const merge = isMerging ? ('made' as const) : ('none' as const);
        if (isMerging) merged = branches.get('main') ?? null;
        isMerging = false;
        if (idOf(old) !== idOf(tree)) {
          const lines = Object.entries(trailers).map(([name, value]) => `${name}: ${value}`);
          head = addCommit(origin, { tree, parent: head, message: `${message}\n\n${lines.join('\n')}` });
        }
        const withheldNow = withheldOf(lastSnapshot ?? {});
        return {
          head,
          commit: head === before.head ? null : head,
          withheld: named(here),
          withheldNow: [
            ...named(Object.keys(checkout.files).filter((path) => checkout.files[path] === withheldTexts.get(path))),
            ...withheldNow,
          ],
          ...takeBeside(),
          publishedPaths: Object.keys({ ...old, ...tree }).filter((path) => old[path] !== tree[path]),
          lookAt: markersIn(tree, old),
          published: { head, tree: evidenceOf(tree) },
          merge,
        };
      }),
    publishedTexts: (paths) =>
      guarded(faults, 'publishedTexts', () =>
        Object.fromEntries(
          Object.entries(treeOf(head)).filter(([path]) => paths.some((pattern) => matches(path, pattern))),
        ),
      ),
    commitTexts: ({ texts, message, trailers }) =>
      guarded(faults, 'commitTexts', () => {
        const lines = Object.entries(trailers).map(([name, value]) => `${name}: ${value}`);
        const tree = { ...treeOf(head), ...texts };
        head = addCommit(origin, { tree, parent: head, message: `${message}\n\n${lines.join('\n')}` });
        return { head, withheld: [] };
      }),
    takeHead: ({ head: remade, refused, workTree }) =>
      guarded(faults, 'takeHead', () => {
        const old = treeOf(head);
        for (const { path, why, refusesAnyContent } of refused)
          refusedFiles.set(path, { why, content: refusesAnyContent ? null : (old[path] ?? null) });
        head = remade;
        isMerging = false;
        if (workTree === 'reset') checkout.files = { ...treeOf(head) };
      }),
    beginMerge: () =>
      guarded(faults, 'beginMerge', () => {
        if (merged === branches.get('main')) return { kind: 'up-to-date' } as const;
        const theirs = treeOf(branches.get('main') ?? '');
        const ours = treeOf(head);
        // The existing tree is used; no other one is laid over it.
        if (isMerging) {
          return { kind: 'begun', conflicts: Object.keys(checkout.files).filter(isMarked), lockFiles } as const;
        }
        const fork = treeOf(forkOf(branches.get('main') ?? ''));
        const conflicts: string[] = [];
        const locks: string[] = [];
        for (const [path, text] of Object.entries(theirs)) {
          if (text === fork[path] || text === ours[path]) continue;
          const clashes = ours[path] !== fork[path];
          if (clashes) (isLockFile(path) ? locks : conflicts).push(path);
          checkout.files[path] =
            clashes && !isLockFile(path) ? `<<<<<<< ralph\n${ours[path] ?? ''}=======\n${text}>>>>>>> main\n` : text;
        }
        isMerging = true;
        lockFiles = locks;
        return { kind: 'begun', conflicts, lockFiles } as const;
      }),
    lockFilesLeft: () =>
      guarded(faults, 'lockFilesLeft', () => {
        const isDone = isMerging && !Object.keys(checkout.files).some(isMarked);
        lastSnapshot = { ...checkout.files };
        return isDone ? lockFiles.filter((path) => path in checkout.files) : [];
      }),
    keepAlone: (lockFile) =>
      guarded(faults, 'keepAlone', () => {
        const paths = Object.keys({ ...lastSnapshot, ...checkout.files });
        const changed = paths.filter((path) => checkout.files[path] !== lastSnapshot?.[path]);
        const judged = changed.some((path) => path !== lockFile)
          ? 'elsewhere'
          : !(lockFile in checkout.files)
            ? 'failed'
            : isMarked(lockFile)
              ? 'marked'
              : 'kept';
        if (judged === 'kept') lastSnapshot = { ...checkout.files };
        else checkout.files = { ...lastSnapshot };
        return judged;
      }),
    abandonMerge: () =>
      guarded(faults, 'abandonMerge', () => {
        if (isMerging) checkout.files = { ...treeOf(head) };
        isMerging = false;
      }),
    putBack: () =>
      guarded(faults, 'putBack', () => {
        const before = lastSnapshot ?? checkout.files;
        const changed = [...new Set([...Object.keys(before), ...Object.keys(checkout.files)])];
        const paths = changed.filter((path) => checkout.files[path] !== before[path]);
        checkout.files = { ...before };
        return paths;
      }),
    review: () => guarded(faults, 'review', () => reviewOf(treeOf(branches.get('main') ?? ''), treeOf(head))),
    bundle: ({ path }) =>
      guarded(faults, 'bundle', () => {
        origin.bundles.set(path, head);
      }),
    checkOutCommitAlone: (commit) => guarded(faults, 'checkOutCommitAlone', () => commit),
    taskChanges: () =>
      guarded(faults, 'taskChanges', () => {
        const main = history(commits, branches.get('main') ?? '');
        const own = history(commits, head).filter((commit) => !main.includes(commit));
        return changesByTask(
          own.reverse().flatMap((commit) => {
            const { tree, parent, message } = commits.get(commit) ?? fail(`There is no commit ${commit}.`);
            const [, task] = /^Ralph-Task: (\S+)$/m.exec(message) ?? [];
            return task === undefined || parent === null ? [] : [{ task, before: treeOf(parent), after: tree }];
          }),
        );
      }),
    commitReverted: ({ commit, files }) =>
      guarded(faults, 'commitReverted', () => {
        const taken = new Map(files.map(({ path, textBefore }) => [path, textBefore]));
        const kept = Object.entries(treeOf(commit)).filter(([path]) => !taken.has(path));
        const old = [...taken].flatMap(([path, text]) => (text === null ? [] : [[path, text] as const]));
        return addCommit(origin, {
          tree: Object.fromEntries([...kept, ...old]),
          parent: commit,
          message: 'Taken back',
        });
      }),
    checkOutTree: () =>
      guarded(faults, 'checkOutTree', () => {
        isLaid = true;
        return () =>
          guarded(faults, 'checkOutTree', () => {
            isLaid = false;
            checkout.files = { ...treeOf(head) };
          });
      }),
  };
  return checkout;
}

interface TaskCommit {
  readonly task: string;
  readonly before: Files;
  readonly after: Files;
}

/** Returns the files that the commits of each task changed, the oldest commit first. */
function changesByTask(commits: readonly TaskCommit[]): readonly TaskChanges[] {
  const contentOf = (text: string | null) => (text === null ? null : { mode: '100644', id: text });
  return [...Map.groupBy(commits, ({ task }) => task)].map(([task, own]) => {
    const paths = new Set(own.flatMap(({ before, after }) => Object.keys({ ...before, ...after })));
    const files = [...paths].flatMap((path) => {
      const [first, last] = [own.at(0)?.before[path] ?? null, own.at(-1)?.after[path] ?? null];
      const content = { before: contentOf(first), after: contentOf(last) };
      return first === last ? [] : [{ path, ...content, textBefore: first, textAfter: last }];
    });
    return { task, files };
  });
}

function reviewOf(base: Files, files: Files): Review {
  const changed = Object.entries(files).filter(([path, text]) => base[path] !== text && !isNote(path));
  const lines = changed.reduce((sum, [, text]) => sum + text.trimEnd().split('\n').length, 0);
  return { lookAt: [], sizes: {}, lines };
}

export interface FakeRemote extends Remote {
  /** Every attempted push. */
  readonly pushes: { readonly branch: string; readonly commit: ObjectId; readonly result: PushResult['kind'] }[];
  /** The server's refusal of every push, or null to accept them. */
  refusal: string | null;
  /** Returns the server's refusal of a commit with these files, or null. */
  contentRule: (files: Files) => string | null;
  /** The server's refusal of a deletion, or null to accept it. */
  deletionRule: string | null;
  /** The server's refusal of a merge with workflow files, or null to accept it. */
  workflowRule: string | null;
  /** True if the server refuses commits without a signature. */
  signatureRule: boolean;
  /** The account for which the server signs commits; it signs only an app's. */
  account: 'app' | 'person';
  /** The commits with a signature. */
  readonly signed: Set<ObjectId>;
  /** True once this process has learned that the server requires signatures. */
  isSigning: boolean;
  /** The reason why nothing can be pushed, which the gate detects beforehand; null if pushes work. */
  obstacle: string | null;
  readonly faults: Faults<Remote>;
}

/** Creates the server's side: a push is a compare-and-swap from the tip that the lane started from. */
export function createRemote(
  { branches, commits, trees, bundles }: Origin,
  state: {
    readonly isCurrent: (update: StateUpdate) => boolean;
    readonly land: (update: StateUpdate) => Promise<WriteResult>;
  },
): FakeRemote {
  const remote: FakeRemote = {
    isSigning: false,
    signatureRule: false,
    account: 'app',
    signed: new Set(),
    pushes: [],
    refusal: null,
    contentRule: () => null,
    deletionRule: null,
    workflowRule: null,
    obstacle: null,
    faults: new Map(),
    branches: (prefix) =>
      guarded(remote.faults, 'branches', () =>
        Object.fromEntries([...branches].filter(([name]) => name.startsWith(prefix) || prefix.startsWith(`${name}/`))),
      ),
    pushObstacle: () =>
      guarded(remote.faults, 'pushObstacle', () =>
        remote.obstacle === null ? null : { kind: 'configuration', why: remote.obstacle },
      ),
    push: (push) =>
      guarded(remote.faults, 'push', () => {
        const result = tryPush(push);
        remote.pushes.push({ branch: push.branch, commit: push.commit, result: result.kind });
        return result;
      }),
    pushOn: (push) => guarded(remote.faults, 'pushOn', () => pushedOn(push)),
    pushWithState: async ({ along, ...push }) => {
      const result = await guarded(remote.faults, 'pushWithState', () =>
        state.isCurrent(along) ? pushedOn(push) : ({ kind: 'overtaken' } as const),
      );
      return result.kind === 'pushed' ? { ...result, state: await state.land(along) } : result;
    },
    sign: ({ branch, commit, since }) =>
      guarded(remote.faults, 'sign', () => {
        const unsigned = between(since, commit).filter((id) => !remote.signed.has(id));
        if (!remote.isSigning || unsigned.length === 0) return { kind: 'as-they-are' };
        if (remote.account === 'person') return { kind: 'refused', refusal: refusalOfSigning('unsigned') };
        const places: Record<string, string> = {};
        let last = commits.get(unsigned[0] ?? '')?.parent ?? since;
        const there = between(last, branches.get(branch) ?? last);
        for (const [at, id] of unsigned.entries()) {
          const made = commits.get(id) ?? fail(`There is no commit ${id}.`);
          // No two signatures are the same.
          const message = `${made.message}${'\n'.repeat(remote.signed.size + 1)}`;
          const known = isSameWork(there[at], id) ? there[at] : undefined;
          last = known ?? addCommit({ commits, trees }, { ...made, message, parent: last });
          places[id] = last;
          remote.signed.add(last);
        }
        return { kind: 'signed', head: last, places };
      }),
    probePush: (_, { at }) =>
      guarded(remote.faults, 'probePush', () => {
        remote.isSigning ||= remote.signatureRule;
        if (remote.signatureRule && remote.account === 'person')
          return { kind: 'refused', refusal: refusalOfSigning('unsigned') };
        const broken = contentRefusal(at);
        const words = remote.refusal ?? broken;
        return words === null ? { kind: 'pushed' } : refusedWith(words);
      }),
    probeMerge: () =>
      guarded(remote.faults, 'probeMerge', () =>
        remote.workflowRule === null ? { kind: 'pushed' } : refusedWith(remote.workflowRule),
      ),
    pathsByTask: ({ commit, since }) =>
      guarded(remote.faults, 'pathsByTask', () => {
        const byTask = new Map<string, Set<string>>();
        for (const id of between(since, commit)) {
          const task = taskOfCommit(id);
          byTask.set(task, new Set([...(byTask.get(task) ?? []), ...changedBy(id)]));
        }
        return [...byTask].map(([task, paths]) => ({ task, paths: [...paths] }));
      }),
    remakeCommitsWithout: ({ commit, since, paths }) =>
      guarded(remote.faults, 'remakeCommitsWithout', () => {
        const places: Record<string, string | null> = {};
        const tasks = new Set<string>();
        let last = since;
        const begin = commits.get(since)?.tree ?? {};
        for (const id of between(since, commit)) {
          const made = commits.get(id) ?? fail(`There is no commit ${id}.`);
          const hits = changedBy(id).some((path) => paths.includes(path));
          // Without the file, a merge would undo the base's change.
          if (hits && taskOfCommit(id) === CONFLICT_TASK) return null;
          if (hits) tasks.add(taskOfCommit(id));
          const rest = Object.entries(made.tree).filter(([path]) => !paths.includes(path));
          const kept = Object.entries(begin).filter(([path]) => paths.includes(path));
          const tree = Object.fromEntries([...rest, ...kept]);
          if (idOf(tree) === idOf(commits.get(last)?.tree ?? {})) places[id] = null;
          else places[id] = last = addCommit({ commits, trees }, { ...made, tree, parent: last });
        }
        return { head: last, places, tasks: [...tasks] };
      }),
    receive: ({ fork, since, bundle }) =>
      guarded(remote.faults, 'receive', () => {
        const tip = bundle === null ? since : bundles.get(bundle.path);
        if (bundle !== null && tip !== bundle.commit) return { kind: 'refused', why: 'It is another bundle.' };
        const treeAt = (commit = ''): Files => commits.get(commit)?.tree ?? fail(`There is no commit ${commit}.`);
        const ids = history(commits, tip ?? since).reverse();
        const made = ids.slice(ids.indexOf(since) + 1).flatMap((id) => {
          const task = parseTaskInMessage(commits.get(id)?.message ?? '');
          return task === null ? [] : [[task, id]];
        });
        return {
          kind: 'received',
          review: reviewOf(treeAt(fork), treeAt(tip)),
          made: Object.fromEntries(made) as Record<string, ObjectId>,
        };
      }),
    deleteBranch: ({ branch, head }) =>
      guarded(remote.faults, 'deleteBranch', () => {
        const tip = branches.get(branch);
        const words = remote.refusal ?? remote.deletionRule;
        if (words !== null) return refusedWith(words);
        if (tip !== head) return { kind: tip === undefined ? 'gone' : 'moved' };
        branches.delete(branch);
        return { kind: 'deleted' };
      }),
  };
  return remote;

  function pushedOn({ at, ...push }: Parameters<Remote['pushOn']>[0]): PushResult {
    const start = at === null ? { kind: 'fresh' as const } : { kind: 'continue' as const, remoteHead: at };
    const isGone = at !== null && !branches.has(push.branch) && remote.refusal === null;
    const result: PushResult = isGone
      ? { kind: 'moved', why: `Branch ${push.branch} is gone.` }
      : tryPush({ ...push, start });
    remote.pushes.push({ branch: push.branch, commit: push.commit, result: result.kind });
    return result;
  }

  function tryPush({ branch, commit, start }: Parameters<Remote['push']>[0]): PushResult {
    const tip = branches.get(branch);
    if (remote.refusal !== null) return refusedWith(remote.refusal);
    if (tip === commit) return { kind: 'pushed' };
    const words = contentRefusal(commit) ?? signatureRefusal(commit, tip);
    if (words !== null) return refusedWith(words);
    const expected =
      start.kind === 'continue'
        ? [start.remoteHead, undefined]
        : start.kind === 'restart'
          ? [start.mergedHead, undefined]
          : start.kind === 'reuse'
            ? [start.mergedHead]
            : [undefined];
    // An earlier process has pushed the signed form of this commit.
    if (remote.signatureRule && isSameWork(tip, commit)) {
      remote.isSigning = true;
      return { kind: 'refused', refusal: refusalOfSigning('') };
    }
    if (!expected.includes(tip)) return { kind: 'rejected', why: `Branch ${branch} moved meanwhile.` };
    if (start.kind === 'continue' && !history(commits, commit).includes(start.remoteHead))
      return { kind: 'rejected', why: 'The commit does not build on the branch.' };
    branches.set(branch, commit);
    return { kind: 'pushed' };
  }

  /** Returns true if a signed commit has the content and the message of another. */
  function isSameWork(signed: ObjectId | undefined, id: ObjectId): boolean {
    const [one, other] = [commits.get(signed ?? ''), commits.get(id)];
    return (
      one !== undefined &&
      remote.signed.has(signed ?? '') &&
      one.message.trimEnd() === other?.message.trimEnd() &&
      idOf(one.tree) === idOf(other.tree)
    );
  }

  /** Returns the refusal of a commit without a signature, from which on the next commits are signed. */
  function signatureRefusal(commit: ObjectId, tip: ObjectId | undefined): string | null {
    const start = tip ?? branches.get('main') ?? '';
    if (!remote.signatureRule || between(start, commit).every((id) => remote.signed.has(id))) return null;
    remote.isSigning = true;
    return 'remote: error: GH013: Repository rule violations found\nremote: - Commits must have verified signatures.';
  }

  function refusedWith(words: string): Extract<PushResult, { kind: 'refused' }> {
    return { kind: 'refused', refusal: parseRefusal(words) };
  }

  /** Returns the server's refusal of the commits that it does not have, or null. */
  function contentRefusal(commit: ObjectId): string | null {
    const known = new Set([...branches.values()].flatMap((tip) => history(commits, tip)));
    return history(commits, commit)
      .filter((id) => !known.has(id))
      .reduce<string | null>((words, id) => words ?? remote.contentRule(commits.get(id)?.tree ?? {}), null);
  }

  /** Returns the commits after `since`, oldest first. */
  function between(since: ObjectId, commit: ObjectId): ObjectId[] {
    const ids = history(commits, commit);
    return ids.slice(0, ids.indexOf(since)).reverse();
  }

  function changedBy(id: ObjectId): string[] {
    const { tree, parent } = commits.get(id) ?? fail(`There is no commit ${id}.`);
    const before = commits.get(parent ?? '')?.tree ?? {};
    return Object.keys({ ...before, ...tree }).filter((path) => before[path] !== tree[path]);
  }

  function taskOfCommit(id: ObjectId): string {
    return parseTaskInMessage(commits.get(id)?.message ?? '') ?? '';
  }
}

/** Returns the history of an issue that `login` labelled long ago and that nobody changed since. */
function labelledBy(login: string, label: string): IssueHistory {
  return {
    labelings: [{ kind: 'labeled', label, by: { login, id: null, kind: 'user' }, at: 1 }],
    reopenings: [],
    edits: [],
    given: [],
    truncated: false,
  };
}

/** The issues that a run makes have numbers above this. */
const OWN_ISSUES = 500;

/** Returns GitHub's own number of an issue, which is not its number. */
function idOfIssue(number: number): number {
  return number + 10_000;
}

export interface FakeForge extends ForgeAdapter {
  /** First lines of comments that somebody edited. */
  readonly editedComments: Set<string>;
  /** The issues' histories; by default `owner` labelled an issue long ago. */
  readonly histories: Map<number, IssueHistory>;
  /** People's comments on issues. */
  readonly commentsOn: Map<number, readonly IssueComment[]>;
  readonly dependencies: Map<number, readonly Dependency[]>;
  readonly accounts: Map<string, Account>;
  readonly issues: Map<number, Issue>;
  readonly permissions: Map<string, Permission>;
  readonly pulls: (PullRequest & {
    /** True if the deletion of its base branch closed it. */
    readonly closedWithBase?: true;
    readonly title: string;
    readonly branch: string;
    readonly fromFork: boolean;
    readonly base: string;
    readonly endedAt?: number;
  })[];
  /** The action's comments by thread and marker. */
  readonly comments: Map<number, Map<string, string>>;
  /** The comments that notify people, or did until they were settled. */
  readonly notifications: Map<number, Map<string, string>>;
  /** The feedback of people and CI on the open pull request of a branch. */
  /** Branches that GitHub calls behind, whether a ruleset wants all of them up to date, and how GitHub answers auto-merge. */
  readonly rules: {
    readonly behind: Set<string>;
    /** The instants at which auto-merge was switched on, by branch. */
    readonly armedAt: Map<string, number>;
    mustBeCurrent: boolean;
    arms: Awaited<ReturnType<ForgeAdapter['armAutoMerge']>>['kind'];
  };
  /** Closed pull requests that the list of the newest ones lacks. */
  readonly unlisted: Set<number>;
  readonly saidOf: Map<string, Partial<Omit<PullRequestNow, 'id' | 'number' | 'url' | 'head' | 'isDraft'>>>;
  /** Details by name of the check. */
  readonly details: Map<string, CheckDetails>;
  /** Checks of the commits before a tip of the base branch. */
  readonly earlierChecks: Map<string, readonly CheckNow[]>;
  /** Answers in threads, in order. */
  readonly replies: { readonly replyTo: number; readonly body: string }[];
  readonly resolved: string[];
  /** Numbers of the attempts that have ended, by the id of the workflow run; GitHub does not know other runs. */
  readonly endedAttempts: Map<string, number>;
  /** All changes on GitHub, in order. */
  readonly writes: string[];
  /** The repository's labels. */
  readonly labels: string[];
  /** Issues that were made as the dashboard, by number; a person who edits one adds a version. */
  readonly dashboards: Map<number, DashboardIssue>;
  readonly faults: Faults<ForgeAdapter>;
  /** Numbers of the issues that a search finds, by its text. */
  readonly found: Map<string, readonly number[]>;
}

export function createForge({ branches, commits: known }: Origin): FakeForge {
  let requests = 0;
  const {
    histories,
    commentsOn,
    dependencies,
    accounts,
    issues,
    permissions,
    pulls,
    comments,
    notifications,
    rules,
    unlisted,
    saidOf,
    details,
    earlierChecks,
    replies,
    resolved,
    endedAttempts,
    writes,
    labels,
    dashboards,
    editedComments,
    faults,
    found,
  }: Pick<
    FakeForge,
    | 'histories'
    | 'commentsOn'
    | 'dependencies'
    | 'accounts'
    | 'issues'
    | 'permissions'
    | 'pulls'
    | 'comments'
    | 'notifications'
    | 'rules'
    | 'unlisted'
    | 'saidOf'
    | 'details'
    | 'earlierChecks'
    | 'replies'
    | 'resolved'
    | 'endedAttempts'
    | 'writes'
    | 'labels'
    | 'dashboards'
    | 'editedComments'
    | 'faults'
    | 'found'
  > = {
    rules: { behind: new Set(), armedAt: new Map(), mustBeCurrent: false, arms: 'armed' },
    unlisted: new Set(),
    saidOf: new Map(),
    details: new Map(),
    earlierChecks: new Map(),
    replies: [],
    resolved: [],
    histories: new Map(),
    commentsOn: new Map(),
    dependencies: new Map(),
    accounts: new Map(),
    issues: new Map(),
    permissions: new Map([['owner', 'admin']]),
    pulls: [],
    comments: new Map(),
    notifications: new Map(),
    endedAttempts: new Map(),
    writes: [],
    labels: ['ralph'],
    dashboards: new Map(),
    editedComments: new Set<string>(),
    faults: new Map(),
    found: new Map(),
  };
  const ask = <T>(method: keyof ForgeAdapter, answer: () => T): Promise<T> => {
    requests += 1;
    return guarded(faults, method, answer);
  };
  const shelfOf = (marker: string): FakeForge['comments'] =>
    marker.startsWith('<!-- ralph-action:notification ') ? notifications : comments;
  /** Branches whose pull requests a run has armed. */
  const armed = new Set<string>();
  /** Thread and marker of each comment, by comment id. */
  const commentIds: (readonly [number, string])[] = [[0, '']];
  const idOf = (number: number, marker: string): number => {
    const at = commentIds.findLastIndex(([thread, known]) => thread === number && known === marker);
    // A settled comment is not found by its marker.
    if (at > 0 && shelfOf(marker).get(number)?.has(marker) === true) return at;
    return commentIds.push([number, marker]) - 1;
  };
  const settledMarker = (id: number): string => `settled ${String(id)}`;
  const change = (number: number, update: Partial<FakeForge['pulls'][number]>): void => {
    const at = pulls.findIndex((pull) => pull.number === number);
    pulls[at] = { ...(pulls[at] ?? fail(`There is no pull request ${String(number)}.`)), ...update };
  };
  const standingOf = (branch: string, number: number, isDraft: boolean): ReviewState => {
    const { decision = null, approvedBy = [], changesRequestedBy = [], ...said } = saidOf.get(branch) ?? {};
    const { autoMerge = false, isQueued = false } = said;
    return { id: `PR_${String(number)}`, isDraft, decision, approvedBy, changesRequestedBy, autoMerge, isQueued };
  };
  const closedPulls = () =>
    pulls.flatMap(({ number, branch, state, headSha: head, endedAt: at = 0 }) =>
      state === 'open'
        ? []
        : [
            {
              number,
              branch,
              kind: state,
              at,
              head,
              commit: null,
              commits: [{ id: head, message: known.get(head)?.message ?? 'A commit', email: '' }],
            },
          ],
    );
  const current = (pull: FakeForge['pulls'][number]) =>
    pull.state === 'open' ? { ...pull, headSha: branches.get(pull.branch) ?? pull.headSha } : pull;
  return {
    rules,
    unlisted,
    saidOf,
    details,
    earlierChecks,
    replies,
    resolved,
    histories,
    commentsOn,
    dependencies,
    accounts,
    issues,
    permissions,
    pulls,
    comments,
    notifications,
    endedAttempts,
    writes,
    labels,
    dashboards,
    editedComments,
    faults,
    found,
    defaultBranch: () => ask('defaultBranch', () => 'main'),
    openIssuesWithLabel: (label) =>
      ask('openIssuesWithLabel', () =>
        [...issues.values()].filter(
          (issue) =>
            issue.state === 'open' &&
            !issue.isPullRequest &&
            issue.labels.some((name) => name.toLowerCase() === label.toLowerCase()),
        ),
      ),
    searchIssues: (query) =>
      ask('searchIssues', () => (found.get(query) ?? []).flatMap((number) => issues.get(number) ?? [])),
    issue: (number) => ask('issue', () => issues.get(number) ?? null),
    labelNames: () => ask('labelNames', () => labels),
    account: (login) =>
      ask('account', () => accounts.get(login) ?? { login, id: null, kind: login.endsWith('[bot]') ? 'bot' : 'user' }),
    issueHistories: (numbers, label) =>
      ask(
        'issueHistories',
        () =>
          new Map(
            numbers
              .filter((number) => issues.has(number))
              .map((number) => [number, histories.get(number) ?? labelledBy('owner', label)]),
          ),
      ),
    commentsOf: (numbers) =>
      ask('commentsOf', () => new Map(numbers.map((number) => [number, commentsOn.get(number) ?? []]))),
    dependenciesOf: (number) =>
      ask('dependenciesOf', () =>
        (dependencies.get(number) ?? []).map((one) => ({ ...one, state: issues.get(one.number)?.state ?? one.state })),
      ),
    ownComment: (number, marker) =>
      ask('ownComment', () => {
        const body = comments.get(number)?.get(marker);
        return body === undefined ? null : { body, at: 0, isEdited: editedComments.has(marker) };
      }),
    ownIssues: () =>
      ask('ownIssues', () =>
        [...issues.values()]
          .filter(({ number }) => number > OWN_ISSUES)
          .map(({ number, body }) => ({ number, id: idOfIssue(number), body })),
      ),
    openSubIssue: (parent, { title, body }, known) =>
      ask('openSubIssue', () => {
        if (known !== null) return known;
        const number = Math.max(OWN_ISSUES, ...issues.keys()) + 1;
        const url = `https://github.test/acme/shop/issues/${String(number)}`;
        const state = { state: 'open', isPullRequest: false, blockedBy: 0, openSubIssues: 0 } as const;
        issues.set(number, { number, title, body, url, labels: [], ...state });
        histories.set(number, { labelings: [], reopenings: [], edits: [], given: [], truncated: false });
        writes.push(`made #${String(number)} of #${String(parent)}: ${title}`);
        return { number, id: idOfIssue(number) };
      }),
    addDependency: (number, blockedBy) =>
      ask('addDependency', () => {
        const on = [...issues.keys()].find((one) => idOfIssue(one) === blockedBy) ?? 0;
        const issue = issues.get(number) ?? fail(`There is no issue ${String(number)}.`);
        issues.set(number, { ...issue, blockedBy: issue.blockedBy + 1 });
        dependencies.set(number, [...(dependencies.get(number) ?? []), { number: on, state: 'open', elsewhere: null }]);
        writes.push(`#${String(number)} waits for #${String(on)}`);
      }),
    statesOf: (numbers) =>
      ask('statesOf', () => new Map(numbers.map((number) => [number, issues.get(number)?.state ?? 'missing']))),
    changeLabels: (number, { from, add, remove }) =>
      ask('changeLabels', () => {
        const issue = issues.get(number);
        const added = add.map(({ name }) => name).filter((name) => !from.includes(name));
        const removed = remove.filter((name) => from.includes(name));
        if (issue === undefined || added.length + removed.length === 0) return;
        issues.set(number, {
          ...issue,
          labels: [...new Set([...issue.labels, ...added])].filter((name) => !removed.includes(name)),
        });
        writes.push(
          `labels of #${String(number)}: ${[...added.map((name) => `+${name}`), ...removed.map((name) => `-${name}`)].join(' ')}`,
        );
      }),
    permissionOf: (login) => ask('permissionOf', () => permissions.get(login) ?? 'none'),
    wasClosedWithBase: (number) =>
      ask('wasClosedWithBase', () => pulls.some((pull) => pull.number === number && pull.closedWithBase === true)),
    openPullRequests: (prefix) =>
      ask('openPullRequests', () =>
        pulls.filter((pull) => pull.state === 'open' && pull.branch.startsWith(prefix)).map(({ number }) => number),
      ),
    pullRequestOf: (branch) =>
      ask(
        'pullRequestOf',
        () =>
          pulls
            .filter((pull) => pull.branch === branch && !pull.fromFork)
            .map(current)
            .at(-1) ?? null,
      ),
    pullRequestNow: (branch) =>
      ask('pullRequestNow', () => {
        const pull = pulls.filter((one) => one.branch === branch && one.state === 'open' && !one.fromFork).at(-1);
        if (pull === undefined) return null;
        const { number, url, headSha, draft } = current(pull);
        return {
          ...standingOf(branch, number, draft),
          number,
          url,
          head: headSha,
          heads: [headSha],
          base: { branch: pull.base, tip: branches.get(pull.base) ?? headSha },
          mergeable: 'mergeable',
          threads: [],
          moreThreads: 0,
          reviews: [],
          comments: [],
          checks: { kind: 'known', head: [], base: [] },
          ...saidOf.get(branch),
        };
      }),
    headNow: (branch) =>
      ask('headNow', () => {
        const pull = pulls.filter((one) => one.branch === branch && one.state === 'open' && !one.fromFork).at(-1);
        return pull === undefined ? null : standingOf(branch, pull.number, pull.draft);
      }),
    withdrawFromMerging: (number, { isDraft, autoMerge, isQueued }) =>
      ask('withdrawFromMerging', () => {
        const { branch } =
          pulls.find((pull) => pull.number === number) ?? fail(`There is no pull request ${String(number)}.`);
        change(number, { draft: true });
        saidOf.set(branch, { ...saidOf.get(branch), autoMerge: false, isQueued: false });
        const ended = [
          ...(isQueued ? ['queue'] : []),
          ...(isDraft ? [] : ['ready']),
          ...(autoMerge ? ['auto-merge'] : []),
        ];
        writes.push(`freed #${String(number)}: no ${ended.join(', no ')}`);
      }),
    closedAmong: (numbers) => ask('closedAmong', () => closedPulls().filter(({ number }) => numbers.includes(number))),
    waitingPullRequests: (prefix) =>
      ask('waitingPullRequests', () => ({
        closed: closedPulls().filter(
          ({ number, branch }) => !unlisted.has(number) && (branch.startsWith(prefix) || branch.startsWith('revert-')),
        ),
        open: pulls
          .filter((pull) => pull.state === 'open' && pull.branch.startsWith(prefix) && !pull.fromFork)
          .map(current)
          .map(({ number, branch, headSha, base, draft }) => {
            const said = saidOf.get(branch);
            const checks = said?.checks?.kind === 'known' ? said.checks.head.map(({ result }) => result) : [];
            return {
              ...{ number, branch, head: headSha, base: branches.get(base) ?? headSha, baseBranch: base },
              ...{ isDraft: draft, decision: said?.decision ?? null, createdAt: number },
              isReviewRequested: writes.some((line) => line.startsWith(`review of #${String(number)} by `)),
              isArmed: said?.autoMerge ?? false,
              armedAt: (said?.autoMerge === true ? rules.armedAt.get(branch) : null) ?? null,
              ...{ isBehind: rules.behind.has(branch), mustBeCurrent: rules.mustBeCurrent },
              mergeable: said?.mergeable ?? 'mergeable',
              checks: checks.includes('failed') ? 'failed' : 'unknown',
            } as const;
          }),
      })),
    checksBefore: (tip) => ask('checksBefore', () => earlierChecks.get(tip) ?? []),
    checkDetails: ({ name }) =>
      ask(
        'checkDetails',
        () => details.get(name) ?? { job: name, step: null, annotations: [], log: null, missing: null },
      ),
    replyInThread: (number, reply) =>
      ask('replyInThread', () => {
        replies.push(reply);
        showReply(saidOf, reply, 900_000 + replies.length);
        writes.push(`replyInThread ${String(number)} ${String(reply.replyTo)}`);
        return { id: 900_000 + replies.length };
      }),
    resolveThread: (thread) =>
      ask('resolveThread', () => {
        resolved.push(thread);
        writes.push(`resolveThread ${thread}`);
      }),
    pullRequestHead: (number) =>
      ask('pullRequestHead', () => {
        const pull = pulls.find((candidate) => candidate.number === number);
        return pull === undefined ? null : { branch: pull.branch, fromFork: pull.fromFork };
      }),
    checkMayOpenPullRequests: () => ask('checkMayOpenPullRequests', () => undefined),
    checkMayUpdatePullRequest: () => ask('checkMayUpdatePullRequest', () => undefined),
    openPullRequest: ({ title, body, head, base, draft }) =>
      ask('openPullRequest', () => {
        const headSha = branches.get(head) ?? fail(`There is no branch ${head}.`);
        if (pulls.some((pull) => pull.branch === head && pull.state === 'open'))
          fail(`There is an open pull request for ${head} already.`);
        if (history(known, branches.get(base) ?? '').includes(headSha)) return null;
        const number = 100 + pulls.length + 1;
        const pull = {
          number,
          url: `https://github.test/acme/shop/pull/${String(number)}`,
          state: 'open',
          headSha,
          draft,
          body,
          title,
          labels: [],
          branch: head,
          fromFork: false,
          base,
        } as const;
        pulls.push(pull);
        writes.push(`open #${String(number)}`);
        return pull;
      }),
    updatePullRequest: (number, text) =>
      ask('updatePullRequest', () => {
        change(number, text);
        writes.push(`update #${String(number)}`);
      }),
    makeDraft: (number) =>
      ask('makeDraft', () => {
        change(number, { draft: true });
        writes.push(`draft #${String(number)}`);
      }),
    markReady: (number) =>
      ask('markReady', () => {
        change(number, { draft: false });
        writes.push(`ready #${String(number)}`);
      }),
    upsertComment: (number, marker, text) =>
      ask('upsertComment', () => {
        const shelf = shelfOf(marker);
        const thread = shelf.get(number) ?? new Map<string, string>();
        const body = typeof text === 'string' ? text : text(thread.get(marker) ?? null);
        const id = idOf(number, marker);
        if (thread.get(marker) === body) return { id };
        shelf.set(number, thread.set(marker, body));
        writes.push(`${shelf === notifications ? 'notified' : 'comment'} on #${String(number)}`);
        return { id };
      }),
    settleComments: (settled) =>
      ask('settleComments', () => {
        for (const { id, words, closing } of settled) {
          const [number, marker] = commentIds[id] ?? fail(`There is no comment ${String(id)}.`);
          // A comment settled earlier differs from the one that now has its marker.
          if (idOf(number, marker) !== id) continue;
          const thread = shelfOf(marker).get(number);
          const [first = '', ...rest] = (thread?.get(marker) ?? '').split('\n');
          if (thread === undefined || first === '') continue;
          thread.set(
            closing ? settledMarker(id) : marker,
            [first, ...(rest.includes(words) ? [] : ['', words]), ...rest].join('\n'),
          );
          if (closing) thread.delete(marker);
          writes.push(`${closing ? 'settled' : 'settled in part'} on #${String(number)}`);
        }
      }),
    settleNotifications: (number, { needs, words }) =>
      ask('settleNotifications', () => {
        const thread = notifications.get(number);
        for (const [marker, body] of [...(thread ?? [])]) {
          const asked = listNeedsIn(marker);
          const over = asked.filter((one) => needs.some(({ kind, about }) => kind === one.kind && about === one.about));
          if (over.length === 0) continue;
          const closing = over.length === asked.length;
          const [first = '', ...rest] = body.split('\n');
          thread?.set(
            closing ? settledMarker(idOf(number, marker)) : marker,
            [first, ...(rest.includes(words) ? [] : ['', words]), ...rest].join('\n'),
          );
          if (closing) thread?.delete(marker);
          writes.push(`${closing ? 'settled' : 'settled in part'} on #${String(number)}`);
        }
      }),
    requestReview: (number, { logins, teams }) =>
      ask('requestReview', () => {
        writes.push(
          `review of #${String(number)} by ${[...logins, ...teams.map((team) => `team ${team}`)].join(', ')}`,
        );
      }),
    addLabels: (number, names) =>
      ask('addLabels', () => {
        const issue = issues.get(number);
        if (issue === undefined) {
          change(number, { labels: [...(pulls.find((pull) => pull.number === number)?.labels ?? []), ...names] });
        } else {
          const by = { login: 'github-actions[bot]', id: 1, kind: 'bot' } as const;
          const known = histories.get(number) ?? fail(`Issue ${String(number)} has no history.`);
          const added = names.filter((name) => !issue.labels.includes(name));
          const labelings = added.map((label) => ({ kind: 'labeled' as const, label, by, at: 2 }));
          issues.set(number, { ...issue, labels: [...issue.labels, ...added] });
          histories.set(number, { ...known, labelings: [...known.labelings, ...labelings] });
        }
        writes.push(`labels of #${String(number)}: ${names.map((name) => `+${name}`).join(' ')}`);
      }),
    armAutoMerge: (branch, head) =>
      ask('armAutoMerge', () => {
        if (branches.get(branch) !== head) fail(`${branch} is not at ${head}.`);
        if (rules.arms !== 'armed') return { kind: rules.arms, detail: '' };
        saidOf.set(branch, { ...saidOf.get(branch), autoMerge: true });
        armed.add(branch);
        rules.armedAt.set(branch, writes.length);
        writes.push(`armed ${branch}`);
        return { kind: 'armed', detail: '' };
      }),
    disarmAutoMerge: (branch) =>
      ask('disarmAutoMerge', () => {
        if (!armed.delete(branch)) return false;
        saidOf.set(branch, { ...saidOf.get(branch), autoMerge: false });
        writes.push(`disarmed ${branch}`);
        return true;
      }),
    rewriteBodies: (numbers, rewrite) =>
      ask('rewriteBodies', () => {
        for (const number of numbers) {
          const before = pulls.find((pull) => pull.number === number)?.body ?? '';
          const body = rewrite(number, before);
          if (body === before) continue;
          change(number, { body });
          writes.push(`rewrote #${String(number)}`);
        }
      }),
    readDashboard: (number) => ask('readDashboard', () => dashboards.get(number) ?? null),
    writeDashboard: (id, body) =>
      ask('writeDashboard', () => {
        const before = [...dashboards.values()].find((one) => one.id === id);
        if (before === undefined) return null;
        const after = withVersion(before, { login: 'ralph[bot]', id: 1, kind: 'bot' }, body);
        dashboards.set(before.number, after);
        writes.push(`dashboard #${String(before.number)}`);
        return after;
      }),
    openDashboard: ({ body }) =>
      ask('openDashboard', () => {
        const [known] = dashboards.values();
        if (known !== undefined) return { isNew: false, issue: known };
        const number = 201 + writes.filter((line) => line.startsWith('made dashboard')).length;
        const issue = { number, id: `I_${String(number)}`, isOpen: true, body, revisions: [], edits: 0 };
        dashboards.set(number, issue);
        writes.push(`made dashboard #${String(number)}`);
        return { isNew: true, issue };
      }),
    assign: (number, logins) =>
      ask('assign', () => {
        writes.push(`#${String(number)} assigned to ${logins.join(', ')}`);
      }),
    amendComment: (number, marker, { body, closing }) => {
      const thread = shelfOf(marker).get(number);
      if (thread?.has(marker) !== true || thread.get(marker) === body) return Promise.resolve();
      return ask('amendComment', () => {
        thread.set(closing ? settledMarker(idOf(number, marker)) : marker, body);
        if (closing) thread.delete(marker);
        writes.push(`amended on #${String(number)}`);
      });
    },
    react: (target, reaction) =>
      ask('react', () => {
        writes.push(
          target.kind === 'issue'
            ? `${reaction} on #${String(target.number)}`
            : `${reaction} on ${target.kind} ${String(target.id)}`,
        );
      }),
    stepUrl: () => ask('stepUrl', () => null),
    countEndedAttempts: (runId) =>
      ask('countEndedAttempts', () => endedAttempts.get(runId) ?? fail('There is no such run.')),
    makeCommit: () => ask('makeCommit', () => fail('The fake remote signs by itself.')),
    settings: () => ask('settings', () => createUnknownSettings('nobody sees them here.')),
    deleteSupersededCaches: () => ask('deleteSupersededCaches', () => 0),
    requests: () => ({ sent: requests, limit: null, remaining: null, resetAt: null }),
  };
}

/** Returns the dashboard after an edit; with the first one, GitHub records the original as well. */
export function withVersion(before: DashboardIssue, by: Account | null, body: string): DashboardIssue {
  const original =
    before.edits === 0 ? [{ by: { login: 'ralph[bot]', id: 1, kind: 'bot' } as const, text: before.body }] : [];
  const added = [...original, { by, text: body }];
  return { ...before, body, revisions: [...before.revisions, ...added].slice(-30), edits: before.edits + added.length };
}

/**
 * Creates a log that keeps its lines, each with its level. `folded` holds the lines that are visible while all groups
 * are closed.
 */
export function createLog(): Log & { readonly lines: string[]; readonly folded: string[] } {
  const lines: string[] = [];
  const folded: string[] = [];
  let isOpen = false;
  const at =
    (level: string) =>
    (text: string): void => {
      lines.push(`${level}: ${text}`);
      if (!isOpen) folded.push(`${level}: ${text}`);
    };
  return {
    lines,
    folded,
    info: at('info'),
    warning: at('warning'),
    error: at('error'),
    group: async (title, body) => {
      at('group')(title);
      isOpen = true;
      try {
        return await body();
      } finally {
        isOpen = false;
      }
    },
  };
}

/** Returns a commit and all its ancestors, newest first. */
export function history(commits: Origin['commits'], from: ObjectId): ObjectId[] {
  const found: ObjectId[] = [];
  for (let at: ObjectId | null = from; at !== null; at = commits.get(at)?.parent ?? null) found.push(at);
  return found;
}

/** Returns the files of a checkout as this program reads and writes them beside the agent. */
export function workFilesOf(checkout: Checkout): WorkFiles {
  return {
    read: (paths) =>
      Promise.resolve(
        Object.fromEntries(
          Object.entries(checkout.files).filter(([path]) => paths.some((pattern) => matches(path, pattern))),
        ),
      ),
    replace: ({ path, old, text }) => {
      if ((checkout.files[path] ?? null) !== old) return Promise.reject(new Error(`${path} was changed meanwhile.`));
      checkout.files[path] = text;
      return Promise.resolve();
    },
    remove: (path) => {
      checkout.files = Object.fromEntries(Object.entries(checkout.files).filter(([name]) => name !== path));
      return Promise.resolve();
    },
  };
}

/** `*` matches anything within the last segment, `**` at the end everything below. */
function matches(path: string, pattern: string): boolean {
  if (pattern.endsWith('/**')) return path.startsWith(pattern.slice(0, -2));
  const [before = '', after] = pattern.split('*');
  return after === undefined
    ? path === pattern
    : path.startsWith(before) && path.endsWith(after) && !path.slice(before.length).includes('/');
}

/** Task files and notes are committed like any other file, but do not count as evidence. */
/**
 * As in the publishing rules, files that CI runs and settings of agents are protected, and packages are too many files.
 */
function whyWithheld(path: string, allowed: readonly string[]): string | null {
  if (allowed.some((pattern) => matches(path, pattern))) return null;
  if (path.startsWith('.github/') || path.startsWith('.claude/')) return LEFT_OUT_CLAUSES.protected;
  return path.startsWith('node_modules/') ? '320 changed files are more than max-patch-files (300) allows' : null;
}

function isNote(path: string): boolean {
  return /(?:^|\/)(?:\.ralph\/(?:fix_plan\.md|learnings(?:_archive)?\.md|learnings\/.*|prd(?:_archive)?\.json)$|\.beads\/|scripts\/ralph\/prd\.json$)/.test(
    path,
  );
}

function evidenceOf(files: Files): ObjectId {
  return idOf(Object.fromEntries(Object.entries(files).filter(([path]) => !isNote(path))));
}

function idOf(content: unknown): ObjectId {
  const sorted = (_key: string, value: unknown): unknown =>
    typeof value === 'object' && value !== null
      ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
      : value;
  return createHash('sha1').update(JSON.stringify(content, sorted)).digest('hex');
}

/** Returns the answer of a port's method, or throws its fault; always as a promise, like a real adapter. */
async function guarded<Port, T>(faults: Faults<Port>, method: keyof Port, answer: () => T): Promise<T> {
  const fault = faults.get(method);
  if (fault !== undefined) throw fault;
  return answer();
}

function fail(message: string): never {
  throw new Error(message);
}

/** Adds Ralph's answer to its thread, as on GitHub. */
function showReply(
  saidOf: FakeForge['saidOf'],
  { replyTo, body }: { readonly replyTo: number; readonly body: string },
  id: number,
): void {
  for (const [branch, { threads = [], ...said }] of saidOf) {
    const by = { login: 'github-actions', id: 41_898_282, kind: 'bot' as const };
    const answered = threads.map((thread) => {
      if (thread.comments[0]?.id !== replyTo) return thread;
      const at = Math.max(...thread.comments.map((comment) => comment.at)) + 1;
      return { ...thread, comments: [...thread.comments, { id, review: null, by, text: body, at, hunk: '' }] };
    });
    saidOf.set(branch, { ...said, threads: answered });
  }
}

/** Returns the files with new conflict markers as `lookAt` names them. */
function markersIn(tree: Files, old: Files): CommittedIteration['lookAt'] {
  const files = Object.keys(tree)
    .filter((path) => countConflicts(tree[path] ?? '') > countConflicts(old[path] ?? ''))
    .map((path) => ({ path, what: null }));
  return files.length === 0 ? [] : [{ kind: 'conflict-markers', fileCount: files.length, files }];
}
