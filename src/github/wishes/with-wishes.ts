import { listFirstNames, completeSentence } from '../../core/text/phrase.ts';
import { getErrorText, UserError } from '../../errors.ts';
import type { Forge, ForgeAdapter, WishResult, Wishes, WishWrites } from '../../ports/forge.ts';

/**
 * The description of each wish, that is, each write that a run can do without, in the sentence about refused wishes.
 */
const WORDS: { readonly [Write in keyof WishWrites]: (...asked: Parameters<WishWrites[Write]>) => string } = {
  replyInThread: (number) => `an answer in a thread of #${String(number)}`,
  resolveThread: () => 'marking a thread as resolved',
  upsertComment: (number) => `a comment on #${String(number)}`,
  settleComments: () => 'marking earlier notifications as settled',
  settleNotifications: (number) => `marking earlier notifications on #${String(number)} as settled`,
  amendComment: (number) => `correcting an older comment on #${String(number)}`,
  requestReview: (number) => `a review request on #${String(number)}`,
  armAutoMerge: (branch) => `auto-merge of ${branch}`,
  disarmAutoMerge: (branch) => `switching off auto-merge of ${branch}`,
  rewriteBodies: () => 'the merge order on the pages of the open pull requests',
  readDashboard: () => 'the dashboard',
  writeDashboard: () => 'the dashboard',
  openDashboard: () => 'the dashboard',
  assign: (number) => `assignees on #${String(number)}`,
  changeLabels: (number) => `new labels on #${String(number)}`,
  addLabels: (number) => `new labels on #${String(number)}`,
  react: (target) =>
    target.kind === 'issue' ? `a reaction on #${String(target.number)}` : `a reaction on a ${target.kind}`,
};

/** Wishes that GitHub refused for one reason; `why` is the whole explanation of the first refusal. */
interface Refused {
  readonly what: Set<string>;
  readonly why: string;
}

/**
 * Creates a run's forge, whose wishes never reject. A failure is a refusal, which is remembered for the report, grouped
 * by its reason.
 */
export function withWishes(adapter: ForgeAdapter): Forge {
  const refused = new Map<string, Refused>();

  function wish<Name extends keyof WishWrites>(name: Name): Wishes[Name] {
    type Asked = Parameters<WishWrites[Name]>;
    type Granted = Awaited<ReturnType<WishWrites[Name]>>;
    return (async (...asked: Asked): Promise<WishResult<Granted>> => {
      try {
        return { kind: 'granted', value: await (adapter[name] as (...asked: Asked) => Promise<Granted>)(...asked) };
      } catch (error) {
        const why = completeSentence(getErrorText(error));
        const reason = (error instanceof UserError ? error.reason : null) ?? why;
        const known = refused.get(reason) ?? { what: new Set(), why };
        known.what.add(WORDS[name](...asked));
        refused.set(reason, known);
        return { kind: 'refused', why, isLasting: error instanceof UserError && error.kind === 'configuration' };
      }
    }) as Wishes[Name];
  }

  return {
    ...adapter,
    replyInThread: wish('replyInThread'),
    resolveThread: wish('resolveThread'),
    upsertComment: wish('upsertComment'),
    settleComments: wish('settleComments'),
    settleNotifications: wish('settleNotifications'),
    amendComment: wish('amendComment'),
    requestReview: wish('requestReview'),
    armAutoMerge: wish('armAutoMerge'),
    disarmAutoMerge: wish('disarmAutoMerge'),
    rewriteBodies: wish('rewriteBodies'),
    readDashboard: wish('readDashboard'),
    writeDashboard: wish('writeDashboard'),
    openDashboard: wish('openDashboard'),
    assign: wish('assign'),
    changeLabels: wish('changeLabels'),
    addLabels: wish('addLabels'),
    react: wish('react'),
    refusedWishes: () =>
      [...refused.values()].map(({ what, why }) => `The run continued without ${listFirstNames([...what])}: ${why}`),
  };
}
