import type { Config } from '../../config/config.ts';
import type { Meaning } from '../event/intent.ts';
import type { Account, Forge, Permission } from '../../ports/forge.ts';

/** Permissions with which somebody's label, command, edit or comment counts. */
const WRITERS: readonly Permission[] = ['admin', 'maintain', 'write'];

const asked = new WeakMap<Forge, Map<string, Promise<boolean>>>();

/**
 * Whether what this account does counts: a person who may write, or a bot that `allowed-bots` names. A login alone makes
 * nobody a bot or a person: the account's type decides, and a bot's id must be that of the login's account. Each account is asked about once a run.
 */
export function trusts(
  { config, forge }: { readonly config: Pick<Config, 'allowedBots'>; readonly forge: Forge },
  account: Account,
): Promise<boolean> {
  const answers = asked.get(forge) ?? new Map<string, Promise<boolean>>();
  asked.set(forge, answers);
  const key = keyOf(account);
  const known = answers.get(key);
  if (known !== undefined) return known;
  const answer = ask({ config, forge }, account);
  answers.set(key, answer);
  // A failed question is not remembered, so the next one asks again.
  answer.catch(() => {
    answers.delete(key);
  });
  return answer;
}

/** Whether the event asks for work or an answer on behalf of somebody who may. */
export async function isAskedFor(run: Parameters<typeof trusts>[0], meaning: Meaning): Promise<boolean> {
  if (meaning.kind !== 'for-us' || meaning.asker.kind === 'nobody') return false;
  return meaning.asker.kind === 'trusted' || trusts(run, meaning.asker.account);
}

/** How many accounts this run has asked about. */
export function accountsAsked(forge: Forge): number {
  return asked.get(forge)?.size ?? 0;
}

/** Asks about all these accounts at once, and returns whether one of them is trusted as a plain function. */
export async function trustAmong(
  run: Parameters<typeof trusts>[0],
  accounts: readonly Account[],
): Promise<(account: Account) => boolean> {
  const distinct = new Map(accounts.map((account) => [keyOf(account), account]));
  const judged = await Promise.all(
    [...distinct].map(async ([key, account]) => [key, await trusts(run, account)] as const),
  );
  const trusted = new Set(judged.filter(([, isTrusted]) => isTrusted).map(([key]) => key));
  return (account) => trusted.has(keyOf(account));
}

async function ask(
  { config, forge }: { readonly config: Pick<Config, 'allowedBots'>; readonly forge: Forge },
  { login, id, kind }: Account,
): Promise<boolean> {
  if (kind === 'user') return WRITERS.includes(await forge.permissionOf(login));
  const isAllowed = config.allowedBots.some((name) => name.toLowerCase() === login.toLowerCase());
  if (!isAllowed || id === null) return false;
  const known = await forge.account(login);
  return known?.kind === 'bot' && known.id === id;
}

function keyOf({ login, id, kind }: Account): string {
  return `${kind} ${login.toLowerCase()} ${String(id)}`;
}
